"""A site sends the records of many units at once, and all else at its time, whatever the link."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from host.tests.support.helpers import new_log
from host.tests.support.naive_shoe import naive_event, recorded
from host.tests.support.postgres import Database
from host.tests.support.site import NOTARY, Centre, Noted, forward, site_log, site_stored
from sabot.centre.alarms import OTHER_BYTES
from sabot.centre.forwarder import Clocks, Forwarder
from sabot.centre.link import Centre as Link
from sabot.centre.pace import BackOff
from sabot.centre.postgres_centre import PostgresCentre
from sabot.centre.progress import Progress
from sabot.centre.sending import Session
from sabot.centre.state import State
from sabot.errors import RightsMissing
from sabot.keys.signing import public_of
from sabot.log.postgres import migrations
from sabot.log.postgres.taking import NotStored
from sabot.log.presence import ATTACHED, Span
from sabot.silences import NOT_STORED

UNITS = [f"U{number:02}" for number in range(40)]


@pytest.fixture(autouse=True)
def no_wait_for_receipts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sabot.centre.forwarder.LAST_RECEIPTS_S", 0.0)


@pytest.fixture
def centre(database: Database) -> Centre:
    made = Centre(database)
    made.let("site_1", *UNITS)
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A site's log with a few events of many units, of some of which numbers are missing."""
    path = tmp_path / "site.sqlite"
    log(path, 1, 6)
    return path


def log(path: Path, first: int, last: int) -> None:
    with new_log(path) as store:
        for at, unit in enumerate(UNITS):
            lost = {first + 1} if at % 5 == 0 else set()
            numbers = [number for number in range(first, last + 1) if number not in lost]
            store.append(unit, [recorded(naive_event(number)) for number in numbers])
        store.derive()


class Counting:
    """A connection that counts the calls of each method."""

    def __init__(self, centre: Link) -> None:
        self._centre = centre
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._centre, name)

        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            return method(*arguments)

        return call


@contextmanager
def session_of(
    path: Path, centre: Centre, now_s: list[float]
) -> Iterator[tuple[Session, Counting, Noted]]:
    noted = Noted()
    with site_log(path) as (_, log), PostgresCentre(centre.database.place("site_1")) as link:
        counting = Counting(link)
        yield Session(log, counting, State(()), noted, lambda: now_s[0]), counting, noted  # type: ignore[arg-type]


def test_all_units_go_in_one_round_trip(path: Path, centre: Centre) -> None:
    with session_of(path, centre, [0.0]) as (session, link, _):
        session._state.size.records = 1000
        session.begin()
        assert link.calls == ["heads"]
        session.step()
        log(path, 7, 12)
        link.calls.clear()
        session.step()
        assert link.calls == ["take_all"]
        log(path, 13, 14)
    for unit in UNITS:
        wanted = [row for row in site_stored(path, unit) if row[0] <= 12]
        assert centre.stored(unit) == wanted
    said = centre.ask("SELECT number, records FROM sabot.site_checkpoints ORDER BY records")
    assert said == [(12, 10)] * 8 + [(12, 12)] * 32
    assert len(centre.ask("SELECT 1 FROM sabot.holes")) == 16
    forward(path, centre.database)[1].check()
    assert centre.alarms() == []
    for unit in UNITS:
        assert centre.stored(unit) == site_stored(path, unit)


def test_a_unit_that_cannot_go_with_the_others_does_not_keep_them(
    path: Path, centre: Centre
) -> None:
    """The centre has another event of one, takes no other, and more of a third than it knows."""
    forward(path, centre.database)
    centre.sql(
        "UPDATE sabot.records SET record = 'x' WHERE number = 6 AND unit ="
        " (SELECT id FROM sabot.units WHERE unit = 'U07')"
    )
    log(path, 7, 9)
    with session_of(path, centre, [0.0]) as (session, _, noted):
        session._state.size.records = 1000
        session.begin()
        centre.let("site_2", "U08")
        session.step()
    assert centre.alarms() == [("U07", 6, OTHER_BYTES)]
    assert any(line.startswith("U08: ") for line in noted.lines)
    for unit in UNITS:
        stored = len(centre.stored(unit))
        assert stored == (6 if unit in ("U07", "U08") else len(site_stored(path, unit)))


def test_few_records_at_once_give_each_unit_its_turn(path: Path, centre: Centre) -> None:
    with session_of(path, centre, [0.0]) as (session, _, noted):
        session._state.size.records = 7
        session.begin()
        for _ in range(12):
            session.step()
            session._state.size.records = 7
        assert {unit for unit, _ in noted.batches} == set(UNITS)


def test_presence_and_holes_go_at_their_time_while_records_come_all_the_time(
    path: Path, centre: Centre
) -> None:
    now_s = [0.0]
    with session_of(path, centre, now_s) as (session, link, _), new_log(path) as store:
        session.begin()
        for turn in range(20):
            log(path, 7 + 3 * turn, 9 + 3 * turn)
            store.keep_presence([Span("U00", 5, 1000 + turn, ATTACHED)])
            link.calls.clear()
            assert session.step(), "there is always something new"
            now_s[0] += 10.0
            if "keep_presence" in link.calls:
                assert {"holes", "open_alarms"} <= {*link.calls} and turn in (0, 6, 12, 18)
    ends = centre.ask("SELECT end_unix_ms FROM sabot.presence")
    assert ends == [(1018,)]


def test_a_centre_of_an_older_version_gets_one_unit_after_the_other(
    path: Path, centre: Centre
) -> None:
    with centre.database.connect("postgres") as session:
        assert list(migrations.migrate(session, 4)) == [4]
    forward(path, centre.database)[1].check()
    for unit in UNITS:
        assert centre.stored(unit) == site_stored(path, unit)


def test_what_waits_is_what_the_log_has_now_and_the_centre_has_not(path: Path) -> None:
    now_s = [0.0]
    with new_log(path) as store:
        progress = Progress(store, lambda: now_s[0])
        assert progress.waiting() == dict.fromkeys(UNITS, 6)
        progress.reached(dict.fromkeys(UNITS, 6))
        assert progress.stuck() == (0, 0.0)
        log(path, 7, 8)  # while the forwarder waits for an answer
        assert sum(progress.waiting().values()) == 72
        now_s[0] = 5.0
        assert progress.stuck() == (72, 5.0)
        now_s[0] = 70.0
        assert progress.stuck() == (72, 70.0)
        progress.reached({UNITS[1]: 7})
        assert progress.stuck() == (71, 0.0)
        now_s[0] = 99.0
        progress.reached({UNITS[1]: 7})  # the same again is no progress
        assert progress.stuck() == (71, 29.0)
        progress.close()


@pytest.mark.parametrize("once", [True, False])
def test_a_role_with_too_few_rights_is_told_at_once(
    path: Path, database: Database, once: bool
) -> None:
    tried = 0

    @contextmanager
    def connect() -> Iterator[PostgresCentre]:
        nonlocal tried
        tried += 1
        with PostgresCentre(database.place("reader")) as link:
            yield link

    with site_log(path) as (_, log_):
        clocks = Clocks(lambda: 0.0, lambda event, s: event.is_set())
        forwarder = Forwarder(
            log_, connect, [public_of(NOTARY)], Noted(), threading.Event(),
            once=once, clocks=clocks, back_off=BackOff(),
        )  # fmt: skip
        with pytest.raises(RightsMissing, match=r"too few rights .*`sabot database site`"):
            forwarder.run()
    assert tried == 3, "one word may be what a link has made of another"


def test_what_a_function_without_effect_answers_is_no_progress(path: Path, centre: Centre) -> None:
    with centre.database.connect("postgres") as session:
        session.execute("CREATE RULE hide AS ON INSERT TO sabot.records DO INSTEAD NOTHING")
    noted = Noted()
    with site_log(path) as (_, log_):
        clocks = Clocks(lambda: 0.0, lambda event, s: event.is_set())
        forwarder = Forwarder(
            log_, lambda: PostgresCentre(centre.database.place("site_1")), [public_of(NOTARY)],
            noted, threading.Event(), once=True, clocks=clocks,
        )  # fmt: skip
        with pytest.raises(NotStored) as caught:
            forwarder.run()
    assert NOT_STORED.is_told_in(str(caught.value))
    assert noted.batches == [] and centre.stored(UNITS[0]) == []
    assert sum(noted.waiting.values()) == 6 * len(UNITS)
