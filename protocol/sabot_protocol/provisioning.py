"""The document that makes a board a unit, carried by `provision` (README.md, "Provisioning"). Host
and board both check it with this module.
"""

from sabot_protocol import cbor, games
from sabot_protocol.chain import KEY_SIZE, are_random
from sabot_protocol.game_rules import game_to_deal

VERSION = 1
MAX_DOCUMENT = 1400
"""Size of the largest document in bytes."""
MAX_UNIT = 32
MAX_TABLE = 64
"""Size of the longest name of a table, in bytes of UTF-8."""
MAX_SET = 12
WHEN_FULL = ("stop", "go_on")
CHECK_CARDS = ("always", "if_opened")

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
_FIELDS = ("version", "unit", "table", "set", "when_full", "game", "release_key")
_FIRST_KEY = "first_key"
_RANDOM = "random"
_ESCROW = "escrow"
_CHECK_CARDS = "check_cards"
ESCROW_SIZE = 2 * KEY_SIZE

_P = (1 << 255) - 19
_WEAK = (
    0,
    1,
    _P - 1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
)
"""The u of the points of small order of Curve25519: with these anyone knows what is shared."""


class ProvisioningError(ValueError):
    """The bytes are not a provisioning document, or not one of this version."""


class Provisioning:
    """The checked fields of a document. Raises ProvisioningError with the reason."""

    def __init__(self, data: bytes) -> None:
        fields = _fields(data)
        self.unit = str(fields["unit"])
        """The unit's id."""
        self.table = str(fields["table"])
        """The name of its table."""
        self.card_set: int = fields["set"]  # type: ignore[assignment]
        self.when_full: str = fields["when_full"]  # type: ignore[assignment]
        self.check_cards = fields.get(_CHECK_CARDS, CHECK_CARDS[0])
        """When the supervisor must check the cards after a loss of power: always, or only if a
        latch says that the lid was opened."""
        self.game: bytes = fields["game"]  # type: ignore[assignment]
        """A game document."""
        self.release_key = _key(fields, "release_key")
        """The public key that signs this unit's releases."""
        self.first_key = _key(fields, _FIRST_KEY) if _FIRST_KEY in fields else None
        """The first key of its audit chain; None if the unit has one already."""
        self.host_bytes = _key(fields, _RANDOM) if _RANDOM in fields else None
        """The host's bytes for its pool; None from a host before version 11."""
        if self.host_bytes is not None and self.first_key is None:
            raise ProvisioningError("random bytes come with a first key only")
        if self.host_bytes is not None and not are_random(self.host_bytes):
            raise ProvisioningError("random bytes are not random: they are alike")
        self.escrow = _escrow(fields[_ESCROW]) if _ESCROW in fields else None
        """The public halves of the escrow; None: as they are."""
        if not is_unit(fields["unit"]):
            raise ProvisioningError("unit must be 1 to 32 letters, digits, -, _ or .")
        table = fields["table"]
        if not isinstance(table, str) or not 0 < len(table.encode()) <= MAX_TABLE:
            raise ProvisioningError("table must be text of 1 to %d bytes" % MAX_TABLE)
        if type(self.card_set) is not int or not 0 <= self.card_set <= MAX_SET:
            raise ProvisioningError("set must be 0 to %d" % MAX_SET)
        if self.when_full not in WHEN_FULL:
            raise ProvisioningError("when_full must be " + " or ".join(WHEN_FULL))
        if self.check_cards not in CHECK_CARDS:
            raise ProvisioningError("check_cards must be " + " or ".join(CHECK_CARDS))
        if not isinstance(self.game, bytes):
            raise ProvisioningError("game is not a game document")
        try:
            game_to_deal(self.game)
        except games.GameError as error:
            raise ProvisioningError(str(error)) from None


def _fields(data: bytes) -> "dict[str, object]":
    if len(data) > MAX_DOCUMENT:
        raise ProvisioningError("document is longer than %d bytes" % MAX_DOCUMENT)
    try:
        fields = cbor.decode(data, 0, len(data))
    except cbor.CborError as error:
        raise ProvisioningError("document is not CBOR: " + str(error)) from None
    version = fields.get("version") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or type(version) is not int or version != VERSION:
        raise ProvisioningError("not a document of version %d" % VERSION)
    names = set(fields)
    names.discard(_FIRST_KEY)
    names.discard(_RANDOM)
    names.discard(_ESCROW)
    names.discard(_CHECK_CARDS)
    if names != set(_FIELDS):
        raise ProvisioningError("document has a missing or unknown field")
    return fields


def _escrow(halves: object) -> bytes:
    if not isinstance(halves, bytes) or len(halves) != ESCROW_SIZE:
        raise ProvisioningError("escrow must be two public halves")
    numbers = []
    for at in (0, KEY_SIZE):
        number = int.from_bytes(halves[at : at + KEY_SIZE], "little") & ((1 << 255) - 1)
        numbers.append(number % _P)
        if number % _P in _WEAK:
            raise ProvisioningError("a half of the escrow is weak: make another")
    if numbers[0] == numbers[1]:
        raise ProvisioningError("both halves of the escrow are the same")
    return halves


def is_unit(name: object) -> bool:
    """Whether `name` can be a unit's id: 1 to 32 letters, digits, -, _ or . ."""
    if not isinstance(name, str) or not 0 < len(name) <= MAX_UNIT:
        return False
    return all(letter in _LETTERS for letter in name)


def _key(fields: "dict[str, object]", name: str) -> bytes:
    key = fields[name]
    if not isinstance(key, bytes) or len(key) != KEY_SIZE:
        raise ProvisioningError("%s must be %d bytes" % (name, KEY_SIZE))
    return key
