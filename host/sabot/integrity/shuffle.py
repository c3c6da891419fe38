"""How well shoes of cards were shuffled, against the order in which the cards came out before.

A house deals one set of cards, or two in turn: so a shoe of cards is compared with the one before
it at the same unit, and with the one before that.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from random import Random

from scipy import stats

from sabot.integrity.dealt_shoe import DealtShoe, Place
from sabot.integrity.finding import Finding, Ledger, first_places
from sabot.integrity.groups import Members
from sabot.integrity.neighbours import (
    Pairs,
    Riffles,
    expected_shared,
    expected_within,
    neighbours,
    riffles_of,
    shared,
)
from sabot.integrity.rising import rising_sequences
from sabot.text import counted

NAME = "shuffle"

FIRST_CARDS = 26
"""Cards at the beginning of a shoe that are looked at alone: what a player would see come."""

_LEAST_KNOWN = 100  # cards of two shoes that can be compared
_LEAST_SHOES = 10  # of a group whose mean is judged
_ORDERS = {1: "the shoe of cards before it", 2: "the one before the last"}


@dataclass(frozen=True, slots=True)
class Compared:
    """A shoe of cards, compared with an earlier one of its unit."""

    place: Place
    before: Place
    lag: int
    """1 for the shoe right before it, 2 for the one before that."""
    reversed: bool
    """Whether with the earlier order from its end to its beginning."""
    pairs: int
    shared: int
    expected: float
    """How many neighbours would be shared by chance."""
    first_shared: int
    first_expected: float


@dataclass(slots=True)
class _Sums:
    """The comparisons of a group with one lag."""

    shoes: int = 0
    pairs: int = 0
    shared: int = 0
    squares: float = 0.0
    expected: float = 0.0
    rising: int = 0
    """Rising sequences of all shoes."""
    rising_shuffled: int = 0
    """The same of these cards, shuffled by the computer."""
    fewer_squares: int = 0
    """The squares of how many fewer each shoe has than when it is shuffled."""
    most: list[tuple[float, Place]] = field(default_factory=list)

    def add(self, compared: Compared) -> None:
        self.shoes += 1
        self.pairs += compared.pairs
        self.shared += compared.shared
        self.expected += compared.expected
        above = compared.shared - compared.expected
        self.squares += above * above
        self.most.append((-above, compared.place))
        self.most.sort()
        del self.most[5:]

    def add_rising(self, own: int, shuffled: int) -> None:
        self.rising += own
        self.rising_shuffled += shuffled
        self.fewer_squares += (shuffled - own) ** 2

    def rising_chance(self) -> float | None:
        """The chance of so many fewer rising sequences than by a shuffle, by Student's t; None if
        all shoes have the same difference."""
        mean = (self.rising_shuffled - self.rising) / self.shoes
        variance = (self.fewer_squares - self.shoes * mean * mean) / (self.shoes - 1)
        if variance <= 0:
            return None
        return float(stats.t.sf(mean / sqrt(variance / self.shoes), self.shoes - 1))

    def riffles(self) -> Riffles:
        """How many riffles explain the mean."""
        mean, chance = self.shared / self.shoes, self.expected / self.shoes
        above = mean - chance
        spread = sqrt(max(chance, self.squares / self.shoes - above * above) / self.shoes)
        return riffles_of(mean, spread, self.pairs / self.shoes, chance)


@dataclass(frozen=True, slots=True)
class ShuffleFigures:
    """What was measured of a group of shoes of cards, with one lag."""

    about: str
    lag: int
    shoes: int
    shared: float
    """Neighbours that a shoe shares on average with the earlier one."""
    expected: float
    """The same, if nothing were left of the old order."""
    riffles: Riffles
    rising: float
    """Rising sequences of a shoe on average."""
    rising_shuffled: float
    """The same of these cards, shuffled by the computer."""


class Shuffle:
    """The analysis. It takes the shoes of each unit in order; the units may come in turn."""

    name = NAME

    def __init__(self, ledger: Ledger, seed: int = 1) -> None:
        self._ledger = ledger
        self._random = Random(seed)
        self._before: dict[str, deque[tuple[DealtShoe, Pairs]]] = defaultdict(
            lambda: deque(maxlen=max(_ORDERS))
        )
        self._members = Members()
        self._sums: dict[tuple[str, int], _Sums] = defaultdict(_Sums)

    def take(self, shoe: DealtShoe) -> None:
        """Take the next shoe of cards of its unit."""
        groups = self._members.add(shoe)
        pairs = neighbours(shoe.cards)
        earlier = self._before[shoe.unit]
        for lag, (other, old) in enumerate(reversed(earlier), 1):
            if min(len(pairs), len(old)) < _LEAST_KNOWN or other.decks != shoe.decks:
                continue
            for backwards in (False, True):
                order = neighbours(other.cards[::-1]) if backwards else old
                compared = _compared(shoe, other, pairs, order, lag, backwards)
                self._judge(compared)
                if not backwards:
                    self._add(groups, shoe, other, compared)
        earlier.append((shoe, pairs))

    def close(self) -> None:
        """Make the tests that need all shoes."""
        for about, lag, sums in self._groups():
            if sums.shoes >= _LEAST_SHOES:
                self._judge_group(about, lag, sums)

    def figures(self) -> Iterator[ShuffleFigures]:
        """What was measured of each group."""
        for about, lag, sums in self._groups():
            yield ShuffleFigures(
                about, lag, sums.shoes, sums.shared / sums.shoes, sums.expected / sums.shoes,
                sums.riffles(), sums.rising / sums.shoes, sums.rising_shuffled / sums.shoes,
            )  # fmt: skip

    def _add(
        self, groups: list[str], shoe: DealtShoe, other: DealtShoe, compared: Compared
    ) -> None:
        order = list(range(len(shoe.cards)))
        self._random.shuffle(order)
        own = rising_sequences(other.cards, shoe.cards)
        shuffled = rising_sequences(other.cards, shoe.cards[order])
        for about in groups:
            sums = self._sums[about, compared.lag]
            sums.add(compared)
            sums.add_rising(own, shuffled)

    def _groups(self) -> Iterator[tuple[str, int, _Sums]]:
        distinct = set(self._members.distinct())
        for (about, lag), sums in self._sums.items():
            if about in distinct:
                yield about, lag, sums

    def _judge(self, compared: Compared) -> None:
        # The sum of events of which each is rare, and which rather exclude than favour each other,
        # is above a bound less often than a Poisson number of the same mean.
        self._ledger.add(
            float(stats.poisson.sf(compared.shared - 1, compared.expected)),
            partial(_neighbours_found, compared),
        )
        self._ledger.add(
            float(stats.poisson.sf(compared.first_shared - 1, compared.first_expected)),
            partial(_first_found, compared),
        )

    def _judge_group(self, about: str, lag: int, sums: _Sums) -> None:
        chance = float(stats.poisson.sf(sums.shared - 1, sums.expected))
        self._ledger.add(chance, partial(_group_found, about, lag, sums, chance))
        chance_of_rising = sums.rising_chance()
        if chance_of_rising is not None:
            self._ledger.add(
                chance_of_rising, partial(_rising_found, about, lag, sums, chance_of_rising)
            )


def _compared(
    shoe: DealtShoe, other: DealtShoe, pairs: Pairs, old: Pairs, lag: int, backwards: bool
) -> Compared:
    first = shoe.cards[:FIRST_CARDS]
    first_pairs = neighbours(first)
    expected = expected_shared(old, shoe.cards)
    return Compared(
        shoe.place, other.place, lag, backwards, min(len(pairs), len(old)), shared(old, pairs),
        expected, shared(old, first_pairs), expected_within(old, shoe.cards, len(first_pairs)),
    )  # fmt: skip


def _neighbours_found(compared: Compared) -> Finding:
    riffles = riffles_of(
        compared.shared, sqrt(compared.expected), compared.pairs, compared.expected
    )
    order = f"{compared.before}{', from its end to its beginning,' if compared.reversed else ''}"
    return Finding(
        NAME,
        "neighbours",
        str(compared.place),
        "neighbouring cards shared with an earlier shoe of cards",
        compared.shared,
        compared.expected,
        float(stats.poisson.sf(compared.shared - 1, compared.expected)),
        f"{compared.shared} neighbouring cards came out as they had in {order}; by chance some "
        f"{compared.expected:.0f} do. The number of riffles that leaves so "
        f"much: {riffles}. Look how these cards were shuffled.",
        (compared.place, compared.before),
    )


def _first_found(compared: Compared) -> Finding:
    return Finding(
        NAME,
        "first_cards",
        str(compared.place),
        f"neighbours among the first {FIRST_CARDS} cards shared with an earlier shoe of cards",
        compared.first_shared,
        compared.first_expected,
        float(stats.poisson.sf(compared.first_shared - 1, compared.first_expected)),
        f"Among the first {FIRST_CARDS} cards {compared.first_shared} neighbours came out as they "
        f"had in {compared.before}; by chance some {compared.first_expected:.1f} do. A part of "
        "the cards may not have been shuffled. Look how these cards were shuffled and cut.",
        (compared.place, compared.before),
    )


def _group_found(about: str, lag: int, sums: _Sums, chance: float) -> Finding:
    return Finding(
        NAME,
        "neighbours_of_group",
        about,
        f"neighbouring cards shared with {_ORDERS[lag]}, over all shoes",
        sums.shared,
        sums.expected,
        chance,
        f"Over {counted(sums.shoes, 'shoe')} of cards, {sums.shared / sums.shoes:.1f} neighbouring "
        f"cards came out as they had in {_ORDERS[lag]}; by chance {sums.expected / sums.shoes:.1f} "
        f"do. The number of riffles that leaves so much: {sums.riffles()}. Look at how "
        "cards are shuffled here.",
        first_places(place for _, place in sums.most),
    )


def _rising_found(about: str, lag: int, sums: _Sums, chance: float) -> Finding:
    own, shuffled = sums.rising / sums.shoes, sums.rising_shuffled / sums.shoes
    return Finding(
        NAME,
        "rising_sequences",
        about,
        "rising sequences of a shoe of cards, on average",
        float(own),
        float(shuffled),
        chance,
        f"To find the cards of {_ORDERS[lag]} in their old order, one has to go through a shoe "
        f"{own:.1f} times on average; after a shuffle by the computer {shuffled:.1f} times. Parts "
        "of the old order are left. Look at how cards are shuffled here.",
        first_places(place for _, place in sums.most),
    )
