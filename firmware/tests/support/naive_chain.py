"""The audit chain as protocol/README.md defines it, computed from the start each time.

It uses no code of the shoe: the MACs are made with SHA-256 only.
"""

import hashlib

_EPOCH_RECORDS = 4
_BLOCK = 64


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def hmac(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA-256 as in RFC 2104."""
    if len(key) > _BLOCK:
        key = sha256(key)
    key = key + bytes(_BLOCK - len(key))
    inner = sha256(bytes([octet ^ 0x36 for octet in key]) + message)
    return sha256(bytes([octet ^ 0x5C for octet in key]) + inner)


class NaiveChain:
    """The chain of a unit with this first key."""

    def __init__(self, first_key: bytes) -> None:
        self.name = sha256(b"sabot chain" + first_key)[:16]
        self._secrets = [first_key]

    def secret(self, epoch: int) -> bytes:
        while len(self._secrets) <= epoch:
            self._secrets.append(sha256(b"sabot next" + self._secrets[-1]))
        return self._secrets[epoch]

    def mac(self, number: int, before: bytes, record: bytes) -> bytes:
        """Return the MAC of event `number`; `before` is the MAC of the previous event."""
        key = sha256(b"sabot mac" + self.secret(number // _EPOCH_RECORDS))
        return hmac(key, before + record)[:16]

    def macs(self, records) -> "list[bytes]":
        """Return the MACs of all events from number 1 on, with the chain id at place 0."""
        macs = [self.name]
        for record in records:
            macs.append(self.mac(len(macs), macs[-1], record))
        return macs
