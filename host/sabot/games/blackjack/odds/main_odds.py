"""What the blackjack wager is worth: an exact analysis of a stated strategy.

The strategy knows the dealer's up card and the cards of its own hand, and nothing else. Hitting,
standing, doubling and surrender: always the best for these cards, from a new shoe. It never stands
on a hard total below 12 or a soft one below 17, and never hits a hard 17 or more. A pair is split
if two hands, without another split, are worth more than what is best otherwise; then it is split
again as often as the house allows. Fives and tens are not split. Each hand after a split is played
by its own cards in the same way, whatever the other hands got. Insurance and even money are not
taken.

The values are exact, because the strategy does not look at other hands: cards that come later are
as likely as if they had come first. So a hand after a split is worth what it would be worth alone,
with the cards removed that are known, and the dealer's cards need no other hand either.

Values are counted in ways: the number of orders of the next cards of the shoe, each times what is
won in it, in units of the wager. Orders with a dealer's blackjack do not count in them where it
takes the original wager only: they are added at the end.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import perm

from sabot.games.blackjack.hands import MOST, Total
from sabot.games.blackjack.house import (
    ALL_WAGERS,
    ANY_TWO,
    EARLY,
    NINE_TO_ELEVEN,
    NONE,
    ONE_CARD,
    House,
)
from sabot.games.blackjack.odds.dealer_odds import (
    BLACKJACK,
    BUST,
    POINTS,
    Cards,
    dealer_hands,
    new_cards,
    without,
)

HIT, STAND, DOUBLE, SPLIT, SURRENDER, PAID = (
    "hit", "stand", "double", "split", "surrender", "blackjack",
)  # fmt: skip
"""What the strategy does with its first two cards; PAID for a blackjack."""

_LEAST_STOOD = 12
_LEAST_SOFT_STOOD = 17
_LEAST_NOT_HIT = 17
_NEVER_SPLIT = (5, 10)
_MOST_DRAWN = 36
"""More cards than the longest hand of the player and that of the dealer have."""

Pair = tuple[int, int]
"""The points of the first two cards, the lower first."""


@dataclass(frozen=True, slots=True)
class Play:
    """What the strategy does with two cards against an up card, and what it is worth."""

    does: str
    worth: Fraction
    """Expected win for each unit wagered, before the dealer looks for a blackjack."""


@dataclass(frozen=True, slots=True)
class UpCardOdds:
    """The blackjack wager against one up card."""

    up: int
    probability: Fraction
    worth: Fraction
    """Expected win for each unit wagered, if this is the up card."""
    plays: dict[Pair, Play]


def up_card_odds(house: House, up: int) -> UpCardOdds:
    """Return what the blackjack wager is worth against an up card of these points, with new
    cards."""
    cards = new_cards(house.decks)
    against = Against(house, without(cards, up), up)
    left = sum(against.cards)
    plays: dict[Pair, Play] = {}
    worth = Fraction(0)
    for low in POINTS:
        for high in range(low, POINTS.stop):
            first = against.cards[low - 1]
            second = without(against.cards, low)[high - 1]
            ways = first * second * (1 if low == high else 2)
            if not ways:
                continue
            play = against.first_play((low, high))
            plays[low, high] = play
            worth += play.worth * ways
    return UpCardOdds(up, Fraction(cards[up - 1], sum(cards)), worth / perm(left, 2), plays)


class Against:
    """The strategy against one up card, and what hands are worth with it.

    `Cards` of a hand are its numbers of cards by points.
    """

    def __init__(self, house: House, cards: Cards, up: int) -> None:
        """`cards` are those of the shoe without the up card."""
        self.cards = cards
        self._house = house
        self._most_drawn = min(_MOST_DRAWN, sum(cards))
        self._dealer = dealer_hands(up, house.soft_17)
        self._completes = {1: 10, 10: 1}.get(up)
        """The points that make a blackjack with the up card."""
        looked = house.looks_at(up)
        # Then every order counts in the values, and a dealer's blackjack takes all that is wagered.
        self._takes_all = not looked and house.blackjack_takes == ALL_WAGERS
        self._drawn = cache(self._drawn_once)
        self._stood = cache(self._stood_once)
        self._best = cache(self._best_once)
        self._played = cache(self._played_once)

    def first_play(self, pair: Pair) -> Play:
        """Return what to do with the first two cards."""
        hand = _hand(*pair)
        left = self._left(hand, 0)
        orders = perm(sum(left), self._most_drawn - 2)
        blackjacks = self._blackjacks(left, self._most_drawn - 2)
        if pair == (1, 10):
            pays = Fraction(*self._house.blackjack_ratio)
            return Play(PAID, pays * Fraction(orders - blackjacks, orders))
        lost = 0 if self._takes_all else blackjacks
        does, ways = self._best_of_two(hand, double=True)
        best, worth = does, Fraction(ways - lost, orders)
        if pair[0] == pair[1] and pair[0] not in _NEVER_SPLIT:
            loss = Fraction(lost, orders)
            split = self._split_once(pair[0])
            if split - loss > worth:
                most = self._most_hands(pair[0])
                split = split if most == 2 else _Split(self, pair[0], most).worth()
                best, worth = SPLIT, split - loss
        if self._house.surrender != NONE:
            early = self._house.surrender == EARLY
            kept = orders if early else orders - blackjacks
            half = -Fraction(kept, 2 * orders) - (0 if early else Fraction(blackjacks, orders))
            if half > worth:
                best, worth = SURRENDER, half
        return Play(best, worth)

    def worth_of_two(self, pair: Pair, *, looked: bool = True) -> dict[str, Fraction]:
        """Return what standing, hitting and doubling are worth with two cards, whether or not they
        are allowed. `looked`: if the dealer has no blackjack; else before that is known."""
        hand = _hand(*pair)
        left = self._left(hand, 0)
        drawn = self._most_drawn - 2
        orders, blackjacks = perm(sum(left), drawn), self._blackjacks(left, drawn)
        values = {
            STAND: self._stood(hand, 0, 1),
            HIT: self._hits(hand),
            DOUBLE: self._doubles(hand),
        }
        if looked:
            return {does: Fraction(value, orders - blackjacks) for does, value in values.items()}
        lost = 0 if self._takes_all else blackjacks
        return {does: Fraction(value - lost, orders) for does, value in values.items()}

    def decides(self, hand: Cards, *, after_split: bool = False) -> str:
        """Return HIT, STAND or DOUBLE for a hand that is not split. Of a split ace that gets one
        card only, nothing is to be decided."""
        if _total(hand).points >= MOST:
            return STAND
        if sum(hand) > 2:
            return self._best(hand)[0]
        double = self._house.double_after_split or not after_split
        return self._best_of_two(hand, double=double)[0]

    # ---- one hand

    def _left(self, hand: Cards, removed: int, points: int = 1) -> Cards:
        """The shoe without a hand and without `removed` more cards of some points."""
        left = [count - own for count, own in zip(self.cards, hand, strict=True)]
        left[points - 1] -= removed
        return tuple(left)

    def _blackjacks(self, left: Cards, drawn: int) -> int:
        """The orders of the next cards in which the dealer has a blackjack."""
        if self._completes is None:
            return 0
        return left[self._completes - 1] * perm(sum(left) - 1, drawn - 1)

    def _all(self, left: Cards, drawn: int) -> int:
        """The orders that count in the values."""
        lost = 0 if self._takes_all else self._blackjacks(left, drawn)
        return perm(sum(left), drawn) - lost

    def _drawn_once(self, left: Cards, drawn: int) -> dict[int, int]:
        return self._dealer.ways(left, drawn)

    def _stood_once(self, hand: Cards, removed: int, points: int) -> int:
        """The value of a hand that stands, or is bust."""
        left = self._left(hand, removed, points)
        drawn = self._most_drawn - sum(hand) - removed
        total = _total(hand)
        if total.bust:
            return -self._all(left, drawn)
        ways = self._drawn(left, drawn)
        won = ways[BUST] + sum(ways[final] for final in range(17, total.points))
        lost = sum(ways[final] for final in range(max(17, total.points + 1), MOST + 1))
        return won - lost - (ways[BLACKJACK] if self._takes_all else 0)

    def _hits(self, hand: Cards) -> int:
        """The value of a hand that takes a card, and goes on as it should."""
        left = self._left(hand, 0)
        return sum(
            count * self._best(_with(hand, place))[1] for place, count in enumerate(left) if count
        )

    def _doubles(self, hand: Cards, removed: int = 0, points: int = 1) -> int:
        """The value of a hand that is doubled."""
        left = self._left(hand, removed, points)
        return 2 * sum(
            count * self._stood(_with(hand, place), removed, points)
            for place, count in enumerate(left)
            if count > 0
        )

    def _best_once(self, hand: Cards) -> tuple[str, int]:
        """What is best without doubling, and its value."""
        total = _total(hand)
        if total.points >= MOST or (not total.soft and total.points >= _LEAST_NOT_HIT):
            return STAND, self._stood(hand, 0, 1)
        hit = self._hits(hand)
        if total.points < (_LEAST_SOFT_STOOD if total.soft else _LEAST_STOOD):
            return HIT, hit
        stood = self._stood(hand, 0, 1)
        return (STAND, stood) if stood >= hit else (HIT, hit)

    def _best_of_two(self, hand: Cards, *, double: bool) -> tuple[str, int]:
        """What is best with two cards without splitting, and its value."""
        best = self._best(hand)
        if double and _may_double(_total(hand), self._house):
            doubled = self._doubles(hand)
            if doubled > best[1]:
                return DOUBLE, doubled
        return best

    # ---- hands after a split

    def _played_once(self, hand: Cards, removed: int, points: int) -> int:
        """The value of a hand that is played as the strategy says, with `removed` more cards of
        these points out of the shoe."""
        one_card = points == 1 and self._house.split_aces == ONE_CARD
        does = STAND if one_card else self.decides(hand, after_split=True)
        if does == STAND:
            return self._stood(hand, removed, points)
        if does == DOUBLE:
            return self._doubles(hand, removed, points)
        left = self._left(hand, removed, points)
        return sum(
            count * self._played(_with(hand, place), removed, points)
            for place, count in enumerate(left)
            if count > 0
        )

    def _split_once(self, points: int) -> Fraction:
        """Return what two hands are worth together after a split without another one."""
        hand = _hand(points)
        left = self._left(hand, 1, points)
        worth = sum(
            count * self.worth_after_split(points, place + 1, 1)
            for place, count in enumerate(left)
            if count > 0
        )
        return 2 * Fraction(worth, sum(left))

    def worth_after_split(self, points: int, second: int, removed: int) -> Fraction:
        """Return what a hand of two cards is worth after a split, with `removed` more cards of
        `points` out of the shoe."""
        hand = _hand(points, second)
        left = self._left(hand, removed, points)
        value = self._played(hand, removed, points)
        return Fraction(value, perm(sum(left), self._most_drawn - 2 - removed))

    def _most_hands(self, points: int) -> int:
        """Return how many hands a box may have with a pair of these points."""
        again = points != 1 or self._house.resplit_aces
        return self._house.hands_of_box if again else 2


class _Split:
    """A pair that is split, and may be split again.

    The second cards of the hands are drawn one after the other; each card of the pair's points
    splits once more while the box may have another hand. What matters for a hand is how many of
    these second cards were of the pair's points (`same`) and that the others were not (`others`).
    """

    def __init__(self, against: Against, points: int, most: int) -> None:
        self._against = against
        self._points = points
        self._most = most
        cards = without(against.cards, points, points)
        self._cards = cards
        self._pairs = cards[points - 1]
        self._size = sum(cards)
        self._other_hand = cache(self._other_hand_once)
        self._same_hand = cache(self._same_hand_once)

    def worth(self) -> Fraction:
        """Return what all hands are worth together."""
        return self._after(hands=2, open_=2, same=0, paired=0, others=0)

    def _after(self, hands: int, open_: int, same: int, paired: int, others: int) -> Fraction:
        """The worth of what follows: `open_` hands have no second card yet, `paired` of the hands
        are pairs that are not split again."""
        if not open_:
            chance = Fraction(perm(self._pairs, same), perm(self._size, same))
            worth = Fraction(0)
            if others:
                worth += others * self._other_hand(same, others - 1)
            if paired:
                worth += paired * self._same_hand(same, others)
            return chance * worth if chance else chance
        another = self._after(hands, open_ - 1, same, paired, others + 1)
        if same == self._pairs:
            return another
        if hands < self._most:
            return another + self._after(hands + 1, open_ + 1, same + 1, paired, others)
        return another + self._after(hands, open_ - 1, same + 1, paired + 1, others)

    def _of_pair(self, same: int) -> Fraction:
        """The probability of another card of the pair's points."""
        return Fraction(self._pairs - same, self._size - same)

    def _other_hand_once(self, same: int, others: int) -> Fraction:
        """What a hand wins whose second card is not of the pair's points, times the probability of
        that and that `others` more second cards are not."""
        if others:
            less = self._other_hand(same, others - 1)
            chance = self._of_pair(same)
            return less - chance * self._other_hand(same + 1, others - 1) if chance else less
        worth = Fraction(0)
        for second in POINTS:
            count = self._cards[second - 1]
            if second != self._points and count:
                # The hand has one card of the pair; the other one is out too.
                hand = self._against.worth_after_split(self._points, second, same + 1)
                worth += Fraction(count, self._size - same) * hand
        return worth

    def _same_hand_once(self, same: int, others: int) -> Fraction:
        """What a hand wins whose second card is one of the `same`, times the probability that
        `others` more second cards are not of the pair's points."""
        if others:
            less = self._same_hand(same, others - 1)
            chance = self._of_pair(same)
            return less - chance * self._same_hand(same + 1, others - 1) if chance else less
        return self._against.worth_after_split(self._points, self._points, same)


def _hand(*points: int) -> Cards:
    return tuple(points.count(each) for each in POINTS)


def _with(hand: Cards, place: int) -> Cards:
    return (*hand[:place], hand[place] + 1, *hand[place + 1 :])


@cache
def _total(hand: Cards) -> Total:
    hard = sum(points * count for points, count in zip(POINTS, hand, strict=True))
    soft = hand[0] > 0 and hard + 10 <= MOST
    return Total(hard + 10 * soft, soft)


def _may_double(total: Total, house: House) -> bool:
    if house.double_on == ANY_TWO:
        return True
    least = 9 if house.double_on == NINE_TO_ELEVEN else 10
    return not total.soft and least <= total.points <= 11
