"""Finds that a shoe of cards comes in an order that honest shuffling does not make.

It takes the known cards one by one, and weighs all hypotheses together (chances.py): new packs,
the last shoes of the table riffled, a repetition within the shoe, of a shoe of the table, of any
shoe of the log.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from sabot.order import chances
from sabot.order.alignments import GOES, Alignments, Track
from sabot.order.chances import PACK, House
from sabot.order.past import RUN, OwnRuns, PastShoe, Place, RecentShoes
from sabot.order.successors import (
    RIFFLES_OF_A_SHOE,
    RIFFLES_OF_PACKS,
    Order,
    Successors,
    pack_followers,
    shoe_followers,
)

_PACKS = Order(pack_followers(), RIFFLES_OF_PACKS, chances.PACKS)
_RIFFLED = 2
"""Tables use two sets of cards in turn: the last shoe of either may have been riffled."""
_SHOE = 416  # cards: where a run begins is as likely at each place of so many
_EVERY_CARD = 24
_BESIDE = 4
"""Hypotheses that are followed once there is a finding, for what is shown of it."""
_AT_BEGIN = 0.5
"""The part of a shoe that repeats another one from its first card on."""


class LoggedRuns(Protocol):
    """Any shoe of the log, but those that a table is compared with anyway."""

    run: int
    """So many cards that came in the same order begin a comparison."""

    def count(self) -> int:
        """How many shoes there are."""

    def places(self, run: bytes) -> Iterator[tuple[PastShoe, int, int]]:
        """Yield the shoe, the place of the last card of a run in it, and 1, or -1 if it came
        backwards."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, after the card with which it was."""

    what: str
    """ "packs", "riffled", "within", "table" or "log"."""
    place: int
    """Of the last card in the shoe, from 0, among those that are known."""
    one_in: float
    """Under honest shuffling at most one shoe in so many comes so."""
    reversed: bool
    riffles: int = 0
    of: PastShoe | None = None
    """The shoe that it repeats, or that was riffled."""
    pairs: tuple[tuple[int, int], ...] = ()
    """Places of the shoe, and of the one that it repeats; cards that differ are among them."""


class Finder:
    """Follows a shoe of `decks` packs. `recent` are the last shoes of
    the table, `logged` the others of the log."""

    def __init__(
        self,
        decks: int,
        recent: RecentShoes = RecentShoes(),
        logged: LoggedRuns | None = None,
        house: House = House(),
    ) -> None:
        self.recent = recent
        self.finding: Finding | None = None
        """The first finding; None as long as nothing was found."""
        self.largest = 0.0
        """What the sum of all products has reached at the most: the bound of its chance is the
        inverse."""
        self._decks = max(1, decks)
        self._last_order = 0
        self._least = house.least(self._decks)
        self._left = [self._decks] * PACK
        self._total = self._decks * PACK
        self._chances: list[float] = []
        self._last = [each for each in recent.shoes[-_RIFFLED:] if len(each.cards) > PACK]
        part = chances.RIFFLED / _RIFFLED
        riffled = [
            Order(shoe_followers(each.cards), RIFFLES_OF_A_SHOE, part) for each in self._last
        ]
        self._orders = Successors([_PACKS, *riffled], self._decks)
        self._own = OwnRuns()
        self._within = Alignments([self._own.cards])
        self._of_table = Alignments([each.cards for each in recent.shoes])
        self._logged = logged
        self._log_shoes: list[PastShoe] = []
        self._log_cards: list[bytes] = []
        self._of_log = Alignments(self._log_cards)
        self._log_count = logged.count() if logged is not None else 0

    @property
    def cards(self) -> bytes:
        """The known cards so far."""
        return bytes(self._own.cards)

    def add(self, card: int) -> Finding | None:
        """Take the next card that is known, 0 to 51. Return the finding if this card makes it."""
        left = self._left[card]
        if left <= 0:  # a copy too many is an error of its own, and has no chance
            return None
        chance = left / self._total
        self._left[card] -= 1
        self._total -= 1
        own = self._own
        place = len(own.cards)
        for each in (self._within, self._of_table, self._of_log):
            each.add(card, chance, place)
        own.add(card)
        self._chances.append(chance)
        self._begin()
        packs, *riffled = self._orders.add(card, chance)
        sums = {
            "packs": packs,
            "riffled": sum(riffled),
            "within": self._within.sum(),
            "table": self._of_table.sum(),
            "log": self._of_log.sum(),
        }
        reached = sum(sums.values())
        self.largest = max(self.largest, reached)
        if self.finding is not None or reached < self._least:
            return None
        self._last_order = 1 + riffled.index(max(riffled)) if riffled else 0
        self.finding = self._found(max(sums, key=lambda name: sums[name]), place, reached)
        for each in (self._within, self._of_table, self._of_log):
            each.together = _BESIDE
        return self.finding

    def side_by_side(self) -> Finding | None:
        """What was found, with all cards that came since; None if nothing was."""
        found = self.finding
        if found is None or not found.pairs:
            return found
        return self._found(found.what, len(self._own.cards) - 1, found.one_in, found) or found

    def _begin(self) -> None:
        """Begin to follow where the last run of cards came before."""
        cards = self._own.cards
        if len(cards) >= RUN:
            run = bytes(cards[-RUN:])
            for where in self._own.places():
                self._put(self._within, where, RUN, chances.WITHIN / 2)
            among = 2 * max(1, len(self.recent.shoes))
            for where in self.recent.places(run):
                self._put(self._of_table, where, RUN, chances.OF_TABLE / among)
        logged = self._logged
        if logged is not None and len(cards) >= logged.run and self._looks_in_log(len(cards)):
            among = 2 * max(1, self._log_count)
            for shoe, at, step in logged.places(bytes(cards[-logged.run :])):
                if shoe not in self._log_shoes:
                    self._log_shoes.append(shoe)
                    self._log_cards.append(shoe.cards)
                where = self._log_shoes.index(shoe), at, step
                self._put(self._of_log, where, logged.run, chances.OF_LOG / among)

    @staticmethod
    def _looks_in_log(cards: int) -> bool:
        """Whether it looks for the last run in the log: after each of the first cards, then after
        every fourth. A repetition that becomes a finding has at least twelve cards."""
        return cards <= _EVERY_CARD or cards % 4 == 0

    def _put(self, alignments: Alignments, where: Place, run: int, weight: float) -> None:
        _, at, step = where
        begin = len(self._own.cards) - run
        first = at - step * (run - 1)
        product = weight * _begins(begin, first, step)
        for chance in self._chances[-run:]:
            product *= GOES / chance
        alignments.begin(where, Track(product, begin, ((begin, first),)))

    def _found(
        self, what: str, place: int, reached: float, before: Finding | None = None
    ) -> Finding:
        if what in ("packs", "riffled"):
            order = 0 if what == "packs" else self._last_order
            riffles, backwards = self._orders.best(order)
            of = self._last[order - 1] if order else None
            return Finding(what, place, reached, backwards, riffles, of)
        alignments, shoes = {
            "within": (self._within, ()),
            "table": (self._of_table, self.recent.shoes),
            "log": (self._of_log, self._log_shoes),
        }[what]
        best = alignments.best
        if best is None:
            assert before is not None
            return before
        (shoe, _, step), track = best
        of = _nth(shoes, shoe)
        if before is not None and before.of != of:
            return before
        return Finding(what, place, reached, step < 0, 0, of, tuple(track.pairs(place, step)))


def _nth(shoes: Sequence[PastShoe], at: int) -> PastShoe | None:
    return shoes[at] if shoes else None


def _begins(begin: int, first: int, step: int) -> float:
    """The chance that a repetition begins at a place of this shoe with a place of the other one:
    half of them with the first card of both, or of this one if it is read backwards."""
    anywhere = (1 - _AT_BEGIN) / (_SHOE * _SHOE)
    if begin:
        return anywhere
    if step > 0:
        return anywhere + _AT_BEGIN * (first == 0)
    return anywhere + _AT_BEGIN / _SHOE
