"""What the suite's tests of the lock say when they fail."""

import inspect
from typing import Any
from unittest.mock import MagicMock

import pytest

from sabot.sim.waveform import pass_samples
from sabot_hil.capabilities import Seen, Unable
from sabot_hil.suite.acceptance import test_timing
from sabot_protocol import cards

_SPEED_MM_S = 1000.0
_LAST_US = test_timing._last_mark_us(pass_samples(cards.number_of("7S"), 0, speed_mm_s=_SPEED_MM_S))


def _last_cards(bench: MagicMock, measure: Any = lambda *_, **__: None) -> Any:
    bench.play.return_value = 0
    return test_timing._LastCards(bench, measure, "")


def _lock(ms: float, released: bool) -> Seen:
    return Seen(_LAST_US + round(ms * 1000), "lock_released", released)


@pytest.mark.parametrize(
    ("moves", "why"),
    [
        ([], "the lock did not shut after"),
        ([_lock(1, False), _lock(2, True)], "it opened again after"),
    ],
)
def test_a_lock_that_did_not_stay_shut_names_its_card_with_speed_and_offset(
    moves: list[Seen], why: str
) -> None:
    bench = MagicMock()
    bench.seen.return_value = moves
    with pytest.raises(AssertionError) as failed:
        _last_cards(bench).pull(_SPEED_MM_S, 2.5)
    assert f"{why} 7S, card 1 at 1000 mm/s, offset 2.500 ms" in str(failed.value)


def test_the_card_after_which_the_lock_shut_last_is_given_with_its_time() -> None:
    bench, measured = MagicMock(), MagicMock()
    last_cards = _last_cards(bench, measured)
    for n, ms in enumerate((1.0, 6.5, 2.0)):
        bench.seen.return_value = [_lock(ms, False)]
        last_cards.pull(_SPEED_MM_S, float(n))
    last_cards.check()
    at = "7S, card 2 at 1000 mm/s, offset 1.000 ms"
    measured.assert_called_with("last mark to lock", 6.5, "ms", at, at_most=4.2)
    measured.assert_any_call("late shuts", 1, "cards", at, at_most=0)
    measured.assert_any_call("due cards that found the lock shut", 0, "cards", "", at_most=0)


def test_a_lock_that_shut_before_the_last_mark_is_a_fault_and_not_the_best_time() -> None:
    bench, measured = MagicMock(), MagicMock()
    last_cards = _last_cards(bench, measured)
    for n, ms in enumerate((-40.0, 2.0)):
        bench.seen.return_value = [_lock(ms, False)]
        last_cards.pull(_SPEED_MM_S, float(n))
    last_cards.check()
    early, good = (f"7S, card {n + 1} at 1000 mm/s, offset {n}.000 ms" for n in range(2))
    measured.assert_any_call("due cards that found the lock shut", 1, "cards", early, at_most=0)
    measured.assert_called_with("last mark to lock", 2.0, "ms", good, at_most=4.2)


@pytest.mark.parametrize(
    ("emulated", "measures_shoe", "skipped"),
    [(True, True, False), (False, True, False), (False, False, True)],
    ids=["emulator", "a real shoe", "simulator"],
)
def test_times_are_measured_wherever_they_say_something_of_the_shoe(
    emulated: bool, measures_shoe: bool, skipped: bool
) -> None:
    """All were skipped on a real shoe, as if its times were those of the simulator."""
    clock = MagicMock(emulated=emulated, measures_shoe=measures_shoe)
    check = inspect.unwrap(test_timing._time_is_the_chips)
    if skipped:
        with pytest.raises(Unable, match="those of this machine"):
            check(clock)
    else:
        check(clock)
