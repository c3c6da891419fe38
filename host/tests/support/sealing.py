"""Sealed cards as their definition in protocol/README.md says, without the code of the firmware or
of the host; and logs of a game that is dealt face down.
"""

import hashlib
import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from sabot_protocol import enums, events
from sabot_protocol.schema import Shape

SECRET = bytes(range(7, 39))


def round_key(secret: bytes, seal_number: int) -> bytes:
    """K_n: the key of the round whose `seal` is event `seal_number`."""
    message = b"sabot round" + seal_number.to_bytes(8, "big")
    return hmac.new(secret, message, hashlib.sha256).digest()


def commitment_to(key: bytes) -> bytes:
    """C_n, of a round's key."""
    return sha256(b"sabot seal" + key).digest()


def seat_key(key: bytes, seat: int) -> bytes:
    """The key of a seat, made of its round's key."""
    return hmac.new(key, b"sabot seat" + bytes([seat]), hashlib.sha256).digest()


def seat_of(position: int) -> int:
    """The seat at a position; 0 for the burned cards, and those put aside."""
    name = enums.POSITIONS[position]
    return int(name.removeprefix("seat_")) if name.startswith("seat_") else 0


def sealed_card(key: bytes, place: int, card: int) -> bytes:
    """A card under the key of its round, at a place among its sealed cards."""
    pad = hmac.new(
        key,
        b"sabot card" + (bytes([place]) if place < 256 else bytes(divmod(place, 256))),
        hashlib.sha256,
    ).digest()[:16]
    return bytes([pad[0] ^ card]) + pad[1:]


class Sealer:
    """Seals what the firmware's dealing records, in place of the firmware's own sealing."""

    def __init__(self, secret: bytes = SECRET) -> None:
        self.key = b""
        """Of the present round."""
        self._secret = secret
        self._place = 0
        self._by_seat = False

    def values_of(self, shape: Shape, values: Sequence[Any], number: int) -> Sequence[Any]:
        """The values of event `number`, as a shoe records them. The dealing gives `seal` and
        `unsealed` none, and `sealed_card` its card."""
        if shape is events.SEAL:
            self.key, self._place = round_key(self._secret, number), 0
            self._by_seat = bool(values)
            return (commitment_to(self.key),)
        if shape is events.SEALED_CARD:
            self._place += 1
            place = self._place - 1
            key = seat_key(self.key, seat_of(values[1])) if self._by_seat else self.key
            return (place, sealed_card(key, place, values[0]), *values[1:])
        if shape is events.SEAT_SEAL:
            return (*values, commitment_to(seat_key(self.key, values[0])))
        if shape is events.SEAT_UNSEALED:
            return (*values, seat_key(self.key, values[0]))
        if shape is events.UNSEALED:
            return values or (self.key,)
        return values
