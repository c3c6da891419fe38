"""What a log notes of when it had a session with a shoe, by a clock of the test."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from host.tests.log.test_logger import logging, wait_until
from host.tests.log.test_soundness import sql
from host.tests.support.naive_shoe import NaiveShoe, answering_shoe, naive_event, recorded
from sabot.link.flow import Flow, flow_of
from sabot.log import logger
from sabot.log.presence import Presence, Span
from sabot.log.store import DatabaseLocked, open_store

START_MS = 1_795_000_000_000
LOCKED = DatabaseLocked("locked")


class Notes:
    """The notes of a log of the ports A and B, stored every second; `spans` are those stored, with
    their times in seconds since the start."""

    def __init__(self) -> None:
        self.second = 0.0
        self.stored: dict[tuple[str, str, int], int] = {}
        self.locked = False
        self.notes = Presence(["A", "B"], self._keep, self._now)

    def _now(self) -> int:
        return START_MS + round(1000 * self.second)

    def _keep(self, spans: Sequence[Span], flows: Sequence[Flow]) -> None:
        if self.locked:
            raise LOCKED
        for each in spans:
            key = each.unit, each.state, each.begin_unix_ms
            self.stored[key] = max(each.end_unix_ms, self.stored.get(key, 0))

    def until(self, second: float) -> None:
        """Let time pass."""
        while self.second < second:
            self.second = min(second, self.second + 1)
            self.notes.store()

    @property
    def spans(self) -> list[tuple[str, str, float, float]]:
        return sorted(
            (unit, state, (begin - START_MS) / 1000, (end - START_MS) / 1000)
            for (unit, state, begin), end in self.stored.items()
        )


@pytest.fixture
def log() -> Notes:
    return Notes()


def test_a_session_and_the_wait_after_it_are_noted(log: Notes) -> None:
    log.until(1)
    log.notes.attached("A", "U1")
    log.until(60)
    log.notes.lost("A")
    log.until(100)
    log.notes.attached("A", "U1")
    log.until(120)
    assert log.spans == [
        ("U1", "attached", 1, 60),
        ("U1", "attached", 100, 120),
        ("U1", "waiting", 60, 100),
    ]


def test_the_wait_for_a_first_session_is_noted_when_it_is_known_of_which_unit(log: Notes) -> None:
    log.until(50)
    assert log.spans == []
    log.notes.attached("B", "U2")
    log.until(51)
    assert log.spans == [("U2", "attached", 50, 51), ("U2", "waiting", 0, 50)]


def test_a_shoe_that_is_back_in_less_than_three_seconds_was_not_away(log: Notes) -> None:
    log.notes.attached("A", "U1")
    for second in (10, 20, 30):
        log.until(second)
        log.notes.lost("A")
        log.notes.lost("A")
        log.until(second + 2.9)
        log.notes.attached("A", "U1")
    log.until(40)
    assert log.spans == [("U1", "attached", 0, 40)]


def test_another_unit_at_the_port_ends_the_wait_for_the_first(log: Notes) -> None:
    log.notes.attached("A", "U1")
    log.until(10)
    log.notes.lost("A")
    log.until(11)
    log.notes.attached("A", "U2")
    log.until(20)
    log.notes.lost("A")
    log.until(30)
    log.notes.attached("A", "U1")
    log.notes.ended("A")
    log.notes.store()
    assert log.spans == [
        ("U1", "attached", 0, 10),
        ("U1", "attached", 30, 30),
        ("U2", "attached", 11, 20),
        ("U2", "waiting", 20, 30),
    ]


def test_the_end_of_a_log_is_the_end_of_its_notes(log: Notes) -> None:
    log.notes.attached("A", "U1")
    log.until(10.4)
    log.notes.ended("A")
    log.until(99)
    assert log.spans == [("U1", "attached", 0, 10.4)]


@pytest.mark.parametrize("second", [8, 100, 30_000])
def test_a_clock_set_back_and_a_computer_that_sleeps_begin_another_span(
    log: Notes, second: float
) -> None:
    log.until(20)
    log.notes.attached("A", "U1")
    log.until(30)
    log.second = second
    log.notes.store()
    log.until(second + 4)
    sessions = [span for span in log.spans if span[1] == "attached"]
    assert sorted(sessions) == sorted(
        [("U1", "attached", 20, 30), ("U1", "attached", second, second + 4)]
    )


def test_notes_are_kept_while_the_database_is_locked(log: Notes) -> None:
    log.locked = True
    for second in (0, 20, 40):
        log.until(second)
        log.notes.attached("A", "U1")
        log.until(second + 10)
        log.notes.lost("A")
    log.locked = False
    log.until(55)
    assert [span[1:] for span in log.spans] == [
        ("attached", 0, 10), ("attached", 20, 30), ("attached", 40, 50),
        ("waiting", 10, 20), ("waiting", 30, 40), ("waiting", 50, 55),
    ]  # fmt: skip


def test_no_shoe_waits_for_the_database() -> None:
    storing, release = threading.Event(), threading.Event()

    def keep(spans: Sequence[Span], flows: Sequence[Flow]) -> None:
        storing.set()
        assert release.wait(100)

    notes = Presence(["A"], keep)
    notes.attached("A", "U1")
    thread = threading.Thread(target=notes.store)
    thread.start()
    assert storing.wait(100)
    notes.lost("A")
    notes.attached("A", "U1")
    assert thread.is_alive(), "it still waits for the database"
    release.set()
    thread.join()


def test_a_shoe_that_was_never_there_is_noted_until_it_comes() -> None:
    now_s, kept = [0.0], dict[str, Flow]()

    def keep(_: Sequence[Span], flows: Sequence[Flow]) -> None:
        kept.update({flow.unit: flow for flow in flows})

    notes = Presence(
        ["/dev/a", "SHOE-1"], keep, lambda: START_MS + int(1000 * now_s[0]), lambda: now_s[0],
        known={"SHOE-1"},
    )  # fmt: skip
    notes.lost("/dev/a", "/dev/a: no such port")
    for second in range(90):
        now_s[0] = float(second)
        notes.store()
    assert kept.keys() == {"/dev/a"}, "the shoe of a unit that the log knows may be in store"
    now_ms = START_MS + 89_000
    assert kept["/dev/a"].never_came(now_ms) and not kept["/dev/a"].never_came(now_ms + 60_000)
    assert kept["/dev/a"].never_text() == (
        "no shoe has answered at /dev/a since the log began: no such port"
    )
    assert flow_of("/dev/a", kept["/dev/a"].as_fact()) == kept["/dev/a"]
    notes.attached("/dev/a", "SHOE-7")
    notes.store()
    assert not kept["/dev/a"].never_came(now_ms)


def test_a_span_is_stored_once_and_only_becomes_longer(tmp_path: Path) -> None:
    with open_store(tmp_path / "log", create=True) as store:
        for end in (6, 9, 7):
            store.keep_presence([Span("U1", 5, end, "attached"), Span("U2", 1, 2, "waiting")])
        assert store.presence("U1") == [Span("U1", 5, 9, "attached")]
        assert store.presence("U3") == [] and store.units() == []
        assert store.faults() == []


@pytest.mark.parametrize(
    "row",
    [
        "'U1', 'away', 1, 2",
        "'U1', x'00', 1, 2",
        "x'00', 'waiting', 1, 2",
        "'U1', 'attached', 'x', 2",
        "'U1', 'attached', 1, 0.5",
        "'U1', 'attached', 2, 1",
        "'U1', 'attached', -1, 1",
        "'U1', 'attached', 1, 253402300800000",
        "'U1', 'attached', 1, 9223372036854775807",
    ],
)
def test_notes_that_no_log_makes_are_not_read_and_are_found(tmp_path: Path, row: str) -> None:
    path = tmp_path / "log"
    with open_store(path, create=True) as store:
        store.append("U1", [recorded(naive_event(1))])
        store.keep_presence([Span("U1", 5, 6, "attached")])
    sql(path, f"INSERT INTO presence VALUES ({row})")
    with open_store(path) as store:
        assert store.presence("U1") == [Span("U1", 5, 6, "attached")]
        assert store.faults() == ["1 row of presence with values that no log has"]


@pytest.mark.slow
def test_a_running_log_notes_its_session_while_it_lasts_and_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logger, "EVERY_S", 0.05)
    shoe, path = NaiveShoe(1), tmp_path / "log"
    shoe.record(5)
    begun = time.time_ns() // 1_000_000
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        log.wait_for(5)
        wait_until(lambda: [each.state for each in log.store.presence("U1")] == ["attached"])
        noted = log.store.presence("U1")[0].end_unix_ms
        wait_until(lambda: log.store.presence("U1")[0].end_unix_ms > noted)
        before_end = time.time_ns() // 1_000_000
    with open_store(path) as store:
        (span,) = store.presence("U1")
    assert begun <= span.begin_unix_ms <= before_end <= span.end_unix_ms


def test_a_log_that_is_killed_after_its_first_event_had_noted_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Screens miss a log only if it has noted that it had the shoe."""
    monkeypatch.setattr(logger, "EVERY_S", 3600)
    shoe, path = NaiveShoe(1), tmp_path / "log"
    shoe.record(5)
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        log.wait_for(1)
        assert [each.state for each in log.store.presence("U1")] == ["attached"]
