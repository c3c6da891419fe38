"""The host's end of the link: bytes in, bytes out, no port and no clock of its own.

Events reach the caller in order and once each, however the line damages, drops or repeats
frames: what comes too early is kept until its turn, what came before is dropped. Nothing is
acknowledged until the caller says that it is durable.
"""

from dataclasses import dataclass, field

from sabot.errors import ProtocolMismatch
from sabot.link import command_keys, wire
from sabot.link.events import Event
from sabot.link.messages import (
    Answer,
    ChallengeMessage,
    Command,
    EventMessage,
    FirmwareMessage,
    GameMessage,
    HeartbeatMessage,
    ProblemMessage,
    ShoeMessage,
    WelcomeMessage,
    WrongVersionMessage,
    shoe_message_of,
)
from sabot_protocol import VERSION
from sabot_protocol import messages as definitions
from sabot_protocol.events import MAC_SIZE
from sabot_protocol.frame import FrameReader
from sabot_protocol.schema import Shape

_EARLY_LIMIT = 256
ASK_PAUSE_S = 0.02
"""Least time between two requests for what is missing."""


@dataclass(frozen=True, slots=True)
class Record:
    """An event with the bytes in which the shoe wrote it: those are kept and verified."""

    event: Event
    data: bytes
    mac: bytes
    """Its MAC in the audit chain, 16 bytes, as the shoe sent it: unchecked."""


@dataclass(frozen=True, slots=True)
class Introduction:
    """All that a shoe says of itself when a host attaches, in four messages."""

    unit: str
    """Its id."""
    boot: int
    """Which start of the unit this is."""
    reset_cause: str
    first_held: int
    last_held: int
    """Numbers of the first and the last event that it can still send."""
    firmware: str
    """The version that runs,"""
    build: bytes
    """and its SHA-256."""
    board: str
    game: str
    """The name of what it deals,"""
    game_sha256: bytes
    """and the SHA-256 of its document."""
    challenge: bytes
    """What MACs are made over; empty for a board that is no unit yet."""


@dataclass(slots=True)
class Received:
    """What some bytes from the shoe amounted to."""

    welcome: Introduction | None = None
    """Once, when the shoe has answered `hello`."""
    records: list[Record] = field(default_factory=list)
    heartbeat: HeartbeatMessage | None = None
    answers: list[Answer] = field(default_factory=list)
    """Replies and reports to commands, every one that came."""


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
        self._welcome: WelcomeMessage | None = None
        self._firmware: FirmwareMessage | None = None
        self._game: GameMessage | None = None
        self._challenge: ChallengeMessage | None = None
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
        self._send(definitions.HELLO, VERSION, self._session)

    def begin(self, expect: int) -> None:
        """The first event wanted is number `expect`; everything before it is durable.

        Where the shoe has given that one up, its oldest is the first.
        """
        self._expect = max(expect, self._skip_to)
        self._durable = self._expect - 1
        self._early.clear()
        self.announce()

    def read_again(self, first: int) -> None:
        """Events from number `first` on are going to be sent again; hand them out again."""
        self._expect = first
        self._early.clear()

    def acknowledge(self) -> None:
        """Every event handed out so far is durable."""
        if self._expect is not None:
            self._durable = self._expect - 1
            self.announce()

    def announce(self) -> None:
        """Repeat the last acknowledgement: the shoe knows then that somebody listens."""
        if self._expect is not None:
            self._send(definitions.ACK, self._durable)

    def command(self, command: Command[Answer], command_id: int) -> None:
        """Send a command; its answer comes with the same `command_id`."""
        self._send(command.SHAPE, command_id, *command.values())

    def signed(self, key: bytes, command: Command[Answer], command_id: int) -> None:
        """Send a command with its MAC under the unit's command key."""
        payload = wire.payload_of(command.SHAPE, command_id, *command.values())
        mac = command_keys.mac(key, self.challenge, payload)
        self._send(definitions.SIGNED, command_id, payload, mac)

    def feed(self, data: bytes, now_s: float) -> Received:
        """Take bytes that came from the shoe at `now_s`.

        Raises ProtocolMismatch where the shoe speaks another version of the protocol.
        """
        received = Received()
        for payload in self._frames.feed(data):
            try:
                message = shoe_message_of(wire.parse_message(payload))
            except wire.WireError:
                self.missing = True
                continue
            if message is not None:  # an echo of ours is no shoe
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
            self.announce()

    def _take(self, message: ShoeMessage, received: Received) -> None:
        if isinstance(message, WrongVersionMessage):
            raise ProtocolMismatch(
                f"the shoe speaks protocol version {message.protocol}, this host version "
                f"{VERSION}: update the older of the two"
            )
        if isinstance(message, WelcomeMessage | FirmwareMessage | GameMessage | ChallengeMessage):
            self._introduce(message, received)
        elif not self.attached:
            return
        elif isinstance(message, EventMessage):
            self._event(message, received)
        elif isinstance(message, HeartbeatMessage):
            received.heartbeat = message
            self._skip_to = message.first_held
            self._in_order(received)
            if self._expect is not None and message.last_held >= self._expect:
                self.missing = True
        elif isinstance(message, Answer):
            received.answers.append(message)
        elif isinstance(message, ProblemMessage):
            self.missing = True  # the shoe lost a frame of ours: perhaps the acknowledgement
        else:
            raise AssertionError(f"nothing takes {message.SHAPE.name}: add it in session.py")

    def _introduce(
        self,
        message: WelcomeMessage | FirmwareMessage | GameMessage | ChallengeMessage,
        received: Received,
    ) -> None:
        if self.attached or message.session != self._session:
            return
        if isinstance(message, WelcomeMessage):
            self._welcome = message
        elif isinstance(message, FirmwareMessage):
            self._firmware = message
        elif isinstance(message, GameMessage):
            self._game = message
        else:
            self._challenge = message
        welcome, firmware, game = self._welcome, self._firmware, self._game
        if welcome and firmware and game and self._challenge:
            self.attached = True
            self._skip_to = welcome.first_held
            self.challenge = self._challenge.challenge
            received.welcome = Introduction(
                unit=welcome.unit,
                boot=welcome.boot,
                reset_cause=welcome.reset_cause,
                first_held=welcome.first_held,
                last_held=welcome.last_held,
                firmware=firmware.version,
                build=firmware.build,
                board=firmware.board,
                game=game.name,
                game_sha256=game.sha256,
                challenge=self.challenge,
            )

    def _event(self, message: EventMessage, received: Received) -> None:
        if self._expect is None:
            return
        data, mac = message.record, message.mac
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
            elif self._expect < self._skip_to:  # the shoe has given it up: go on after it
                self._expect = min([self._skip_to, *self._early])
            else:
                return

    def _send(self, shape: Shape, *values: object) -> None:
        self.out += wire.frame_of(shape, *values)
