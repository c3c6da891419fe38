"""The logger and a naive shoe: every event is logged once, in spite of faults."""

import os
import resource
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from host.tests.support.helpers import event_bytes
from host.tests.support.killed_logger import ShoeProcess
from host.tests.support.later import record_of
from host.tests.support.naive_shoe import (
    KEYS,
    NaiveShoe,
    Relay,
    answering_shoe,
    fake_mac,
    naive_event,
)
from sabot.errors import DiskFull, HistoryDiffers, NoShoe, PortBusy, SabotError, SameUnit
from sabot.host_clock import HostClock
from sabot.link.client import Client
from sabot.log import quota
from sabot.log.logger import Logger, LogWatcher
from sabot.log.rounds import Round
from sabot.log.sqlite import log_file
from sabot.log.store import DatabaseLocked, Filter, Store, open_store
from sabot_protocol import events

pytestmark = pytest.mark.slow

TIMEOUT_S = 200.0


@dataclass
class Logging:
    """A running log, and the errors that it has reported."""

    store: Store
    logger: Logger
    lost: list[SabotError] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)

    def wait_for(self, last: int, unit: str = "U1") -> None:
        """Wait until event `last` is stored."""
        wait_until(lambda: self.store.last_number(unit) >= last)

    @property
    def failure(self) -> SabotError:
        """The error that ends the log."""
        assert self.logger.wait(TIMEOUT_S)
        (failure,) = self.logger.failures.values()
        assert "\n" not in str(failure)
        return failure


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@contextmanager
def logging(
    path: Path,
    *ports: str,
    once: bool = False,
    round_ended: Callable[[Round], None] = lambda ended: None,
    host_clock: HostClock | None = None,
) -> Iterator[Logging]:
    """Run `sabot log` in this process."""
    lost: list[SabotError] = []
    warned: list[str] = []
    with open_store(path, create=True) as store:
        watcher = LogWatcher(
            lost=lambda port, error: lost.append(error),
            warned=warned.append,
            round_ended=round_ended,
        )
        logger = Logger(store, ports, watcher, once=once, keys=KEYS, host_clock=host_clock)
        running = Logging(store, logger, lost, warned)
        running.logger.start()
        yield running
        running.logger.stop()
        assert running.logger.wait(TIMEOUT_S)


def assert_holds(path: Path, first: int, last: int) -> None:
    """Check that a log holds what the naive shoe recorded from `first` to `last`, and no more."""
    wanted = [(n, naive_event(n), fake_mac(naive_event(n))) for n in range(first, last + 1)]
    with open_store(path) as store:
        assert list(store.raw("U1")) == wanted
        assert [(row.number, row.data, row.mac) for row in store.rows()] == wanted


def derived_in(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM events").fetchone()[0])


def test_logged_events_are_acknowledged_and_derived_in_idle_time(tmp_path: Path) -> None:
    shoe, path = NaiveShoe(1), tmp_path / "log"
    shoe.record(3000)
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        log.wait_for(3000)
        wait_until(lambda: shoe.acknowledged == 3000 and derived_in(path) == 3000)
    assert_holds(path, 1, 3000)


def test_a_shoe_that_sends_more_than_its_quota_is_left_alone_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quota, "JOURNAL_BYTES", 40_000)
    shoe, path = NaiveShoe(1), tmp_path / "log"
    shoe.record(9000)  # 300,000 bytes with their MACs
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        wait_until(lambda: log.lost != [])
        (error,) = log.lost
        stored = log.store.last_number("U1")
        assert str(error).startswith(f"{port.path}: U1 has sent more than its journal can hold")
    (warning,) = log.warned
    assert warning.startswith(f"{port.path}: U1 has sent half as much as its journal can hold")
    assert 1000 < stored < 4000
    assert_holds(path, 1, stored)


class _OneByOne(NaiveShoe):
    """A shoe that sends each of its frames by itself, and counts the acknowledgements."""

    def __init__(self) -> None:
        super().__init__(1)
        self.waiting: list[bytes] = []
        self.acknowledgements = 0

    def step(self, data: bytes, now_s: float) -> list[bytes]:
        self._resend_s = now_s  # nothing is lost here, so it sends nothing again
        self.waiting += super().step(data, now_s)
        sent, self.waiting = self.waiting[:1], self.waiting[1:]
        return sent

    def _acknowledged(self, acknowledged: int) -> None:
        self.acknowledgements += acknowledged > self.acknowledged
        super()._acknowledged(acknowledged)


def test_held_events_are_acknowledged_sixteen_at_a_time_and_later_ones_at_once(
    tmp_path: Path,
) -> None:
    shoe = _OneByOne()
    shoe.record(160)
    with answering_shoe(shoe) as port, logging(tmp_path / "log", port.path) as log:
        wait_until(lambda: shoe.acknowledged == 160)
        assert shoe.acknowledgements <= 160 // 16 + 5
        for last in range(161, 164):
            shoe.record(1)
            wait_until(lambda last=last: shoe.acknowledged == last)  # type: ignore[misc]
        assert log.store.count() == 163


def test_a_shoe_over_its_quota_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quota, "JOURNAL_BYTES", 40_000)
    monkeypatch.setattr(quota, "REFILL_S", 20.0)  # a busy machine still receives faster than this
    shoe, path = NaiveShoe(1), tmp_path / "log"
    shoe.record(1500)
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        log.wait_for(1500)
    assert log.lost != []
    assert_holds(path, 1, 1500)


def test_ctrl_c_while_the_log_is_waited_for_does_not_hide_that_it_still_runs(
    tmp_path: Path,
) -> None:
    shoe = NaiveShoe(1)
    shoe.record(10)
    with answering_shoe(shoe) as port, logging(tmp_path / "log", port.path) as log:
        log.wait_for(10)
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            for _ in range(20):
                signal.setitimer(signal.ITIMER_REAL, 0.02)
                with pytest.raises(KeyboardInterrupt):
                    log.logger.wait(TIMEOUT_S)
                assert not log.logger.wait(0)
        finally:
            signal.signal(signal.SIGALRM, before)
        log.logger.stop()
        assert log.logger.wait(TIMEOUT_S)


def test_events_of_a_later_shoe_are_stored_acknowledged_and_warned_of_once(tmp_path: Path) -> None:
    shoe, path = NaiveShoe(1), tmp_path / "log"
    shoe.record(6)
    later = {n: record_of(61, n, "text", bytes(60)) for n in (2, 5)}
    shoe.held |= later | {4: record_of(events.LID.number, 4, True, 30)}
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        log.wait_for(6)
        wait_until(lambda: shoe.acknowledged == 6)
    assert log.logger.failures == {} and log.lost == []
    unknown = [each for each in log.warned if "unknown to this version" in each]
    assert [each.partition(" is ")[0] for each in unknown] == [
        "U1: kind 61", "U1: a field after those of lid",
    ]  # fmt: skip
    with open_store(path) as store:
        stored = {row.number: (row.kind, row.data) for row in store.rows()}
    assert {n: stored[n] for n in later} == {n: ("unknown_61", data) for n, data in later.items()}


@pytest.mark.parametrize("large", [(1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_a_number_too_large_for_a_column_does_not_end_the_log(tmp_path: Path, large: int) -> None:
    """Numbers of shoes and rounds have 64 bits on the line, and 63 in a column."""
    shoe, path = NaiveShoe(1), tmp_path / "log"
    for number in (1, 2, 3):  # each by a log of its own, which looks for the round before it
        shoe.record(1)
        shoe.held[number] = event_bytes("lock", number, shoe=large, round=large)
        with answering_shoe(shoe) as port, logging(path, port.path) as log:
            log.wait_for(number)
            wait_until(lambda: shoe.acknowledged == number)  # noqa: B023
        assert log.logger.failures == {}
    with open_store(path) as store:
        wanted = Filter(shoe=large, round=large)
        assert [row.number for row in store.rows(wanted)] == [1, 2, 3]


def test_the_next_log_derives_what_a_killed_log_did_not(tmp_path: Path) -> None:
    shoe, path = NaiveShoe(1), tmp_path / "log"
    shoe.record(10)
    with answering_shoe(shoe) as port:
        with logging(path, port.path) as log:
            log.wait_for(10)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM events")
        with logging(path, port.path):
            wait_until(lambda: derived_in(path) == 10)


def test_the_log_reports_and_waits_for_a_locked_database_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "BUSY_TIMEOUT_S", 0.2)
    shoe, path = NaiveShoe(1, forgets=True), tmp_path / "log"
    shoe.record(10)
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        log.wait_for(10)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            shoe.record(100)
            wait_until(lambda: bool(log.lost))
            assert isinstance(log.lost[0], DatabaseLocked)
            assert "locked by another program" in str(log.lost[0])
            assert shoe.acknowledged == 10
        log.wait_for(110)
    assert_holds(path, 1, 110)


def test_a_full_disk_ends_the_log_and_acknowledged_events_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "log"
    shoe = ShoeProcess()
    try:
        shoe.record(900)
        ours, theirs = os.pipe()
        child = os.fork()
        if not child:
            message = "nothing"
            try:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
                logger = Logger(open_store(path, create=True), [shoe.port], LogWatcher(), keys=KEYS)
                logger.start()
                logger.wait()
                message = (
                    f"{type(logger.failures[shoe.port]).__name__}: {logger.failures[shoe.port]}"
                )
            finally:
                os.write(theirs, message.encode())
                os._exit(0)
        os.close(theirs)
        os.waitpid(child, 0)
        with os.fdopen(ours, "rb") as pipe:
            message = pipe.read().decode()
        assert message.startswith(f"DiskFull: {path}: the disk is full") and "make room" in message
        assert DiskFull.__name__ in message
        _, acknowledged = shoe.record(0)
        with open_store(path) as store:
            assert 0 < acknowledged <= store.last_number("U1") < 900
        with logging(path, shoe.port) as log:  # room has been made
            log.wait_for(900)
    finally:
        shoe.close()
    assert_holds(path, 1, 900)


@pytest.mark.parametrize("same", [True, False])
def test_a_second_log_of_one_port_is_an_error_and_the_first_goes_on(
    tmp_path: Path, same: bool
) -> None:
    """The second log is in the same database or in another one."""
    shoe = NaiveShoe(1)
    paths = [tmp_path / "log", tmp_path / ("log" if same else "other")]
    with answering_shoe(shoe) as port, logging(paths[0], port.path) as first:
        shoe.record(5)
        first.wait_for(5)
        with logging(paths[1], port.path) as second:
            assert isinstance(second.failure, PortBusy)
        shoe.record(5)
        first.wait_for(10)
        assert first.lost == []
    assert_holds(paths[0], 1, 10)


def test_a_second_log_through_a_device_server_gets_no_shoe_and_the_first_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sabot.log.logger.Client", partial(Client, timeout_s=0.5))
    shoe = NaiveShoe(1)
    with answering_shoe(shoe) as port, Relay(port.path) as relay:
        with logging(tmp_path / "log", relay.url) as first:
            shoe.record(5)
            first.wait_for(5)
            with logging(tmp_path / "other", relay.url, "/dev/ttyNONE") as second:
                wait_until(lambda: any(isinstance(error, NoShoe) for error in second.lost))
            shoe.record(5)
            first.wait_for(10)
            assert first.lost == []
    assert_holds(tmp_path / "log", 1, 10)


def test_one_unit_at_two_ports_is_an_error_and_is_logged_at_one(tmp_path: Path) -> None:
    one, two = NaiveShoe(1), NaiveShoe(1)
    for shoe in (one, two):
        shoe.record(20)
    with answering_shoe(one) as first, answering_shoe(two) as second:
        with logging(tmp_path / "log", first.path, second.path) as log:
            wait_until(lambda: bool(log.logger.failures))
            (failure,) = log.logger.failures.values()
            assert isinstance(failure, SameUnit)
            assert first.path in str(failure) and second.path in str(failure)
            log.wait_for(20)
    assert_holds(tmp_path / "log", 1, 20)


def test_a_shoe_moved_to_another_host_and_back_is_complete_on_the_first(tmp_path: Path) -> None:
    shoe, at_a, at_b = NaiveShoe(1, room=150), tmp_path / "a", tmp_path / "b"
    with answering_shoe(shoe) as port:
        for path, last in ((at_a, 100), (at_b, 200), (at_a, 240), (at_b, 250), (at_a, 300)):
            shoe.record(last + 1 - shoe.next_number)
            with logging(path, port.path) as log:
                log.wait_for(last)
    assert_holds(at_a, 1, 300)
    assert_holds(at_b, 51, 250)  # from the oldest event that the shoe held


def test_a_host_that_was_away_for_too_long_gets_what_the_shoe_still_holds(tmp_path: Path) -> None:
    shoe, path = NaiveShoe(1, room=50), tmp_path / "log"
    with answering_shoe(shoe) as port:
        for last in (30, 130):
            shoe.record(last + 1 - shoe.next_number)
            with logging(path, port.path) as log:
                log.wait_for(last)
    with open_store(path) as store:
        assert [number for number, *_ in store.raw("U1")] == [*range(1, 31), *range(81, 131)]


@pytest.mark.parametrize("what", ["contents", "MAC"])
def test_another_history_is_found_by_the_last_event_and_not_stored(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, shoe, other = tmp_path / "log", NaiveShoe(1), NaiveShoe(1)
    for each in (shoe, other):
        each.record(20)
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        log.wait_for(20)
    if what == "contents":
        other.held[20] = event_bytes("identified", 20, t_ms=1)
    else:
        monkeypatch.setattr("host.tests.support.naive_shoe.fake_mac", lambda data: bytes(16))
    other.record(5)
    with answering_shoe(other) as port, logging(path, port.path) as log:
        failure = log.failure
    assert isinstance(failure, HistoryDiffers)
    # The first event that the shoe holds is compared before anything is acknowledged.
    number = 20 if what == "contents" else 1
    assert f"event {number} " in str(failure) and f"other {what}" in str(failure)
    assert other.acknowledged == (19 if what == "contents" else 0)
    monkeypatch.undo()
    assert_holds(path, 1, 20)


def test_a_shoe_with_fewer_events_than_the_log_has_another_history(tmp_path: Path) -> None:
    path, shoe, other = tmp_path / "log", NaiveShoe(1), NaiveShoe(1)
    shoe.record(20)
    other.record(19)
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        log.wait_for(20)
    with open_store(path) as store:
        store.prune("U1", 1, 20, b"")  # the log still knows the last number
    with answering_shoe(other) as port, logging(path, port.path) as log:
        assert isinstance(log.failure, HistoryDiffers)
        assert "has recorded 19 events" in str(log.failure)


def test_pruned_events_are_not_logged_again(tmp_path: Path) -> None:
    path, shoe = tmp_path / "log", NaiveShoe(1)
    shoe.record(20)
    with answering_shoe(shoe) as port:
        with logging(path, port.path) as log:
            log.wait_for(20)
        with open_store(path) as store:
            store.prune("U1", 1, 20, b"")
        shoe.record(5)
        with logging(path, port.path) as log:
            log.wait_for(25)
    assert_holds(path, 21, 25)


def test_with_once_a_shoe_of_cards_is_logged_up_to_its_checkpoint(tmp_path: Path) -> None:
    path, shoe = tmp_path / "log", NaiveShoe(1)
    kinds = ["betting_open", "shoe_ended", "composition"]
    for kind in kinds:
        shoe.held[shoe.next_number] = event_bytes(kind, shoe.next_number)
        shoe.next_number += 1
    with answering_shoe(shoe) as port, logging(path, port.path, once=True) as log:
        log.wait_for(3)
        assert not log.logger.wait(0.5)
        shoe.held[4] = event_bytes("checkpoint", 4, records=3, mac=bytes(16))
        shoe.next_number = 5
        assert log.logger.wait(TIMEOUT_S) and not log.logger.failures
    with open_store(path) as store:
        assert [row.kind for row in store.rows()] == [*kinds, "checkpoint"]
