"""How the events of a shoe come, by clocks of the test."""

import pytest

from sabot.link.flow import Flow, FlowWatch, flow_of
from sabot.silences import LINE

_NOW = 1_795_000_000_000


class Clocks:
    """A steady clock, and the host's, which may be set."""

    def __init__(self) -> None:
        self.s, self.unix_ms = 100.0, _NOW

    def wait(self, seconds: float) -> None:
        self.s += seconds
        self.unix_ms += round(1000 * seconds)


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def watch(clocks: Clocks) -> FlowWatch:
    watch = FlowWatch("U1", 10, lambda: clocks.s, lambda: clocks.unix_ms)
    watch.begun()
    return watch


def test_events_that_do_not_come_while_the_shoe_says_that_it_holds_them_have_stopped(
    watch: FlowWatch, clocks: Clocks
) -> None:
    for held in range(1, 60):
        watch.heard(10 + 4 * held)
        assert watch.flow.stopped == (watch.flow.held_s >= LINE.after_s) == (held > 30)
        clocks.wait(1)
    flow = watch.flow
    assert (flow.newest_on_shoe, flow.newest_stored, flow.held) == (246, 10, 236)
    assert (flow.held_since_unix_ms, flow.held_s) == (_NOW, 59)
    assert LINE.is_told_in(flow.text("SHOE-7"))
    assert flow.text("SHOE-7").endswith(": check the line or the device server")


def test_each_event_that_is_stored_begins_the_time_again(watch: FlowWatch, clocks: Clocks) -> None:
    watch.heard(100)
    for number in range(11, 100):
        clocks.wait(29)
        watch.stored(number)
        assert not watch.flow.stopped and watch.flow.held_s == 0
        assert watch.flow.held_since_unix_ms == watch.flow.stored_unix_ms == clocks.unix_ms
    clocks.wait(30)
    assert watch.flow.stopped
    watch.stored(100)
    assert not watch.flow.stopped and watch.flow.held_since_unix_ms is None


def test_a_shoe_that_holds_nothing_may_be_idle_for_ever(watch: FlowWatch, clocks: Clocks) -> None:
    for _ in range(1000):
        watch.heard(10)
        clocks.wait(60)
    assert (watch.flow.held, watch.flow.held_s, watch.flow.stopped) == (0, 0, False)


def test_a_clock_of_the_host_that_is_set_neither_stops_nor_hides_anything(
    watch: FlowWatch, clocks: Clocks
) -> None:
    watch.heard(12)
    clocks.unix_ms += 86_400_000
    assert watch.flow.held_s == 0
    clocks.wait(31)
    clocks.unix_ms -= 7 * 86_400_000
    assert watch.flow.held_s == 31 and watch.flow.stopped


def test_sessions_in_which_nothing_comes_count_together_and_the_time_between_does_not(
    watch: FlowWatch, clocks: Clocks
) -> None:
    watch.heard(12)
    for session in range(1, 9):
        clocks.wait(4)
        watch.damaged(5, 1)
        watch.ended()
        clocks.wait(1000)
        assert watch.flow.held_s == 4 * session
        assert (watch.flow.damaged_from_shoe, watch.flow.damaged_to_shoe) == (5 * session, session)
        assert watch.flow.stopped == (session == 8)
        watch.begun()
    assert "U1 holds 2 events that do not arrive, 48 frames were damaged: " in watch.flow.text("U1")
    watch.explain("0xFF comes doubled")
    assert watch.flow.text("U1").endswith("48 frames were damaged: 0xFF comes doubled")


def test_what_a_log_keeps_is_read_again(watch: FlowWatch, clocks: Clocks) -> None:
    watch.damaged(3, 4)
    watch.stored(11)
    watch.heard(20)
    clocks.wait(40.5)
    watch.explain("0xFF comes doubled")
    assert flow_of("U1", watch.flow.as_fact()) == watch.flow
    assert watch.flow.stored_s_ago(clocks.unix_ms) == 40


@pytest.mark.parametrize(
    "fact",
    [
        "",
        "[]",
        "7",
        "{",
        '{"held_s": "x"}',
        '{"held_s": -1}',
        '{"newest_stored": 1e99}',
        "[" * 9999,
    ],
)
def test_what_no_log_keeps_is_not_read(fact: str) -> None:
    assert flow_of("U1", fact) is None


def test_what_a_later_version_keeps_more_is_left_out() -> None:
    fact = '{"newest_on_shoe": 9, "newest_stored": 4, "more": {"a": 1}, "cause": 7}'
    assert flow_of("U1", fact) == Flow(unit="U1", newest_on_shoe=9, newest_stored=4)
