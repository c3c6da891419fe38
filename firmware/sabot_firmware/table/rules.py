"""The rules of baccarat as pure functions over a game's tables.

Source: Washington State Gambling Commission, Mini-Baccarat Game Rules (4/12/2022), items 6-10.
"""

from sabot_firmware.native import const
from sabot_protocol import cards

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_protocol.baccarat import Game

NO_CARD = const(-1)

# Bits of `enums.HITS`, constant for the compiler; a test compares them with the tuple.
_PLAYER_PAIR = const(1 << 0)
_BANKER_PAIR = const(1 << 1)
_DRAGON_7 = const(1 << 2)
_PANDA_8 = const(1 << 3)
_FORTUNE_7 = const(1 << 4)
_GOLDEN_8 = const(1 << 5)
_HEAVENLY_9 = const(1 << 6)
_HEAVENLY_9_BOTH = const(1 << 7)
_BLAZING_7S_TWO = const(1 << 8)
_BLAZING_7S_THREE = const(1 << 9)


def point_of(card: int) -> int:
    """Return the points of a card 0-51: ace 1, 2-9 their rank, tens and faces 0 (item 6)."""
    rank = cards.rank_of(card)
    return rank if rank < 10 else 0


def burn_count(game: "Game", card: int) -> int:
    """Return the number of cards to burn after the first one: its value, ten for tens and faces;
    for an ace the house chooses it in the game document."""
    return game.burn_ace if cards.rank_of(card) == 1 else point_of(card) or 10


def total_of(hand: "list[int]") -> int:
    """Return a hand's total 0-9: the last digit of the sum of its points (item 7)."""
    total = 0
    for card in hand:
        total += point_of(card)
    return total % 10


def total_with(total: int, card: int) -> int:
    """Return the total 0-9 of a hand with `total` and one more card."""
    return (total + point_of(card)) % 10


def is_natural(total: int) -> bool:
    """Whether a total of two cards is a natural (item 10)."""
    return total >= 8


def player_draws(game: "Game", total: int) -> bool:
    """Whether the Player draws a third card to a two-card `total`, if no hand is a natural."""
    return total in game.player_draws


def banker_draws(game: "Game", total: int, player_third: int) -> bool:
    """Whether the Banker draws a third card to a two-card `total`, if no hand is a natural.

    `player_third` is the Player's third card, NO_CARD if the Player stood.
    """
    if player_third == NO_CARD:
        return total in game.banker_draws_if_player_stood
    return point_of(player_third) in game.banker_draws[total]


def is_pair(hand: "list[int]") -> bool:
    """Whether the first two cards have the same rank (mini-baccarat-pairs); suits do not matter."""
    return cards.rank_of(hand[0]) == cards.rank_of(hand[1])


def hits_of(player: "list[int]", banker: "list[int]") -> int:
    """Return the hits of a complete round, as bits of `enums.HITS`.

    Sources: mini-baccarat-pairs; Maryland, Mini Baccarat, chapter 1, B (1) and (5); Pennsylvania,
    "5 Treasures Bonus".
    """
    player_total, banker_total = total_of(player), total_of(banker)
    player_three, banker_three = len(player) == 3, len(banker) == 3
    hits = 0
    if is_pair(player):
        hits |= _PLAYER_PAIR
    if is_pair(banker):
        hits |= _BANKER_PAIR
    if banker_three and banker_total == 7 and player_total < 7:
        hits |= _DRAGON_7 | _FORTUNE_7
    if player_three and player_total == 8 and banker_total < 8:
        hits |= _PANDA_8 | _GOLDEN_8
    player_nine = player_three and player_total == 9
    banker_nine = banker_three and banker_total == 9
    if player_nine and banker_nine:
        hits |= _HEAVENLY_9_BOTH
    elif player_nine or banker_nine:
        hits |= _HEAVENLY_9
    if player_total == banker_total == 7 and player_three == banker_three:
        hits |= _BLAZING_7S_THREE if player_three else _BLAZING_7S_TWO
    return hits
