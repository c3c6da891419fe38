"""A change in a series is found where it is, and seldom where nothing changed; the test is compared
with its definition, computed in the slow way."""

import math
import random

import pytest

from sabot.conduct.changes import LEAST, RATE, change_in, changes_in
from sabot_hil.sweeps.conduct import changes as sweep


def _by_definition(series: list[float]) -> tuple[int, int]:
    """Pettitt's K and its place: the sum of signs between all values before and after."""
    best, at = 0, 0
    for place in range(1, len(series)):
        signs = sum(
            (later < earlier) - (later > earlier)
            for earlier in series[:place]
            for later in series[place:]
        )
        if abs(signs) > best:
            best, at = abs(signs), place
    return best, at


def test_the_statistic_is_that_of_its_definition(rng: random.Random) -> None:
    for _ in range(30):
        count = rng.randrange(LEAST, 60)
        series = [float(rng.randrange(1, rng.choice((3, 10, 1000)))) for _ in range(count)]
        found = change_in(series)
        statistic, at = _by_definition(series)
        if found is None:
            assert statistic == 0
            continue
        assert (found.statistic, found.at) == (statistic, at)
        assert found.likeness >= 1
        exponent = 6 * statistic**2 / (count**3 + count**2) / found.likeness
        assert found.chance == pytest.approx(min(1.0, 2 * math.exp(-exponent)))


def test_a_change_within_all_bounds_is_found_at_its_place(rng: random.Random) -> None:
    series = [rng.gauss(45, 2) for _ in range(40)] + [rng.gauss(49, 2) for _ in range(40)]
    found = change_in(series)
    assert found is not None and found.chance < RATE / 100
    assert abs(found.at - 40) <= 3 and found.before < 46.5 < 47.5 < found.after


def test_short_and_constant_series_have_no_change() -> None:
    assert change_in([1.0] * 100) is None
    assert change_in([1.0] * 9 + [9.0] * 10) is None


def test_the_more_series_are_looked_through_the_surer_a_change_must_be() -> None:
    rng = random.Random(5)
    changed = [rng.gauss(0, 1) for _ in range(20)] + [rng.gauss(1.6, 1) for _ in range(20)]
    alone, tested = changes_in({"one": changed})
    assert tested == 1 and "one" in alone
    many = {f"honest {n}": [rng.gauss(0, 1) for _ in range(40)] for n in range(5000)}
    among, tested = changes_in({"one": changed, **many})
    assert tested == 5001 and not among


def test_honest_tables_raise_no_more_false_alarms_than_stated() -> None:
    for lag in (0.0, 0.4):
        found = sweep.false_alarms(reports=150, tables=4, shoes=40, seed=1, lag=lag)
        assert found.happened <= 4, found  # 1.5 are expected at most: 1 in 50 has more than 4


def test_a_slow_dealer_is_found() -> None:
    assert sweep.power(reports=60, shoes=100, slower=0.06, seed=1) > 0.8
