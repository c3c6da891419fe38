"""The audit chain: the facts that both ends share, and the shoe's computation of it.

The definition is in README.md, "Audit chain" and "Who may ask". A verifier uses the sizes, the
labels and the chain id from here, and computes keys and MACs itself (sabot/audit/chain.py).
sabot_firmware/journal/keyring.py keeps the secret over a loss of power.
"""

import hashlib

from sabot_protocol.events import MAC_SIZE

EPOCH_RECORDS = 4
"""Events under one key. Every round has at least this many, so the key changes in every round."""

KEY_SIZE = 32
"""Bytes of a unit's first key, of each epoch's secret and MAC key, and of its command key."""

NEXT_LABEL = b"sabot next"
"""SHA-256 over this and an epoch's secret is the secret of the next epoch."""
MAC_LABEL = b"sabot mac"
"""SHA-256 over this and an epoch's secret is the key of the MACs in that epoch."""

COMMAND_LABEL = b"sabot host to shoe"
PROOF_LABEL = b"sabot shoe to host"
"""The beginnings of the messages whose MACs are made with a unit's command key (`session_part`)."""

HOST_BYTES_LABEL = b"sabot host bytes"
"""The beginning of the message whose MAC hides the bytes of a `stir`. Its key is SHA-256 over
HOST_BYTES_KEY_LABEL and the unit's command key."""
HOST_BYTES_KEY_LABEL = b"sabot host bytes key"

_FEWEST_VALUES = 12

# HMAC uses two blocks of 64 bytes: the key of 32 bytes and 32 zeros, XORed with one of these.
_INNER = b"\x36" * KEY_SIZE
_OUTER = b"\x5c" * KEY_SIZE


def chain_id(first_key: bytes) -> bytes:
    """Return the id of the chain that begins with this key; it serves as the MAC before event 1."""
    return _hash(b"sabot chain", first_key)[:MAC_SIZE]


def command_key(first_key: bytes) -> bytes:
    """Return the key of a unit's commands, made from the first key of its audit chain. No key and
    no MAC of the chain can be computed from it."""
    return _hash(b"sabot command", first_key)


def session_part(session: int, challenge: bytes) -> bytes:
    """Return the part of a MAC under the command key that is the same in a whole session. It
    follows the label. Every part has a fixed size or comes after its size."""
    return session.to_bytes(8, "big") + bytes((len(challenge),)) + challenge


def are_random(data: bytes) -> bool:
    """Whether these can be random bytes of a host: 32, and not a few values that repeat. Of random
    ones 1 in 2**83 has fewer values."""
    return len(data) == KEY_SIZE and len(set(data)) >= _FEWEST_VALUES


def host_bytes_key(command_key: bytes) -> bytes:
    """Return the key that hides the random bytes of a host on the line."""
    return _hash(HOST_BYTES_KEY_LABEL, command_key)


class Chain:
    """The end of a unit's chain: `secret` is that of `epoch`, `mac` that of the last event."""

    def __init__(self, epoch: int, secret: bytes, mac: bytes) -> None:
        self.epoch = epoch
        self.secret = bytearray(secret)
        self.mac = bytearray(mac)
        """The MAC of the last event; the next MAC is computed over it."""
        self._inner = self._outer = b""
        self._make_key()

    def move_on(self, number: int) -> bool:
        """Change to the epoch of event `number`, before `add`; return whether a new epoch began."""
        epoch = number // EPOCH_RECORDS
        moved = epoch > self.epoch
        while self.epoch < epoch:
            self.epoch += 1
            self.secret[:] = _hash(NEXT_LABEL, self.secret)
        if moved:
            self._make_key()
        return moved

    def add(self, record: "memoryview | bytes") -> None:
        """Add the next event under the key of this epoch; `mac` becomes its MAC."""
        inner = hashlib.sha256(self._inner)
        inner.update(self.mac)
        inner.update(record)
        outer = hashlib.sha256(self._outer)
        outer.update(inner.digest())
        self.mac[:] = outer.digest()[:MAC_SIZE]

    def _make_key(self) -> None:
        self._inner, self._outer = hmac_blocks(_hash(MAC_LABEL, self.secret))


def hmac_blocks(key: bytes) -> "tuple[bytes, bytes]":
    """Return the first blocks of the two hashes of HMAC-SHA-256, for a key of 32 bytes."""
    number = int.from_bytes(key, "big")
    return _xor(number, _INNER) + _INNER, _xor(number, _OUTER) + _OUTER


def _xor(key: int, pad: bytes) -> bytes:
    return (key ^ int.from_bytes(pad, "big")).to_bytes(KEY_SIZE, "big")  # faster than a loop


def _hash(label: bytes, data: "bytes | bytearray") -> bytes:
    digest = hashlib.sha256(label)
    digest.update(data)
    return digest.digest()
