"""Whether and when something changed: Pettitt's test, and how many tests were made.

A bound finds a table that is slow. A dealer who slows down from one week to the next, and stays
within all bounds, is found by comparing a series with itself. Pettitt's test (Applied Statistics
28, 1979) asks of each place in a series whether what comes after it ranks higher, or lower, than
what came before; its chance holds for any distribution, and one odd value moves it little. It
supposes that without a change the values could come in any order. Shoes of cards of one evening,
one dealer, the same players are alike, and that alone would make it find changes: so each value is
the median of a whole shoe of cards, and the chance is that of values that follow each other as much
as these do (and one standard deviation more), once the change itself is taken out.

False alarms: `RATE` is the chance that a report names any change that did not happen, however
many series it looks through (Holm's correction). `python -m sabot_hil.sweeps.conduct.changes`
measures it, also of values of which each follows the one before by up to 0.4.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TypeVar

RATE = 0.01
"""One report in a hundred of honest tables names a change."""
LEAST = 20
"""So many values a series must have: with fewer even a large change is not below `RATE`."""

_MARGIN = 1.0
_MOST_ALIKE = 0.95

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Change:
    """The likeliest place of a change in a series."""

    at: int
    """Index of the first value after it."""
    before: float
    """The median before it."""
    after: float
    statistic: int
    """Pettitt's K."""
    likeness: float
    """By how much the likeness of neighbours makes its variance larger; 1 if they are not alike."""
    chance: float
    """That a series without a change has so large a statistic somewhere."""
    values: int
    """How many values the series has."""


def change_in(series: Sequence[float]) -> Change | None:
    """Return the likeliest change in a series; None if it is too short, or all values are equal."""
    count = len(series)
    if count < LEAST:
        return None
    ranks, total, best, at = _ranks_doubled(series), 0, 0, 0
    for place, rank in enumerate(ranks[:-1], 1):
        total += rank - (count + 1)
        if abs(total) > best:
            best, at = abs(total), place
    if not best:
        return None
    likeness = _likeness([*_centred(ranks[:at]), *_centred(ranks[at:])])
    exponent = 6 * best**2 / (count**3 + count**2) / likeness
    chance = min(1.0, 2 * math.exp(-exponent))
    before, after = float(median(series[:at])), float(median(series[at:]))
    return Change(at, before, after, best, likeness, chance, count)


def changes_in(
    series: Mapping[K, Sequence[float]], rate: float = RATE
) -> tuple[dict[K, Change], int]:
    """Return the changes that are below `rate` after Holm's correction, the surest first, and how
    many series were tested."""
    tested = {key: found for key, each in series.items() if (found := change_in(each)) is not None}
    kept: dict[K, Change] = {}
    in_order = sorted(tested.items(), key=lambda item: item[1].chance)
    for place, (key, found) in enumerate(in_order):
        if found.chance > rate / (len(tested) - place):
            break
        kept[key] = found
    return kept, len(tested)


def _centred(values: Sequence[float]) -> list[float]:
    mean = sum(values) / len(values)
    return [value - mean for value in values]


def _likeness(values: Sequence[float]) -> float:
    """By how much the variance of a sum of such values is larger than that of values that are not
    alike, if each follows the one before. How much it does so is estimated, and taken to be one
    standard deviation of the estimate more."""
    variance = sum(value * value for value in values)
    if not variance:
        return 1.0
    together = sum(one * other for one, other in pairwise(values))
    follows = together / variance + _MARGIN / math.sqrt(len(values))
    follows = min(max(follows, 0.0), _MOST_ALIKE)
    return (1 + follows) / (1 - follows)


def _ranks_doubled(series: Sequence[float]) -> list[int]:
    """Twice the rank of each value, from 1; equal values have the mean of their ranks."""
    order = sorted(range(len(series)), key=lambda place: series[place])
    ranks = [0] * len(series)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and series[order[last + 1]] == series[order[first]]:
            last += 1
        for place in order[first : last + 1]:
            ranks[place] = first + last + 2
        first = last + 1
    return ranks
