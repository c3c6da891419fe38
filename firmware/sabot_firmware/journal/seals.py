"""Seals cards that lie face down, and what the journal keeps of them (protocol README.md, "Sealed
cards").

A shoe loads this module only if it deals cards face down, or finds some in its journal.
"""

from hashlib import sha256

from sabot_firmware.journal.contents import JournalError
from sabot_firmware.native import const, micropython
from sabot_protocol import events, seals
from sabot_protocol.chain import hmac_blocks

_BLOCK = const(32)
_NOTE_SIZE = const(28)
_NOTE_LABEL = b"sabot note"
_STATE_LABEL = b"sabot state"
_HAND_LABEL = b"sabot hand"

_NO_SEAT = const(-1)

_STATE_PADS = const(7)
STATE_SIZE = const(_STATE_PADS * _BLOCK)
"""Bytes of a sealed state, whatever is in it."""


def secret_of(kept: bytes, of_hand: bytes) -> bytes:
    """Return the sealing secret: what the board keeps, with what the journal's chip has for this
    hand and erases after it (keyring.py), if there is such."""
    return _mac(hmac_blocks(kept), _HAND_LABEL + of_hand) if of_hand else kept


class Seals:
    """Seals under the unit's secret. `number` is that of the open `seal`, 0 with no sealed card."""

    MOST_STATE = STATE_SIZE - 1

    def __init__(self, secret: bytes) -> None:
        self._secret = hmac_blocks(secret)
        self._blocks = self._secret  # of the key that seals the next card
        self._seat = _NO_SEAT  # whose key that is
        self.number = 0
        self.count = 0
        """Sealed cards of the round so far."""
        self.by_seat = False
        """Whether each seat of the round has a key of its own."""

    def begin(self, number: int, by_seat: bool = False) -> bytes:
        """Make the key of the round whose `seal` is event `number`; return the commitment."""
        self.number = number
        self.count = 0
        self.by_seat = by_seat
        self._seat = _NO_SEAT
        key = self.round_key()
        self._blocks = hmac_blocks(key)
        return _commitment(key)

    def round_key(self) -> bytes:
        """Return the key of the round."""
        return _mac(self._secret, seals.ROUND_LABEL + self.number.to_bytes(8, "big"))

    def seat_key(self, seat: int) -> bytes:
        """Return the key of a seat, or of the burned cards."""
        return _mac(hmac_blocks(self.round_key()), seals.SEAT_LABEL + bytes((seat,)))

    def resume(self, number: int, count: int, by_seat: bool = False) -> None:
        """Continue after a loss of power: `count` cards are sealed by the `seal` with this number;
        0 for none."""
        if number:
            self.begin(number, by_seat)
        else:
            self.end()
        self.count = count

    def card(self, card: int, position: int = 0) -> bytes:
        """Seal the next card 0-52 of the round, which came at `position`."""
        if self.by_seat:
            seat = seals.seat_of(position)
            if seat != self._seat:
                self._seat = seat
                self._blocks = hmac_blocks(self.seat_key(seat))
        pad = _mac(self._blocks, seals.CARD_LABEL + seals.place_bytes(self.count))
        self.count += 1
        return bytes((pad[0] ^ card,)) + pad[1 : seals.CARD_SIZE]

    def end(self) -> bytes:
        """Return the key of the round, which may show or is over; forget it."""
        key = self.round_key()
        self.number = self.count = 0
        self._seat = _NO_SEAT
        self._blocks = self._secret
        return key

    def values_of(self, shape: object, values: tuple, number: int) -> tuple:
        """Return the values of the event `shape`, which becomes event `number`, as it leaves the
        shoe. The dealing gives `seal` only whether each seat has a key, `unsealed` no values, the
        events of a seat its number, and `sealed_card` its card; an empty key stays: the cards that
        no key has opened are never to be known."""
        if shape is events.SEAL:
            return (self.begin(number, *values),)
        if shape is events.SEALED_CARD:
            return (self.count, self.card(values[0], values[1])) + values[1:]
        if shape is events.SEAT_SEAL:
            return values + (_commitment(self.seat_key(values[0])),)
        if shape is events.SEAT_UNSEALED:
            return values + (self.seat_key(values[0]),)
        if shape is events.UNSEALED:
            key = self.end()
            return values or (key,)
        return values

    def note(self, number: int, note: "bytes | memoryview") -> "tuple[bytes, bytes]":
        """Return a note of at most 27 bytes sealed, and 4 bytes that only the unit can know.

        `number` is that of the next event: no other note on flash has it.
        """
        pad = self._note_pad(number)
        return _sealed(note, bytearray(pad[:_NOTE_SIZE])), pad[_NOTE_SIZE:]

    def open_note(self, number: int, sealed: bytes) -> "tuple[bytes, bytes]":
        """Return the note that `note` sealed, and the 4 bytes. Like `open_state` it raises
        JournalError if it was sealed with another secret."""
        pad = self._note_pad(number)
        return _opened(sealed, pad), pad[_NOTE_SIZE:]

    def state(self, number: int, state: "bytes | memoryview") -> bytes:
        """Return a state of at most MOST_STATE bytes sealed: STATE_SIZE bytes, whatever is in it.

        `number` is that of the next event: no other sealed state on flash has it.
        """
        return _sealed(state, bytearray(self._state_pad(number)))

    def open_state(self, number: int, sealed: bytes) -> bytes:
        """Return the state that `state` sealed."""
        return _opened(sealed, self._state_pad(number))

    def _note_pad(self, number: int) -> bytes:
        return _mac(self._secret, _NOTE_LABEL + number.to_bytes(8, "big"))

    def _state_pad(self, number: int) -> bytes:
        label = _STATE_LABEL + number.to_bytes(8, "big")
        return b"".join([_mac(self._secret, label + bytes((n,))) for n in range(_STATE_PADS)])


def _commitment(key: bytes) -> bytes:
    return sha256(seals.COMMITMENT_LABEL + key).digest()


@micropython.native
def _sealed(data: "bytes | memoryview", pad: bytearray) -> bytes:
    """Return the length of the data, the data and zeros, XORed with `pad`, which changes."""
    pad[0] ^= len(data)
    at = 1
    for octet in data:
        pad[at] ^= octet
        at += 1
    return bytes(pad)


def _opened(sealed: bytes, pad: bytes) -> bytes:
    sized = bytes([sealed[at] ^ pad[at] for at in range(len(sealed))])
    end = 1 + sized[0]
    if end > len(sized) or any(sized[end:]):
        raise JournalError("journal sealed with another secret: have it examined")
    return sized[1:end]


@micropython.native
def _mac(blocks: "tuple[bytes, bytes]", message: bytes) -> bytes:
    """Return HMAC-SHA-256 over the message, by the first blocks of its two hashes."""
    inner = sha256(blocks[0])
    inner.update(message)
    outer = sha256(blocks[1])
    outer.update(inner.digest())
    return outer.digest()
