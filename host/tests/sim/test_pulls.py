"""Each kind of pull is as the card code specification says under "How hands pull"."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from sabot.sim import pulls
from sabot.sim.pulls import Bounds

_RATE_HZ = 20_000
_TRAVEL_MM = 75.0
_PULLS = 60
_STEP_MM = 0.15  # the longest way in one sample, at 3 m/s

NOMINAL = Bounds(100.0, 2000.0, 10_000.0)
HARSH = Bounds(50.0, 3000.0, 30_000.0)
Speeds = npt.NDArray[np.float64]


def _speeds_of(kind: str, bounds: Bounds, seed: int) -> list[Speeds]:
    """The speeds of some pulls, in mm/s, a value for each sample."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(_PULLS):
        at_mm = pulls.pull(random, kind, bounds)
        assert 0 <= at_mm[0] < 1 and _TRAVEL_MM - _STEP_MM <= at_mm[-1] <= _TRAVEL_MM
        found.append(np.diff(at_mm)[:-1] * _RATE_HZ)  # the last step ends at the travel
    return found


@pytest.mark.parametrize("bounds", [NOMINAL, HARSH], ids=["nominal", "harsh"])
@pytest.mark.parametrize("kind", pulls.KINDS)
def test_speed_and_acceleration_stay_within_the_bounds(
    kind: str, bounds: Bounds, seed: int
) -> None:
    slowest = 0.0 if kind == "halting" else bounds.slowest_mm_s
    for speeds in _speeds_of(kind, bounds, seed):
        assert speeds.min() >= slowest - 1e-6 and speeds.max() <= bounds.fastest_mm_s + 1e-6
        assert np.abs(np.diff(speeds)).max() * _RATE_HZ <= bounds.accel_mm_s2 * 1.01


def test_a_steady_pull_has_one_acceleration(seed: int) -> None:
    for speeds in _speeds_of("steady", HARSH, seed):
        changes = np.diff(speeds)
        assert np.allclose(changes, changes.mean(), atol=1e-6)


def test_a_stroke_rises_and_falls_once(seed: int) -> None:
    for speeds in _speeds_of("stroke", NOMINAL, seed):
        top = int(np.argmax(speeds))
        assert (np.diff(speeds[: top + 1]) >= -1e-6).all()
        assert (np.diff(speeds[top:]) <= 1e-6).all()
        assert speeds[-1] < 0.8 * speeds.max()


def test_the_end_of_a_stroke_often_leaves_the_head_at_a_tenth_of_its_speed(seed: int) -> None:
    left = [speeds[-1] / speeds.max() for speeds in _speeds_of("stroke", HARSH, seed)]
    assert sum(share <= 0.12 for share in left) >= _PULLS // 5


def test_two_strokes_have_two_tops_of_different_height(seed: int) -> None:
    tops = []
    for speeds in _speeds_of("two_strokes", HARSH, seed):
        rises = np.sign(np.diff(speeds)[np.abs(np.diff(speeds)) > 1e-9])
        tops.append(int((np.diff(rises) < 0).sum()))
    assert max(tops) == 2 and tops.count(2) >= _PULLS // 2


def test_stick_slip_has_15_to_80_changes_a_second(seed: int) -> None:
    for speeds in _speeds_of("stick_slip", HARSH, seed):
        middle = (speeds.max() + speeds.min()) / 2
        crossings = np.flatnonzero(np.diff(np.sign(speeds - middle)))
        if len(crossings) >= 5:
            per_s = _RATE_HZ / np.diff(crossings).mean() / 2
            assert 12 <= per_s <= 90


def test_a_halting_pull_stops_once_for_20_to_500_ms(seed: int) -> None:
    for speeds in _speeds_of("halting", HARSH, seed):
        still = np.flatnonzero(speeds < 1e-9)
        if not len(still):  # the stop is at the end of the way, less than a sample from it
            assert speeds[-1] ** 2 / (2 * HARSH.accel_mm_s2) < _STEP_MM
            continue
        assert (np.diff(still) == 1).all()
        assert 0.019 <= len(still) / _RATE_HZ <= 0.502


@pytest.mark.parametrize("kind", pulls.KINDS)
@pytest.mark.parametrize("travel_mm", [80.0, 130.0])
def test_a_pull_goes_as_far_as_it_is_asked_to(kind: str, travel_mm: float, seed: int) -> None:
    at_mm = pulls.pull(np.random.default_rng(seed), kind, HARSH, travel_mm)
    assert travel_mm - _STEP_MM <= at_mm[-1] <= travel_mm and (np.diff(at_mm) >= 0).all()


def test_the_same_seed_gives_the_same_pull() -> None:
    made: Callable[[], Speeds] = lambda: pulls.pull(np.random.default_rng(7), "stroke", NOMINAL)  # noqa: E731
    assert np.array_equal(made(), made())
