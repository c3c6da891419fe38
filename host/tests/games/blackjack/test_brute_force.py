"""The analysis of the blackjack wager against a dealer who deals every order of a small shoe.

`_Table` deals: hole card, second cards, hits, hand after hand, then the dealer's cards, from the
cards that are left. It asks the strategy what to do, and shares nothing else with the analysis:
nothing is counted there but orders of cards, and no hand is looked at alone.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

import pytest

from sabot.games.blackjack.house import house_of
from sabot.games.blackjack.odds.dealer_odds import final_odds
from sabot.games.blackjack.odds.main_odds import Against
from sabot.games.blackjack.odds.side_odds import insurance_odds, side_odds

Cards = tuple[int, ...]
Done = tuple[tuple[int, int], ...]
"""Hands that are played: total and stake."""


def _shoe(**counts: int) -> Cards:
    """Numbers of cards by points: `a` aces, `n8` eights, `n10` tens."""
    names = ["a", *(f"n{points}" for points in range(2, 11))]
    assert set(counts) <= set(names)
    return tuple(counts.get(name, 0) for name in names)


def _total(hand: Cards) -> tuple[int, bool]:
    hard = sum(place * count for place, count in enumerate(hand, 1))
    return (hard + 10, True) if hand[0] and hard <= 11 else (hard, False)


def _drawn(cards: Cards) -> Iterator[tuple[int, Cards, Fraction]]:
    """Each next card: its place, the cards that are left, the probability."""
    size = sum(cards)
    assert size, "the shoe is too small for this hand"
    for place, count in enumerate(cards):
        if count:
            left = (*cards[:place], count - 1, *cards[place + 1 :])
            yield place, left, Fraction(count, size)


def _with(hand: Cards, place: int) -> Cards:
    return (*hand[:place], hand[place] + 1, *hand[place + 1 :])


_NO_CARD: Cards = (0,) * 10


class _Table:
    def __init__(self, house: dict[str, Any], cards: Cards, up: int) -> None:
        self.house = house_of(house)
        self.cards, self.up = cards, up
        self.strategy = Against(self.house, cards, up)
        self._dealer = cache(self._dealer_once)
        self._played = cache(self._played_once)

    def worth(self, pair: tuple[int, int]) -> Fraction:
        """What a hand with these first two cards wins on average."""
        cards = self.cards
        for points in pair:
            assert cards[points - 1]
            place = points - 1
            cards = (*cards[:place], cards[place] - 1, *cards[place + 1 :])
        does = self.strategy.first_play(pair).does
        return sum(
            (chance * self._against_hole(pair, does, hole, left)
             for hole, left, chance in _drawn(cards)),
            Fraction(0),
        )  # fmt: skip

    def _against_hole(self, pair: tuple[int, int], does: str, hole: int, left: Cards) -> Fraction:
        blackjack = {self.up, hole + 1} == {1, 10}
        own = set(pair) == {1, 10}
        if own:
            return Fraction(0) if blackjack else Fraction(*self.house.blackjack_ratio)
        if does == "surrender":
            late = self.house.surrender == "late"
            return Fraction(-1) if late and blackjack else Fraction(-1, 2)
        if blackjack and (self.house.looks_at(self.up) or self.house.blackjack_takes == "original"):
            return Fraction(-1)
        first = _with(_with(_NO_CARD, pair[0] - 1), pair[1] - 1)
        if does == "split":
            place = pair[0] - 1
            return self._played(left, hole, (), _with(_NO_CARD, place), 1, 2, place)
        if does == "double":
            return self._doubled(left, hole, (), first, 0, 1, None)
        if does == "stand":
            return self._next(left, hole, ((_total(first)[0], 1),), 0, 1, None)
        return self._played(left, hole, (), first, 0, 1, None)

    def _doubled(
        self, cards: Cards, hole: int, done: Done, hand: Cards, open_: int, hands: int,
        split: int | None,
    ) -> Fraction:  # fmt: skip
        return sum(
            (chance * self._next(left, hole, (*done, (_total(_with(hand, place))[0], 2)), open_,
                                 hands, split)
             for place, left, chance in _drawn(cards)),
            Fraction(0),
        )  # fmt: skip

    def _next(
        self, cards: Cards, hole: int, done: Done, open_: int, hands: int, split: int | None
    ) -> Fraction:
        """The next hand after a split, or the dealer's."""
        done = tuple(sorted(done))
        if open_:
            assert split is not None
            return self._played(cards, hole, done, _with(_NO_CARD, split), open_ - 1, hands, split)
        return sum(
            (chance * sum(_won(total, stake, final) for total, stake in done)
             for final, chance in self._dealer(cards, _with(_with(_NO_CARD, self.up - 1), hole))
             .items()),
            Fraction(0),
        )  # fmt: skip

    def _played_once(
        self, cards: Cards, hole: int, done: Done, hand: Cards, open_: int, hands: int,
        split: int | None,
    ) -> Fraction:  # fmt: skip
        after_split = split is not None
        if sum(hand) == 1:
            assert split is not None
            most = self.house.hands_of_box if split or self.house.resplit_aces else 2
            worth = Fraction(0)
            for place, left, chance in _drawn(cards):
                if place == split and hands < most:
                    worth += chance * self._played(
                        left, hole, done, hand, open_ + 1, hands + 1, split
                    )
                    continue
                two = _with(hand, place)
                if not split and self.house.split_aces == "one_card":
                    over = (*done, (_total(two)[0], 1))
                    worth += chance * self._next(left, hole, over, open_, hands, split)
                else:
                    worth += chance * self._played(left, hole, done, two, open_, hands, split)
            return worth
        total, _ = _total(hand)
        does = "stand" if total >= 21 else self.strategy.decides(hand, after_split=after_split)
        if does == "stand":
            return self._next(cards, hole, (*done, (total, 1)), open_, hands, split)
        if does == "double":
            return self._doubled(cards, hole, done, hand, open_, hands, split)
        return sum(
            (chance * self._played(left, hole, done, _with(hand, place), open_, hands, split)
             for place, left, chance in _drawn(cards)),
            Fraction(0),
        )  # fmt: skip

    def _dealer_once(self, cards: Cards, hand: Cards) -> dict[int, Fraction]:
        """The dealer's final totals: 22 for bust, 99 for a blackjack."""
        total, soft = _total(hand)
        if total > 21:
            return {22: Fraction(1)}
        if total == 21 and sum(hand) == 2:
            return {99: Fraction(1)}
        if total > 17 or (total == 17 and not (soft and self.house.soft_17 == "hits")):
            return {total: Fraction(1)}
        found: dict[int, Fraction] = {}
        for place, left, chance in _drawn(cards):
            for final, more in self._dealer(left, _with(hand, place)).items():
                found[final] = found.get(final, Fraction(0)) + chance * more
        return found


def _won(total: int, stake: int, final: int) -> int:
    if total > 21:
        return -stake
    if final == 22:
        return stake
    return stake * ((total > final) - (total < final))


SMALL = _shoe(a=2, n3=3, n8=5, n10=6)
ACES = _shoe(a=5, n2=1, n7=3, n9=1, n10=5)
NINES = _shoe(a=1, n2=2, n5=2, n9=5, n10=4)

CASES: list[tuple[Cards, int, dict[str, Any]]] = [
    (SMALL, 6, {}),
    (SMALL, 6, {"soft_17": "hits", "hands_of_box": 3, "double_after_split": False}),
    (SMALL, 10, {"surrender": "late"}),
    (SMALL, 10, {"hole_card": "none", "looks": "never", "blackjack_takes": "all"}),
    (SMALL, 1, {"looks": "never", "blackjack_takes": "original", "surrender": "early"}),
    (ACES, 6, {"resplit_aces": True}),
    (ACES, 7, {"resplit_aces": True, "split_aces": "play_on", "hands_of_box": 3}),
    (ACES, 10, {"looks": "ace", "blackjack_takes": "all", "resplit_aces": True}),
    (NINES, 8, {"double_on": "9_to_11"}),
    (NINES, 1, {"surrender": "late", "soft_17": "hits", "blackjack_pays": "6_to_5"}),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[1]} {' '.join(case[2])}")
def test_hands_are_worth_what_they_win_in_all_orders(
    case: tuple[Cards, int, dict[str, Any]],
) -> None:
    cards, up, chosen = case
    table = _Table(chosen, cards, up)
    done = set()
    for low in range(1, 11):
        for high in range(low, 11):
            left = list(cards)
            for points in (low, high):
                left[points - 1] -= 1
            if min(left) < 0:
                continue
            play = table.strategy.first_play((low, high))
            done.add(play.does)
            assert play.worth == table.worth((low, high)), (low, high, play)
    assert len(done) > 2


@pytest.mark.slow
def test_pairs_were_split_in_these_cases() -> None:
    split = [
        (up, points)
        for cards, up, chosen in CASES
        for points in (1, 8, 9)
        if cards[points - 1] > 2
        and Against(house_of(chosen), cards, up).first_play((points, points)).does == "split"
    ]
    assert len(split) >= 6, split


@pytest.mark.parametrize("soft_17", ["stands", "hits"])
@pytest.mark.parametrize("up", [1, 2, 6, 10])
def test_the_dealers_hands_are_those_of_all_orders(up: int, soft_17: str) -> None:
    cards = _shoe(a=2, n2=1, n4=2, n5=1, n6=2, n10=3)
    table = _Table({"soft_17": soft_17}, cards, up)
    by_card: dict[int, Fraction] = {}
    for hole, left, chance in _drawn(cards):
        hand = _with(_with(_NO_CARD, up - 1), hole)
        for final, more in table._dealer(left, hand).items():
            by_card[final] = by_card.get(final, Fraction(0)) + chance * more
    found = final_odds(cards, up, soft_17)
    names = {99: 23}
    assert {final: each for final, each in found.items() if each} == {
        names.get(final, final): each for final, each in by_card.items()
    }


def test_insurance_is_that_of_all_orders_of_points() -> None:
    """One deck of four suits: an ace up, two cards of the box, the hole card."""
    points = [1, 1, 1, *[10] * 16, *[5] * 32]
    found = {0: [0, 0], 1: [0, 0], 2: [0, 0]}
    for one, two, hole in permutations(range(len(points)), 3):
        tens = (points[one] == 10) + (points[two] == 10)
        found[tens][0] += 1
        found[tens][1] += points[hole] == 10
    got = {tens: (odds.total, odds.win) for tens, odds in insurance_odds(1).items()}
    assert got == {tens: (4 * total, 4 * win) for tens, (total, win) in found.items()}


@pytest.mark.slow
def test_side_wagers_are_those_of_all_orders_of_a_deck() -> None:
    """Of one deck every order of three cards, judged by rules written down once more."""
    ranks, suits = "A23456789TJQK", "CDHS"
    deck = [(rank, suit) for rank in range(1, 14) for suit in range(4)]
    assert len(ranks) * len(suits) == len(deck)
    won = dict.fromkeys(("in_between", "three_card_poker", "house_money", "royal_match_21"), 0)
    for one, two, up in permutations(deck, 3):
        high = sorted(14 if rank == 1 else rank for rank in (one[0], two[0]))
        middle = 14 if up[0] == 1 else up[0]
        won["in_between"] += high[0] < middle < high[1] or one[0] == two[0] == up[0]
        three = sorted((one[0], two[0], up[0]))
        flush = one[1] == two[1] == up[1]
        same = three[0] == three[2]
        straight = (three[2] - three[0] == 2 and three[1] - three[0] == 1) or three == [1, 12, 13]
        won["three_card_poker"] += flush or same or straight
        gap = abs(one[0] - two[0])
        won["house_money"] += gap in (0, 1, 12)
        won["royal_match_21"] += one[1] == two[1]
    found = side_odds(house_of({"decks": 1}))
    assert {name: found[name].win // 49 for name in won} == won
    assert all(found[name].win % 49 == 0 for name in won)
