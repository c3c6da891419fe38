"""The record for the report of a failed test: the last passes played, and the link's messages."""

from collections import deque
from collections.abc import Callable

from sabot.link import wire
from sabot.link.client import SerialLine
from sabot.link.messages import EventMessage, FirmwareMessage, WelcomeMessage, shoe_message_of
from sabot.link.wire import Message
from sabot_protocol.frame import FrameReader

_PASSES = 6
_LINES = 400
_LONGEST_TEXT = 60

HOST, SHOE = "host", "shoe"


def firmware_text(version: str, build: bytes) -> str:
    """Return a firmware as the report names it; `build` is its SHA-256."""
    return f"{version}, {build.hex()}"


class Witness:
    """Records what happens around one shoe; keeps the last part. `t_us` is the target's time."""

    def __init__(self) -> None:
        self.passes: deque[tuple[int, bytes]] = deque(maxlen=_PASSES)
        """The samples played to the head, with their times."""
        self.link: deque[str] = deque(maxlen=_LINES)
        """The messages on the link, a line each."""
        self.about: dict[str, str] = {}
        """What the shoe first reported about itself: a test may change it."""
        self.runs = ""
        """The firmware that it last reported, as `firmware_text` has it."""
        self._frames = {HOST: FrameReader(), SHOE: FrameReader()}

    def played(self, t_us: int, samples: bytes) -> None:
        """Record samples played to the head."""
        self.passes.append((t_us, samples))

    def carried(self, t_us: int, by: str, data: bytes) -> None:
        """Record bytes sent over the link by HOST or SHOE."""
        for payload in self._frames[by].feed(data):
            message = _message_or_none(payload)
            reported = None if message is None else shoe_message_of(message)
            if isinstance(reported, WelcomeMessage):
                self.about.setdefault("Unit", reported.unit)
            elif isinstance(reported, FirmwareMessage):
                self.runs = firmware_text(reported.version, reported.build)
                self.about.setdefault("Firmware", self.runs)
                self.about.setdefault("Board", reported.board)
            line = payload.hex() if message is None else _message_text(message)
            self.link.append(f"{t_us / 1e6:12.6f} s  {by}  {line}")

    def happened(self, t_us: int, what: str) -> None:
        """Record something that happened between the messages."""
        self.link.append(f"{t_us / 1e6:12.6f} s  ----  {what}")


class Witnessed:
    """A line whose bytes a witness records; `now_us` is the target's clock."""

    def __init__(self, line: SerialLine, witness: Witness, now_us: Callable[[], int]) -> None:
        self._line = line
        self._witness = witness
        self._now_us = now_us

    @property
    def name(self) -> str:
        return self._line.name

    def read(self, timeout_s: float) -> bytes:
        data = self._line.read(timeout_s)
        if data:
            self._witness.carried(self._now_us(), SHOE, data)
        return data

    def write(self, data: bytes | bytearray) -> None:
        self._witness.carried(self._now_us(), HOST, bytes(data))
        self._line.write(data)


def _message_or_none(payload: bytes) -> Message | None:
    try:
        return wire.parse_message(payload)
    except wire.WireError:
        return None


def _message_text(message: Message) -> str:
    reported = shoe_message_of(message)
    if isinstance(reported, EventMessage):
        try:
            return _event_text(reported)
        except wire.WireError:
            pass  # show the message as it arrived
    return _fields_text(message.shape.name, dict(message.fields))


def _event_text(message: EventMessage) -> str:
    event = wire.parse_event(message.record)
    return _fields_text(f"event {event.number} {event.kind}", dict(event.fields))


def _fields_text(name: str, fields: dict[str, object]) -> str:
    parts = [name]
    for field, value in fields.items():
        text = value.hex() if isinstance(value, bytes) else str(value)
        parts.append(
            f"{field}={text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + '…'}"
        )
    return " ".join(parts)
