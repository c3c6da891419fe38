"""The functions that wait for a condition, with a clock that the test moves."""

import pytest

from sabot_hil.kit.waiting import seconds_of, wait_until, wait_until_still


class _StepClock:
    """A clock that moves by a second with each pause."""

    emulated = measures_shoe = True

    def __init__(self) -> None:
        self.t_s = 100.0

    def now_s(self) -> float:
        return self.t_s

    def pause(self) -> None:
        self.t_s += 1

    def now_us(self) -> int:
        return round(self.t_s * 1e6)

    def pass_ms(self, ms: float) -> None:
        self.t_s += ms / 1000

    def slept_us(self) -> int:
        return 0


@pytest.fixture
def step_clock() -> _StepClock:
    return _StepClock()


def test_a_condition_that_is_true_at_once_takes_no_time(step_clock: _StepClock) -> None:
    assert wait_until(lambda: "yes", 0, step_clock.pause, step_clock.now_s) == "yes"
    assert step_clock.t_s == 100


def test_a_condition_is_checked_again_until_it_is_true(step_clock: _StepClock) -> None:
    looks: list[float] = []

    def look() -> int:
        looks.append(step_clock.t_s)
        return max(0, len(looks) - 2)

    assert wait_until(look, 10, step_clock.pause, step_clock.now_s) == 1
    assert looks == [100, 101, 102]


def test_when_the_time_is_over_the_last_look_is_the_answer(step_clock: _StepClock) -> None:
    assert wait_until(list, 3, step_clock.pause, step_clock.now_s) == []
    assert step_clock.t_s == 103


def test_a_value_that_stops_changing_is_still(step_clock: _StepClock) -> None:
    def grows_for_four_seconds() -> int:
        return min(int(step_clock.t_s), 104)

    still = wait_until_still(grows_for_four_seconds, 2, 60, step_clock.pause, step_clock.now_s)
    assert (still, step_clock.t_s) == (104, 106)


def test_a_value_that_goes_on_changing_is_never_still(step_clock: _StepClock) -> None:
    assert wait_until_still(step_clock.now_s, 2, 9, step_clock.pause, step_clock.now_s) is None
    assert step_clock.t_s == 109


def test_a_target_s_clock_gives_seconds(step_clock: _StepClock) -> None:
    assert seconds_of(step_clock)() == 100
