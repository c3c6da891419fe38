"""Hold'em as a shoe deals it: its game document, with the choices of the house."""

from collections.abc import Mapping

from sabot.errors import Forbidden, did_you_mean
from sabot.games.choices import Choice
from sabot.games.dealt_game import DealtGame
from sabot.games.holdem import house
from sabot_protocol import games
from sabot_protocol.holdem import HOLDEM, HOLE_CARDS, MOST_SEATS, VOIDED_CARDS, HoldemGame

_SILENT = "not in the document"

OF_THE_SHOE = (
    Choice("seats", MOST_SEATS, range(2, MOST_SEATS + 1), f"{_SILENT}: the most who get cards"),
    Choice(
        "betting_closed_by",
        games.FIRST_CARD,
        games.BETTING_CLOSED_BY,
        f"{_SILENT}: what begins a hand; B(2): no stakes are changed within one",
    ),
    Choice(
        "voided_cards",
        VOIDED_CARDS[0],
        VOIDED_CARDS,
        f"{_SILENT}: whether the sealed cards of a void hand become known; never with hole_cards "
        "shown or never, unless it is chosen",
    ),
    Choice(
        "hole_cards",
        HOLE_CARDS[0],
        HOLE_CARDS,
        f"{_SILENT}: which hole cards become known at the end of a hand: all, and burned cards; "
        "those of the seats that the dealer marks as shown; none",
    ),
)
"""What the dealing depends on, besides running it twice."""

_NAMES = [choice.name for choice in OF_THE_SHOE]
_TWICE = "run_it_twice"


def document(choices: Mapping[str, object] = {}) -> bytes:
    """Return the document of hold'em for a shoe, with the house's choices, of the shoe and of the
    cashier. Its `house` has those of the cashier that differ from the defaults.

    Raises Forbidden, with the clause, for what the rules do not allow.
    """
    known = [choice.name for choice in GAME.choices]
    for name in choices:
        if name not in known:
            raise Forbidden(f"{house.NAME} has no choice {name!r}; {did_you_mean(name, known)}")
    dealing = {choice.name: choices.get(choice.name, choice.default) for choice in OF_THE_SHOE}
    for choice in OF_THE_SHOE:
        if not choice.allows(dealing[choice.name]):
            raise Forbidden(
                f"{house.NAME}: {choice.name} {dealing[choice.name]} is forbidden; allowed: "
                f"{choice.allowed_text()} ({choice.source_text()})"
            )
    chosen = {name: value for name, value in choices.items() if name not in _NAMES}
    of_house = house.house_of(chosen)
    if dealing["hole_cards"] == HOLE_CARDS[0]:
        del dealing["hole_cards"]  # the same document as before there was a choice
    elif "voided_cards" not in choices:
        dealing["voided_cards"] = VOIDED_CARDS[1]
    own: dict[str, object] = {"voided_cards": dealing.pop("voided_cards")}
    for each in house.CHOICES:
        value = getattr(of_house, each.name)
        if each.name != _TWICE and value != each.default:
            own[each.name] = value
    if len(own) > games.MAX_HOUSE:
        raise Forbidden(
            f"{house.NAME}: {len(own)} choices differ from the defaults, a document has room for "
            f"{games.MAX_HOUSE}; leave some to the files of the hands"
        )
    # Maryland, chapter 8 L(2)(a): a tournament table does not run it twice.
    twice = of_house.run_it_twice and not of_house.tournament
    return games.encode({**HOLDEM, **dealing, _TWICE: twice, "house": own})


def house_in(game: HoldemGame) -> dict[str, object]:
    """Return the choices of the cashier in a game document that differ from the defaults."""
    chosen = {name: value for name, value in game.house.items() if name not in _NAMES}
    return chosen if game.run_it_twice else chosen | {_TWICE: False}


GAME = DealtGame(house.NAME, house.TITLE, house.SOURCE, (*OF_THE_SHOE, *house.CHOICES), document)
