"""The pool of a unit: 32 bytes, of which every random number of the unit is a hash.

docs/randomness.md defines each hash, for people who make it again. Nothing here reads hardware.
"""

from hashlib import sha256

SIZE = 32

# What is stirred in, besides the hardware's sources, which have their places in
# `enums.RANDOM_SOURCES`.
HOST = 16
"""Bytes of a host."""
TIMES = 17
"""When cards, buttons and switches came."""
UNIT = 18
"""The unit's command key."""
CHAIN = 19
"""The secret of the present epoch of the audit chain, and the MAC of the last event."""
SECRET = 20
"""The sealing secret that is replaced next."""

_STIR = b"sabot pool stir"
_USE = b"sabot pool use"
_NEXT = b"sabot pool next"


class Pool:
    """A pool that begins with 32 bytes that were kept, or with zeros."""

    def __init__(self, kept: bytes = bytes(SIZE)) -> None:
        self._pool = bytearray(kept)

    def stir(self, source: int, data: "bytes | bytearray | memoryview") -> None:
        """Stir in `data` of any size. `source` 0-255 says what it is."""
        digest = sha256(_STIR)
        digest.update(bytes((source,)))
        digest.update(data)
        self._replace(digest)

    def take(self, label: bytes, size: int = SIZE) -> bytes:
        """Return random bytes, at most 32, for the use that `label` names, and replace the pool."""
        digest = sha256(_USE)
        digest.update(bytes((len(label),)))
        digest.update(label)
        digest.update(self._pool)
        taken = digest.digest()[:size]
        self._replace(sha256(_NEXT))
        return taken

    def _replace(self, digest: "sha256") -> None:  # type: ignore[valid-type]
        digest.update(self._pool)  # type: ignore[attr-defined]
        self._pool[:] = digest.digest()  # type: ignore[attr-defined]
