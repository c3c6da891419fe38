"""A PostgreSQL server that goes away: what goes on for long waits for it, and nothing is lost."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from host.tests.log.test_logger import logging, wait_until
from host.tests.support.commands import RunningCommand, error_line_here
from host.tests.support.helpers import FirmwareLog, new_log, stored
from host.tests.support.naive_shoe import NaiveShoe, answering_shoe, fake_mac, naive_event, recorded
from host.tests.support.postgres import Database, Server, make_template
from host.tests.support.postgres import new_log as new_database
from sabot.errors import NoDatabaseServer, SabotError
from sabot.floor.live import Floor
from sabot.link.session import Record
from sabot.log.store import open_store

pytestmark = pytest.mark.slow

_RECOVERY_S = 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of these tests alone, which end it."""
    with Server() as server:
        make_template(server)
        yield server


@pytest.fixture
def log(server: Server) -> Iterator[Database]:
    with new_database(server) as made:
        yield made


def _some(first: int, last: int) -> list[Record]:
    return [recorded(naive_event(number)) for number in range(first, last + 1)]


def test_each_call_says_that_the_server_is_gone_and_works_again_when_it_is_back(
    server: Server, log: Database
) -> None:
    place = log.place()
    with new_log(place) as store:
        store.append("U1", _some(1, 10))
        follower = store.follower()
        follower.poll()
        calls: list[Callable[[], object]] = [
            lambda: store.append("U1", _some(11, 12)),
            lambda: list(store.rows()),
            lambda: list(store.raw("U1")),
            store.units,
            lambda: store.keep_game(b"game"),
            lambda: store.prune("U1", 1, 1, b"stone"),
            follower.poll,
            follower.noted,
            lambda: open_store(place),
        ]
        server.kill()
        for call in calls:
            with pytest.raises(NoDatabaseServer) as caught:
                call()
            assert str(caught.value).startswith(f"{place}: ") and "\n" not in str(caught.value)
        server.start()
        assert follower.poll() in ({}, {"U1": 10})
        store.append("U1", _some(9, 12))
        assert follower.poll() == {"U1": 12}
        assert [row.number for row in store.rows()] == list(range(1, 13))


def test_a_reader_whose_server_ends_says_so(server: Server, log: Database) -> None:
    with new_log(log.place()) as store:
        store.append("U1", _some(1, 5000))
        rows = store.rows()
        assert next(rows).number == 1
        server.kill()
        with pytest.raises(NoDatabaseServer):
            list(rows)
        server.start()
        assert sum(1 for _ in store.rows()) == 5000


def test_a_log_waits_for_its_server_and_the_shoe_keeps_its_events(
    server: Server, log: Database
) -> None:
    shoe = NaiveShoe(1)
    with answering_shoe(shoe) as port, logging(log.place(), port.path) as running:  # type: ignore[arg-type]
        for last in (200, 400):
            shoe.record(200)
            wait_until(lambda: shoe.acknowledged >= last - 150)  # noqa: B023
            server.kill()
            acknowledged = shoe.acknowledged
            with suppress(SabotError):
                running.store.count()
            server.start()
            running.wait_for(last)
            assert shoe.acknowledged >= acknowledged
        wait_until(lambda: shoe.acknowledged == 400)
        assert running.logger.failures == {}
        assert {type(error) for error in running.lost} <= {NoDatabaseServer}
    with open_store(log.place("reader")) as store:
        wanted = [(n, naive_event(n), fake_mac(naive_event(n))) for n in range(1, 401)]
        assert list(store.raw("U1")) == wanted


def test_a_floor_says_that_the_server_is_gone_until_it_is_back(
    server: Server, log: Database
) -> None:
    dealt = FirmwareLog().load().draw("AC", "2H")
    with new_log(log.place()) as store:
        store.append("U1", stored(dealt.records))
        floor = Floor(store)
        while floor.look():
            pass
        shown = floor.tile("U1")
        assert floor.problem == "" and shown is not None
        server.kill()
        floor.look()
        assert "PostgreSQL server" in floor.problem and floor.tile("U1") == shown
        server.start()
        store.append("U1", stored(dealt.draw("next", "9C").records))
        while floor.look():
            pass
        assert floor.problem == "" and floor.tile("U1") != shown


def test_a_command_ends_with_one_line_and_its_exit_code(
    server: Server, log: Database, tmp_path: Path
) -> None:
    place = str(log.place())
    server.stop()
    try:
        for command in ("rounds", "verify", "units", "serve", "rebuild", "checkpoints"):
            line = error_line_here(tmp_path, command, "--db", place, code=41)
            assert line.startswith(f"{place}: no PostgreSQL server (")
        shoe = NaiveShoe(1)
        with answering_shoe(shoe) as port:
            line = error_line_here(tmp_path, "log", port.path, "--db", place, code=41)
            assert line.startswith(f"{place}: no PostgreSQL server (")
    finally:
        server.start()


def test_verifying_ends_with_one_line_when_the_server_ends(
    server: Server, log: Database, tmp_path: Path
) -> None:
    with new_log(log.place()) as store:
        for unit in ("U1", "U2"):
            for first in range(1, 20_000, 10_000):
                store.append(unit, _some(first, first + 9999))
    command = RunningCommand(tmp_path, "verify", "--db", str(log.place("reader")))
    with log.connect("postgres") as session:
        query = (
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE usename = 'reader' AND query ILIKE '%FETCH%'"
        )
        while session.execute(query).fetchone() == (0,):
            assert command.process.poll() is None
    server.kill()
    try:
        assert command.process.wait(_RECOVERY_S) == 41, command.problems
        (line,) = [line for line in command.problems if line.startswith("sabot: ")]
        assert "the PostgreSQL server is gone" in line or "no PostgreSQL server" in line
        assert not any("Traceback" in line for line in command.problems), command.problems
    finally:
        server.start()


def test_ctrl_c_ends_a_query_that_takes_long(server: Server, log: Database) -> None:
    with new_log(log.place()) as store, log.connect("postgres") as session:
        session.execute("BEGIN; LOCK TABLE sabot.units IN ACCESS EXCLUSIVE MODE")
        interrupt = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        interrupt.start()
        begun_s = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            store.append("U1", _some(1, 1))
        assert time.monotonic() - begun_s < _RECOVERY_S
        session.execute("ROLLBACK")
        query = (
            "SELECT count(*) FROM pg_stat_activity WHERE usename = 'keeper' AND state = 'active'"
        )
        wait_until(lambda: session.execute(query).fetchone() == (0,))
        store.append("U1", _some(1, 1))  # and the store goes on
        assert store.count() == 1
