"""A receipt, read and checked from its definition with cbor2 and cryptography alone."""

from typing import Any, NamedTuple

import cbor2
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

_FIELDS = {
    "receipt": int, "unit": str, "number": int, "mac": bytes, "records": int, "unix_ms": int,
    "checked": str, "public_key": bytes,
}  # fmt: skip
_CHECKED = ("numbers", "chain")
_VERSION = 1


class Receipt(NamedTuple):
    """What a centre has signed for."""

    unit: str
    number: int
    mac: bytes
    records: int
    unix_ms: int
    checked: str


class NotAReceipt(ValueError):
    """The bytes are no receipt, or not one that the notary has signed."""


def read_receipt(data: bytes, notary: bytes) -> Receipt:
    """Read a receipt that the key `notary` (32 raw bytes) must have signed. Raises NotAReceipt."""
    document_bytes, signature = _pair(data)
    try:
        Ed25519PublicKey.from_public_bytes(notary).verify(signature, document_bytes)
    except InvalidSignature:
        raise NotAReceipt("the notary has not signed it") from None
    document = cbor2.loads(document_bytes)
    if cbor2.dumps(document, canonical=True) != document_bytes:
        raise NotAReceipt("not canonical CBOR")
    if {name: type(value) for name, value in document.items()} != _FIELDS:
        raise NotAReceipt(f"other fields: {sorted(map(str, document))}")
    if document["receipt"] != _VERSION or document["checked"] not in _CHECKED:
        raise NotAReceipt(f"version {document['receipt']}, checked {document['checked']}")
    if document["public_key"] != notary:
        raise NotAReceipt("it names another key than the one that signed it")
    return Receipt(*(document[name] for name in Receipt._fields))


def make_receipt(private: Ed25519PrivateKey, receipt: Receipt) -> bytes:
    """The bytes of a receipt, as a notary signs it: for naive centres and for forgers."""
    document: dict[str, Any] = {"receipt": _VERSION, **receipt._asdict()}
    document["public_key"] = public_of(private)
    data = cbor2.dumps(document, canonical=True)
    return cbor2.dumps([data, private.sign(data)], canonical=True)


def public_of(private: Ed25519PrivateKey) -> bytes:
    """The public key as 32 raw bytes."""
    return private.public_key().public_bytes_raw()


def private_pem(private: Ed25519PrivateKey) -> bytes:
    """The private key as the content of a file."""
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_pem(private: Ed25519PrivateKey) -> bytes:
    """The public key as the content of a file."""
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _pair(data: bytes) -> tuple[bytes, bytes]:
    try:
        outer = cbor2.loads(data)
    except (cbor2.CBORError, ValueError) as error:
        raise NotAReceipt(f"not CBOR: {error}") from None
    if not isinstance(outer, list) or [type(part) for part in outer] != [bytes, bytes]:
        raise NotAReceipt("not a document and a signature")
    return outer[0], outer[1]
