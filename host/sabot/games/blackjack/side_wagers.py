"""When the side wagers win: on the first two cards of a box and the dealer's first two.

The document names them and does not define them, but for the Lucky Ladies' prizes. The definitions
are those of the sources that `paytables` names, and of 58 Pa. Code 633a.1 ("Matched 20", "Suited
20", "Any 20", "Royal Match", "Suited Match"). Only the highest prize that holds and is paid is won;
in Match-the-Dealer each of the two cards is judged for itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from sabot.games.blackjack.hands import is_blackjack, points_of, rank_of
from sabot.games.blackjack.paytables import Pays
from sabot.games.prize import NamedPrize
from sabot_protocol import cards as playing_cards

_DECK = [playing_cards.name_of(number) for number in range(playing_cards.DECK_SIZE)]

Holds = Callable[[str, str, str], bool]
"""Of the box's two cards and the dealer's up card."""


@dataclass(frozen=True, slots=True)
class Prize(NamedPrize):
    """One way in which a side wager wins."""

    holds: Holds
    """The rule: whether the cards have it."""
    dealer: Callable[[str, str], bool] | None = None
    """What also must hold of the dealer's first two cards; None for nothing."""


@dataclass(frozen=True, slots=True)
class SideWager:
    """A row of SIDE."""

    title: str
    prizes: tuple[Prize, ...]
    """The highest first."""
    needs_up: bool = False
    """Whether it depends on the dealer's up card."""
    by_card: bool = False
    """Whether each card of the box is judged for itself."""

    def won(self, cards: tuple[str, str], up: str, hole: str | None, pays: Pays) -> tuple[str, ...]:
        """Return the prizes won, none if it loses. `hole` is the dealer's second card; None if it
        was not dealt, and not `needs_hole`."""
        subjects = [(card, card) for card in cards] if self.by_card else [cards]
        found = (self._best(subject, up, hole, pays) for subject in subjects)
        return tuple(prize for prize in found if prize)

    def may_need_hole(self, cards: tuple[str, str], pays: Pays) -> bool:
        """Whether the outcome can depend on the dealer's cards, where it needs no up card."""
        return any(
            prize.dealer is not None and prize.name in pays and prize.holds(*cards, "")
            for prize in self.prizes
        )

    def needs_hole(self, cards: tuple[str, str], up: str, pays: Pays) -> bool:
        """Whether the outcome depends on the dealer's second card."""
        return any(
            any(prize.dealer(up, hole) for hole in _DECK)
            for prize in self.prizes
            if prize.dealer is not None and prize.name in pays and prize.holds(*cards, up)
        )

    def _best(self, cards: tuple[str, str], up: str, hole: str | None, pays: Pays) -> str:
        for prize in self.prizes:
            if prize.name in pays and prize.holds(*cards, up):
                if prize.dealer is None or (hole is not None and prize.dealer(up, hole)):
                    return prize.name
        return ""


def pays_to_one(prizes: tuple[str, ...], pays: Pays) -> Fraction:
    """Return what is won for each unit wagered."""
    return sum((pays[prize] for prize in prizes), Fraction(0))


def _suited(one: str, two: str) -> bool:
    return one[1] == two[1]


def _pair(one: str, two: str, _up: str) -> bool:
    return one[0] == two[0]


def _same(one: str, two: str, _up: str) -> bool:
    return one == two


def _both(card: str) -> Holds:
    return lambda one, two, up: one == two == card


def _total_20(one: str, two: str, _up: str) -> bool:
    """Both of ten points, or an ace and a nine."""
    points = {points_of(one), points_of(two)}
    return points in ({10}, {1, 9})


def _and(*parts: Holds) -> Holds:
    return lambda one, two, up: all(part(one, two, up) for part in parts)


def _in_suit(one: str, two: str, _up: str) -> bool:
    return _suited(one, two)


def _kings(one: str, two: str, _up: str) -> bool:
    return one[0] == two[0] == "K"


def _dealer_blackjack(up: str, hole: str) -> bool:
    return is_blackjack((up, hole))


def _royal_match(one: str, two: str, _up: str = "") -> bool:
    return _suited(one, two) and {one[0], two[0]} == {"K", "Q"}


def _matches(card: str, _same_card: str, up: str) -> bool:
    return card[0] == up[0]


def _matches_in_suit(card: str, _same_card: str, up: str) -> bool:
    return card == up


def _high(card: str) -> int:
    """The rank, an ace above the king."""
    return (rank_of(card) - 2) % 13 + 2


def _between(least: int, most: int) -> Holds:
    """Whether the up card is between the two cards, with this number of ranks between them."""

    def holds(one: str, two: str, up: str) -> bool:
        low, high = sorted((_high(one), _high(two)))
        return low < _high(up) < high and least <= high - low - 1 <= most

    return holds


def _three_of_a_kind(one: str, two: str, up: str) -> bool:
    return one[0] == two[0] == up[0]


def _flush(one: str, two: str, up: str) -> bool:
    return one[1] == two[1] == up[1]


def _in_order(*cards: str) -> bool:
    """Whether the ranks follow each other; an ace is above the king or below the two."""
    low, high = (sorted(ranks) for ranks in (map(rank_of, cards), map(_high, cards)))
    return any(
        all(after - before == 1 for before, after in pairwise(ranks)) for ranks in (low, high)
    )


def _straight_of_three(one: str, two: str, up: str) -> bool:
    return _in_order(one, two, up)


def _straight_of_two(one: str, two: str, _up: str) -> bool:
    return _in_order(one, two)


def _ace_king(one: str, two: str, _up: str) -> bool:
    return {one[0], two[0]} == {"A", "K"}


def _twenties(name: str, card: str, *kings: Prize) -> tuple[Prize, ...]:
    both, words = _both(card), f"two {name.replace('_', ' ')}"
    with_dealer = f"{words}, and the dealer has a blackjack"
    return (
        Prize(f"{name}_and_dealer_blackjack", with_dealer, both, _dealer_blackjack),
        Prize(name, words, both),
        *kings[:1],
        Prize("matched_20", "20 of two equal cards", _and(_same, _total_20)),
        Prize("suited_20", "20 in one suit", _and(_in_suit, _total_20)),
        *kings[1:],
        Prize("any_20", "any other 20", _total_20),
    )


SIDE: Mapping[str, SideWager] = {
    "lucky_ladies": SideWager(
        "Lucky Ladies Twenty Point Bonus", _twenties("queens_of_hearts", "QH")
    ),
    "match_the_dealer": SideWager(
        "Match-the-Dealer",
        (
            Prize("suited_match", "a card like the up card in rank and suit", _matches_in_suit),
            Prize("match", "a card like the up card in rank", _matches),
        ),
        needs_up=True,
        by_card=True,
    ),
    "in_between": SideWager(
        "In Between",
        (
            Prize("three_of_a_kind", "all three cards of one rank", _three_of_a_kind),
            Prize("one_between", "the up card between, where one rank fits", _between(1, 1)),
            Prize("two_between", "the up card between, where two ranks fit", _between(2, 2)),
            Prize("three_between", "the up card between, where three ranks fit", _between(3, 3)),
            Prize("more_between", "the up card between, where more ranks fit", _between(4, 11)),
        ),
        needs_up=True,
    ),
    "royal_match_21": SideWager(
        "Royal Match 21",
        (
            Prize(
                "crown_treasure",
                "king and queen in one suit, and the dealer too",
                _royal_match,
                _royal_match,
            ),
            Prize("royal_match", "king and queen in one suit", _royal_match),
            Prize("suited_match", "two cards in one suit", _in_suit),
        ),
    ),
    "bet_the_set_21": SideWager(
        "Bet the Set 21",
        (
            Prize("suited_pair", "a pair in one suit", _same),
            Prize("pair", "a pair", _pair),
        ),
    ),
    "kings_bounty": SideWager(
        "King's Bounty",
        _twenties(
            "kings_of_spades",
            "KS",
            Prize("suited_kings", "two kings in one suit", _and(_kings, _same)),
            Prize("kings", "two kings", _kings),
        ),
    ),
    "three_card_poker": SideWager(
        "Three Card Poker",
        (
            Prize(
                "suited_three_of_a_kind",
                "three of a rank in one suit",
                _and(_three_of_a_kind, _flush),
            ),
            Prize("straight_flush", "a straight in one suit", _and(_straight_of_three, _flush)),
            Prize("three_of_a_kind", "all three cards of one rank", _three_of_a_kind),
            Prize("straight", "a straight", _straight_of_three),
            Prize("flush", "three cards in one suit", _flush),
        ),
        needs_up=True,
    ),
    "house_money": SideWager(
        "House Money",
        (
            Prize("ace_king_suited", "ace and king in one suit", _and(_ace_king, _in_suit)),
            Prize("straight_flush", "a straight in one suit", _and(_straight_of_two, _in_suit)),
            Prize("pair", "a pair", _pair),
            Prize("straight", "a straight", _straight_of_two),
        ),
    ),
}
"""The side wagers, by name, with their prizes."""
