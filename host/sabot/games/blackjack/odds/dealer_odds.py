"""How often the dealer ends with which total: exact, by counting orders of cards.

A shoe is the number of its cards by points: `Cards[0]` are the aces, `Cards[9]` all cards of ten
points. The dealer's hands are counted by their cards without order, each with the number of orders
in which the dealer can draw them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain
from math import perm
from operator import itemgetter, mul

from sabot.games.blackjack.hands import total_of_points
from sabot.games.blackjack.house import HITS

Cards = tuple[int, ...]
"""Numbers of cards by points, from 1 to 10."""

POINTS = range(1, 11)
BUST, BLACKJACK = 22, 23
FINALS = (17, 18, 19, 20, 21, BLACKJACK, BUST)
"""What the dealer can end with. 21 without a blackjack is 21."""

_STANDS_ON = 17
_SUITS = 4
_TEN_RANKS = 4


def new_cards(decks: int) -> Cards:
    """Return the cards of new decks."""
    return (_SUITS * decks,) * 9 + (_SUITS * _TEN_RANKS * decks,)


def without(cards: Cards, *points: int) -> Cards:
    """Return the cards without some of them."""
    left = list(cards)
    for each in points:
        left[each - 1] -= 1
    return tuple(left)


class DealerHands:
    """All hands that the dealer can draw to an up card."""

    def __init__(self, hands: Mapping[tuple[Cards, int], int]) -> None:
        """`hands` has the orders of each hand, by the cards drawn and the final."""
        self.most = max(sum(drawn) for drawn, _ in hands)
        """Cards drawn in the longest hand."""
        places = _Places(drawn for drawn, _ in hands)
        self._steps = places.steps()
        groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for (drawn, final), orders in hands.items():
            groups.setdefault((final, sum(drawn)), []).append((places.of[drawn], orders))
        self._ends = [(*key, *_columns(group)) for key, group in groups.items()]

    def ways(self, cards: Cards, drawn: int) -> dict[int, int]:
        """Return the ways in which `drawn` cards can come, as many as the dealer can need, by the
        dealer's final hand. The cards after the dealer's may be any."""
        left = sum(cards)
        takes = list(chain.from_iterable(map(_takes, cards)))
        found = [1]
        for earlier, taken in self._steps:
            found += map(mul, earlier(found), taken(takes))
        # After the dealer's cards any may come; no hand has more cards than are left.
        after = [perm(left - length, drawn - length) for length in range(min(self.most, drawn) + 1)]
        after += [0] * (self.most - drawn)
        ways = dict.fromkeys(FINALS, 0)
        for final, length, places, orders in self._ends:
            ways[final] += sum(map(mul, orders, places(found))) * after[length]
        return ways


_MOST_OF_ONE = 24
"""More cards of the same points than a dealer's hand can have."""

Pick = Callable[[list[int]], tuple[int, ...]]
"""Returns the items at some places of a list."""


class _Places:
    """Numbers for sets of drawn cards, in the order in which their ways are found: those of a set
    are the ways of the same set without its highest points, times the ways to take those.

    It does in a few calls what a loop over thousands of sets would do.
    """

    def __init__(self, sets: Iterable[Cards]) -> None:
        levels: list[dict[Cards, tuple[Cards, int]]] = [{} for _ in range(len(POINTS) + 1)]
        for each in sets:
            drawn = each
            while any(drawn):
                place = max(place for place, count in enumerate(drawn) if count)
                rest = (*drawn[:place], 0, *drawn[place + 1 :])
                kinds = sum(map(bool, drawn))
                levels[kinds][drawn] = rest, place * _MOST_OF_ONE + drawn[place]
                drawn = rest
        self.of: dict[Cards, int] = {(0,) * len(POINTS): 0}
        self._levels = [level for level in levels if level]
        for level in self._levels:
            for drawn in level:
                self.of[drawn] = len(self.of)

    def steps(self) -> list[tuple[Pick, Pick]]:
        """Return, for sets of one kind of card, of two kinds and so on: the earlier set of each,
        and its place among the ways to take cards."""
        return [
            (
                _pick([self.of[rest] for rest, _ in level.values()]),
                _pick([place for _, place in level.values()]),
            )
            for level in self._levels
        ]


def _columns(group: Sequence[tuple[int, int]]) -> tuple[Pick, tuple[int, ...]]:
    places, orders = zip(*group, strict=True)
    return _pick(places), orders


def _pick(places: Sequence[int]) -> Pick:
    if len(places) == 1:
        return lambda items: (items[places[0]],)
    return itemgetter(*places)


@cache
def _takes(count: int) -> tuple[int, ...]:
    """Return in how many ways 0, 1, 2, ... of `count` cards can be taken one after the other."""
    return tuple(perm(count, number) for number in range(_MOST_OF_ONE))


@cache
def dealer_hands(up: int, soft_17: str) -> DealerHands:
    """Return all hands to an up card of these points, with a soft 17 played as `house.soft_17`."""
    return DealerHands(Counter(_draws([up], soft_17)))


def _draws(hand: list[int], soft_17: str) -> Iterator[tuple[Cards, int]]:
    """Yield each order of cards that the dealer draws to a hand, counted by points, and its end."""
    total = total_of_points(hand)
    if len(hand) > 1 and total.points >= _STANDS_ON:
        soft = total.points == _STANDS_ON and total.soft
        if not (soft and soft_17 == HITS):
            drawn = Counter(hand[1:])
            final = BUST if total.bust else total.points
            blackjack = final == 21 and len(hand) == 2
            yield tuple(drawn[each] for each in POINTS), BLACKJACK if blackjack else final
            return
    for each in POINTS:
        hand.append(each)
        yield from _draws(hand, soft_17)
        hand.pop()


def final_odds(cards: Cards, up: int, soft_17: str) -> dict[int, Fraction]:
    """Return the probability of each final hand of the dealer.

    `cards` are those of the shoe without the up card. The dealer has not looked for a blackjack.
    """
    hands = dealer_hands(up, soft_17)
    drawn = min(hands.most, sum(cards))
    total = perm(sum(cards), drawn)
    return {final: Fraction(number, total) for final, number in hands.ways(cards, drawn).items()}


def all_final_odds(cards: Cards, soft_17: str) -> dict[int, dict[int, Fraction]]:
    """Return `final_odds` for each up card from whole decks, by its points."""
    return {up: final_odds(without(cards, up), up, soft_17) for up in POINTS}


def points_text(points: int | Sequence[int]) -> str:
    """Return points as text: an A for an ace."""
    if isinstance(points, int):
        return "A" if points == 1 else str(points)
    return " ".join(map(points_text, points))
