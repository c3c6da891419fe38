"""The least acceleration with which one card looks like two: against a linear programme in small
steps of time, and against a card that moves like this."""

from itertools import pairwise

import numpy as np
import pytest

from sabot.sim import waveform
from sabot.sim.waveform import CARD_MM, SAMPLE_RATE_HZ, TRAVEL_MM
from sabot_hil.sweeps import two_cards
from sabot_hil.sweeps.two_cards import AS_PRINTED, HARSH_INK, NOMINAL_INK, Floats, Ink
from sabot_protocol import cards

_STEP = 0.25
_INKS = [AS_PRINTED, NOMINAL_INK, HARSH_INK]


@pytest.mark.parametrize("offset_mm", [4.1, 5.0, 8.0, 8.5, 12.0])
def test_the_closed_form_is_what_bisection_finds(offset_mm: float) -> None:
    found = two_cards.least_per_mm(offset_mm)
    assert two_cards.closed_form_per_mm() == pytest.approx(found, rel=1e-4)


@pytest.mark.slow
def test_the_borders_on_the_page() -> None:
    def borders(ink: Ink, bound: float) -> list[float]:
        return [
            round(two_cards.fastest_alike(least(offset_mm, ink), bound), 2)
            for least, offset_mm in (
                (two_cards.least_per_mm, 5.0),
                (two_cards.least_per_mm, 8.5),
                (two_cards.least_per_mm_with_hole, 9.0),
                (two_cards.least_per_mm_with_hole, 12.0),
            )
        ]

    assert borders(AS_PRINTED, 30) == [0.45, 0.45, 0, 0]
    assert borders(AS_PRINTED, 10) == [0.26, 0.26, 0, 0]
    assert borders(HARSH_INK, 30) == [0.55, 0.54, 0.3, 0.4]
    assert borders(NOMINAL_INK, 10) == [0.29, 0.29, 0.16, 0.21]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("offset_mm", "ink"),
    [(1.0, AS_PRINTED), (3.0, HARSH_INK), (5.0, NOMINAL_INK), (8.0, AS_PRINTED), (8.0, HARSH_INK)],
)
def test_a_linear_programme_finds_the_same(offset_mm: float, ink: Ink) -> None:
    found = two_cards.least_per_mm(offset_mm, ink)
    assert found == pytest.approx(_by_programme(offset_mm, ink), rel=0.005)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("offset_mm", "ink"), [(9.0, HARSH_INK), (10.0, NOMINAL_INK), (12.0, HARSH_INK)]
)
def test_a_linear_programme_finds_the_same_with_a_hole(offset_mm: float, ink: Ink) -> None:
    found = two_cards.least_per_mm_with_hole(offset_mm, ink)
    assert found == pytest.approx(_by_programme(offset_mm, ink, with_hole=True), rel=0.02)


@pytest.mark.parametrize("offset_mm", [5.0, 6.5, 8.0])
def test_a_card_that_stops_at_its_end_gives_the_samples_of_two(offset_mm: float) -> None:
    """At 0.2 m/s, with 8 m/s2: the samples of both are the same."""
    speed_mm_s, most = 200.0, 0.2
    marks = waveform.marks_as_printed(cards.marks_of(20, 3))
    edge_mm = waveform.positions_at(speed_mm_s, travel_mm=TRAVEL_MM + offset_mm)
    two = waveform.covered(edge_mm, CARD_MM + offset_mm)
    two |= waveform.sensor_levels(edge_mm, marks) & (waveform.A | waveform.B)

    time = np.arange(len(edge_mm)) * speed_mm_s / SAMPLE_RATE_HZ  # as long as 1 mm takes at speed 1
    brakes, starts = two_cards.MARKS_END_MM, CARD_MM + offset_mm
    braking, going = np.clip(time - brakes, 0, 1 / most), np.maximum(time - starts, 0)
    again = 12 * most - np.sqrt((12 * most) ** 2 - 24 * most)  # the speed to reach: 12 mm in 12
    faster = np.minimum(going, again / most)
    stopping_mm = np.minimum(time, brakes) + braking - most * braking**2 / 2
    one_mm = stopping_mm + most * faster**2 / 2 + again * (going - faster)
    accelerations = np.diff(one_mm, 2) * SAMPLE_RATE_HZ**2 / 1000
    assert np.all(np.diff(one_mm) > -1e-9) and np.all(np.abs(accelerations) < 8.01)

    at_end = (time < starts) & (one_mm > CARD_MM - 1e-6)
    one = waveform.sensor_levels(np.where(at_end, CARD_MM - 1e-6, one_mm), marks)
    assert np.count_nonzero(one != two) <= 2


@pytest.mark.parametrize("ink", _INKS)
def test_faster_cards_need_more_and_worse_ink_needs_less(ink: Ink) -> None:
    offsets_mm = [5.0, 6.0, 8.0]
    slow, fast = ([two_cards.least_acceleration(o, v, ink) for o in offsets_mm] for v in (0.1, 0.3))
    assert fast == pytest.approx([9 * least for least in slow])
    assert all(two_cards.least_per_mm(o, ink) <= two_cards.least_per_mm(o) for o in offsets_mm)
    assert all(0 < first <= second * 1.0001 for first, second in pairwise(slow))


def test_a_wider_bound_allows_all_that_a_narrower_one_allows() -> None:
    bounds = np.linspace(0.01, 1.0, 200)
    at_mm = np.array([53.5, 55.0, 57.0, 58.5, 60.5, 63.0, 75.0])
    times = np.array([53.5, 55.0, 57.0, 58.5, 60.5, 69.0, 81.0])
    fits = two_cards.passes_all(np.repeat(at_mm[:, None], 200, axis=1), times, bounds)
    first = int(fits.argmax())
    assert fits[first:].all() and not fits[:first].any()
    assert bounds[first] == pytest.approx(two_cards.closed_form_per_mm(), abs=0.006)


def test_no_offset_needs_no_acceleration() -> None:
    assert two_cards.least_per_mm(0.0) < 1e-6
    assert 0.001 < two_cards.least_per_mm(0.05) < two_cards.least_per_mm(1.0)


@pytest.mark.slow
def test_a_piece_of_the_second_code_needs_a_hole() -> None:
    assert two_cards.least_acceleration(8.6, 0.05) == np.inf
    least = [two_cards.least_acceleration(o, 0.2, HARSH_INK) for o in (8.6, 9.5, 10.5)]
    assert least == sorted(least, reverse=True) and least[-1] > 4


@pytest.mark.slow
def test_the_picture_has_circles_for_what_was_measured() -> None:
    empty, drawn = two_cards.png(), two_cards.png({(5.0, 0.1): 0.0, (12.0, 3.0): 1.0})
    assert empty.startswith(b"\x89PNG") and drawn != empty
    assert len(drawn) < 120_000


@pytest.mark.slow
def test_the_reader_finds_two_fast_cards(seed: int) -> None:
    shares = two_cards.measure(20, seed, offsets_mm=[6.0], speeds_m_s=[1.5])
    assert shares[6.0, 1.5] >= 0.9


@pytest.mark.slow
def test_a_reader_that_does_not_run_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sabot_hil.sweeps.accuracy.interpreter", lambda: ["false"])
    with pytest.raises(RuntimeError, match="the firmware's reader has ended"):
        two_cards.measure(1)


def _by_programme(offset_mm: float, ink: Ink, *, with_hole: bool = False) -> float:
    """The least acceleration, from a programme over the speeds in steps of time, how far the last
    mark lags and is wider, and the place and width of its hole."""
    times = [48.0, 50.0, 51.5, 53.5, 55.0, 57.0, 58.5, 60.5, 63.0 + offset_mm, 75.0 + offset_mm]
    at_mm = [48.0, 50.0, 51.5, 53.5, 55.0, 57.0, 58.5, 60.5, 63.0, 75.0]
    by_ink = np.zeros((len(times), 4))
    by_ink[6], by_ink[7] = [1, -1, 0, 0], [1, 1, 0, 0]
    if with_hole:
        times[8:8] = [69.0, 60.5 + offset_mm]
        at_mm[7:8] = [0.0, 0.0, 60.5]
        by_ink = np.insert(by_ink, 7, [[0, 0, 1, 0], [0, 0, 1, 1]], axis=0)
    steps = round((times[-1] - times[0]) / _STEP)
    count = steps + 1 + 4 + 1  # speeds, ink, acceleration
    change = np.eye(steps, count, 1) - np.eye(steps, count)
    change[:, -1] = 0.0
    bound = np.zeros((steps, count))
    bound[:, -1] = _STEP
    limited = np.zeros((8, count))
    limited[:, steps + 1 : -1] = np.concatenate([np.eye(4), -np.eye(4)])
    most = np.array([ink.skew_mm, ink.width_share, 100.0, ink.hole_mm])
    least = np.array([-ink.skew_mm, -ink.width_share, 0.0, 0.0])
    below = np.concatenate([change - bound, -change - bound, -np.eye(steps + 1, count), limited])
    limits = np.concatenate([np.zeros(3 * steps + 1), most, -least]) + 1e-7
    ways = np.zeros((len(times) - 1, count))
    for way, begin, end in zip(ways, times, times[1:], strict=False):
        first, last = round((begin - times[0]) / _STEP), round((end - times[0]) / _STEP)
        way[first:last] += _STEP / 2
        way[first + 1 : last + 1] += _STEP / 2
    ways[:, steps + 1 : -1] = -np.diff(by_ink, axis=0)
    cost = np.eye(1, count, count - 1)[0]
    return float(_solved(cost, below, limits, ways, np.diff(at_mm))[-1])


def _solved(cost: Floats, below: Floats, limits: Floats, equal: Floats, values: Floats) -> Floats:
    """The x of least cost with below @ x <= limits and equal @ x = values (Mehrotra's method)."""
    x, y = np.zeros(len(cost)), np.zeros(len(values))
    slack, price = np.ones(len(limits)), np.ones(len(limits))
    damp = 1e-11 * np.concatenate([np.ones(len(x)), -np.ones(len(y))])

    def step(target: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        weight, over = price / slack, below @ x + slack - limits
        right = -(cost + below.T @ price + equal.T @ y)
        right -= below.T @ ((target - slack * price) / slack + weight * over)
        zero = np.zeros((len(y), len(y)))
        left = np.block([[(below.T * weight) @ below, equal.T], [equal, zero]]) + np.diag(damp)
        dx, dy = np.split(
            np.linalg.solve(left, np.concatenate([right, values - equal @ x])), [len(x)]
        )
        dslack = -over - below @ dx
        return dx, dy, dslack, (target - slack * price - price * dslack) / slack

    def most(now: Floats, change: Floats) -> float:
        falls = change < 0
        return float((-now[falls] / change[falls]).min(initial=1.0))

    for _ in range(100):
        gap = slack @ price / len(slack)
        if gap < 1e-9 and np.abs(equal @ x - values).max() < 1e-7:
            return x
        _, _, dslack, dprice = step(np.zeros(len(slack)))
        after = (slack + most(slack, dslack) * dslack) @ (price + most(price, dprice) * dprice)
        aim = gap * (after / len(slack) / gap) ** 3
        dx, dy, dslack, dprice = step(aim - dslack * dprice)
        primal, dual = 0.99 * most(slack, dslack), 0.99 * most(price, dprice)
        x, slack = x + primal * dx, slack + primal * dslack
        y, price = y + dual * dy, price + dual * dprice
    raise AssertionError("the programme has no solution")
