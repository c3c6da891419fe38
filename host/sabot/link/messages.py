"""What a shoe says, and what it is asked: a frozen class for each message, with the fields of its
definition in sabot_protocol/messages.py. Enumerations are words. A field whose name is a keyword of
Python ends in `_`.

To add a command: its class here, below; to add a report: its class, an `Answer`. A test holds each
against the definition, name by name and type by type.
"""

from dataclasses import dataclass, fields
from typing import ClassVar, Generic, TypeVar

from sabot.link import wire
from sabot_protocol import messages
from sabot_protocol.schema import Shape


class ShoeMessage:
    """A message of a shoe."""

    __slots__ = ()
    SHAPE: ClassVar[Shape]


@dataclass(frozen=True, slots=True)
class Answer(ShoeMessage):
    """A message that answers the command with the same `id`."""

    id: int


@dataclass(frozen=True, slots=True)
class WelcomeMessage(ShoeMessage):
    """The first of the four answers to `hello`. `first_held` and `last_held` are the first and the
    last event that the shoe can still send."""

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
    """The second: what runs. `build` is the SHA-256 of it."""

    SHAPE: ClassVar[Shape] = messages.FIRMWARE
    session: int
    version: str
    build: bytes
    board: str


@dataclass(frozen=True, slots=True)
class GameMessage(ShoeMessage):
    """The third: what is dealt."""

    SHAPE: ClassVar[Shape] = messages.GAME
    session: int
    name: str
    sha256: bytes


@dataclass(frozen=True, slots=True)
class ChallengeMessage(ShoeMessage):
    """The fourth: what the MACs of the session are made over; empty for a board that is no unit
    yet."""

    SHAPE: ClassVar[Shape] = messages.CHALLENGE
    session: int
    challenge: bytes


@dataclass(frozen=True, slots=True)
class WrongVersionMessage(ShoeMessage):
    """The answer to a `hello` of another version of the protocol."""

    SHAPE: ClassVar[Shape] = messages.WRONG_VERSION
    protocol: int
    asked: int


@dataclass(frozen=True, slots=True)
class EventMessage(ShoeMessage):
    """A record of the shoe with its MAC: bytes, as they are kept."""

    SHAPE: ClassVar[Shape] = messages.EVENT
    record: bytes
    mac: bytes


@dataclass(frozen=True, slots=True)
class HeartbeatMessage(ShoeMessage):
    """The shoe is there, and how it stands."""

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
    """Something that came from the host could not be taken, for the `count`th time."""

    SHAPE: ClassVar[Shape] = messages.PROBLEM
    problem: str
    count: int


@dataclass(frozen=True, slots=True)
class Reply(Answer):
    """A command was carried out, or refused; `detail` belongs to the refusal."""

    SHAPE: ClassVar[Shape] = messages.REPLY
    refusal: str
    detail: str


@dataclass(frozen=True, slots=True)
class StatusReport(Answer):
    """How things stand. Heap in bytes; `journal_room` in events."""

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
    """How well each channel sees. `dirty`: bit n is the n-th of `words.CHANNELS`."""

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
        """Of each of `words.CHANNELS`."""
        return self.e_permille, self.a_permille, self.b_permille, self.x_permille

    @property
    def calibrated(self) -> tuple[int | None, ...]:
        """What the last test card gave for each of `words.CHANNELS`; None: there was none."""
        return (
            self.calibrated_e_permille,
            self.calibrated_a_permille,
            self.calibrated_b_permille,
            self.calibrated_x_permille,
        )


@dataclass(frozen=True, slots=True)
class PassReport(Answer):
    """A pass that is kept; with `pass_` 0 there is none, and nothing else has a meaning. `bytes`
    are those of its runs, `cut` says that there were more than are kept."""

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
class SelfTestReport(Answer):
    """What the shoe found. `failed`: bit n is the n-th of `words.SELF_TESTS`; `seen`: the n-th of
    `words.CHANNELS`."""

    SHAPE: ClassVar[Shape] = messages.SELF_TEST_REPORT
    failed: int
    seen: int
    temperature_c: int | None
    sectors: int
    begun: int
    wrong_macs: int


@dataclass(frozen=True, slots=True)
class UpdateReport(Answer):
    """How far a release has come. `offset` is where the next part begins that is wanted."""

    SHAPE: ClassVar[Shape] = messages.UPDATE_REPORT
    stage: str
    manifest: bytes
    offset: int
    refusal: str
    detail: str


AnswerT_co = TypeVar("AnswerT_co", bound=Answer, covariant=True)


class Command(Generic[AnswerT_co]):
    """What a shoe is asked; its type says which answer it gets."""

    __slots__ = ()
    SHAPE: ClassVar[Shape]

    def values(self) -> list[object]:
        """Those of its fields, after the `id`."""
        return [getattr(self, each.name) for each in fields(self)]  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class SetClockCommand(Command[Reply]):
    """The time now, UTC."""

    SHAPE: ClassVar[Shape] = messages.SET_CLOCK
    unix_ms: int


@dataclass(frozen=True, slots=True)
class IdentifyCommand(Command[Reply]):
    """Beep."""

    SHAPE: ClassVar[Shape] = messages.IDENTIFY


@dataclass(frozen=True, slots=True)
class ReadEventsCommand(Command[Reply]):
    """Send events again, from that number on."""

    SHAPE: ClassVar[Shape] = messages.READ_EVENTS
    first: int


@dataclass(frozen=True, slots=True)
class LoadGameCommand(Command[Reply]):
    """A part of a game document."""

    SHAPE: ClassVar[Shape] = messages.LOAD_GAME
    offset: int
    size: int
    part: bytes


@dataclass(frozen=True, slots=True)
class RestartCommand(Command[Reply]):
    """Between rounds."""

    SHAPE: ClassVar[Shape] = messages.RESTART


@dataclass(frozen=True, slots=True)
class ConfirmCommand(Command[Reply]):
    """What runs on trial stays."""

    SHAPE: ClassVar[Shape] = messages.CONFIRM


@dataclass(frozen=True, slots=True)
class DebugCommand(Command[Reply]):
    """Start again, with MicroPython's prompt at the port."""

    SHAPE: ClassVar[Shape] = messages.DEBUG


@dataclass(frozen=True, slots=True)
class StatusCommand(Command[StatusReport]):
    """How things stand."""

    SHAPE: ClassVar[Shape] = messages.STATUS


@dataclass(frozen=True, slots=True)
class HealthCommand(Command[HealthReport]):
    """How well the sensor head sees."""

    SHAPE: ClassVar[Shape] = messages.HEALTH


@dataclass(frozen=True, slots=True)
class NextPassCommand(Command[PassReport]):
    """The first pass kept whose number is above `after`."""

    SHAPE: ClassVar[Shape] = messages.NEXT_PASS
    after: int


@dataclass(frozen=True, slots=True)
class ReadPassCommand(Command[PassSamples]):
    """Samples of a pass, from that byte of its runs on."""

    SHAPE: ClassVar[Shape] = messages.READ_PASS
    pass_: int
    offset: int


@dataclass(frozen=True, slots=True)
class SelfTestCommand(Command[SelfTestReport]):
    """Between rounds."""

    SHAPE: ClassVar[Shape] = messages.SELF_TEST


@dataclass(frozen=True, slots=True)
class UpdateCommand(Command[UpdateReport]):
    """A release is to come; `size` are the bytes of its head."""

    SHAPE: ClassVar[Shape] = messages.UPDATE
    size: int


@dataclass(frozen=True, slots=True)
class UpdatePartCommand(Command[UpdateReport]):
    """What the last report asked for."""

    SHAPE: ClassVar[Shape] = messages.UPDATE_PART
    offset: int
    part: bytes


@dataclass(frozen=True, slots=True)
class UpdateStatusCommand(Command[UpdateReport]):
    """How far a release has come."""

    SHAPE: ClassVar[Shape] = messages.UPDATE_STATUS


@dataclass(frozen=True, slots=True)
class ProvisionCommand(Command[UpdateReport]):
    """A part of the document that makes a board a unit."""

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
"""The class of each message of a shoe, by the number of its shape."""


def shoe_message_of(message: wire.Message) -> ShoeMessage | None:
    """The message of a shoe; None where it is of a host or a bench."""
    each = SHOE_MESSAGES.get(message.shape.number)
    return None if each is None else each(*wire.in_words(message.shape, message.fields.values()))
