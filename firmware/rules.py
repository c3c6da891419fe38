"""The rules of baccarat as pure functions over a game's tables.

Source: Washington State Gambling Commission, Mini-Baccarat Game Rules (4/12/2022), items 6-10.
"""

from protocol import cards

NO_CARD = -1


def point_of(card: int) -> int:
    """What a card 0-51 counts: ace 1, 2-9 their face, tens and faces 0 (item 6)."""
    rank = cards.rank_of(card)
    return rank if rank < 10 else 0


def burn_count(card: int) -> int:
    """Cards to burn after the first one: its value, ten for tens and faces, one for an ace."""
    return point_of(card) or 10


def total_of(hand: "list[int]") -> int:
    """A hand's total 0-9: the last digit of the sum of its points (item 7)."""
    total = 0
    for card in hand:
        total += point_of(card)
    return total % 10


def total_with(total: int, card: int) -> int:
    """The total 0-9 of a hand of `total` and one more card."""
    return (total + point_of(card)) % 10


def is_natural(total: int) -> bool:
    """Whether a total of two cards is a natural (item 10)."""
    return total >= 8


def player_draws(game, total: int) -> bool:
    """Whether the Player's two cards of `total` ask for a third, no hand being a natural."""
    return total in game.player_draws


def banker_draws(game, total: int, player_third: int) -> bool:
    """Whether the Banker's two cards of `total` ask for a third, no hand being a natural.

    `player_third` is the Player's third card, NO_CARD where the Player stood.
    """
    if player_third == NO_CARD:
        return total in game.banker_draws_if_player_stood
    return point_of(player_third) in game.banker_draws[total]
