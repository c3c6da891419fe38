"""Sealed cards as their definition in protocol/README.md says, without the code of the firmware or
of the host; and logs of a game that is dealt face down.
"""

import hashlib
import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from sabot_protocol import events
from sabot_protocol.schema import Shape

SECRET = bytes(range(7, 39))


def round_key(secret: bytes, seal_number: int) -> bytes:
    """K_n: the key of the round whose `seal` is event `seal_number`."""
    message = b"sabot round" + seal_number.to_bytes(8, "big")
    return hmac.new(secret, message, hashlib.sha256).digest()


def commitment_to(key: bytes) -> bytes:
    """C_n, of a round's key."""
    return sha256(b"sabot seal" + key).digest()


def sealed_card(key: bytes, place: int, card: int) -> bytes:
    """A card under the key of its round, at a place among its sealed cards."""
    pad = hmac.new(key, b"sabot card" + bytes([place]), hashlib.sha256).digest()[:16]
    return bytes([pad[0] ^ card]) + pad[1:]


class Sealer:
    """Seals what the firmware's dealing records, in place of the firmware's own sealing."""

    def __init__(self, secret: bytes = SECRET) -> None:
        self.key = b""
        """Of the present round."""
        self._secret = secret
        self._place = 0

    def values_of(self, shape: Shape, values: Sequence[Any], number: int) -> Sequence[Any]:
        """The values of event `number`, as a shoe records them. The dealing gives `seal` and
        `unsealed` none, and `sealed_card` its card."""
        if shape is events.SEAL:
            self.key, self._place = round_key(self._secret, number), 0
            return (commitment_to(self.key),)
        if shape is events.SEALED_CARD:
            self._place += 1
            place = self._place - 1
            return (place, sealed_card(self.key, place, values[0]), *values[1:])
        if shape is events.UNSEALED:
            return values or (self.key,)
        return values
