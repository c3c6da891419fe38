"""The totals of hands, and the dealer's play.

Cards are names such as "TS". Points are 1 for an ace and 10 for ten, jack, queen and king.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sabot.games.blackjack.house import HITS, House

MOST = 21
_RANKS = "A23456789TJQK"
_STANDS_ON = 17


@dataclass(frozen=True, slots=True)
class Total:
    """The total of a hand."""

    points: int
    """With one ace as 11 if that is 21 or less."""
    soft: bool
    """Whether an ace counts 11."""

    @property
    def bust(self) -> bool:
        """Whether it is over 21."""
        return self.points > MOST

    def __str__(self) -> str:
        return f"soft {self.points}" if self.soft else str(self.points)


def rank_of(card: str) -> int:
    """Return the rank of a card, from 1 for an ace to 13 for a king."""
    return _RANKS.index(card[0]) + 1


def points_of(card: str) -> int:
    """Return the points of a card, 1 for an ace."""
    return min(rank_of(card), 10)


def total_of(cards: Sequence[str]) -> Total:
    """Return the total of a hand."""
    return total_of_points([points_of(card) for card in cards])


def total_of_points(points: Sequence[int]) -> Total:
    """Return the total of a hand from the points of its cards."""
    hard = sum(points)
    soft = 1 in points and hard + 10 <= MOST
    return Total(hard + 10 * soft, soft)


def is_blackjack(cards: Sequence[str]) -> bool:
    """Whether these are an ace and a card of ten points. A hand after a split is never one."""
    return len(cards) == 2 and total_of(cards).points == MOST


def dealer_draws(total: Total, house: House) -> bool:
    """Whether the dealer takes another card: below 17, and on soft 17 if the house chose so."""
    if total.points == _STANDS_ON and total.soft:
        return house.soft_17 == HITS
    return total.points < _STANDS_ON
