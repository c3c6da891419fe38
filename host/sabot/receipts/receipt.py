"""A receipt: the centre's signed word on how far it has a unit's log.

It is sealed (keys/signing.py) by the notary of the centre. It says that at `unix_ms` the events of
`unit` up to `number` were committed at the centre: `records` of them, the last with the MAC `mac`.
The chain ties that MAC to every event before it, so one receipt covers all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sabot.keys.signing import PUBLIC_SIZE, NotSealed, PrivateKey, open_sealed, seal
from sabot_protocol.events import MAC_SIZE
from sabot_protocol.frame import MAX_PAYLOAD

VERSION = 1

NUMBERS, CHAIN = "numbers", "chain"
"""What the notary checked before it signed: the numbers of the events only, or the MACs too."""

MOST_BYTES = 4096
"""More than any receipt has."""

_LONGEST_UNIT = MAX_PAYLOAD  # characters: its name came in a message
_LARGEST = (1 << 63) - 1


class ReceiptUnusable(ValueError):
    """The bytes are not a receipt, or were changed since it was signed.

    `unit` and `number` are those that the bytes claim; "" and 0 if they claim none.
    """

    def __init__(self, text: str, unit: str = "", number: int = 0) -> None:
        super().__init__(text)
        self.unit = unit
        self.number = number


@dataclass(frozen=True, slots=True)
class Receipt:
    """The centre had all events of `unit` up to `number`, as the module's docstring says."""

    unit: str
    number: int
    mac: bytes
    records: int
    """How many events of the unit the centre had taken up to `number`, also those that it has
    pruned since, and those that came to it as a tombstone."""
    unix_ms: int
    """When it was signed, by the centre's clock."""
    checked: str
    """NUMBERS or CHAIN."""
    public_key: bytes
    """Public key of the notary, 32 raw bytes. Whether it is the right one, the caller compares."""

    @classmethod
    def parse(cls, data: bytes) -> "Receipt":
        """The receipt in these bytes. Its signature is checked with the key in it.

        Raises ReceiptUnusable.
        """
        if len(data) > MOST_BYTES:
            raise ReceiptUnusable("not a receipt: too long")
        try:
            sealed = open_sealed(data)
        except NotSealed as error:
            raise ReceiptUnusable(f"not a receipt: {error}") from None
        document = sealed.document
        if "receipt" not in document:
            raise ReceiptUnusable("not a receipt, but another document")
        claims = _claims(document)
        if not sealed.signed:
            raise ReceiptUnusable("a receipt that was changed since it was signed", *claims)
        if document["receipt"] != VERSION:
            raise ReceiptUnusable("a receipt of another version; update sabot", *claims)
        if not _fits(document):
            raise ReceiptUnusable("a receipt with the wrong fields", *claims)
        return cls(**{name: document[name] for name in _FIELDS if name != "receipt"})


def make(
    private: PrivateKey,
    *,
    unit: str,
    number: int,
    mac: bytes,
    records: int,
    unix_ms: int,
    checked: str,
) -> bytes:
    """A receipt, signed with the notary's key."""
    document = {
        "receipt": VERSION,
        "unit": unit,
        "number": number,
        "mac": mac,
        "records": records,
        "unix_ms": unix_ms,
        "checked": checked,
    }
    return seal(private, document)


_FIELDS: Mapping[str, type] = {
    "receipt": int, "unit": str, "number": int, "mac": bytes, "records": int, "unix_ms": int,
    "checked": str, "public_key": bytes,
}  # fmt: skip


def _fits(document: Mapping[str, Any]) -> bool:
    return (
        {name: type(value) for name, value in document.items()} == _FIELDS
        and len(document["unit"]) <= _LONGEST_UNIT
        and 1 <= document["records"] <= document["number"] <= _LARGEST
        and 0 <= document["unix_ms"] <= _LARGEST
        and (len(document["mac"]), len(document["public_key"])) == (MAC_SIZE, PUBLIC_SIZE)
        and document["checked"] in (NUMBERS, CHAIN)
    )


def _claims(document: Mapping[str, Any]) -> tuple[str, int]:
    unit, number = document.get("unit"), document.get("number")
    return (
        unit if isinstance(unit, str) and len(unit) <= _LONGEST_UNIT else "",
        number if type(number) is int and 1 <= number <= _LARGEST else 0,
    )
