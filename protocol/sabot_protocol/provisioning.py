"""What makes a board a unit: the document that `provision` carries (README.md, "Provisioning"). Who
sends one and the board that takes it read it alike.
"""

from sabot_protocol import cbor, games
from sabot_protocol.chain import KEY_SIZE

VERSION = 1
MAX_DOCUMENT = 1400
"""Bytes of the largest one."""
MAX_UNIT = 32
MAX_TABLE = 64
"""Bytes of the table's name in UTF-8."""
MAX_SET = 12
WHEN_FULL = ("stop", "go_on")

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
_FIELDS = ("version", "unit", "table", "set", "when_full", "game", "release_key")
_FIRST_KEY = "first_key"


class ProvisioningError(ValueError):
    """A document that is none, or not one of this version."""


class Provisioning:
    """A document's fields, checked. Raises ProvisioningError, which says what is wrong."""

    def __init__(self, data: bytes) -> None:
        fields = _fields(data)
        self.unit = str(fields["unit"])
        """The unit's id."""
        self.table = str(fields["table"])
        """Where it stands."""
        self.card_set: int = fields["set"]  # type: ignore[assignment]
        self.when_full: str = fields["when_full"]  # type: ignore[assignment]
        self.game: bytes = fields["game"]  # type: ignore[assignment]
        """A game document."""
        self.release_key = _key(fields, "release_key")
        """Of who signs this unit's releases."""
        self.first_key = _key(fields, _FIRST_KEY) if _FIRST_KEY in fields else None
        """Of its audit chain; None where the unit has one."""
        if not _is_unit(fields["unit"]):
            raise ProvisioningError("a unit's id has 1 to 32 letters, digits, -, _ and .")
        table = fields["table"]
        if not isinstance(table, str) or not 0 < len(table.encode()) <= MAX_TABLE:
            raise ProvisioningError("table is no text of 1 to %d bytes" % MAX_TABLE)
        if type(self.card_set) is not int or not 0 <= self.card_set <= MAX_SET:
            raise ProvisioningError("set is not 0 to %d" % MAX_SET)
        if self.when_full not in WHEN_FULL:
            raise ProvisioningError("when_full is not " + " or ".join(WHEN_FULL))
        if not isinstance(self.game, bytes):
            raise ProvisioningError("game is no game document")
        try:
            games.Game(self.game)
        except games.GameError as error:
            raise ProvisioningError(str(error)) from None


def _fields(data: bytes) -> "dict[str, object]":
    if len(data) > MAX_DOCUMENT:
        raise ProvisioningError("document of more than %d bytes" % MAX_DOCUMENT)
    try:
        fields = cbor.decode(data, 0, len(data))
    except cbor.CborError as error:
        raise ProvisioningError("document is no CBOR: " + str(error)) from None
    version = fields.get("version") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or type(version) is not int or version != VERSION:
        raise ProvisioningError("no document of version %d" % VERSION)
    names = set(fields)
    names.discard(_FIRST_KEY)
    if names != set(_FIELDS):
        raise ProvisioningError("document lacks a field or has one too many")
    return fields


def _is_unit(name: object) -> bool:
    if not isinstance(name, str) or not 0 < len(name) <= MAX_UNIT:
        return False
    return all(letter in _LETTERS for letter in name)


def _key(fields: "dict[str, object]", name: str) -> bytes:
    key = fields[name]
    if not isinstance(key, bytes) or len(key) != KEY_SIZE:
        raise ProvisioningError("%s has %d bytes" % (name, KEY_SIZE))
    return key
