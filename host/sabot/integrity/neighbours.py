"""Neighbours that two shoes of cards share: how much of an old order is left in a new one.

Two cards are neighbours if one comes out right after the other. Cards that were shuffled well share
few neighbours with the order in which they came out before; each riffle leaves about half of those
that the one before it left (Assaf, Diaconis, Soundararajan, arXiv 0905.4698).
"""

from functools import lru_cache
from math import comb, log2, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sabot.integrity.dealt_shoe import KINDS, UNKNOWN, Cards, counts_of

_TYPES = KINDS * KINDS
MOST_RIFFLES = 6.0
"""With so many riffles nothing is left that differs from no old order at all."""

Pairs = npt.NDArray[np.int64]
"""Neighbours, as numbers 52 x first card + second card."""


def neighbours(cards: Cards) -> Pairs:
    """Return the neighbours in some cards, in order; those with a card that is not known are left
    out."""
    first, second = cards[:-1].astype(np.int64), cards[1:].astype(np.int64)
    known = (first != UNKNOWN) & (second != UNKNOWN)
    pairs: Pairs = first[known] * KINDS + second[known]
    return pairs


def shared(one: Pairs, other: Pairs) -> int:
    """Return how many neighbours two orders have in common, each as often as both have it."""
    counted = (np.bincount(each, minlength=_TYPES) for each in (one, other))
    return int(np.minimum(*counted).sum())


def expected_shared(before: Pairs, cards: Cards) -> float:
    """Return how many neighbours `cards` share with the neighbours `before` on average, if they are
    shuffled so that every order is as likely as every other. It is exact.

    The first of two different cards a and b of which there are m and n among N comes right before
    the second as often as n of N cards drawn hold some of m; equal cards lie beside each other as
    often as they make fewer runs than cards.
    """
    known = cards[cards != UNKNOWN]
    total, counts = len(known), counts_of(known)
    types, times = np.unique(before, return_counts=True)
    first, second = counts[types // KINDS], counts[types % KINDS]
    most = int(max(counts.max(initial=0), 1))
    apart, alike = _at_least(total, most)
    times = np.minimum(times, most)
    same = types // KINDS == types % KINDS
    sums = np.where(same, alike[first, times], apart[first, second, times])
    share = max(0, len(neighbours(cards))) / max(1, total - 1)
    return float(sums.sum() * share)


def expected_within(before: Pairs, cards: Cards, pairs: int) -> float:
    """Return how many of the neighbours `before` some `pairs` neighbours of `cards`, which are a
    part of all, have on average at most."""
    known = cards[cards != UNKNOWN]
    counts = counts_of(known)
    first, second = np.divmod(np.unique(before), KINDS)
    ways = counts[first] * (counts[second] - (first == second))
    return float(ways.sum()) * pairs / max(1, len(known) * (len(known) - 1))


def expected_after(riffles: float, pairs: float, by_chance: float) -> float:
    """Return how many neighbours are shared after some riffles, of `pairs` neighbours of which
    `by_chance` would be shared without any old order."""
    left: float = 2.0**-riffles
    return pairs * left + by_chance * (1 - left) ** 2


class Riffles(NamedTuple):
    """How many riffles an order has seen, with what one standard error leaves open."""

    number: float
    least: float
    most: float

    def __str__(self) -> str:
        if self.number >= MOST_RIFFLES:
            return f"{MOST_RIFFLES:.0f} or more"
        if self.most >= MOST_RIFFLES:
            return f"about {self.number:.1f}, at least {self.least:.1f}"
        number, least, most = (f"{each:.1f}" for each in self)
        return number if least == most else f"{number}, between {least} and {most}"


def riffles_of(found: float, error: float, pairs: float, by_chance: float) -> Riffles:
    """Return how many riffles explain that `found` neighbours are shared, on average, with the
    standard error `error` of that mean."""
    return Riffles(
        _solved(found, pairs, by_chance),
        _solved(found + error, pairs, by_chance),
        _solved(found - error, pairs, by_chance),
    )


def _solved(found: float, pairs: float, by_chance: float) -> float:
    """Solve `expected_after` for the riffles, 0 to MOST_RIFFLES."""
    # pairs * q + by_chance * (1 - q)^2 = found, for the share q = 2^-riffles
    half = (2 * by_chance - pairs) / 2
    rest = half * half - by_chance * (by_chance - found)
    if by_chance <= 0 or rest < 0:
        return MOST_RIFFLES
    left = (
        (half + sqrt(rest)) / by_chance if half > 0 else (by_chance - found) / (half - sqrt(rest))
    )
    if left <= 0:
        return MOST_RIFFLES
    return min(MOST_RIFFLES, max(0.0, -log2(min(1.0, left))))


@lru_cache(maxsize=256)
def _at_least(total: int, most: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """For m and n cards of `total`, up to `most` each: the sum of the chances that they are
    neighbours at least once, twice, up to k times; and the same for n equal cards."""
    apart = np.zeros((most + 1, most + 1, most + 1))
    alike = np.zeros((most + 1, most + 1))
    for m in range(most + 1):
        for n in range(most + 1):
            less = 0.0
            for k in range(1, most + 1):
                less += _drawn(total, m, n, k - 1)
                apart[m, n, k] = apart[m, n, k - 1] + max(0.0, 1 - less)
        for k in range(1, most + 1):
            alike[m, k] = alike[m, k - 1] + _runs_at_most(total, m, m - k)
    return apart, alike


def _drawn(total: int, m: int, n: int, k: int) -> float:
    """The chance that n of `total` cards hold exactly k of m."""
    if k > n or total < n:
        return 0.0
    return comb(m, k) * comb(total - m, n - k) / comb(total, n)


def _runs_at_most(total: int, n: int, runs: int) -> float:
    """The chance that n equal cards among `total` make at most so many runs."""
    if runs < 1 or total < n:
        return 0.0
    ways = sum(comb(n - 1, each - 1) * comb(total - n + 1, each) for each in range(1, runs + 1))
    return ways / comb(total, n)
