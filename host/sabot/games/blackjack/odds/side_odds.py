"""How often the side wagers and insurance win: counted over all orders of four cards, the first two
of a box and of the dealer, from new cards.

The side wagers are judged as in settling (`side_wagers`): an error there shows in the figures.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import perm

from sabot.games.blackjack.house import House
from sabot.games.blackjack.odds.dealer_odds import POINTS, Cards, new_cards, without
from sabot.games.blackjack.paytables import Pays
from sabot.games.blackjack.side_wagers import SIDE, SideWager, pays_to_one
from sabot_protocol import cards as playing_cards

_DECK = [playing_cards.name_of(number) for number in range(playing_cards.DECK_SIZE)]
_FOUR = 4

Prizes = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WagerOdds:
    """How often a wager wins."""

    total: int
    """All combinations: orders of four cards."""
    prizes: dict[Prizes, tuple[Fraction, int]]
    """What is paid to one and the combinations, by what is won."""

    @property
    def win(self) -> int:
        """The combinations in which it wins."""
        return sum(count for _, count in self.prizes.values())

    @property
    def lose(self) -> int:
        """The combinations in which it loses."""
        return self.total - self.win

    @property
    def edge(self) -> Fraction:
        """What the house gains on average of each unit wagered."""
        paid = sum((to_one * count for to_one, count in self.prizes.values()), Fraction(0))
        return (self.lose - paid) / self.total


def side_odds(house: House) -> dict[str, WagerOdds]:
    """Return the odds of each side wager that the house offers."""
    return {
        name: _odds(SIDE[name], paytable.pays, house.decks)
        for name, paytable in house.side_wagers.items()
    }


def _odds(wager: SideWager, pays: Pays, decks: int) -> WagerOdds:
    size = playing_cards.DECK_SIZE * decks
    counts: Counter[Prizes] = Counter()
    for pair, ways in (_pairs_by_suits if wager.needs_up else _pairs)(decks):
        if not wager.needs_up and not wager.may_need_hole(pair, pays):
            counts[wager.won(pair, "", None, pays)] += ways * perm(size - 2, 2)
            continue
        for up in _DECK:
            ups = decks - pair.count(up)
            if not wager.needs_hole(pair, up, pays):
                counts[wager.won(pair, up, None, pays)] += ways * ups * (size - 3)
                continue
            for hole in _DECK:
                holes = decks - (*pair, up).count(hole)
                counts[wager.won(pair, up, hole, pays)] += ways * ups * holes
    counts.pop((), None)
    order = list(pays)
    by_prizes: Counter[Prizes] = Counter()
    for prizes, count in counts.items():
        by_prizes[tuple(sorted(prizes, key=order.index))] += count
    won = sorted(by_prizes, key=lambda prizes: pays_to_one(prizes, pays), reverse=True)
    found = {each: (pays_to_one(each, pays), by_prizes[each]) for each in won if by_prizes[each]}
    return WagerOdds(perm(size, _FOUR), found)


def _pairs(decks: int) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield all first two cards without their order, and in how many ways they come."""
    for place, one in enumerate(_DECK):
        yield (one, one), decks * (decks - 1)
        for two in _DECK[place + 1 :]:
            yield (one, two), 2 * decks * decks


def _pairs_by_suits(decks: int) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield first two cards in their order, and in how many ways they come: the first one in one
    suit, the second in the same or one other. For the wagers that need the up card it matters only
    whether suits are the same, so that these stand for all."""
    suit, other = playing_cards.SUITS[0], playing_cards.SUITS[1]
    others = len(playing_cards.SUITS) - 1
    for first in playing_cards.RANKS:
        one = first + suit
        ways = len(playing_cards.SUITS) * decks
        for second in playing_cards.RANKS:
            two = second + suit
            yield (one, two), ways * (decks - (one == two))
            yield (one, second + other), ways * others * decks


@dataclass(frozen=True, slots=True)
class InsuranceOdds:
    """How often insurance wins; of all combinations with an ace up."""

    total: int
    win: int

    @property
    def edge(self) -> Fraction:
        """What the house gains on average of each unit wagered, at 2 to 1."""
        return Fraction(self.total - 3 * self.win, self.total)


def insurance_odds(decks: int) -> dict[int, InsuranceOdds]:
    """Return the odds of insurance by the number of cards of ten points, 0 to 2, in the box's own
    hand."""
    after_up = without(new_cards(decks), 1)
    aces = new_cards(decks)[0]
    totals, wins = Counter[int](), Counter[int]()
    for low in POINTS:
        for high in POINTS:
            left = without(after_up, low)
            ways = aces * after_up[low - 1] * left[high - 1]
            left = without(left, high)
            tens = (low, high).count(10)
            totals[tens] += ways * sum(left)
            wins[tens] += ways * _tens(left)
    return {tens: InsuranceOdds(totals[tens], wins[tens]) for tens in range(3)}


def all_insurance(by_tens: dict[int, InsuranceOdds]) -> InsuranceOdds:
    """Return the odds of insurance over all hands of the box."""
    each = by_tens.values()
    return InsuranceOdds(sum(odds.total for odds in each), sum(odds.win for odds in each))


def _tens(cards: Cards) -> int:
    return cards[9]
