"""The bounds of a table's pace."""

import pytest

from host.tests.support.busy_floor import BusyUnit
from host.tests.support.helpers import event_of
from sabot.link.events import Event
from sabot.link.wire import parse_event
from sabot.notable.pace import Pace, PaceLimits

_LIMITS = PaceLimits()


class _Shoe:
    """Deals rounds of which only the times matter; says which bound they are out of, and when."""

    def __init__(self, limits: PaceLimits = _LIMITS) -> None:
        self._pace = Pace(limits)
        self._number = self.t_ms = 0
        self.said: list[tuple[str, int]] = []

    def add(self, kind: str, after_s: float, **given: object) -> None:
        self._number += 1
        self.t_ms += round(1000 * after_s)
        event = event_of(kind, self._number, t_ms=self.t_ms, **given)
        out = self._pace.add(event)
        if out is not None:
            self.said.append((out.name, self.t_ms // 1000))

    def rounds(self, count: int, every_s: float, *, betting: float = 0.5) -> "_Shoe":
        for _ in range(count):
            self.add("betting_open", 0)
            self.add("betting_closed", every_s * betting)
            self.add("result", every_s * (1 - betting))
        return self


@pytest.mark.parametrize("every_s", [14, 25, 45, 90, 170])
def test_a_table_within_the_bounds_raises_nothing(every_s: float) -> None:
    assert _Shoe().rounds(500, every_s).said == []


@pytest.mark.parametrize(("every_s", "what"), [(200, "slow"), (300, "slow"), (11, "fast")])
def test_a_table_out_of_its_bounds_raises_it_once_when_it_is_known(
    every_s: float, what: str
) -> None:
    ((said, at_s),) = _Shoe().rounds(300, every_s).said
    assert said == what
    assert _LIMITS.over_s <= at_s <= _LIMITS.over_s + every_s


def test_it_is_raised_again_after_the_pace_was_right() -> None:
    shoe = _Shoe().rounds(10, 220).rounds(60, 45).rounds(20, 220)
    assert [what for what, _ in shoe.said] == ["slow", "slow"]


def test_a_table_that_waits_for_wagers_is_not_slow() -> None:
    shoe = _Shoe()
    for _ in range(50):
        shoe.rounds(3, 60)
        shoe.add("betting_open", 5)
        shoe.add("betting_closed", 1800)
        shoe.add("result", 20)
    assert shoe.said == []


def test_a_table_between_two_shoes_of_cards_is_not_slow() -> None:
    shoe = _Shoe()
    for _ in range(30):
        shoe.rounds(4, 60)
        shoe.add("shoe_ended", 1)
        shoe.add("shoe_loaded", 600)
    assert shoe.said == []


def test_a_stop_by_an_error_is_not_a_slow_pace() -> None:
    shoe = _Shoe()
    for _ in range(30):
        shoe.rounds(3, 60)
        shoe.add("betting_open", 1)
        shoe.add("betting_closed", 20)
        shoe.add("error", 1, error="unreadable")
        shoe.add("error_cleared", 900, error="unreadable")
        shoe.add("result", 20)
    assert shoe.said == []


def test_a_restart_begins_to_measure_again() -> None:
    shoe = _Shoe()
    for _ in range(10):
        shoe.rounds(4, 200)
        shoe.t_ms = 0
        shoe.add("boot", 0)
    assert shoe.said == []


def test_a_clock_that_is_set_changes_no_pace() -> None:
    """Only the time since the unit's start counts."""
    pace, number = Pace(_LIMITS), 0
    for t_s in range(0, 40_000, 50):
        for kind in ("betting_open", "betting_closed", "result"):
            number += 1
            unix_ms = 1_795_000_000_000 + number * 977 % 7_777 * 1_000_000
            assert not pace.add(event_of(kind, number, t_ms=1000 * t_s, unix_ms=unix_ms))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["mini", "midi", "boxes", "hands"])
def test_tables_at_a_dealers_pace_are_within_the_bounds(family: str) -> None:
    for seed in range(5):
        unit, pace = BusyUnit("U", "1", family, seed), Pace(_LIMITS)
        events: list[Event] = [parse_event(unit.record(each)) for each in unit.take(4000)]
        assert not [out for event in events if (out := pace.add(event))]
