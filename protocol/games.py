"""Games as data: the document that tells a shoe what to deal, and the games known here."""

import hashlib

from protocol import cbor

DOCUMENT_VERSION = 1
MAX_DOCUMENT = 480
"""Bytes of the largest game document."""

MINI_NAME = "mini"

MINI = {
    "version": DOCUMENT_VERSION,
    "name": MINI_NAME,
    "title": "Mini baccarat",
    "source": "Washington State Gambling Commission, Mini-Baccarat Game Rules, 4/12/2022",
    "decks": 8,
    "player_draws": [0, 1, 2, 3, 4, 5],
    # By the Banker's total 0-9: the points of the Player's third card on which Banker draws.
    "banker_draws": [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [0, 1, 2, 3, 4, 5, 6, 7, 9],
        [2, 3, 4, 5, 6, 7],
        [4, 5, 6, 7],
        [6, 7],
        [],
        [],
        [],
    ],
    "banker_draws_if_player_stood": [0, 1, 2, 3, 4, 5],
    "rounds_after_cut": 1,
    "cut_from_end": 16,
}
"""Draws: items 9 and 10, "Player Hand Rules" and "Banker Hand Rules" of the source. The
rounds after a cut card within a round, and how many cards lie behind it at the most, are common
practice."""

KNOWN = (MINI,)


class GameError(ValueError):
    """A document that is not a game; nothing of it may be used."""


class Game:
    """A game document that has been checked, as the rules read it.

    Raises GameError for bytes that are no deterministic CBOR, too many, or no game.
    """

    def __init__(self, document: bytes) -> None:
        if len(document) > MAX_DOCUMENT:
            raise GameError("game document over " + str(MAX_DOCUMENT) + " bytes")
        try:
            value = cbor.decode(document, 0, len(document))
        except cbor.CborError as error:
            raise GameError("game document: " + str(error)) from None
        if not isinstance(value, dict):
            raise GameError("game document is no map")
        if sorted(value) != sorted(MINI):
            raise GameError("game document lacks a field or has one too many")
        if type(value["version"]) is not int or value["version"] != DOCUMENT_VERSION:
            raise GameError("game document of an unknown version")
        for field, longest in (("name", 16), ("title", 40), ("source", 120)):
            text = value[field]
            if not isinstance(text, str) or not 0 < len(text) <= longest:
                raise GameError(field + " is no text of 1 to " + str(longest) + " letters")
        tables = value["banker_draws"]
        if not isinstance(tables, list) or len(tables) != 10:
            raise GameError("banker_draws is no list of ten")
        self.document = document
        self.sha256 = hashlib.sha256(document).digest()
        self.name: str = value["name"]
        self.title: str = value["title"]
        self.decks = _number(value, "decks", 1, 8)
        self.player_draws = _points(value["player_draws"], "player_draws")
        self.banker_draws = [_points(table, "banker_draws") for table in tables]
        self.banker_draws_if_player_stood = _points(
            value["banker_draws_if_player_stood"], "banker_draws_if_player_stood"
        )
        self.rounds_after_cut = _number(value, "rounds_after_cut", 0, 2)
        self.cut_from_end = _number(value, "cut_from_end", 1, 104)


def document_of(name: str) -> bytes:
    """The CBOR document of a game in KNOWN. Raises GameError where there is none."""
    for game in KNOWN:
        if game["name"] == name:
            buf = bytearray(MAX_DOCUMENT)
            return bytes(buf[: cbor.encode_into(buf, 0, game)])
    raise GameError("no game is called " + name)


def _number(value: "dict[str, object]", field: str, low: int, high: int) -> int:
    number = value[field]
    if type(number) is not int or not low <= number <= high:
        raise GameError(field + " is not " + str(low) + " to " + str(high))
    return number


def _points(table: object, field: str) -> bytes:
    """The points 0-9 in `table`, each once and ascending."""
    if not isinstance(table, list):
        raise GameError(field + " is no list")
    before = -1
    for point in table:
        if type(point) is not int or not before < point <= 9:
            raise GameError(field + " is no list of points 0 to 9, ascending")
        before = point
    return bytes(table)
