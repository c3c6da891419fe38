"""Who is due the next card of a round, and what the rules have decided: from its hands alone.

Sources: as in rules.py, of whose tables this is the order.
"""

from sabot_firmware.table import rules
from sabot_protocol import enums

PLAYER_1 = enums.POSITIONS.index("player_1")
BANKER_2 = enums.POSITIONS.index("banker_2")
PLAYER_3 = enums.POSITIONS.index("player_3")
BANKER_3 = enums.POSITIONS.index("banker_3")
NOT_DUE = enums.POSITIONS.index("not_due")

PLAYER, BANKER, TIE = range(len(enums.WINNERS))
_DRAWS, _STANDS, _NATURAL = range(len(enums.ACTIONS))


def due_behind(game, position: int, player: "list[int]", banker: "list[int]", card: int) -> int:
    """As what the next card is due once `card`, drawn as `position`, lies in its hand.

    NOT_DUE ends the round. Allocates nothing: the lock waits for it.
    """
    if position < BANKER_2:
        return position + 1
    if position == BANKER_3:
        return NOT_DUE
    of_banker = rules.total_of(banker)
    third = card
    if position == BANKER_2:
        of_player = rules.total_of(player)
        of_banker = rules.total_with(of_banker, card)
        if rules.is_natural(of_player) or rules.is_natural(of_banker):
            return NOT_DUE
        if rules.player_draws(game, of_player):
            return PLAYER_3
        third = rules.NO_CARD
    return BANKER_3 if rules.banker_draws(game, of_banker, third) else NOT_DUE


def decisions(
    position: int, due: int, player: "list[int]", banker: "list[int]"
) -> "list[tuple[int, int, int]]":
    """What was decided when the card of `position` lay in its hand and the next was `due`.

    Each is a hand, an action and the total of the hand's two cards, as in `events.DECISION`.
    """
    if position != BANKER_2 and position != PLAYER_3:
        return []
    of_banker = rules.total_of(banker)
    banker_acts = (BANKER, _DRAWS if due == BANKER_3 else _STANDS, of_banker)
    if position == PLAYER_3:
        return [banker_acts]
    of_player = rules.total_of(player)
    if rules.is_natural(of_player) or rules.is_natural(of_banker):
        return [
            (hand, _NATURAL if rules.is_natural(total) else _STANDS, total)
            for hand, total in ((PLAYER, of_player), (BANKER, of_banker))
        ]
    if due == PLAYER_3:
        return [(PLAYER, _DRAWS, of_player)]
    return [(PLAYER, _STANDS, of_player), banker_acts]


def result_of(game, player: "list[int]", banker: "list[int]") -> tuple:
    """The result of a round with these hands: the fields of `events.RESULT`."""
    of_player, of_banker = rules.total_of(player), rules.total_of(banker)
    return (
        PLAYER if of_player > of_banker else BANKER if of_banker > of_player else TIE,
        of_player,
        of_banker,
        rules.is_natural(rules.total_of(player[:2])),
        rules.is_natural(rules.total_of(banker[:2])),
        abs(of_player - of_banker),
        rules.hits_of(player, banker) & game.hits,
        game.sha256,
    )
