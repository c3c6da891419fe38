"""The host's end of the link: bytes in, bytes out, no port and no clock of its own.

Events reach the caller in order and once each, however the line damages, drops or repeats
frames: what comes too early is kept until its turn, what came before is dropped. Nothing is
acknowledged until the caller says that it is durable.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sabot.errors import WrongVersion
from sabot.link import command_keys, wire
from sabot_protocol import VERSION, messages
from sabot_protocol.events import MAC_SIZE
from sabot_protocol.frame import FrameReader
from sabot_protocol.schema import Shape

_INTRODUCTION = (messages.WELCOME, messages.FIRMWARE, messages.GAME, messages.CHALLENGE)
_ANSWERS = (
    messages.REPLY,
    messages.STATUS_REPORT,
    messages.HEALTH_REPORT,
    messages.PASS_REPORT,
    messages.PASS_SAMPLES,
    messages.UPDATE_REPORT,
    messages.SELF_TEST_REPORT,
)
_RENAMED = {"version": "firmware", "name": "game", "sha256": "game_sha256"}
_EARLY_LIMIT = 256
ASK_PAUSE_S = 0.02
"""Least time between two requests for what is missing."""


@dataclass(frozen=True, slots=True)
class Record:
    """An event with the bytes in which the shoe wrote it: those are kept and verified."""

    event: wire.Event
    data: bytes
    mac: bytes
    """Its MAC in the audit chain, 16 bytes, as the shoe sent it: unchecked."""


@dataclass(slots=True)
class Received:
    """What some bytes from the shoe amounted to."""

    welcome: Mapping[str, Any] | None = None
    """Once, when the shoe has answered `hello`: all that it said of itself, by field."""
    records: list[Record] = field(default_factory=list)
    heartbeat: wire.Message | None = None
    answers: list[wire.Message] = field(default_factory=list)
    """Replies and reports to commands."""


class Session:
    """One attachment to one shoe: `hello`, then `begin`. Times are seconds of any steady
    clock, passed in.
    """

    def __init__(self, session: int) -> None:
        self.attached = False
        self.heard_s: float | None = None
        """When the last good message came."""
        self._expect: int | None = None
        self._durable = 0
        self._session = session
        self._frames = FrameReader()
        self._early: dict[int, Record] = {}
        self._skip_to = 1
        self._introduced: dict[str, Mapping[str, Any]] = {}
        self._asked_s = 0.0
        self.challenge = b""
        """What MACs are made over; empty for a unit that has no key yet."""
        self.missing = False
        """Whether `ask_for_missing` has something to ask for, once its pause is over."""
        self._seen_bad = 0
        self.out = bytearray()
        """What is to be sent; the caller empties it."""

    @property
    def damaged(self) -> int:
        """Frames that came and could not be read."""
        return self._frames.damaged + self._frames.oversize

    def hello(self) -> None:
        """Ask for the link."""
        self._send(messages.HELLO, VERSION, self._session)

    def begin(self, expect: int) -> None:
        """The first event wanted is number `expect`; everything before it is durable.

        Where the shoe has given that one up, its oldest is the first.
        """
        self._expect = max(expect, self._skip_to)
        self._durable = self._expect - 1
        self._early.clear()
        self.say_here()

    def read_again(self, first: int) -> None:
        """Events from number `first` on are going to be sent again; hand them out again."""
        self._expect = first
        self._early.clear()

    def acknowledge(self) -> None:
        """Every event handed out so far is durable."""
        if self._expect is not None:
            self._durable = self._expect - 1
            self.say_here()

    def say_here(self) -> None:
        """Repeat the last acknowledgement: the shoe knows then that somebody listens."""
        if self._expect is not None:
            self._send(messages.ACK, self._durable)

    def command(self, shape: Shape, command_id: int, *values: object) -> None:
        """Send a command; its answer comes with the same `command_id`."""
        self._send(shape, command_id, *values)

    def signed(self, key: bytes, shape: Shape, command_id: int, *values: object) -> None:
        """Send a command with its MAC under the unit's command key."""
        command = wire.payload_of(shape, command_id, *values)
        mac = command_keys.mac(key, self.challenge, command)
        self._send(messages.SIGNED, command_id, command, mac)

    def feed(self, data: bytes, now_s: float) -> Received:
        """Take bytes that came from the shoe at `now_s`.

        Raises WrongVersion where the shoe speaks another version of the protocol.
        """
        received = Received()
        for payload in self._frames.feed(data):
            try:
                message = wire.parse_message(payload)
            except wire.WireError:
                self.missing = True
                continue
            if message.shape in messages.TO_HOST:  # an echo of ours is nobody
                self.heard_s = now_s
            self._take(message, received)
        if self.damaged != self._seen_bad:
            self._seen_bad = self.damaged
            self.missing = True
        return received

    def ask_for_missing(self, now_s: float) -> None:
        """Where something was damaged or left out, ask for it."""
        if self.attached and self.missing and now_s - self._asked_s >= ASK_PAUSE_S:
            self.missing = False
            self._asked_s = now_s
            self.say_here()

    def _take(self, message: wire.Message, received: Received) -> None:
        shape = message.shape
        if shape is messages.WRONG_VERSION:
            raise WrongVersion(
                f"the shoe speaks protocol version {message['protocol']}, this host version "
                f"{VERSION}: update the older of the two"
            )
        if shape in _INTRODUCTION:
            self._introduce(message, received)
        elif not self.attached:
            return
        elif shape is messages.EVENT:
            self._event(message["record"], message["mac"], received)
        elif shape is messages.HEARTBEAT:
            received.heartbeat = message
            self._skip_to = message["first_held"]
            self._in_order(received)
            if self._expect is not None and message["last_held"] >= self._expect:
                self.missing = True
        elif shape in _ANSWERS:
            received.answers.append(message)
        elif shape is messages.PROBLEM:
            self.missing = True  # the shoe lost a frame of ours: perhaps the acknowledgement

    def _introduce(self, message: wire.Message, received: Received) -> None:
        if self.attached or message["session"] != self._session:
            return
        self._introduced[message.shape.name] = message.fields
        if len(self._introduced) == len(_INTRODUCTION):
            self.attached = True
            received.welcome = {
                _RENAMED.get(name, name): value
                for fields in self._introduced.values()
                for name, value in fields.items()
            }
            self._skip_to = received.welcome["first_held"]
            self.challenge = received.welcome["challenge"]

    def _event(self, data: bytes, mac: bytes, received: Received) -> None:
        if self._expect is None:
            return
        try:
            if len(mac) != MAC_SIZE:
                raise wire.WireError(f"a MAC of {len(mac)} bytes")
            record = Record(wire.parse_event(data), data, mac)
        except wire.WireError:
            self.missing = True
            return
        ahead = record.event.number - self._expect
        if 0 <= ahead <= _EARLY_LIMIT:
            self._early[record.event.number] = record
            self._in_order(received)
        if ahead:
            self.missing = True  # something came too early, or again: an answer was lost

    def _in_order(self, received: Received) -> None:
        while self._expect is not None:
            record = self._early.pop(self._expect, None)
            if record is not None:
                received.records.append(record)
                self._expect += 1
            elif self._expect < self._skip_to:  # the shoe has given it up: go on behind
                self._expect = min([self._skip_to, *self._early])
            else:
                return

    def _send(self, shape: Shape, *values: object) -> None:
        self.out += wire.frame_of(shape, *values)
