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
"""SHA-256 over this and the round's key is the `commitment` of the event `seal`."""
CARD_LABEL = b"sabot card"
"""HMAC-SHA-256 under the round's key, over this and the card's place in one byte: its first
CARD_SIZE bytes seal the card."""

MOST_CARDS = 255
"""Sealed cards of one round at most: the place is one byte."""
