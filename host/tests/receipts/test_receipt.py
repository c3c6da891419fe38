"""Receipts, read and made again by hand from their definition."""

import random

import cbor2
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sabot.receipts.receipt import CHAIN, MOST_BYTES, NUMBERS, Receipt, ReceiptUnusable, make

_NOTARY = Ed25519PrivateKey.from_private_bytes(b"notary.." * 4)
_PUBLIC = _NOTARY.public_key().public_bytes_raw()
_MAC = bytes(range(16))
_FIELDS = {
    "receipt": 1,
    "unit": "SHOE-7",
    "number": 900,
    "mac": _MAC,
    "records": 880,
    "unix_ms": 1_795_000_000_000,
    "checked": "chain",
    "public_key": _PUBLIC,
}


def _sealed(**changed: object) -> bytes:
    """A receipt made here, with other fields than those of a good one; None leaves one out."""
    fields = {name: value for name, value in (_FIELDS | changed).items() if value is not None}
    data = cbor2.dumps(fields, canonical=True)
    return cbor2.dumps([data, _NOTARY.sign(data)], canonical=True)


def _made() -> bytes:
    return make(
        _NOTARY,
        unit="SHOE-7",
        number=900,
        mac=_MAC,
        records=880,
        unix_ms=1_795_000_000_000,
        checked=CHAIN,
    )


def test_a_receipt_is_the_documented_bytes() -> None:
    assert _made() == _sealed()
    document, signature = cbor2.loads(_made())
    _NOTARY.public_key().verify(signature, document)
    with pytest.raises(InvalidSignature):
        _NOTARY.public_key().verify(signature, document + b"\0")
    assert cbor2.loads(document) == _FIELDS


def test_it_is_read_as_it_was_made() -> None:
    fields = {name: value for name, value in _FIELDS.items() if name != "receipt"}
    assert Receipt.parse(_made()) == Receipt(**fields)  # type: ignore[arg-type]
    assert Receipt.parse(_sealed(checked=NUMBERS)).checked == NUMBERS


def test_no_changed_byte_passes(rng: random.Random) -> None:
    good = _made()
    for at in range(len(good)):
        changed = bytearray(good)
        changed[at] ^= rng.randrange(1, 256)
        with pytest.raises(ReceiptUnusable):
            Receipt.parse(bytes(changed))
    for size in (0, 1, len(good) - 1):
        with pytest.raises(ReceiptUnusable):
            Receipt.parse(good[:size])
    with pytest.raises(ReceiptUnusable):
        Receipt.parse(good + b"\0")


def test_one_that_was_changed_says_what_it_claims() -> None:
    document, signature = cbor2.loads(_made())
    other = cbor2.dumps(cbor2.loads(document) | {"number": 901}, canonical=True)
    with pytest.raises(ReceiptUnusable, match="changed since") as raised:
        Receipt.parse(cbor2.dumps([other, signature], canonical=True))
    assert (raised.value.unit, raised.value.number) == ("SHOE-7", 901)


@pytest.mark.parametrize(
    "changed",
    [
        {"receipt": 2},
        {"receipt": None},
        {"receipt": True},
        {"unit": 7},
        {"unit": "x" * 5000},
        {"number": 0},
        {"number": -1},
        {"number": 1 << 63},
        {"number": "900"},
        {"records": 0},
        {"records": 901},  # more events than numbers
        {"mac": _MAC[:15]},
        {"mac": "mac"},
        {"unix_ms": -1},
        {"checked": "everything"},
        {"checked": None},
        {"public_key": _PUBLIC[:31]},
        {"note": "one more"},
    ],
)
def test_other_fields_are_refused_although_they_are_signed(changed: dict[str, object]) -> None:
    with pytest.raises(ReceiptUnusable):
        Receipt.parse(_sealed(**changed))


def test_a_long_one_is_not_even_read() -> None:
    with pytest.raises(ReceiptUnusable, match="too long"):
        Receipt.parse(bytes(MOST_BYTES + 1))
