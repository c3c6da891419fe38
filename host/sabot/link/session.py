"""The host's end of the link: takes and makes bytes, without a port or a clock of its own.

A session has the highest version of the protocol that both ends know. The host says its newest one
in `hello`, the shoe its own in `welcome`. A shoe of version 10 takes only a `hello` of version 10,
and answers a later one with `wrong_version`; the host then says version 10.

The caller gets every event once and in order, even if the line damages, drops or repeats frames: an
event that comes too early is kept until the events before it have come, and a repeated event is
dropped. Nothing is acknowledged before the caller says that it is durable.
"""

from dataclasses import dataclass, field

from sabot.errors import BadAnswer, ProtocolMismatch
from sabot.link import command_keys, wire
from sabot.link.damage import Damage
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
from sabot_protocol import OLDEST, VERSION
from sabot_protocol import messages as definitions
from sabot_protocol.events import MAC_SIZE
from sabot_protocol.frame import FrameReader
from sabot_protocol.schema import Shape

_Introducing = WelcomeMessage | FirmwareMessage | GameMessage | ChallengeMessage
_INTRODUCING = (WelcomeMessage, FirmwareMessage, GameMessage, ChallengeMessage)
"""The answers to `hello`, in the order in which the shoe sends them."""

_EARLY_LIMIT = 256
ASK_PAUSE_S = 0.02
"""Least time between two requests for missing events."""
_REPEAT_PAUSE_S = 0.25
"""And between two acknowledgements that only answer events that came again: as long as a shoe waits
before it sends them again."""


@dataclass(frozen=True, slots=True)
class Record:
    """An event with the bytes that the shoe wrote, which are stored and verified."""

    event: Event
    data: bytes
    mac: bytes
    """The event's MAC in the audit chain, 16 bytes, as the shoe sent it, not checked."""


@dataclass(frozen=True, slots=True)
class Introduction:
    """What a shoe reports about itself when a host attaches, in four messages."""

    protocol: int
    """The newest version of the protocol that the shoe speaks."""
    unit: str
    """The id of the unit."""
    boot: int
    """The number of this start of the unit."""
    reset_cause: str
    first_held: int
    last_held: int
    """The numbers of the first and the last event that the shoe can still send."""
    firmware: str
    """The version of the firmware that runs."""
    build: bytes
    """The SHA-256 of the firmware that runs."""
    board: str
    game: str
    """The name of the game that is dealt."""
    game_sha256: bytes
    """The SHA-256 of the game's document."""
    challenge: bytes
    """Random bytes that are part of each MAC; empty if the board is not a unit yet."""

    def what_host_lacks(self) -> str:
        """Return what this host lacks for a newer shoe, for people; empty if it knows all."""
        if self.protocol <= VERSION:
            return ""
        return (
            f"{self.unit}: its firmware, {self.firmware}, speaks protocol version {self.protocol}, "
            f"this host {VERSION}; its records are stored as they come, and what is new in them is "
            "shown as unknown: update this host"
        )


@dataclass(slots=True)
class Received:
    """What some bytes from the shoe contained."""

    welcome: Introduction | None = None
    """Set once, when the shoe has answered `hello`."""
    records: list[Record] = field(default_factory=list)
    heartbeat: HeartbeatMessage | None = None
    answers: list[Answer] = field(default_factory=list)
    """All replies and reports that came, repeated ones too."""


class Session:
    """One attachment to one shoe: `hello`, then `begin`.

    The caller passes in times, in seconds of any steady clock. `session` is a random number of 64
    bits. Its last bit is turned for a `hello` of version 10, so that it is known which one a shoe
    has answered.
    """

    def __init__(self, session: int) -> None:
        self.attached = False
        self.misled = False
        """Whether something on the line has said that the shoe speaks version 10 only, and the shoe
        itself then named a newer one."""
        self.heard_s: float | None = None
        """When the last good message came; None before the first one."""
        self._next_event: int | None = None
        self._durable = 0
        self._number = session
        self._asked = VERSION  # the version in `hello`
        self._frames = FrameReader()
        self._early: dict[int, Record] = {}
        self._skip_to = 1
        self._answers: dict[type[_Introducing], tuple[_Introducing, bytes]] = {}
        self._believed = False
        self._requested_s = 0.0
        self.challenge = b""
        """Random bytes that are part of each MAC; empty if the board is not a unit yet."""
        self.missing = False
        """Whether `ask_for_missing` has something to request after its pause."""
        self._repeated = False  # whether an event came that was handed out before
        self._damaged_before = 0
        self.damage = Damage()
        """What comes, and by what it is damaged."""
        self.refused = 0
        """The number of frames that the shoe could not read since this session began."""
        self._refused_counts: dict[str, int] = {}  # by problem, since the start of the shoe
        self.out = bytearray()
        """Bytes to be sent; the caller empties it."""

    @property
    def damaged(self) -> int:
        """The number of frames that came and could not be read."""
        return self._frames.damaged + self._frames.oversize

    @property
    def version(self) -> int:
        """The version of the protocol that this session has, once it is attached."""
        introduction = self.introduction()
        return self._asked if introduction is None else min(self._asked, introduction.protocol)

    @property
    def _session(self) -> int:
        return self._number ^ (self._asked == OLDEST)

    def hello(self) -> None:
        """Ask the shoe to attach this host."""
        self._send(definitions.HELLO, self._asked, self._session)

    def begin(self, expect: int) -> None:
        """Request the events from number `expect` on; all before it are durable.

        If the shoe no longer holds that event, the first one is the oldest that it holds.
        """
        self._next_event = max(expect, self._skip_to)
        self._durable = self._next_event - 1
        self._early.clear()
        self.announce()

    def read_again(self, first: int) -> None:
        """Hand out the events from number `first` on again; the caller must request them."""
        self._next_event = first
        self._early.clear()

    def acknowledge(self, number: int, *, at_once: bool = True) -> None:
        """Acknowledge every event up to `number`, which was handed out, as durable; unless
        `at_once`, with the next message that says so anyway."""
        self._durable = max(self._durable, number)
        if at_once:
            self.announce()

    def announce(self) -> None:
        """Repeat the last acknowledgement: it shows the shoe that a host listens."""
        if self._next_event is not None:
            self._send(definitions.ACK, self._durable)

    def send_command(self, command: Command[Answer], command_id: int) -> None:
        """Send a command; its answer has the same `command_id`."""
        self._send(command.SHAPE, command_id, *command.field_values())

    def send_signed(self, key: bytes, command: Command[Answer], command_id: int) -> None:
        """Send a command with its MAC under the unit's command key."""
        payload = wire.payload_of(command.SHAPE, command_id, *command.field_values())
        mac = command_keys.command_mac(key, self._session, self.challenge, payload)
        self._send(definitions.SIGNED, command_id, payload, mac)

    def hidden(self, key: bytes, command_id: int, data: bytes) -> bytes:
        """Return random bytes as the `stir` with this id carries them in this session."""
        return command_keys.hidden(key, self._session, self.challenge, command_id, data)

    def feed(self, data: bytes, now_s: float) -> Received:
        """Take bytes that came from the shoe at `now_s`; return what they contained.

        Raises ProtocolMismatch if the shoe has another version of the protocol, BadAnswer if its
        messages contradict each other; that ends the session.
        """
        received = Received()
        self.damage.feed(data)
        for payload in self._frames.feed(data):
            try:
                message = shoe_message_of(wire.parse_message(payload))
            except wire.UnknownMessage:  # of a newer shoe: it has what this host needs too
                continue
            except wire.WireError:
                self.missing = True
                continue
            if message is not None:  # not an echo of the host's own message
                self.heard_s = now_s
                self._handle(message, payload, received)
        if self.damaged != self._damaged_before:
            self._damaged_before = self.damaged
            self.missing = True
        return received

    def ask_for_missing(self, now_s: float) -> None:
        """If something was damaged or left out, request it again. If events came again, repeat the
        acknowledgement: the shoe may not have it yet. It may also be on the way, and each one has
        the shoe send all again, so there is a longer pause before it."""
        pause_s = ASK_PAUSE_S if self.missing else _REPEAT_PAUSE_S
        waits = self.missing or self._repeated
        if self.attached and waits and now_s - self._requested_s >= pause_s:
            self.missing = self._repeated = False
            self._requested_s = now_s
            self.announce()

    def _handle(self, message: ShoeMessage, payload: bytes, received: Received) -> None:
        if isinstance(message, WrongVersionMessage):
            self._other_version(message)
            return
        if isinstance(message, _Introducing):
            self._introduce(message, payload, received)
        elif not self.attached:
            return
        elif isinstance(message, EventMessage):
            self._handle_event(message, received)
        elif isinstance(message, HeartbeatMessage):
            self._check_held(message)
            received.heartbeat = message
            self._skip_to = message.first_held
            self._hand_out(received)
            if self._next_event is not None and message.last_held >= self._next_event:
                self.missing = True
        elif isinstance(message, Answer):
            received.answers.append(message)
        elif isinstance(message, ProblemMessage):
            self.missing = True  # the shoe dropped a frame, perhaps the acknowledgement
            before = self._refused_counts.get(message.problem, message.count - 1)
            self.refused += max(0, message.count - before)
            self._refused_counts[message.problem] = message.count
        else:
            raise AssertionError(f"no code handles {message.SHAPE.name}: add it in session.py")

    def _other_version(self, message: WrongVersionMessage) -> None:
        """Say version 10 from now on to a shoe that speaks no other. Raises ProtocolMismatch if it
        speaks none of this host's versions, BadAnswer if it says so and names one of them."""
        if message.asked != self._asked:
            return  # to another host, which was at the port before
        if message.protocol == OLDEST < self._asked and not self.attached:
            self._ask(OLDEST)
            return
        # Events that were in the same bytes are lost to the caller: none may come after them.
        self.attached, self._next_event = False, None
        if OLDEST <= message.protocol <= VERSION:
            raise BadAnswer(
                f"something on the shoe's line refuses protocol version {self._asked} and names "
                f"version {message.protocol}, which this host speaks too; look what else is on the "
                "line, and attach it again"
            )
        older = "the shoe" if message.protocol < OLDEST else "this host"
        raise ProtocolMismatch(
            f"the shoe speaks protocol version {message.protocol}, this host versions {OLDEST} to "
            f"{VERSION}: update {older}"
        )

    def _ask(self, version: int) -> None:
        """Begin again with a `hello` of this version."""
        self._asked = version
        self._answers.clear()
        self.hello()

    def _check_held(self, message: HeartbeatMessage) -> None:
        """Raise BadAnswer if a heartbeat contradicts itself or an earlier one. Anyone on the line
        can make one, and a session that has skipped events that are not yet recorded would drop
        them in silence."""
        if message.last_held + 1 < max(self._skip_to, message.first_held):
            introduction = self.introduction()
            unit = introduction.unit if introduction is not None else "the shoe"
            self.attached, self._next_event = False, None  # as for another version
            raise BadAnswer(
                f"{unit}: its messages contradict each other: event {message.last_held} is its "
                f"last one, and those before {max(self._skip_to, message.first_held)} are gone; "
                "attach it again, and look what else is on its line"
            )

    def _introduce(self, message: _Introducing, payload: bytes, received: Received) -> None:
        """Take one of the four answers to `hello`. A later one replaces it: only answers to the
        same `hello` fit the shoe's proof."""
        if message.session != self._session or self._believed:
            return
        if isinstance(message, ChallengeMessage) and not _has_sizes(message):
            self.missing = True
            return
        if isinstance(message, WelcomeMessage) and message.protocol > self._asked == OLDEST:
            self.misled = True
            self._ask(VERSION)
            return
        self._answers[type(message)] = (message, payload)
        introduction = self.introduction()
        if introduction is None:
            return
        self.challenge = introduction.challenge
        if not self.attached:
            self.attached = True
            self._skip_to = introduction.first_held
            received.welcome = introduction

    def introduction(self) -> Introduction | None:
        """Return what the shoe reports about itself, None before it has reported all."""
        welcome, firmware, game, challenge = (
            self._answers.get(kind, (None, b""))[0] for kind in _INTRODUCING
        )
        if (
            not isinstance(welcome, WelcomeMessage)
            or not isinstance(firmware, FirmwareMessage)
            or not isinstance(game, GameMessage)
            or not isinstance(challenge, ChallengeMessage)
        ):
            return None
        return Introduction(
            protocol=welcome.protocol,
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
            challenge=challenge.challenge,
        )

    def believe(self, unit: str, key: bytes) -> bool:
        """Return whether the shoe has proved, under the command key of `unit`, that it is `unit`
        and has sent this introduction. From then on the introduction stays as it is."""
        introduction = self.introduction()
        if not self._believed and introduction is not None and introduction.unit == unit:
            *parts, (challenge, _) = (self._answers[kind] for kind in _INTRODUCING)
            answers = b"".join(payload for _, payload in parts)
            assert isinstance(challenge, ChallengeMessage)
            self._believed = command_keys.is_proof(
                key, self._session, challenge.challenge, answers, challenge.proof
            )
            if self._believed:  # what was said before the proof counts for nothing
                self._skip_to = introduction.first_held
        return self._believed

    def _handle_event(self, message: EventMessage, received: Received) -> None:
        if self._next_event is None:
            return
        data, mac = message.record, message.mac
        try:
            if len(mac) != MAC_SIZE:
                raise wire.WireError(f"a MAC of {len(mac)} bytes")
            record = Record(wire.parse_event(data), data, mac)
        except wire.WireError:
            self.missing = True
            return
        ahead = record.event.number - self._next_event
        if 0 <= ahead <= _EARLY_LIMIT:
            self._early[record.event.number] = record
            self._hand_out(received)
        if ahead > 0:
            self.missing = True  # it came too early: a frame was lost
        elif ahead < 0:
            self._repeated = True

    def _hand_out(self, received: Received) -> None:
        while self._next_event is not None:
            record = self._early.pop(self._next_event, None)
            if record is not None:
                received.records.append(record)
                self._next_event += 1
            elif self._next_event < self._skip_to:  # the shoe no longer holds it: skip it
                self._next_event = min([self._skip_to, *self._early])
            else:
                return

    def _send(self, shape: Shape, *values: object) -> None:
        self.out += wire.frame_of(shape, *values)


def _has_sizes(message: ChallengeMessage) -> bool:
    """Whether challenge and proof have their sizes, of a unit or of a board without a key."""
    sizes = len(message.challenge), len(message.proof)
    return sizes in ((definitions.CHALLENGE_SIZE, MAC_SIZE), (0, 0))
