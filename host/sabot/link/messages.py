"""The messages of a shoe and the commands to it: a frozen class for each, with the fields of its
definition in sabot_protocol/messages.py. The value of an enumeration is its name. A field whose
name is a keyword of Python ends in `_`.

To add a command, add its class below; to add a report, add a subclass of `Answer`. A test compares
the names and types of the fields of every class with the definition.
"""

from dataclasses import dataclass, fields
from typing import ClassVar, Generic, TypeVar

from sabot.link import wire
from sabot_protocol import messages
from sabot_protocol.schema import Shape


class ShoeMessage:
    """A message that a shoe sends."""

    __slots__ = ()
    SHAPE: ClassVar[Shape]


@dataclass(frozen=True, slots=True)
class Answer(ShoeMessage):
    """A message that answers the command with the same `id`."""

    id: int


@dataclass(frozen=True, slots=True)
class WelcomeMessage(ShoeMessage):
    """The first of the four answers to `hello`. `first_held` and `last_held` are the numbers of the
    first and the last event that the shoe can still send."""

    SHAPE: ClassVar[Shape] = messages.WELCOME
    session: int
    protocol: int
    unit: str
    boot: int
    reset_cause: str
    first_held: int
    last_held: int
    max_payload: int


@dataclass(frozen=True, slots=True)
class FirmwareMessage(ShoeMessage):
    """The second answer to `hello`: the firmware that runs. `build` is its SHA-256."""

    SHAPE: ClassVar[Shape] = messages.FIRMWARE
    session: int
    version: str
    build: bytes
    board: str


@dataclass(frozen=True, slots=True)
class GameMessage(ShoeMessage):
    """The third answer to `hello`: the game that is dealt. `sha256` is that of its document."""

    SHAPE: ClassVar[Shape] = messages.GAME
    session: int
    name: str
    sha256: bytes


@dataclass(frozen=True, slots=True)
class ChallengeMessage(ShoeMessage):
    """The fourth answer to `hello`: random bytes that are part of each MAC of the session, and the
    shoe's MAC of the other three. Both are empty if the board is not a unit yet."""

    SHAPE: ClassVar[Shape] = messages.CHALLENGE
    session: int
    challenge: bytes
    proof: bytes


@dataclass(frozen=True, slots=True)
class WrongVersionMessage(ShoeMessage):
    """The answer to a `hello` of another version of the protocol."""

    SHAPE: ClassVar[Shape] = messages.WRONG_VERSION
    protocol: int
    asked: int


@dataclass(frozen=True, slots=True)
class EventMessage(ShoeMessage):
    """A record of the shoe and its MAC, in the bytes that are stored."""

    SHAPE: ClassVar[Shape] = messages.EVENT
    record: bytes
    mac: bytes


@dataclass(frozen=True, slots=True)
class HeartbeatMessage(ShoeMessage):
    """The shoe is attached; its state."""

    SHAPE: ClassVar[Shape] = messages.HEARTBEAT
    t_ms: int
    phase: str
    error: str
    shoe: int
    round: int
    first_held: int
    last_held: int


@dataclass(frozen=True, slots=True)
class ProblemMessage(ShoeMessage):
    """The shoe dropped a frame from the host, for the `count`th time."""

    SHAPE: ClassVar[Shape] = messages.PROBLEM
    problem: str
    count: int


@dataclass(frozen=True, slots=True)
class Reply(Answer):
    """A command was carried out (`refusal` is "none") or refused; `detail` explains the refusal."""

    SHAPE: ClassVar[Shape] = messages.REPLY
    refusal: str
    detail: str


@dataclass(frozen=True, slots=True)
class StatusReport(Answer):
    """The state of the shoe. Heap in bytes; `journal_room` in events."""

    SHAPE: ClassVar[Shape] = messages.STATUS_REPORT
    t_ms: int
    unix_ms: int | None
    phase: str
    error: str
    lock_released: bool
    shoe: int
    round: int
    cards: int
    heap_used: int
    heap_free: int
    queue_events: int
    frames_dropped: int
    journal_room: int
    bad_sectors: int


@dataclass(frozen=True, slots=True)
class HealthReport(Answer):
    """How well the channels of the sensor head see. `dirty`: bit n is the n-th of
    `enums.CHANNELS`."""

    SHAPE: ClassVar[Shape] = messages.HEALTH_REPORT
    cards: int
    e_permille: int
    a_permille: int
    b_permille: int
    x_permille: int
    dirty: int
    overruns: int
    calibrated_e_permille: int | None
    calibrated_a_permille: int | None
    calibrated_b_permille: int | None
    calibrated_x_permille: int | None
    calibrated_unix_ms: int | None

    @property
    def means(self) -> tuple[int, ...]:
        """The mean of each of `enums.CHANNELS`, in permille."""
        return self.e_permille, self.a_permille, self.b_permille, self.x_permille

    @property
    def calibrated(self) -> tuple[int | None, ...]:
        """The same of the last test card; None if there was none."""
        return (
            self.calibrated_e_permille,
            self.calibrated_a_permille,
            self.calibrated_b_permille,
            self.calibrated_x_permille,
        )


@dataclass(frozen=True, slots=True)
class PassReport(Answer):
    """A kept pass. If there is none, `pass_` is 0 and the other fields have no meaning. `bytes` is
    the size of its runs; `cut` is true if the pass had more runs than are kept."""

    SHAPE: ClassVar[Shape] = messages.PASS_REPORT
    pass_: int
    t_ms: int
    fault: str
    card: int | None
    set: int | None
    speed_mm_s: int
    margin_permille: int
    skew_um: int
    samples: int
    bytes: int
    cut: bool


@dataclass(frozen=True, slots=True)
class PassSamples(Answer):
    """Runs of equal samples of a pass, from byte `offset` on."""

    SHAPE: ClassVar[Shape] = messages.PASS_SAMPLES
    pass_: int
    offset: int
    runs: bytes


@dataclass(frozen=True, slots=True)
class GamePart(Answer):
    """A part of the document of the game that is dealt, from byte `offset` on. `sha256` and `size`
    are those of the whole document."""

    SHAPE: ClassVar[Shape] = messages.GAME_PART
    sha256: bytes
    size: int
    offset: int
    part: bytes


@dataclass(frozen=True, slots=True)
class SelfTestReport(Answer):
    """The result of the self-tests. `failed`: bit n is the n-th of `enums.SELF_TESTS`; `seen`: the
    n-th of `enums.CHANNELS` sees something now."""

    SHAPE: ClassVar[Shape] = messages.SELF_TEST_REPORT
    failed: int
    seen: int
    temperature_c: int | None
    sectors: int
    begun: int
    wrong_macs: int


@dataclass(frozen=True, slots=True)
class UpdateReport(Answer):
    """How far a release has come. `offset` is the next byte to send."""

    SHAPE: ClassVar[Shape] = messages.UPDATE_REPORT
    stage: str
    manifest: bytes
    offset: int
    refusal: str
    detail: str


AnswerT_co = TypeVar("AnswerT_co", bound=Answer, covariant=True)


class Command(Generic[AnswerT_co]):
    """A command to a shoe; the type parameter is the type of its answer."""

    __slots__ = ()
    SHAPE: ClassVar[Shape]

    def field_values(self) -> list[object]:
        """Return the values of its fields after the `id`, in order."""
        return [getattr(self, each.name) for each in fields(self)]  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class SetClockCommand(Command[Reply]):
    """Set the clock, in UTC."""

    SHAPE: ClassVar[Shape] = messages.SET_CLOCK
    unix_ms: int


@dataclass(frozen=True, slots=True)
class IdentifyCommand(Command[Reply]):
    """Make the shoe beep."""

    SHAPE: ClassVar[Shape] = messages.IDENTIFY


@dataclass(frozen=True, slots=True)
class ReadEventsCommand(Command[Reply]):
    """Send the events from number `first` on again."""

    SHAPE: ClassVar[Shape] = messages.READ_EVENTS
    first: int


@dataclass(frozen=True, slots=True)
class LoadGameCommand(Command[Reply]):
    """Load a part of a game document."""

    SHAPE: ClassVar[Shape] = messages.LOAD_GAME
    offset: int
    size: int
    part: bytes


@dataclass(frozen=True, slots=True)
class ReadGameCommand(Command[GamePart]):
    """Send a part of the document of the game that is dealt, from byte `offset` on."""

    SHAPE: ClassVar[Shape] = messages.READ_GAME
    offset: int


@dataclass(frozen=True, slots=True)
class RestartCommand(Command[Reply]):
    """Restart the shoe, between rounds."""

    SHAPE: ClassVar[Shape] = messages.RESTART


@dataclass(frozen=True, slots=True)
class ConfirmCommand(Command[Reply]):
    """Confirm the release on trial."""

    SHAPE: ClassVar[Shape] = messages.CONFIRM


@dataclass(frozen=True, slots=True)
class DebugCommand(Command[Reply]):
    """Restart the shoe with MicroPython's prompt at its port."""

    SHAPE: ClassVar[Shape] = messages.DEBUG


@dataclass(frozen=True, slots=True)
class StatusCommand(Command[StatusReport]):
    """Report the state of the shoe."""

    SHAPE: ClassVar[Shape] = messages.STATUS


@dataclass(frozen=True, slots=True)
class HealthCommand(Command[HealthReport]):
    """Report how well the sensor head sees."""

    SHAPE: ClassVar[Shape] = messages.HEALTH


@dataclass(frozen=True, slots=True)
class NextPassCommand(Command[PassReport]):
    """Report the first kept pass with a number above `after`."""

    SHAPE: ClassVar[Shape] = messages.NEXT_PASS
    after: int


@dataclass(frozen=True, slots=True)
class ReadPassCommand(Command[PassSamples]):
    """Send the runs of a kept pass, from byte `offset` on."""

    SHAPE: ClassVar[Shape] = messages.READ_PASS
    pass_: int
    offset: int


@dataclass(frozen=True, slots=True)
class SelfTestCommand(Command[SelfTestReport]):
    """Test the shoe, between rounds."""

    SHAPE: ClassVar[Shape] = messages.SELF_TEST


@dataclass(frozen=True, slots=True)
class UpdateCommand(Command[UpdateReport]):
    """Begin a release; `size` is that of its head, in bytes."""

    SHAPE: ClassVar[Shape] = messages.UPDATE
    size: int


@dataclass(frozen=True, slots=True)
class UpdatePartCommand(Command[UpdateReport]):
    """Take the part of a release that the last report asked for."""

    SHAPE: ClassVar[Shape] = messages.UPDATE_PART
    offset: int
    part: bytes


@dataclass(frozen=True, slots=True)
class UpdateStatusCommand(Command[UpdateReport]):
    """Report how far a release has come."""

    SHAPE: ClassVar[Shape] = messages.UPDATE_STATUS


@dataclass(frozen=True, slots=True)
class ProvisionCommand(Command[UpdateReport]):
    """Take a part of the document that provisions a board."""

    SHAPE: ClassVar[Shape] = messages.PROVISION
    offset: int
    size: int
    part: bytes


SHOE_MESSAGES = {
    each.SHAPE.number: each
    for each in list(globals().values())
    if isinstance(each, type)
    and issubclass(each, ShoeMessage)
    and each not in (ShoeMessage, Answer)
}
"""The class of each message of a shoe, by the number of the message."""


def shoe_message_of(message: wire.Message) -> ShoeMessage | None:
    """Return a message of a shoe as its class; None for a message of a host or a bench."""
    each = SHOE_MESSAGES.get(message.shape.number)
    if each is None:
        return None
    return each(*wire.with_enum_names(message.shape, message.fields.values()))


_COMMANDS = {
    each.SHAPE.number: each
    for each in list(globals().values())
    if isinstance(each, type) and issubclass(each, Command) and each is not Command
}


def command_of(message: wire.Message) -> Command[Answer] | None:
    """Return a command, without its `id`, as its class; None for another message."""
    each = _COMMANDS.get(message.shape.number)
    return None if each is None else each(*list(message.fields.values())[1:])
