"""How a card that lies face down is sealed: the facts that both ends share.

The definition is in README.md, "Sealed cards". The shoe seals with sabot_firmware/journal/seals.py;
a host uses the sizes and labels from here, and opens the cards itself
(sabot/link/seals.py).
"""

KEY_SIZE = 32
"""Bytes of a unit's sealing secret, of a round's key, and of the commitment to it."""

CARD_SIZE = 16
"""Bytes of a sealed card: the card's number and 15 zeros, XORed with as many bytes of a MAC."""

ROUND_LABEL = b"sabot round"
"""HMAC-SHA-256 under the unit's sealing secret, over this and the number of the event `seal` in 8
bytes, is the round's key."""
COMMITMENT_LABEL = b"sabot seal"
"""SHA-256 over this and the round's key is the `commitment` of the event `seal`; with a seat's key
that of `seat_seal`."""
CARD_LABEL = b"sabot card"
"""HMAC-SHA-256 under the key of the round, or of the seat, over this and the card's place
(`place_bytes`): its first CARD_SIZE bytes seal the card."""

SEAT_LABEL = b"sabot seat"
"""HMAC-SHA-256 under the round's key, over this and the seat in one byte, is the key of that seat,
in a game whose hole cards do not all open."""
BURNED = 0
"""In place of a seat: burned cards, and those put aside."""

ESCROW_LABEL = b"sabot escrow"
"""SHA-256 over this, the public key of the round and what it shares with each half of the escrow is
XORed with the key of the round: `sealed_key` of the event `seal_escrow`."""

SEAT_1 = 18
"""The place of `seat_1` in `enums.POSITIONS`, a literal: a shoe asks for each card."""
SEATS = 10

MOST_CARDS = 1 << 16
"""Sealed cards of one round at most. A shoe of eight decks that is emptied within one has 416."""


def place_bytes(place: int) -> bytes:
    """Return the place of a sealed card as it is in the message of its pad: one byte, from 256 on
    two, the higher one first."""
    return place.to_bytes(1 if place < 256 else 2, "big")


def seat_of(position: int) -> int:
    """Return the seat under whose key a card at `position`, a place in `enums.POSITIONS`, is
    sealed; BURNED for a card that no seat has."""
    return position - SEAT_1 + 1 if SEAT_1 <= position < SEAT_1 + SEATS else BURNED
