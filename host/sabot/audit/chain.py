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

_LANDMARK_EPOCHS = 4096  # between remembered secrets, so that going back is cheap
_BLOCK = 64
_INNER = bytes(value ^ 0x36 for value in range(256))
_OUTER = bytes(value ^ 0x5C for value in range(256))

Pads = tuple["hashlib._Hash", "hashlib._Hash"]
"""HMAC's inner and outer hash after the key. A copy of them takes half the time of a new HMAC."""


def epoch_of(number: int) -> int:
    """The epoch, from 0, of event `number`, from 1."""
    return number // EPOCH_RECORDS


class MacKeys(Protocol):
    """The keys of some or all epochs of one chain."""

    @property
    def chain(self) -> bytes | None:
        """The chain's id; None if it is not known."""

    def mac_key(self, epoch: int) -> bytes:
        """The key of an epoch, 32 bytes. Raises KeyError if it is not known."""

    def epochs(self, last: int) -> Iterable[int]:
        """The epochs up to `last` whose keys are known."""


class Ratchet:
    """All keys of a chain, derived from its first: forward in steps, back from a landmark."""

    def __init__(self, first_key: bytes) -> None:
        if len(first_key) != KEY_SIZE:
            raise ValueError(f"the first key has {len(first_key)} bytes; it must have {KEY_SIZE}")
        self.chain: bytes | None = chain_id(first_key)
        self._landmarks = [first_key]  # the secrets of epochs 0, _LANDMARK_EPOCHS, and so on
        self._epoch = 0
        self._secret = first_key

    def mac_key(self, epoch: int) -> bytes:
        """The key of an epoch; takes a microsecond for each epoch since that of the last call."""
        if epoch < self._epoch:
            landmark = epoch // _LANDMARK_EPOCHS
            self._epoch = landmark * _LANDMARK_EPOCHS
            self._secret = self._landmarks[landmark]
        sha256, secret = hashlib.sha256, self._secret
        for next_epoch in range(self._epoch + 1, epoch + 1):
            secret = sha256(NEXT_LABEL + secret).digest()
            if next_epoch == len(self._landmarks) * _LANDMARK_EPOCHS:
                self._landmarks.append(secret)
        self._epoch, self._secret = epoch, secret
        return sha256(MAC_LABEL + secret).digest()

    def epochs(self, last: int) -> Iterable[int]:
        """All epochs up to `last`."""
        return range(last + 1)


class RevealedKeys:
    """The keys of some epochs, revealed by the holder of the first key; `chain` is its id."""

    def __init__(self, keys: Mapping[int, bytes], chain: bytes | None = None) -> None:
        self.chain = chain
        self._keys = dict(keys)

    def mac_key(self, epoch: int) -> bytes:
        """The key of an epoch. Raises KeyError if it was not revealed."""
        return self._keys[epoch]

    def epochs(self, last: int) -> Iterable[int]:
        """The epochs up to `last` that were revealed."""
        return sorted(epoch for epoch in self._keys if epoch <= last)


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
