"""How hands pull a card through the sensor head: the six kinds of the card code specification, "How
hands pull".

A pull is made with bounds for speed and acceleration. They hold at every sample, except that a card
that halts is slower than the slowest speed for that long.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sabot.sim.waveform import SAMPLE_RATE_HZ, TRAVEL_MM, Positions, positions_at

Random = np.random.Generator
Speeds = npt.NDArray[np.float64]
"""In mm/s, one element for each sample."""

_STEP_S = 1 / SAMPLE_RATE_HZ

_NEW_SPEED_S = (0.005, 0.05)
_STROKE_S = (0.08, 0.5)
_BETWEEN_STROKES_S = (0.0, 0.1)
_STICK_SLIP_HZ = (15.0, 80.0)
_HALT_S = (0.02, 0.5)

# Of the bell 16 t^2 (1 - t)^2, which is the speed of a minimum-jerk movement: its mean, and its
# greatest slope.
_BELL_MEAN = 8 / 15
_BELL_SLOPE = 16 / (3 * np.sqrt(3))

# A stroke begins when the card's edge is at the entry, or before that, and ends about where the
# card leaves the head.
_STROKE_BEGINS_MM = (-10.0, 0.0)
_STROKE_ENDS_MM = (60.0, 80.0)
_SHORTEST_STROKE_MM = 10.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """What speed and acceleration stay within."""

    slowest_mm_s: float
    fastest_mm_s: float
    accel_mm_s2: float


def pull(random: Random, kind: str, bounds: Bounds, travel_mm: float = TRAVEL_MM) -> Positions:
    """Return a pull of this kind, one of `KINDS`, over `travel_mm` from the entry on."""
    return _MAKERS[kind](random, bounds, travel_mm)


def _steady(random: Random, bounds: Bounds, travel_mm: float) -> Positions:
    """One acceleration from end to end."""
    slowest, fastest = bounds.slowest_mm_s, bounds.fastest_mm_s
    while True:
        first_mm_s = random.uniform(slowest, fastest)
        accel_mm_s2 = random.uniform(-bounds.accel_mm_s2, bounds.accel_mm_s2)
        if slowest**2 <= first_mm_s**2 + 2 * accel_mm_s2 * travel_mm <= fastest**2:
            return positions_at(first_mm_s, accel_mm_s2, travel_mm)


def _restless(random: Random, bounds: Bounds, travel_mm: float) -> Positions:
    """A new speed to go for every 5 to 50 ms."""
    first_mm_s = random.uniform(bounds.slowest_mm_s, bounds.fastest_mm_s)
    return _positions(_restless_speeds(random, bounds, first_mm_s, travel_mm), 0.0, travel_mm)


def _stroke(random: Random, bounds: Bounds, travel_mm: float) -> Positions:
    """Slow, fast, slow: a bell of speed from and to the slowest speed."""
    begin_mm = random.uniform(*_STROKE_BEGINS_MM)
    end_mm = random.uniform(*_STROKE_ENDS_MM) + travel_mm - TRAVEL_MM
    speeds = _bell(random, bounds, end_mm - begin_mm)
    return _positions(_and_slow_to_the_end(speeds, bounds, travel_mm), begin_mm, travel_mm)


def _two_strokes(random: Random, bounds: Bounds, travel_mm: float) -> Positions:
    """Two bells of different height, the card at the slowest speed between them."""
    begin_mm = random.uniform(*_STROKE_BEGINS_MM)
    end_mm = random.uniform(*_STROKE_ENDS_MM) + travel_mm - TRAVEL_MM
    change_mm = random.uniform(begin_mm + _SHORTEST_STROKE_MM, end_mm - _SHORTEST_STROKE_MM)
    between = np.full(_samples(random.uniform(*_BETWEEN_STROKES_S)), bounds.slowest_mm_s)
    speeds = np.concatenate(
        [
            _bell(random, bounds, change_mm - begin_mm),
            between,
            _bell(random, bounds, end_mm - change_mm),
        ]
    )
    return _positions(_and_slow_to_the_end(speeds, bounds, travel_mm), begin_mm, travel_mm)


def _stick_slip(random: Random, bounds: Bounds, travel_mm: float) -> Positions:
    """A sine on top of an even speed, as wide as the bounds allow."""
    even_mm_s = random.uniform(bounds.slowest_mm_s, bounds.fastest_mm_s)
    per_s = 2 * np.pi * random.uniform(*_STICK_SLIP_HZ)
    wide_mm_s = min(
        bounds.accel_mm_s2 / per_s,
        even_mm_s - bounds.slowest_mm_s,
        bounds.fastest_mm_s - even_mm_s,
    )
    t_s = np.arange(_samples(travel_mm / bounds.slowest_mm_s)) * _STEP_S
    speeds = even_mm_s + wide_mm_s * np.sin(per_s * t_s + random.uniform(0, 2 * np.pi))
    return _positions(speeds, 0.0, travel_mm)


def _halting(random: Random, bounds: Bounds, travel_mm: float) -> Positions:
    """Restless, with a stop anywhere: the card brakes, stands, and starts again."""
    at_mm = random.uniform(0.0, travel_mm)
    accel = bounds.accel_mm_s2
    fastest_here = min(bounds.fastest_mm_s, np.sqrt(2 * accel * at_mm))
    first_mm_s = random.uniform(min(bounds.slowest_mm_s, fastest_here), fastest_here)
    speeds = _restless_speeds(random, bounds, first_mm_s, at_mm)
    way_mm = np.cumsum(speeds) * _STEP_S
    # From the sample on at which braking with all that is allowed stops the card at `at_mm`.
    brakes = int(np.argmax(way_mm + speeds**2 / (2 * accel) >= at_mm))
    last_mm_s = float(speeds[brakes])
    braking = np.maximum(last_mm_s - accel * _STEP_S * np.arange(_samples(last_mm_s / accel)), 0.0)
    standing = np.zeros(_samples(random.uniform(*_HALT_S)))
    going_on = _restless_speeds(random, bounds, 0.0, travel_mm - at_mm + 1.0)
    return _positions(
        np.concatenate([speeds[:brakes], braking, standing, going_on]), 0.0, travel_mm
    )


def _restless_speeds(random: Random, bounds: Bounds, first_mm_s: float, way_mm: float) -> Speeds:
    made, now_mm_s, gone_mm = [], first_mm_s, 0.0
    while gone_mm <= way_mm:
        t_s = np.arange(1, _samples(random.uniform(*_NEW_SPEED_S)) + 1) * _STEP_S
        wanted = random.uniform(bounds.slowest_mm_s, bounds.fastest_mm_s)
        change = np.minimum(bounds.accel_mm_s2 * t_s, abs(wanted - now_mm_s))
        speeds = now_mm_s + np.copysign(change, wanted - now_mm_s)
        made.append(speeds)
        now_mm_s = float(speeds[-1])
        gone_mm += float(speeds.sum()) * _STEP_S
    return np.concatenate(made)


def _bell(random: Random, bounds: Bounds, way_mm: float) -> Speeds:
    """Return the speeds of one stroke over `way_mm`."""
    slowest = bounds.slowest_mm_s
    while True:
        lasts_s = random.uniform(*_STROKE_S)
        higher_mm_s = (way_mm / lasts_s - slowest) / _BELL_MEAN
        if higher_mm_s < 0:
            continue  # so slow that there is no bell
        steepest = _BELL_SLOPE * higher_mm_s / lasts_s
        if slowest + higher_mm_s <= bounds.fastest_mm_s and steepest <= bounds.accel_mm_s2:
            share = (np.arange(_samples(lasts_s)) + 0.5) * _STEP_S / lasts_s
            share = share.clip(max=1.0)  # the last sample may be after the end: the formula rises
            return slowest + higher_mm_s * 16 * share**2 * (1 - share) ** 2


def _and_slow_to_the_end(speeds: Speeds, bounds: Bounds, travel_mm: float) -> Speeds:
    slow = np.full(_samples(travel_mm / bounds.slowest_mm_s), bounds.slowest_mm_s)
    return np.concatenate([speeds, slow])


def _positions(speeds: Speeds, begin_mm: float, travel_mm: float) -> Positions:
    """Return where a card is that begins at `begin_mm`, from the entry to the end of its way."""
    at_mm = begin_mm + np.cumsum(speeds) * _STEP_S
    first, last = np.searchsorted(at_mm, [0.0, travel_mm])
    return np.concatenate([at_mm[first:last], [travel_mm]])


def _samples(seconds: float) -> int:
    return int(np.ceil(seconds * SAMPLE_RATE_HZ))


_MAKERS: dict[str, Callable[[Random, Bounds, float], Positions]] = {
    "steady": _steady,
    "restless": _restless,
    "stroke": _stroke,
    "two_strokes": _two_strokes,
    "stick_slip": _stick_slip,
    "halting": _halting,
}

KINDS = tuple(_MAKERS)
"""The names of the kinds, in the order of the specification."""
