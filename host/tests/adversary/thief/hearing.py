"""What a thief hears on a shoe's line: each frame with its size and time, and all that is in it."""

from collections import Counter
from typing import Any

from host.tests.adversary.line_adversary import payload_of
from host.tests.adversary.thief.flat import Seen
from sabot_protocol import cbor, events, messages

_KINDS = {shape.number: shape for shape in events.KINDS}
_MESSAGES = {shape.number: shape for shape in messages.TO_HOST}
_TIMES = ("t_ms", "now_ms")
_NUMBERS = ("number", "last_held", "last")
_OF_ROUND = ("unix_ms", "session", "shoe", "round", "boot")
"""Fields that are not compared between rounds."""


def margin_of(card: int) -> int:
    """The margin of a pass of this card in the worst case: no other card has it."""
    return 500 + 7 * card


def skew_of(card: int) -> int:
    """The skew of such a pass."""
    return 300 + 3 * card


def _figures_of(card: int) -> bytes:
    """Both as an event or a note has them."""
    buf = bytearray(16)
    return bytes(buf[1 : cbor.encode_array(buf, 0, [margin_of(card), skew_of(card)], 2)])


class Ear:
    """Notes in `seen` what is heard of a round until it shows."""

    def __init__(self) -> None:
        self.seen = Seen()
        self.sent = bytearray()
        """All that was sent, and written where a thief can read it, before the round shows."""
        self.shown = False
        """Whether the round may show. Then only its events up to its key count, which are older."""
        self.heard = 0
        """The number of the last event."""
        self.challenge = b""
        """Of the present session."""
        self.sealed: list[bytes] = []
        """All sealed cards."""
        self.seals: list[tuple[int, bytes, bytes]] = []
        """Of each `seal` its number, its commitment, and the sealing secret that the unit had."""
        self.keys: list[bytes] = []
        """The keys of rounds that were heard."""
        self._has_key = False  # whether the line has the key of the round
        self._counts: Counter[str] = Counter()
        self._since_ms = self._first = 0

    def secret(self) -> bytes:
        """The sealing secret that the unit has now, to compare with."""
        return b""

    def forget(self, now_ms: int, number: int) -> Seen:
        """Return what was noted since the last time; begin again at this time, before this
        event."""
        seen, self.seen = self.seen, Seen()
        seen.figures = {card for card in range(52) if _figures_of(card) in self.sent}
        self.sent.clear()
        self._counts.clear()
        self.shown = self._has_key = False
        self._since_ms, self._first = now_ms, number
        return seen

    def note_all(self, name: str, values: list[Any]) -> None:
        """Note the values of something that was seen, the n-th of its name in the round."""
        if self.shown:
            return
        place = self._counts[name]
        self._counts[name] += 1
        for at, value in enumerate(values):
            self.seen.note(f"{name} {place}.{at}", value)

    def take(self, frame: bytes, now_ms: int) -> None:
        """Take a frame without its zero, which came at this time."""
        payload = payload_of(frame)
        message: Any = cbor.decode(payload, 0, len(payload))
        shape = _MESSAGES[message[0]]
        if not self.shown:
            self.sent += payload
            self.note_all("frame", [len(frame), now_ms - self._since_ms])
        if shape is messages.CHALLENGE:
            self.challenge = message[2]
        if shape is messages.EVENT:
            self._take_event(message[1], message[2])
        elif not self.shown:
            place = self._counts[shape.name]
            for value, (name, _) in zip(message[1:], shape.fields, strict=True):
                if name != "id":
                    self.seen.note(f"{shape.name}{place}.{name}", self._relative(name, value))
            self._counts[shape.name] += 1

    def _take_event(self, record: bytes, mac: bytes) -> None:
        event: Any = cbor.decode(record, 0, len(record))
        shape = _KINDS[event[0]]
        if event[1] <= self.heard:
            return
        self.heard = event[1]
        head, own = event[: len(events.HEADER)], event[len(events.HEADER) :]
        if shape is events.SEALED_CARD:
            self.sealed.append(own[1])
        elif shape is events.SEAL:
            self.seals.append((event[1], own[0], self.secret()))
        elif shape is events.UNSEALED and own[0]:
            self.keys.append(own[0])
            self._has_key = True
        if self._has_key:
            return
        name = f"{shape.name}{self._counts[shape.name]}"
        self._counts[shape.name] += 1
        self.seen.note(f"{name}.mac", mac[:2])
        for (field, _), value in zip(events.HEADER[1:], head[1:], strict=True):
            self.seen.note(f"{name}.{field}", self._relative(field, value))
        self.seen.events.append((shape.name, own))
        if shape is not events.CARD:  # it lies face up
            for (field, _), value in zip(shape.fields, own, strict=True):
                self.seen.note(f"{name}.{field}", value)

    def _relative(self, name: str, value: Any) -> Any:
        """A time or number since the round began: what came before it tells no card."""
        if name in _TIMES:
            return value - self._since_ms
        if name in _NUMBERS:
            return value - self._first
        return None if name in _OF_ROUND else value
