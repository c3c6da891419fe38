"""The audit chain: what both ends know of its keys, and the shoe's end of it.

The definition is in README.md, "Audit chain" and "Who may ask". A verifier takes the sizes, the
labels and the name of a chain from here, and makes keys and MACs by itself (sabot/audit/chain.py).
What survives a loss of power is for sabot_firmware/journal/keyring.py.
"""

import hashlib

from sabot_protocol.events import MAC_SIZE

EPOCH_RECORDS = 4
"""Events under one key. No round has fewer, so the key moves on at least once a round."""

KEY_SIZE = 32
"""Bytes of a unit's first key, of each epoch's secret and MAC key, and of its command key."""

NEXT_LABEL = b"sabot next"
"""SHA-256 over this and an epoch's secret is the secret of the next epoch;"""
MAC_LABEL = b"sabot mac"
"""over this and an epoch's secret, the key of the MACs in that epoch."""

# HMAC's two blocks of 64 bytes: the key of 32, and nothing, each XORed with one of these.
_INNER = b"\x36" * KEY_SIZE
_OUTER = b"\x5c" * KEY_SIZE


def chain_id(first_key: bytes) -> bytes:
    """The name of the chain that begins with this key; it stands for the MAC before event 1."""
    return _hash(b"sabot chain", first_key)[:MAC_SIZE]


def command_key(first_key: bytes) -> bytes:
    """The key of a unit's commands, from the first key of its audit chain: no key and no MAC of
    the chain follows from it."""
    return _hash(b"sabot command", first_key)


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
            self.secret[:] = _hash(NEXT_LABEL, self.secret)
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
        self._inner, self._outer = hmac_blocks(_hash(MAC_LABEL, self.secret))


def hmac_blocks(key: bytes) -> "tuple[bytes, bytes]":
    """What HMAC-SHA-256 under a key of 32 bytes begins its two hashes with."""
    number = int.from_bytes(key, "big")
    return _xor(number, _INNER) + _INNER, _xor(number, _OUTER) + _OUTER


def _xor(key: int, pad: bytes) -> bytes:
    return (key ^ int.from_bytes(pad, "big")).to_bytes(KEY_SIZE, "big")  # faster than a loop


def _hash(label: bytes, data: "bytes | bytearray") -> bytes:
    digest = hashlib.sha256(label)
    digest.update(data)
    return digest.digest()
