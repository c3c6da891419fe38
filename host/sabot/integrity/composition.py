"""The composition of shoes of cards: cards that are missing or too many, and strange places.

How many copies of a card come out of a shoe depends on chance only as far as the cards after the
cut card do: of N cards of which m come out, k equal ones come out as a hypergeometric number. The
counts of many shoes are compared with the sums of these means and variances.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import stats

from sabot.integrity.dealt_shoe import (
    KINDS,
    RANKS,
    SUITS,
    UNKNOWN,
    Counts,
    DealtShoe,
    Place,
    counts_of,
)
from sabot.integrity.finding import MOST_PLACES, Finding, Ledger, first_places
from sabot.integrity.groups import ALL, Members
from sabot.text import card_symbol, counted
from sabot_protocol import cards

NAME = "composition"

_BLOCK = 16  # cards; in the first block each place is also judged alone
_FIRST = 6  # places of the first hand of baccarat
_LEAST_VARIANCE = 20.0
"""Of each cell of a chi-square test. With fewer cards far too many small chances would come out;
with so many, one of 0.00001 comes out at most twice as often as it should."""

_SHORT_SHARE = 0.5
"""A shoe of cards is short if less than this share of its cards came out."""
_SUIT_NAMES = ("clubs", "diamonds", "hearts", "spades")


@dataclass(slots=True)
class _Cell:
    """Counts of a group, against what honest shoes have on average."""

    found: npt.NDArray[np.float64]
    expected: npt.NDArray[np.float64]
    variance: npt.NDArray[np.float64]

    @classmethod
    def of(cls, kinds: int) -> "_Cell":
        return cls(*(np.zeros(kinds) for _ in range(3)))

    def add(self, found: Counts, loaded: float, drawn: int, size: int) -> None:
        """Add a part of `drawn` cards of a shoe of `size` cards that had `loaded` of each kind."""
        self.found += found
        self.expected += drawn * loaded / size
        share = loaded / size
        self.variance += drawn * share * (1 - share) * max(0, size - drawn) / max(1, size - 1)

    def chi_square(self) -> tuple[float, float] | None:
        """The statistic and its chance; None if too few cards were counted."""
        kinds = len(self.found)
        if self.variance.min() < _LEAST_VARIANCE:
            return None
        square = ((self.found - self.expected) ** 2 / self.variance).sum() * (kinds - 1) / kinds
        return float(square), float(stats.chi2.sf(square, kinds - 1))


@dataclass(slots=True)
class _Ended:
    """How the shoes of a game ended at a unit, or at all."""

    shoes: int = 0
    shorts: int = 0
    places: list[Place] = field(default_factory=list)
    """The last short ones."""

    def add(self, place: Place, *, short: bool) -> None:
        self.shoes += 1
        self.shorts += short
        if short:
            self.places = [*self.places[1 - MOST_PLACES :], place]


@dataclass(slots=True)
class _Group:
    """The shoes of cards of a group."""

    shoes: int = 0
    shorts: int = 0
    cards: _Cell = field(default_factory=lambda: _Cell.of(KINDS))
    ranks: _Cell = field(default_factory=lambda: _Cell.of(RANKS))
    suits: _Cell = field(default_factory=lambda: _Cell.of(SUITS))
    places: dict[tuple[int, int], _Cell] = field(default_factory=dict)
    """The ranks at some places of the shoe, by the first and the last of them, from 1."""
    left: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(KINDS))
    """Copies of each card that did not come out."""
    left_expected: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(KINDS))
    last: list[Place] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CompositionFigures:
    """What was counted of a group of shoes of cards."""

    about: str
    shoes: int
    shorts: int
    left: tuple[float, ...]
    """By card 0-51: copies that did not come out, less what chance leaves, for each shoe."""
    chances: dict[str, float]
    """Of the chi-square tests by card, rank and suit; without those for which the shoes are too
    few."""


class Composition:
    """The analysis."""

    name = NAME

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._members = Members()
        self._groups: dict[str, _Group] = defaultdict(_Group)
        self._ended: dict[str, dict[str, _Ended]] = defaultdict(lambda: defaultdict(_Ended))
        """By game and unit, because each game has its own place for the cut card."""

    def take(self, shoe: DealtShoe) -> None:
        """Take a shoe of cards."""
        known = shoe.known
        counts = counts_of(known)
        self._judge_surplus(shoe, counts)
        ranks, suits = counts.reshape(SUITS, RANKS).sum(axis=0), counts.reshape(SUITS, RANKS).sum(1)
        # With one deck a shoe of cards is often one hand.
        short = shoe.decks > 1 and len(shoe.cards) < _SHORT_SHARE * shoe.size
        for unit in (shoe.unit, ALL):
            self._ended[shoe.game][unit].add(shoe.place, short=short)
        parts = list(_parts(shoe))
        for about in self._members.add(shoe):
            group = self._groups[about]
            group.shoes += 1
            group.last = [*group.last[1 - MOST_PLACES :], shoe.place]
            group.shorts += short
            group.cards.add(counts, shoe.decks, len(known), shoe.size)
            group.ranks.add(ranks, shoe.decks * SUITS, len(known), shoe.size)
            group.suits.add(suits, shoe.decks * RANKS, len(known), shoe.size)
            group.left += shoe.decks - counts
            group.left_expected += shoe.decks * max(0.0, 1 - len(known) / shoe.size)
            for place, drawn, found in parts:
                cell = group.places.setdefault(place, _Cell.of(RANKS))
                cell.add(found, shoe.decks * SUITS, drawn, shoe.size)

    def close(self) -> None:
        """Make the tests that need all shoes."""
        for about, group in self._distinct():
            self._judge_cards(about, group)
            for name, cell in _by_kind(group).items():
                self._judge_kind(about, group, name, cell)
            for place, cell in group.places.items():
                self._judge_place(about, group, place, cell)
        for units in self._ended.values():
            everyone = units.pop(ALL)
            for unit, ended in units.items():
                self._judge_shorts(unit, ended, everyone)

    def figures(self) -> Iterator[CompositionFigures]:
        """What was counted of each group."""
        for about, group in self._distinct():
            tested = {name: cell.chi_square() for name, cell in _by_kind(group).items()}
            yield CompositionFigures(
                about, group.shoes, group.shorts,
                tuple(((group.left - group.left_expected) / group.shoes).tolist()),
                {name: each[1] for name, each in tested.items() if each is not None},
            )  # fmt: skip

    def _distinct(self) -> list[tuple[str, _Group]]:
        return [(about, self._groups[about]) for about in self._members.distinct()]

    def _judge_surplus(self, shoe: DealtShoe, counts: Counts) -> None:
        card = int(counts.argmax())
        count = int(counts[card])
        self._ledger.add(0.0 if count > shoe.decks else 1.0, partial(_surplus, shoe, card, count))

    def _judge_cards(self, about: str, group: _Group) -> None:
        # A sum of hypergeometric numbers strays less than a Poisson number of the same mean.
        missing = stats.poisson.sf(group.left - 1, group.left_expected)
        extra = stats.poisson.cdf(group.left, group.left_expected)
        for card in range(KINDS):
            for chance, words in ((missing[card], "missing"), (extra[card], "too many")):
                self._ledger.add(
                    float(chance), partial(_card_found, about, group, card, words, float(chance))
                )

    def _judge_kind(self, about: str, group: _Group, name: str, cell: _Cell) -> None:
        tested = cell.chi_square()
        if tested is not None:
            square, chance = tested
            worst = int(np.abs((cell.found - cell.expected) / np.sqrt(cell.variance)).argmax())
            self._ledger.add(
                chance, partial(_kind_found, about, group, name, square, chance, cell, worst)
            )

    def _judge_place(self, about: str, group: _Group, place: tuple[int, int], cell: _Cell) -> None:
        tested = cell.chi_square()
        if tested is not None:
            square, chance = tested
            worst = int(np.abs((cell.found - cell.expected) / np.sqrt(cell.variance)).argmax())
            self._ledger.add(
                chance, partial(_place_found, about, group, place, square, chance, cell, worst)
            )

    def _judge_shorts(self, unit: str, group: _Ended, everyone: _Ended) -> None:
        others = everyone.shoes - group.shoes
        if others < 1:
            return
        # Of all short shoes, as many at this unit as if they were dealt out by lot.
        chance = float(
            stats.hypergeom.sf(group.shorts - 1, everyone.shoes, everyone.shorts, group.shoes)
        )
        rate = (everyone.shorts - group.shorts) / others
        self._ledger.add(chance, partial(_shorts_found, f"unit {unit}", group, rate, chance))


def _by_kind(group: _Group) -> dict[str, _Cell]:
    return {"card": group.cards, "rank": group.ranks, "suit": group.suits}


def _parts(shoe: DealtShoe) -> Iterator[tuple[tuple[int, int], int, Counts]]:
    """The places of a shoe that are judged: first and last, from 1; how many cards of it are known
    and how many of each rank there are."""
    ends = [(place, place) for place in range(1, _FIRST + 1)]
    whole = len(shoe.cards) // _BLOCK
    ends += [(_BLOCK * block + 1, _BLOCK * (block + 1)) for block in range(whole)]
    for first, last in ends:
        part = shoe.cards[first - 1 : last]
        part = part[part != UNKNOWN]
        yield (first, last), len(part), np.bincount(part % RANKS, minlength=RANKS)


def _surplus(shoe: DealtShoe, card: int, count: int) -> Finding:
    name = card_symbol(cards.name_of(card))
    at = np.flatnonzero(shoe.cards == card)[shoe.decks]
    return Finding(
        NAME,
        "surplus",
        str(shoe.place),
        f"copies of {name} that came out",
        count,
        shoe.decks,
        0.0,
        f"{count} copies of {name} came out of {counted(shoe.decks, 'deck')}. A card was brought "
        "in, or one was read wrongly. Count the cards of this shoe.",
        (Place(shoe.unit, shoe.shoe, shoe.round_at(int(at))),),
    )


def _card_found(about: str, group: _Group, card: int, words: str, chance: float) -> Finding:
    name = card_symbol(cards.name_of(card))
    found, expected = group.cards.found[card], group.cards.expected[card]
    count = abs(found - expected) / group.shoes
    often = (
        f"{name} came out {counted(round(found), 'time')} in {counted(group.shoes, 'shoe')} of "
        f"cards, and {expected:,.1f} times were expected: {count:.2f}"
    )
    if words == "missing":
        says = f"{often} too few in each. One may be missing, or may often not be read."
    else:
        says = f"{often} too many in each."
    return Finding(
        NAME,
        "missing" if words == "missing" else "too_many",
        about,
        f"copies of {name} that came out",
        float(found),
        float(expected),
        chance,
        f"{says} Count the cards that are in use here.",
        first_places(reversed(group.last)),
    )


def _kind_found(
    about: str, group: _Group, name: str, square: float, chance: float, cell: _Cell, worst: int
) -> Finding:
    kind = {
        "card": lambda: card_symbol(cards.name_of(worst)),
        "rank": lambda: f"the rank {cards.RANKS[worst]}",
        "suit": lambda: _SUIT_NAMES[worst],
    }[name]()
    return Finding(
        NAME,
        f"by_{name}",
        about,
        f"chi-square by {name}",
        square,
        len(cell.found) - 1,
        chance,
        f"Over {counted(group.shoes, 'shoe')} of cards the cards that came out do not have the "
        f"composition that was loaded, counted by {name}. The largest difference is in {kind}: "
        f"{cell.found[worst]:,.0f} came out, {cell.expected[worst]:,.1f} were expected. Count the "
        "cards that are in use here.",
        first_places(reversed(group.last)),
    )


def _place_found(
    about: str,
    group: _Group,
    place: tuple[int, int],
    square: float,
    chance: float,
    cell: _Cell,
    worst: int,
) -> Finding:
    first, last = place
    where = f"card {first}" if first == last else f"cards {first} to {last}"
    return Finding(
        NAME,
        "by_position",
        about,
        f"chi-square of the ranks of {where}",
        square,
        RANKS - 1,
        chance,
        f"Over {counted(group.shoes, 'shoe')} of cards, {where} out of the shoe do not have each "
        f"rank equally often. The largest difference is in the rank {cards.RANKS[worst]}: "
        f"{cell.found[worst]:,.0f} came out there, {cell.expected[worst]:,.1f} were expected. Look "
        "how these cards are shuffled, cut and put into the shoe.",
        first_places(reversed(group.last)),
    )


def _shorts_found(about: str, group: _Ended, rate: float, chance: float) -> Finding:
    return Finding(
        NAME,
        "short_shoes",
        about,
        f"shoes of which less than {_SHORT_SHARE:.0%} of the cards came out",
        group.shorts,
        rate * group.shoes,
        chance,
        f"{group.shorts} of {counted(group.shoes, 'shoe')} of cards ended before half of their "
        f"cards had come out; at the other units with this game {rate:.1%} do. Ask who ended "
        "them, and why.",
        first_places(reversed(group.places)),
    )
