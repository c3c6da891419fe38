"""Games as data: the document from which a shoe deals a game.

`sabot.games` on the host makes the documents of the other games, with the choices of the house.
"""

import hashlib

from sabot_protocol import cbor

DOCUMENT_VERSION = 3
LAST_VERSION = 2
"""Also read: shoes and logs keep such documents of baccarat (baccarat.py)."""
MAX_DOCUMENT = 900
"""Bytes of the largest game document."""

BACCARAT = "baccarat"
BLACKJACK = "blackjack"
HOLDEM = "holdem"
FAMILIES = (BACCARAT, BLACKJACK, HOLDEM)
"""The families of games that a document can belong to; each has its own rounds. A document without
the key `family` is a game of baccarat."""

BURNS = ("by_first", "one", "none")
"""What is burned from new cards: one face up and as many as it counts; one face down; nothing."""

SHOWN = ("at_once", "after_reveal")
"""When the shoe may show the cards: in midi, and if they are dealt face down, only after the
dealer's reveal button."""

FIRST_CARD = "first_card"
BETTING_CLOSED_BY = (FIRST_CARD, "dealer")
"""What closes betting: the first card at the latest; only the dealer's "no more bets", and no card
is due before it."""

RULES = ("washington", "pairs", "maryland", "pennsylvania")
"""The rule documents; a game belongs to one. README.md, "What a game may not contradict"."""

MAX_HOUSE = 16
"""The most choices of the house in a document of baccarat."""


class GameError(ValueError):
    """The document is not a game; no part of it may be used."""


class FamilyGame:
    """A checked game document: what the games of all families have, for a shoe of cards. The class
    of each family checks the other fields.

    Raises GameError for bytes that are not deterministic CBOR, too many, or not a game. `value` is
    the decoded document, if the caller has it.
    """

    family = BACCARAT
    """One of FAMILIES."""
    FIELDS = (
        "version family rules name title source decks burn burn_ace cut_from_end rounds_after_cut "
        "betting_closed_by shown house"
    )
    """The fields of the documents of all families except baccarat, which have no others in common
    with it; a family adds its own. A space separates them."""
    MAX_HOUSE = MAX_HOUSE

    def __init__(self, document: bytes, value: "dict[str, object] | None" = None) -> None:
        if value is None:
            value = _decoded(document)
        self.document = document
        self.version: int = value["version"]  # type: ignore[assignment]
        self.sha256 = hashlib.sha256(document).digest()
        self._check_fields(value)
        self.rules: "str | None" = None
        """The rule document, one of RULES; None in a document of LAST_VERSION, which names none."""
        self.betting_closed_by: str = FIRST_CARD
        self.name: str = text_in(value, "name", 16)
        self.title: str = text_in(value, "title", 40)
        text_in(value, "source", 120)
        self.decks = number_in(value, "decks", 1, 8)
        self.burn: str = one_of(value, "burn", BURNS)
        self.burn_ace = number_in(value, "burn_ace", 1, 11)
        self.cut_from_end = number_in(value, "cut_from_end", 1, 104)
        self.rounds_after_cut = number_in(value, "rounds_after_cut", 0, 2)
        self.shown: str = one_of(value, "shown", SHOWN)
        self.face_down = self.shown != SHOWN[0]
        """Whether cards of its rounds lie face down, so that the shoe seals them. A family with
        other reasons sets it."""
        self.by_seat = False
        """Whether each seat has a key of its own, because not all open."""
        if self.version == DOCUMENT_VERSION:
            self.rules = one_of(value, "rules", RULES)
            self.betting_closed_by = one_of(value, "betting_closed_by", BETTING_CLOSED_BY)
        self.house: dict = _house(value["house"], self.MAX_HOUSE)  # type: ignore[type-arg]
        self._check(value)

    def _check_fields(self, value: "dict[str, object]") -> None:
        """Raise GameError unless the document has exactly the fields of its family."""
        fields = self.FIELDS.split()
        for field in fields:
            if field not in value:
                raise GameError(self.family + ": " + field + " is missing")
        if len(value) != len(fields):
            raise GameError(self.family + ": game document has extra fields")
        if value["family"] != self.family or self.version != DOCUMENT_VERSION:
            raise GameError("game document is not of " + self.family)

    def _check(self, value: "dict[str, object]") -> None:
        """Check and take over what the family adds."""


def game_of(document: bytes) -> FamilyGame:
    """Return the game of a document, of the class of its family, whose module is imported only
    then. Raises GameError as the classes do, and for an unknown family."""
    value = _decoded(document)
    if "family" not in value:
        from sabot_protocol.baccarat import Game

        return Game(document, value)
    if value["family"] == BLACKJACK:
        from sabot_protocol.blackjack import BlackjackGame

        return BlackjackGame(document, value)
    if value["family"] == HOLDEM:
        from sabot_protocol.holdem import HoldemGame

        return HoldemGame(document, value)
    raise GameError("game document of an unknown family")


def encode(game: "dict[str, object]") -> bytes:
    """Return the document of a game's fields. Raises GameError if it cannot be encoded or is too
    long."""
    buf = bytearray(MAX_DOCUMENT)
    try:
        return bytes(buf[: cbor.encode_into(buf, 0, game)])
    except cbor.CborError as error:
        raise GameError("game document: " + str(error)) from None
    except IndexError:
        raise GameError("game document over " + str(MAX_DOCUMENT) + " bytes") from None


def _decoded(document: bytes) -> "dict[str, object]":
    if len(document) > MAX_DOCUMENT:
        raise GameError("game document over " + str(MAX_DOCUMENT) + " bytes")
    try:
        value = cbor.decode(document, 0, len(document))
    except cbor.CborError as error:
        raise GameError("game document: " + str(error)) from None
    if not isinstance(value, dict):
        raise GameError("game document is not a map")
    version = value.get("version")
    if type(version) is not int or not LAST_VERSION <= version <= DOCUMENT_VERSION:
        raise GameError("game document has an unknown version")
    return value


def text_in(value: "dict[str, object]", field: str, longest: int) -> str:
    """Return a field that must be text of 1 to `longest` characters."""
    text = value[field]
    if not isinstance(text, str) or not 0 < len(text) <= longest:
        raise GameError(field + " must be text of 1 to " + str(longest) + " characters")
    return text


def one_of(value: "dict[str, object]", field: str, allowed: "tuple[str, ...]") -> str:
    """Return a field that must be one of the words `allowed`."""
    choice = value[field]
    if not isinstance(choice, str) or choice not in allowed:
        raise GameError(field + " must be " + " or ".join(allowed))
    return choice


def number_in(value: "dict[str, object]", field: str, low: int, high: int) -> int:
    """Return a field that must be a number from `low` to `high`."""
    number = value[field]
    if type(number) is not int or not low <= number <= high:
        raise GameError(field + " must be " + str(low) + " to " + str(high))
    return number


def flag_in(value: "dict[str, object]", field: str) -> bool:
    """Return a field that must be true or false."""
    flag = value[field]
    if flag is not True and flag is not False:
        raise GameError(field + " must be true or false")
    return flag


def _house(value: object, most: int) -> dict:  # type: ignore[type-arg]
    if not isinstance(value, dict) or len(value) > most:
        raise GameError("house must be a map of at most " + str(most) + " choices")
    for name in value:
        choice = value[name]
        if not isinstance(choice, (str, bool)) and (type(choice) is not int or choice < 0):
            raise GameError("house." + name[:20] + " must be number, text or flag")
    return value
