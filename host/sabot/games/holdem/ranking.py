"""Which hand is better: the best five of two hole cards and five community cards, by PokerKit.

PokerKit takes half a second to import, so only commands on poker import this package.
"""

from dataclasses import dataclass

from pokerkit import Card, Hand, StandardHighHand

_RANKS = "23456789TJQKA"
_SUITS = "CDHS"


@dataclass(frozen=True, slots=True)
class Ranked:
    """The best hand of a player on a board."""

    hand: Hand
    """Compares with the hands of other players."""
    name: str
    """Such as "full house"."""
    cards: tuple[str, ...]
    """The five cards, in the order in which the board and the hole cards were given."""


def best_hand(hole: tuple[str, ...], board: tuple[str, ...]) -> Ranked:
    """Return the best hand of two hole cards with five community cards; none, either or both of the
    hole cards play."""
    hand = StandardHighHand.from_game(_parsed(hole), _parsed(board))
    playing = {repr(card).upper() for card in hand.cards}
    cards = tuple(card for card in (*hole, *board) if card.upper() in playing)
    return Ranked(hand, str(hand.entry.label.value).lower(), cards)


def height(card: str) -> tuple[int, int]:
    """Return a sort key of a card: by rank, then by suit, spades highest."""
    return _RANKS.index(card[0]), _SUITS.index(card[1])


def _parsed(cards: tuple[str, ...]) -> tuple[Card, ...]:
    return tuple(Card.parse("".join(card[0] + card[1].lower() for card in cards)))
