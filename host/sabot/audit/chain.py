"""The audit chain as the verifier computes it; the definition is in protocol/README.md.

It shares the sizes, the labels and the chain id with the shoe (sabot_protocol/chain.py). Keys and
MACs are computed here by other code than the shoe's, so that a mistake in one of the two is found.
Keys are in memory only, never in a message or a repr.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Protocol

from sabot_protocol.chain import EPOCH_RECORDS, KEY_SIZE, MAC_LABEL, NEXT_LABEL, chain_id
from sabot_protocol.events import MAC_SIZE

MOST_EVENTS = 1 << 26
"""The largest number of an event whose key is derived: a shoe that deals day and night needs over
10 years to record as many. So the keys of a chain take at most MOST_EVENTS / 4 hashes."""

MOST_SEARCHED = 1 << 18
"""How many keys of a chain are tried in all, of the epochs nearest to its own, for records that the
key of their own epoch does not fit."""

_LANDMARK_EPOCHS = 64  # between remembered secrets, so that no order of numbers costs much
_BLOCK = 64
_INNER = bytes(value ^ 0x36 for value in range(256))
_OUTER = bytes(value ^ 0x5C for value in range(256))

Pads = tuple["hashlib._Hash", "hashlib._Hash"]
"""HMAC's inner and outer hash after the key. A copy of them takes half the time of a new HMAC."""


def epoch_of(number: int) -> int:
    """The epoch, from 0, of event `number`, from 1."""
    return number // EPOCH_RECORDS


_LAST_EPOCH = epoch_of(MOST_EVENTS)


class MacKeys(Protocol):
    """The keys of some or all epochs of one chain."""

    @property
    def chain(self) -> bytes | None:
        """The chain's id; None if it is not known."""

    def mac_key(self, epoch: int) -> bytes:
        """Return the key of an epoch, 32 bytes. Raises KeyError if it is not known, or of a number
        that no shoe reaches."""

    def epochs_near(self, epoch: int, last: int) -> Iterable[int]:
        """Return the epochs up to `last` whose keys may be tried for a record of `epoch`."""


class Ratchet:
    """All keys of a chain up to MOST_EVENTS, derived from its first: each from the one before it.

    Whatever numbers are asked for in whatever order, it derives each key once, and at most
    `_LANDMARK_EPOCHS` of them again for each call.
    """

    def __init__(self, first_key: bytes) -> None:
        if len(first_key) != KEY_SIZE:
            raise ValueError(f"the first key has {len(first_key)} bytes; it must have {KEY_SIZE}")
        self.chain: bytes | None = chain_id(first_key)
        self._landmarks = [first_key]  # the secrets of epochs 0, _LANDMARK_EPOCHS, and so on
        self._epoch = 0
        self._secret = first_key
        self._to_search = MOST_SEARCHED

    def mac_key(self, epoch: int) -> bytes:
        """Return the key of an epoch; takes a microsecond for each epoch since that of the last
        call, if no later one was asked for before. Raises KeyError beyond MOST_EVENTS."""
        if not 0 <= epoch <= _LAST_EPOCH:
            raise KeyError(epoch)
        landmark = min(epoch // _LANDMARK_EPOCHS, len(self._landmarks) - 1)
        if not landmark * _LANDMARK_EPOCHS <= self._epoch <= epoch:
            self._epoch = landmark * _LANDMARK_EPOCHS
            self._secret = self._landmarks[landmark]
        sha256, secret = hashlib.sha256, self._secret
        for next_epoch in range(self._epoch + 1, epoch + 1):
            secret = sha256(NEXT_LABEL + secret).digest()
            if next_epoch == len(self._landmarks) * _LANDMARK_EPOCHS:
                self._landmarks.append(secret)
        self._epoch, self._secret = epoch, secret
        return sha256(MAC_LABEL + secret).digest()

    def epochs_near(self, epoch: int, last: int) -> Iterable[int]:
        """Return the epochs up to `last` that are nearest to `epoch`; in all calls together at most
        MOST_SEARCHED, so that no number of changed records costs more."""
        first = max(0, epoch - self._to_search // 2)
        last = min(last, first + self._to_search - 1, _LAST_EPOCH)
        near = range(first, last + 1)
        self._to_search -= len(near)
        return near


class RevealedKeys:
    """The keys of some epochs, revealed by the holder of the first key; `chain` is its id."""

    def __init__(self, keys: Mapping[int, bytes], chain: bytes | None = None) -> None:
        self.chain = chain
        self._keys = dict(keys)

    def mac_key(self, epoch: int) -> bytes:
        """Return the key of an epoch. Raises KeyError if it was not revealed."""
        return self._keys[epoch]

    def epochs_near(self, epoch: int, last: int) -> Iterable[int]:
        """Return the epochs up to `last` that were revealed."""
        return sorted(each for each in self._keys if each <= last)


def pads(mac_key: bytes) -> Pads:
    """The hashes that `mac_under` takes instead of a key; keep them for a whole epoch."""
    block = mac_key.ljust(_BLOCK, b"\0")
    return hashlib.sha256(block.translate(_INNER)), hashlib.sha256(block.translate(_OUTER))


def mac_under(key: Pads, before: bytes, record: bytes) -> bytes:
    """The MAC (16 bytes) of a record after an event whose MAC is `before`."""
    inner, outer = key[0].copy(), key[1].copy()
    inner.update(before + record)
    outer.update(inner.digest())
    return outer.digest()[:MAC_SIZE]


def mac(mac_key: bytes, before: bytes, record: bytes) -> bytes:
    """As `mac_under`, from the key of the record's epoch: HMAC-SHA-256, cut to 16 bytes."""
    return mac_under(pads(mac_key), before, record)
