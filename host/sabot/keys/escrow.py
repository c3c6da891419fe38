"""The two halves of an escrow: X25519 key pairs (RFC 7748) of two persons.

A shoe has the public halves only, and encrypts the key of each round whose cards do not all open
under both (protocol/README.md, "Escrow"). Neither half opens anything without the other.
"""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from sabot.errors import KeysUnusable
from sabot.keys import signing
from sabot_protocol import seals

Half = X25519PrivateKey


def make_half(stem: Path, passphrase: bytes) -> tuple[Path, Path, str]:
    """Make a half: STEM.pem, readable only by its owner, and STEM.pub.pem. Returns the two paths
    and the fingerprint. Raises KeysUnusable."""
    return signing.make_key_pair(stem, passphrase, X25519PrivateKey.generate())


def load_half(path: Path, passphrase: Callable[[], bytes] | None = None) -> Half:
    """Read the private half in `path`. Raises KeysUnusable."""
    key = signing.load_any_private(path, passphrase)
    if not isinstance(key, X25519PrivateKey):
        raise KeysUnusable(
            f"{path}: not a half of an escrow; name the NAME.pem that `sabot keys escrow make` made"
        )
    return key


def load_public_half(path: Path) -> bytes:
    """Read the public half in `path`; return its 32 raw bytes. Raises KeysUnusable."""
    key = signing.load_any_public(path)
    if not isinstance(key, X25519PublicKey):
        raise KeysUnusable(
            f"{path}: not a public half of an escrow; name the NAME.pub.pem that `sabot keys "
            "escrow make` made"
        )
    return key.public_bytes_raw()


def public_of(half: Half) -> bytes:
    """Return the public half of a half, 32 raw bytes."""
    return half.public_key().public_bytes_raw()


def key_in(public: bytes, sealed_key: bytes, first: Half, second: Half) -> bytes:
    """Return what both halves make of an event `seal_escrow`: the key of the round, if they are the
    halves of its unit, in the order in which the unit was given them. Empty for a public key with
    which nothing can be shared, or of another length."""
    try:
        point = X25519PublicKey.from_public_bytes(public)
        shared = first.exchange(point) + second.exchange(point)
    except ValueError:
        return b""
    pad = sha256(seals.ESCROW_LABEL + public + shared).digest()
    return bytes(one ^ other for one, other in zip(sealed_key, pad, strict=False))
