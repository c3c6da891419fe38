"""The games of all families that a shoe deals."""

from collections.abc import Mapping

from sabot.errors import UnknownGame, nearest
from sabot.games.baccarat import catalogue
from sabot.games.baccarat.house_game import HouseGame
from sabot.games.blackjack import shoe_game as blackjack
from sabot.games.dealt_game import DealtGame
from sabot.games.holdem import shoe_game as holdem

OTHER_FAMILIES: tuple[DealtGame, ...] = (blackjack.GAME, holdem.GAME)
"""Those that are not baccarat; the games of baccarat are in `catalogue.GAMES`."""

GAMES: tuple[HouseGame | DealtGame, ...] = (*catalogue.GAMES, *OTHER_FAMILIES)
"""Every game, as `sabot games` lists them."""


def document(name: str, choices: Mapping[str, object] = {}) -> bytes:
    """Return the document of a game with the house's choices, for a shoe.

    Raises UnknownGame, and Forbidden for choices that the rules do not allow.
    """
    for game in OTHER_FAMILIES:
        if game.name == name:
            return game.document(choices)
    _check_spelling(name)
    return catalogue.document(name, choices)


def baccarat(name: str) -> HouseGame:
    """Return the game of baccarat with this name. Raises UnknownGame."""
    if name == holdem.GAME.name:
        raise UnknownGame(
            f"there are no odds and no scores of {name} here; `sabot settle --game {name} "
            "HAND.json` settles a hand"
        )
    _check_spelling(name)
    return catalogue.find_game(name)


def _check_spelling(name: str) -> None:
    """Raise UnknownGame if the nearest name is one of another family; the catalogue does it for
    baccarat."""
    near = nearest(name, [game.name for game in GAMES])
    if near is not None and any(game.name == near for game in OTHER_FAMILIES):
        raise UnknownGame(f"unknown game {name!r}; did you mean {near}?")
