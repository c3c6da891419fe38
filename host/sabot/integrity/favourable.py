"""Rounds before which a wager was worth more than it cost, given the cards that lay face up.

Only shoes of cards that have ended are looked at: what is left in one in play helps no one here.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappush, heappushpop

import numpy as np

from sabot.integrity.bettors import Bets, Bettors
from sabot.integrity.dealt_shoe import DealtShoe, Place, Units
from sabot.integrity.finding import Ledger

NAME = "favourable"

BEST = 20
"""Rounds with the largest expectation that are kept of each wager."""


@dataclass(frozen=True, slots=True)
class FavourableFigures:
    """What one wager was worth over all rounds in which it was offered."""

    wager: str
    rounds: int
    favourable: int
    """Rounds before which its expectation was above 0."""
    won: float
    """Units that one unit wagered in each of these rounds, and in no other, wins on average."""
    shoes: int
    best: tuple[tuple[float, Place], ...]
    """The rounds with the largest expectation, the largest first."""

    @property
    def per_shoe(self) -> float:
        """The same for each shoe of cards."""
        return self.won / self.shoes if self.shoes else 0.0


FAVOURABLE = ("unit", "shoe", "round", "wager", "units")
"""What `favourable_rounds` yields, by name."""


def favourable_rounds(shoe: DealtShoe) -> Iterator[tuple[str, int, int, str, float]]:
    """Yield each round of a shoe before which a wager was favourable, with the wager and the units
    that one unit on it wins on average."""
    if shoe.expected is None:
        return
    for round_, column in np.argwhere(shoe.expected.units > 0).tolist():
        units = float(shoe.expected.units[round_, column])
        number = int(shoe.rounds[round_, 0])
        yield shoe.unit, shoe.shoe, number, shoe.expected.wagers[column], round(units, 6)


@dataclass(slots=True)
class _Sums:
    rounds: int = 0
    favourable: int = 0
    won: float = 0.0
    shoes: int = 0
    best: list[tuple[float, Place]] = field(default_factory=list)


class Favourable:
    """The analysis. `bets` are the wagers that the house knows of."""

    name = NAME

    def __init__(self, ledger: Ledger, bets: Bets | None = None) -> None:
        self._sums: dict[str, _Sums] = defaultdict(_Sums)
        self._bettors = None if bets is None else Bettors(ledger, bets)

    def take(self, shoe: DealtShoe) -> None:
        """Take a shoe of cards."""
        expected = shoe.expected
        if expected is None or not len(expected.units):
            return
        for wager, units in zip(expected.wagers, expected.units.T, strict=True):
            self._add(shoe, wager, units)
        if self._bettors is not None:
            self._bettors.take(shoe, expected.wagers, expected.units > 0)

    def close(self) -> None:
        """Make the tests that need all shoes."""
        if self._bettors is not None:
            self._bettors.close()

    def figures(self) -> Iterator[FavourableFigures]:
        """What each wager was worth."""
        for wager, sums in self._sums.items():
            yield FavourableFigures(
                wager, sums.rounds, sums.favourable, sums.won, sums.shoes,
                tuple(sorted(sums.best, reverse=True)),
            )  # fmt: skip

    def _add(self, shoe: DealtShoe, wager: str, units: Units) -> None:
        sums = self._sums[wager]
        above = np.flatnonzero(units > 0)
        sums.shoes += 1
        sums.rounds += int(np.isfinite(units).sum())
        sums.favourable += len(above)
        sums.won += float(units[above].sum())
        for place in above:
            entry = float(units[place]), Place(shoe.unit, shoe.shoe, int(shoe.rounds[place, 0]))
            if len(sums.best) < BEST:
                heappush(sums.best, entry)
            else:
                heappushpop(sums.best, entry)
