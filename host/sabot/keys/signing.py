"""Ed25519 signatures with keys in PEM files: an operator signs bundles and tombstones, a house its
releases.

A signed document is called *sealed*: the document in canonical CBOR with the signature over its
bytes. The private key is only in its file and in memory, never in a message.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import cbor2
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from sabot import numbers
from sabot.errors import KeysUnusable
from sabot.files import TooLarge, read_bounded
from sabot_firmware.release.ed25519 import is_weak

PrivateKey = Ed25519PrivateKey

PUBLIC_SIZE = 32
SIGNATURE_SIZE = 64
PRIVATE_MODE = 0o600
_FINGERPRINT_DIGITS = 16
_MOST_PEM_BYTES = 16_384
_MOST_DEPTH = 8  # nesting of CBOR items; sealed documents are less deep


def make_key_pair(
    stem: Path,
    passphrase: bytes | None = None,
    private: Ed25519PrivateKey | X25519PrivateKey | None = None,
) -> tuple[Path, Path, str]:
    """Make a key pair: STEM.pem, readable only by its owner, and STEM.pub.pem.

    With a passphrase, STEM.pem is encrypted. With `private` it is that one, without a new one that
    signs. Returns the two paths and the fingerprint. Raises KeysUnusable if one of the files exists
    already or cannot be written; then neither is made.
    """
    private = Ed25519PrivateKey.generate() if private is None else private
    public = private.public_key()
    public_pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    encryption = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    private_pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    private_path = stem.with_name(stem.name + ".pem")
    public_path = stem.with_name(stem.name + ".pub.pem")
    made: list[Path] = []
    try:
        for path, pem, mode in (
            (public_path, public_pem, 0o644),
            (private_path, private_pem, PRIVATE_MODE),
        ):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            made.append(path)
            with os.fdopen(descriptor, "wb") as file:
                file.write(pem)
                file.flush()
                os.fsync(file.fileno())
    except BaseException as error:  # also Ctrl-C: half a pair is useless
        for path in made:
            with suppress(OSError):
                path.unlink()
        if isinstance(error, FileExistsError):
            raise _exists(error.filename) from None
        if isinstance(error, OSError):
            raise KeysUnusable(
                f"{error.filename or stem}: cannot be written ({error.strerror}); name another "
                "place for the key"
            ) from None
        raise
    return private_path, public_path, fingerprint(public.public_bytes_raw())


def check_free(stem: Path) -> None:
    """Raise KeysUnusable if a file of the key pair exists: a key is not overwritten; or if `stem`
    is no name for one."""
    if not stem.name:
        raise KeysUnusable(f"{stem}: a folder; name the key with -o")
    for suffix in (".pub.pem", ".pem"):
        path = stem.with_name(stem.name + suffix)
        if path.exists():
            raise _exists(path)


def _exists(path: object) -> KeysUnusable:
    return KeysUnusable(f"{path}: exists already and is not overwritten; name another key")


def is_public(path: Path) -> bool:
    """Whether the file says that it holds a public key. Raises KeysUnusable."""
    return b"-----BEGIN PUBLIC KEY-----" in _read(path)


def load_any_private(path: Path, passphrase: Callable[[], bytes] | None = None) -> object:
    """Read the private key in `path`, of whatever kind; None if there is none. Raises KeysUnusable.

    If the key is locked with a passphrase, `passphrase` is called for it.
    """
    pem = _read(path)
    try:
        return load_pem_private_key(pem, password=None)
    except TypeError:
        if passphrase is None:
            raise KeysUnusable(f"{path}: locked with a passphrase; name another key") from None
        try:
            return load_pem_private_key(pem, passphrase())
        except (ValueError, TypeError):  # TypeError: an empty one
            raise KeysUnusable(f"{path}: wrong passphrase for this key; try again") from None
    except (ValueError, UnsupportedAlgorithm):
        return None


def load_private(path: Path, passphrase: Callable[[], bytes] | None = None) -> PrivateKey:
    """Read the private key in `path`, which signs. As `load_any_private`."""
    key = load_any_private(path, passphrase)
    if not isinstance(key, Ed25519PrivateKey):
        raise KeysUnusable(
            f"{path}: not a private Ed25519 key; make one with `sabot keys release make` or "
            "`sabot keys operator make` and name it with --key"
        )
    return key


def load_any_public(path: Path) -> object:
    """Read the public key in `path`, of whatever kind; None if there is none. Raises
    KeysUnusable."""
    try:
        return load_pem_public_key(_read(path))
    except (ValueError, UnsupportedAlgorithm):
        return None


def load_public(path: Path) -> bytes:
    """Read the public key in `path`; return its 32 raw bytes. Raises KeysUnusable."""
    key = load_any_public(path)
    if not isinstance(key, Ed25519PublicKey):
        raise KeysUnusable(f"{path}: not a public Ed25519 key; name a NAME.pub.pem")
    public = key.public_bytes_raw()
    if is_weak(public):
        raise KeysUnusable(f"{path}: a key of small order, for which anyone can sign; take another")
    return public


def exposed(path: Path) -> bool:
    """Whether users other than its owner may read or write the file."""
    return bool(path.stat().st_mode & 0o077)


def public_of(private: PrivateKey) -> bytes:
    """Return the public key of a private key, 32 raw bytes."""
    return private.public_key().public_bytes_raw()


def sign(private: PrivateKey, data: bytes) -> bytes:
    """Return the signature over `data`, 64 bytes."""
    return private.sign(data)


def verify(public: bytes, signature: bytes, data: bytes) -> bool:
    """Whether `signature` is the signature over `data` by the key `public` (32 raw bytes).

    What a shoe refuses is refused here too: keys and commitments of small order, which OpenSSL
    takes (docs/security.md).
    """
    if is_weak(public) or is_weak(signature[:PUBLIC_SIZE]):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def pem_of(public: bytes) -> bytes:
    """Return a public key (32 raw bytes) as the content of a PEM file."""
    key = Ed25519PublicKey.from_public_bytes(public)
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def fingerprint(public: bytes) -> str:
    """Return a public key's fingerprint for people to compare: 16 hexadecimal digits."""
    return sha256(public).hexdigest()[:_FINGERPRINT_DIGITS]


@dataclass(frozen=True, slots=True)
class Sealed:
    """A document that was read; `signed`: its signature by its own `public_key` is right."""

    document: Mapping[str, Any]
    signed: bool


class NotSealed(ValueError):
    """Bytes that are not a sealed document, or only a part of one."""


def seal(private: PrivateKey, document: Mapping[str, Any]) -> bytes:
    """Return a document with its signature: the CBOR array [document's bytes, signature].

    The signer's public key is added to the document as `public_key`.
    """
    whole = {**document, "public_key": public_of(private)}
    data = cbor2.dumps(whole, canonical=True)
    return cbor2.dumps([data, sign(private, data)], canonical=True)


def open_sealed(data: bytes) -> Sealed:
    """Read what `seal` wrote. Raises NotSealed; a wrong signature only sets `signed` to False."""
    outer = _decode_canonical(data)
    if not isinstance(outer, list) or [type(part) for part in outer] != [bytes, bytes]:
        raise NotSealed("not a pair of a document and a signature")
    document_bytes, signature = outer
    document = _decode_canonical(document_bytes)
    if not isinstance(document, dict) or not all(isinstance(name, str) for name in document):
        raise NotSealed("not a document with named fields")
    public = document.get("public_key")
    signed = isinstance(public, bytes) and verify(public, signature, document_bytes)
    return Sealed(document, signed)


def _decode_canonical(data: bytes) -> Any:
    """Decode one item of canonical CBOR with nothing after it. Raises NotSealed."""
    try:
        value = cbor2.loads(
            data,
            max_depth=_MOST_DEPTH,
            allow_indefinite=False,
            allow_duplicate_keys=False,
            strict_hashable_types=True,
        )
        canonical = cbor2.dumps(value, canonical=True) == data
    except (cbor2.CBORError, ValueError, TypeError, RecursionError) as error:
        raise NotSealed(f"not CBOR ({error})") from None
    if not canonical:
        raise NotSealed("not canonical CBOR")
    if not numbers.fit(value):
        raise NotSealed("has a number of over 64 bits")
    return value


def _read(path: Path) -> bytes:
    try:
        return read_bounded(path, _MOST_PEM_BYTES)
    except TooLarge:  # no key is
        return b""
    except OSError as error:
        raise KeysUnusable(
            f"{path}: cannot be read ({error.strerror}); check the name of the key"
        ) from None
