"""Blackjack as a shoe deals it: its game document, with the choices of the house."""

from collections.abc import Mapping

from sabot.errors import Forbidden
from sabot.games.blackjack import house
from sabot.games.choices import ALL, Choice
from sabot.games.dealt_game import DealtGame
from sabot.text import counted
from sabot_protocol import games
from sabot_protocol.blackjack import VOIDED_CARDS, BlackjackGame
from sabot_protocol.cards import DECK_SIZE

_SILENT = "not in the document"
_PRACTICE = f"{_SILENT}: common practice"

OF_THE_SHOE = (
    Choice("burn", "one", games.BURNS, _PRACTICE, ALL),
    Choice("burn_ace", 1, range(1, 12), f"{_PRACTICE}: cards that an ace burns", ALL),
    Choice("cut_from_end", 26, range(1, 105), f"{_PRACTICE}: the most cards after the cut", ALL),
    Choice("rounds_after_cut", 0, range(3), _PRACTICE, ALL),
    Choice("betting_closed_by", games.FIRST_CARD, games.BETTING_CLOSED_BY, _SILENT),
    Choice(
        "voided_cards",
        VOIDED_CARDS[0],
        VOIDED_CARDS,
        f"{_SILENT}: whether the hole card of a void round becomes known",
    ),
)
"""What only a shoe needs; the deal's other choices are in `house.DEAL_CHOICES`."""

_VOIDED = "voided_cards"
_DEAL = [choice.name for choice in house.DEAL_CHOICES]
_SHOE = [choice.name for choice in OF_THE_SHOE]


def document(choices: Mapping[str, object] = {}) -> bytes:
    """Return the document of blackjack for a shoe, with the house's choices. Its `house` has those
    of the cashier that differ from the defaults.

    Raises Forbidden, with the clause, for what the rules do not allow.
    """
    of_shoe = {choice.name: choices.get(choice.name, choice.default) for choice in OF_THE_SHOE}
    for choice in OF_THE_SHOE:
        if not choice.allows(of_shoe[choice.name]):
            raise Forbidden(
                f"{house.NAME}: {choice.name} {of_shoe[choice.name]} is forbidden; allowed: "
                f"{choice.allowed_text()} ({choice.source_text()})"
            )
    chosen = {name: value for name, value in choices.items() if name not in _SHOE}
    house.house_of(chosen)
    values = house.values_of(chosen)
    own: dict[str, object] = {_VOIDED: of_shoe.pop(_VOIDED)}
    for each in house.CHOICES:
        if each.name not in _DEAL and values[each.name] != each.default:
            own[each.name] = values[each.name]
    if int(values["decks"]) * DECK_SIZE <= int(str(of_shoe["cut_from_end"])):
        raise Forbidden(
            f"{house.NAME}: cut_from_end {of_shoe['cut_from_end']} leaves no card before the cut "
            f"card of {counted(int(values['decks']), 'deck')}; choose fewer ({_PRACTICE})"
        )
    try:
        encoded = games.encode(
            {
                "version": games.DOCUMENT_VERSION,
                "family": games.BLACKJACK,
                "rules": "maryland",
                "name": house.NAME,
                "title": house.TITLE,
                "source": house.SOURCE,
                "shown": games.SHOWN[0],
                "house": own,
                **of_shoe,
                **{name: values[name] for name in _DEAL},
            }
        )
        games.game_of(encoded)
    except games.GameError as error:
        raise Forbidden(f"{house.NAME}: {error}; change the choices ({_PRACTICE})") from None
    return encoded


def house_in(game: BlackjackGame) -> dict[str, object]:
    """Return the choices of the deal and the cashier in a game document, for `house.house_of`."""
    chosen = {name: value for name, value in game.house.items() if name != _VOIDED}
    return chosen | {name: getattr(game, name) for name in _DEAL}


GAME = DealtGame(house.NAME, house.TITLE, house.SOURCE, (*house.CHOICES, *OF_THE_SHOE), document)
