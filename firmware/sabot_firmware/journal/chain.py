"""The audit chain: a MAC for each event, under a key that moves forward and never back.

The definition is in protocol/README.md, "Audit chain". Pure: what survives a loss of power is
for keyring.py.
"""

import hashlib

from sabot_protocol.events import MAC_SIZE

EPOCH_RECORDS = 4
"""Events under one key. No round has fewer, so the key moves on at least once a round."""

SECRET_SIZE = 32

# HMAC's two blocks of 64 bytes: the key of 32, and nothing, each XORed with one of these.
_INNER = b"\x36" * SECRET_SIZE
_OUTER = b"\x5c" * SECRET_SIZE


def name_of(first_secret: bytes) -> bytes:
    """The name of the chain that begins with this secret; it stands for the MAC before event 1."""
    return _hash(b"sabot chain", first_secret)[:MAC_SIZE]


class Chain:
    """The end of a unit's chain: `secret` is that of `epoch`, `mac` that of the last event."""

    def __init__(self, epoch: int, secret: bytes, mac: bytes) -> None:
        self.epoch = epoch
        self.secret = bytearray(secret)
        self.mac = bytearray(mac)
        """Of the last event: what the next one's is made over."""
        self._inner = self._outer = b""
        self._make_key()

    def move_on(self, number: int) -> bool:
        """Before event `number` gets its MAC: whether it has begun a new epoch."""
        epoch = number // EPOCH_RECORDS
        moved = epoch > self.epoch
        while self.epoch < epoch:
            self.epoch += 1
            self.secret[:] = _hash(b"sabot next", self.secret)
        if moved:
            self._make_key()
        return moved

    def add(self, record: "memoryview | bytes") -> None:
        """Take the next event, under the key of this epoch: `mac` is its MAC then."""
        inner = hashlib.sha256(self._inner)
        inner.update(self.mac)
        inner.update(record)
        outer = hashlib.sha256(self._outer)
        outer.update(inner.digest())
        self.mac[:] = outer.digest()[:MAC_SIZE]

    def _make_key(self) -> None:
        self._inner, self._outer = hmac_blocks(_hash(b"sabot mac", self.secret))


def hmac_blocks(key: bytes) -> "tuple[bytes, bytes]":
    """What HMAC-SHA-256 under a key of 32 bytes begins its two hashes with."""
    number = int.from_bytes(key, "big")
    return _xor(number, _INNER) + _INNER, _xor(number, _OUTER) + _OUTER


def _xor(key: int, pad: bytes) -> bytes:
    return (key ^ int.from_bytes(pad, "big")).to_bytes(SECRET_SIZE, "big")  # faster than a loop


def _hash(label: bytes, data: "bytes | bytearray") -> bytes:
    digest = hashlib.sha256(label)
    digest.update(data)
    return digest.digest()
