"""The families of games that a shoe deals, and the games of all of them."""

from collections.abc import Mapping

from sabot.errors import UnknownGame, nearest
from sabot.games.baccarat import family as baccarat
from sabot.games.blackjack import family as blackjack
from sabot.games.family import Family, Game, Players
from sabot.games.holdem import family as holdem
from sabot.log.rounds import Dealt

FAMILIES = (baccarat.FAMILY, blackjack.FAMILY, holdem.FAMILY)

DEFAULT = baccarat.FAMILY
"""The family where none is named."""

GAMES: tuple[Game, ...] = tuple(game for family in FAMILIES for game in family.games)
"""Every game, as `sabot games` lists them."""

_BY_FAMILY = {family.name: family for family in FAMILIES}
_BY_NAME = {game.name: family for family in FAMILIES for game in family.games}
_BY_ROUND = {family.rounds: family for family in FAMILIES}


def of_game(name: str | None) -> Family:
    """Return the family of the game with this name; without a name, and for an unknown one, the
    default, which suggests the nearest of its own names. Raises UnknownGame if the nearest name is
    one of another family."""
    if name is None:
        return DEFAULT
    if name in _BY_NAME:
        return _BY_NAME[name]
    near = nearest(name, list(_BY_NAME))
    if near is not None and _BY_NAME[near] is not DEFAULT:
        raise UnknownGame(f"unknown game {name!r}; did you mean {near}?")
    return DEFAULT


def named(name: str) -> Family:
    """Return the family with this name, one of `sabot_protocol.games.FAMILIES`."""
    return _BY_FAMILY[name]


def players(seed: int | None) -> list[Players]:
    """Return the players of a simulated table at which any game may be dealt."""
    return [family.players(seed) for family in FAMILIES if family.players is not None]


def of_round(dealt: Dealt) -> Family:
    """Return the family of a round of a log."""
    return _BY_ROUND[type(dealt)]


def document(name: str, choices: Mapping[str, object] = {}) -> bytes:
    """Return the document of a game with the house's choices, for a shoe.

    Raises UnknownGame, and Forbidden for choices that the rules do not allow.
    """
    return of_game(name).document(name, choices)
