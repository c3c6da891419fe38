"""Games as data: the document from which a shoe deals a game, and the default document.

`sabot.games` on the host makes the documents of the other games, with the choices of the house.
"""

import hashlib

from sabot_protocol import cbor, enums

DOCUMENT_VERSION = 3
LAST_VERSION = 2
"""Also read: shoes and logs keep such documents. They have none of `NEW_FIELDS`, and the first card
closes betting."""
NEW_FIELDS = ("rules", "betting_closed_by")
MAX_DOCUMENT = 900
"""Bytes of the largest game document."""

MINI_NAME = "mini"

BACCARAT = "baccarat"
BLACKJACK = "blackjack"
HOLDEM = "holdem"
FAMILIES = (BACCARAT, BLACKJACK, HOLDEM)
"""The families of games that a document can belong to; each has its own rounds. A document without
the key `family` is a game of baccarat."""

ORDER = "PBPB"
"""Cards 1 and 3 to the Player, 2 and 4 to the Banker, as in every rule document."""

BURNS = ("by_first", "one", "none")
"""What is burned from new cards: one face up and as many as it counts; one face down; nothing."""

TURNED_BY = ("dealer", "players")
SHOWN = ("at_once", "after_reveal")
"""When the shoe may show the cards: in midi, and if they are dealt face down, only after the
dealer's reveal button."""

FIRST_CARD = "first_card"
BETTING_CLOSED_BY = (FIRST_CARD, "dealer")
"""What closes betting: the first card at the latest; only the dealer's "no more bets", and no card
is due before it."""

RULES = ("washington", "pairs", "maryland", "pennsylvania")
"""The rule documents; a game belongs to one. README.md, "What a game may not contradict"."""

PLAYER_DRAWS = [0, 1, 2, 3, 4, 5]
BANKER_DRAWS = [
    # By the Banker's total 0-9: the points of the Player's third card on which the Banker draws.
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
]
BANKER_DRAWS_IF_PLAYER_STOOD = [0, 1, 2, 3, 4, 5]
"""The draws of all rule documents: Washington, items 9 and 10, "Player Hand Rules" and "Banker
Hand Rules"; Mini Baccarat (pairs), "The Third Card Rule"; Pennsylvania, the two charts."""

MINI = {
    "version": DOCUMENT_VERSION,
    "rules": "washington",
    "name": MINI_NAME,
    "title": "Mini baccarat",
    "source": "Washington State Gambling Commission, Mini-Baccarat Game Rules, 4/12/2022",
    "decks": 8,
    "order": ORDER,
    "player_draws": PLAYER_DRAWS,
    "banker_draws": BANKER_DRAWS,
    "banker_draws_if_player_stood": BANKER_DRAWS_IF_PLAYER_STOOD,
    "burn": "by_first",
    "burn_ace": 1,
    "cut_from_end": 16,
    "rounds_after_cut": 1,
    "turned_by": "dealer",
    "shown": "at_once",
    "betting_closed_by": FIRST_CARD,
    "announced": True,
    "wagers": ["player", "banker", "tie"],
    "house": {
        "tie_pays": 8,
        "vigorish_permille": 50,
        "vigorish_rounding": "exact",
        "vigorish_when": "at_once",
        "areas": 9,
        "gallery": True,
        "ghost_hands": 3,
        "minimum_cents": 1000,
        "maximum_cents": 500000,
    },
}
"""The game of a shoe until another is loaded. Burning, the place of the cut card and the rounds
after it are common practice; `house` holds the choices of the house, by which the host settles
wagers."""

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


class Game(FamilyGame):
    """A game of baccarat, in the form that the rules use."""

    def _check_fields(self, value: "dict[str, object]") -> None:
        fields = set(MINI)
        if self.version == LAST_VERSION:
            fields.difference_update(NEW_FIELDS)
        if set(value) != fields:
            raise GameError("game document has missing or extra fields")

    def _check(self, value: "dict[str, object]") -> None:
        one_of(value, "order", (ORDER,))
        self.player_draws = _points(value["player_draws"], "player_draws")
        tables = value["banker_draws"]
        if not isinstance(tables, list) or len(tables) != 10:
            raise GameError("banker_draws must be a list of ten")
        self.banker_draws = [_points(table, "banker_draws") for table in tables]
        self.banker_draws_if_player_stood = _points(
            value["banker_draws_if_player_stood"], "banker_draws_if_player_stood"
        )
        self._check_possible()
        self.turned_by: str = one_of(value, "turned_by", TURNED_BY)
        self.announced = flag_in(value, "announced")
        self.wagers = _wagers(value["wagers"])
        self.hits = hits_of(self.wagers)
        """Bit n: a wager of this game depends on the n-th of `enums.HITS`."""

    def _check_possible(self) -> None:
        """Check that no hand draws to a natural: items 9 and 10 of the Washington rules, and all
        other rules."""
        for table in (self.player_draws, self.banker_draws_if_player_stood):
            if 8 in table or 9 in table:
                raise GameError("a hand would draw to a natural")
        if self.banker_draws[8] or self.banker_draws[9]:
            raise GameError("a hand would draw to a natural")


def game_of(document: bytes) -> FamilyGame:
    """Return the game of a document, of the class of its family, whose module is imported only
    then. Raises GameError as the classes do, and for an unknown family."""
    value = _decoded(document)
    if "family" not in value:
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


def document_of(name: str) -> bytes:
    """Return the document of the default game. Raises GameError for any other name."""
    if name != MINI_NAME:
        raise GameError("no game is called " + name)
    return encode(MINI)


HITS_OF_WAGER = {
    "player": (),
    "banker": (),
    "tie": (),
    "player_pair": ("player_pair",),
    "banker_pair": ("banker_pair",),
    "dragon_7": ("dragon_7",),
    "panda_8": ("panda_8",),
    "dragon_bonus_player": (),
    "dragon_bonus_banker": (),
    "fortune_7": ("fortune_7",),
    "golden_8": ("golden_8",),
    "heavenly_9": ("heavenly_9", "heavenly_9_both"),
    "blazing_7s": ("blazing_7s_two", "blazing_7s_three"),
    "cover_all": (
        "fortune_7", "golden_8", "heavenly_9", "heavenly_9_both", "blazing_7s_two",
        "blazing_7s_three",
    ),
}  # fmt: skip
"""Every wager, with the hits that it depends on besides winner, totals, margin and naturals."""


def hits_of(wagers: "list[str]") -> int:
    """Return the hits that `wagers` depend on; bit n is the n-th of `enums.HITS`."""
    hits = 0
    for wager in wagers:
        for name in HITS_OF_WAGER[wager]:
            hits |= 1 << enums.HITS.index(name)
    return hits


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


def _points(table: object, field: str) -> bytes:
    """Return the points 0-9 in `table`, each once and ascending."""
    if not isinstance(table, list):
        raise GameError(field + " must be a list")
    before = -1
    for point in table:
        if type(point) is not int or not before < point <= 9:
            raise GameError(field + " must be points 0 to 9, ascending")
        before = point
    return bytes(table)


def _wagers(value: object) -> "list[str]":
    if not isinstance(value, list) or not value:
        raise GameError("wagers must be a list")
    for place in range(len(value)):
        wager = value[place]
        if not isinstance(wager, str) or wager not in HITS_OF_WAGER:
            raise GameError("this shoe reports no outcome of the wager " + str(wager)[:20])
        if wager in value[:place]:
            raise GameError("the wager " + wager + " comes twice")
    return value


def _house(value: object, most: int) -> dict:  # type: ignore[type-arg]
    if not isinstance(value, dict) or len(value) > most:
        raise GameError("house must be a map of at most " + str(most) + " choices")
    for name in value:
        choice = value[name]
        if not isinstance(choice, (str, bool)) and (type(choice) is not int or choice < 0):
            raise GameError("house." + name[:20] + " must be number, text or flag")
    return value
