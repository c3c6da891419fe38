"""The events that a shoe records, as frozen objects: a class for each kind, with the fields of its
definition in sabot_protocol/events.py. The value of an enumeration is its name.

To add an event, add its class below. A test compares the names and types of the fields of every
class with the definition. A field after the `|` of its definition may be None.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from sabot.link.words import BIT_SETS, UNKNOWN, UnknownWord
from sabot_protocol import events as definitions
from sabot_protocol.schema import Shape


@dataclass(frozen=True, slots=True)
class Event:
    """An event as a shoe recorded it, with the fields that every kind has."""

    SHAPE: ClassVar[Shape]
    number: int
    """Counted by the unit from 1."""
    boot: int
    t_ms: int
    unix_ms: int | None
    shoe: int
    round: int
    surplus: tuple[object, ...] | None = field(default=(), kw_only=True)
    """Values after those of the fields that this version knows. They may tell a card, so they may
    be shown only as sabot/log/reveal.py says; None in an event without those that it had."""
    understood: bool = field(default=True, kw_only=True)
    """Whether this version knows all of it: the kind, every field, every word."""

    @property
    def kind(self) -> str:
        """The kind's name, as in sabot_protocol/events.py."""
        return self.SHAPE.name

    @property
    def fields(self) -> Mapping[str, object]:
        """The kind's own fields by name, for display."""
        return {name: getattr(self, name) for name, _ in self.SHAPE.fields}

    def unknown(self) -> Iterator[str]:
        """Yield what this version does not know of it, for people."""
        yield from self.unknown_words()
        if self.surplus != ():
            yield f"a field after those of {self.kind}"

    def unknown_words(self) -> Iterator[str]:
        """Yield the words that this version does not know, for people."""
        for name, value in self.fields.items():
            if isinstance(value, UnknownWord):
                yield f"word {value.number} of {name}"
        for name, words in BIT_SETS.get(self.kind, {}).items():
            more = getattr(self, name) >> len(words) << len(words)
            yield from (f"word {n} of {name}" for n in range(more.bit_length()) if more >> n & 1)

    def __deepcopy__(self, memo: object) -> Self:
        """The event itself: nothing changes it."""
        return self


@dataclass(frozen=True, slots=True)
class UnknownEvent(Event):
    """An event of a kind that this version does not know. All its own values are `surplus`."""

    SHAPE: ClassVar[Shape] = Shape(0, "unknown", "")
    kind_number: int = field(kw_only=True)
    understood: bool = field(default=False, kw_only=True)

    @property
    def kind(self) -> str:
        """Such as "unknown_61": no name of a known kind begins so."""
        return f"{UNKNOWN}{self.kind_number}"

    def unknown(self) -> Iterator[str]:
        """Yield the number of its kind, for people."""
        yield f"kind {self.kind_number}"


@dataclass(frozen=True, slots=True)
class BootEvent(Event):
    """The unit started."""

    SHAPE: ClassVar[Shape] = definitions.BOOT
    reset_cause: str
    firmware: str
    build: bytes
    board: str
    game: str
    chain: bytes


@dataclass(frozen=True, slots=True)
class LidEvent(Event):
    """The lid was opened or closed."""

    SHAPE: ClassVar[Shape] = definitions.LID
    open: bool


@dataclass(frozen=True, slots=True)
class KeyEvent(Event):
    """The supervisor's key was turned on or off."""

    SHAPE: ClassVar[Shape] = definitions.KEY
    on: bool


@dataclass(frozen=True, slots=True)
class ServiceEvent(Event):
    """The service switch was switched on or off."""

    SHAPE: ClassVar[Shape] = definitions.SERVICE
    on: bool


@dataclass(frozen=True, slots=True)
class ButtonEvent(Event):
    """A button was pressed."""

    SHAPE: ClassVar[Shape] = definitions.BUTTON
    button: str


@dataclass(frozen=True, slots=True)
class ShoeLoadedEvent(Event):
    """A new shoe of cards was loaded."""

    SHAPE: ClassVar[Shape] = definitions.SHOE_LOADED
    decks: int
    game: str
    set: int


@dataclass(frozen=True, slots=True)
class BurnEvent(Event):
    """`count` cards are to be burned."""

    SHAPE: ClassVar[Shape] = definitions.BURN
    count: int


@dataclass(frozen=True, slots=True)
class BettingOpenEvent(Event):
    """A round begins: bets may be placed."""

    SHAPE: ClassVar[Shape] = definitions.BETTING_OPEN


@dataclass(frozen=True, slots=True)
class BettingClosedEvent(Event):
    """No more bets."""

    SHAPE: ClassVar[Shape] = definitions.BETTING_CLOSED
    by: str


@dataclass(frozen=True, slots=True)
class CardEvent(Event):
    """A card came out. `card` is its number, 0 to 53."""

    SHAPE: ClassVar[Shape] = definitions.CARD
    card: int
    position: str
    speed_mm_s: int
    margin_permille: int
    skew_um: int
    samples: int
    by_hand: bool


@dataclass(frozen=True, slots=True)
class UnreadableEvent(Event):
    """Something came out that could not be read as a card."""

    SHAPE: ClassVar[Shape] = definitions.UNREADABLE
    fault: str
    position: str
    speed_mm_s: int
    margin_permille: int
    skew_um: int
    samples: int


@dataclass(frozen=True, slots=True)
class DecisionEvent(Event):
    """What a hand does by the rules: it draws, stands, or has a natural."""

    SHAPE: ClassVar[Shape] = definitions.DECISION
    hand: str
    action: str
    total: int


@dataclass(frozen=True, slots=True)
class ResultEvent(Event):
    """A round has ended. `hits`: bit n is the n-th of `enums.HITS`."""

    SHAPE: ClassVar[Shape] = definitions.RESULT
    winner: str
    player_total: int
    banker_total: int
    player_natural: bool
    banker_natural: bool
    margin: int
    hits: int
    game: bytes


@dataclass(frozen=True, slots=True)
class RoundVoidEvent(Event):
    """A round was voided."""

    SHAPE: ClassVar[Shape] = definitions.ROUND_VOID
    reason: str


@dataclass(frozen=True, slots=True)
class LockEvent(Event):
    """The lock was released or closed."""

    SHAPE: ClassVar[Shape] = definitions.LOCK
    released: bool


@dataclass(frozen=True, slots=True)
class ErrorEvent(Event):
    """Play has stopped."""

    SHAPE: ClassVar[Shape] = definitions.ERROR
    error: str
    card: int | None
    fault: str


@dataclass(frozen=True, slots=True)
class ErrorClearedEvent(Event):
    """Play goes on after an error."""

    SHAPE: ClassVar[Shape] = definitions.ERROR_CLEARED
    error: str


@dataclass(frozen=True, slots=True)
class CutCardEvent(Event):
    """The cut card came out."""

    SHAPE: ClassVar[Shape] = definitions.CUT_CARD
    rounds_left: int


@dataclass(frozen=True, slots=True)
class ShoeEndedEvent(Event):
    """The shoe of cards has ended."""

    SHAPE: ClassVar[Shape] = definitions.SHOE_ENDED
    reason: str
    rounds: int | None
    cards: int | None


@dataclass(frozen=True, slots=True)
class ClockSetEvent(Event):
    """A host has set the clock."""

    SHAPE: ClassVar[Shape] = definitions.CLOCK_SET
    before_unix_ms: int | None


@dataclass(frozen=True, slots=True)
class GapEvent(Event):
    """Events are gone; a host may not have them."""

    SHAPE: ClassVar[Shape] = definitions.GAP
    first: int
    last: int
    reason: str
    mac: bytes


@dataclass(frozen=True, slots=True)
class GameLoadedEvent(Event):
    """Another game was loaded."""

    SHAPE: ClassVar[Shape] = definitions.GAME_LOADED
    game: str
    sha256: bytes


@dataclass(frozen=True, slots=True)
class IdentifiedEvent(Event):
    """A host made the shoe beep."""

    SHAPE: ClassVar[Shape] = definitions.IDENTIFIED


@dataclass(frozen=True, slots=True)
class ResolvedEvent(Event):
    """The supervisor decided about a card that stopped play."""

    SHAPE: ClassVar[Shape] = definitions.RESOLVED
    error: str
    fault: str
    position: str
    resolution: str


@dataclass(frozen=True, slots=True)
class CompositionEvent(Event):
    """The number of each card that came out of this shoe of cards."""

    SHAPE: ClassVar[Shape] = definitions.COMPOSITION
    counts: bytes
    unread: int
    expected: int


@dataclass(frozen=True, slots=True)
class CleanSensorEvent(Event):
    """A channel of the sensor head has left its bounds."""

    SHAPE: ClassVar[Shape] = definitions.CLEAN_SENSOR
    channel: str
    mean_permille: int


@dataclass(frozen=True, slots=True)
class CalibratedEvent(Event):
    """A test card was pulled."""

    SHAPE: ClassVar[Shape] = definitions.CALIBRATED
    e_permille: int
    a_permille: int
    b_permille: int
    x_permille: int
    speed_mm_s: int
    margin_permille: int
    skew_um: int
    samples: int


@dataclass(frozen=True, slots=True)
class CheckpointEvent(Event):
    """The state of the audit chain."""

    SHAPE: ClassVar[Shape] = definitions.CHECKPOINT
    records: int
    mac: bytes


@dataclass(frozen=True, slots=True)
class JournalFaultEvent(Event):
    """A sector of the journal has a fault."""

    SHAPE: ClassVar[Shape] = definitions.JOURNAL_FAULT
    fault: str
    sector: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class UpdatedEvent(Event):
    """A host confirmed a release."""

    SHAPE: ClassVar[Shape] = definitions.UPDATED
    firmware: str
    build: bytes


@dataclass(frozen=True, slots=True)
class UpdateUndoneEvent(Event):
    """A release was tried and undone."""

    SHAPE: ClassVar[Shape] = definitions.UPDATE_UNDONE
    build: bytes


@dataclass(frozen=True, slots=True)
class ProvisionedEvent(Event):
    """The unit started for the first time after it was provisioned."""

    SHAPE: ClassVar[Shape] = definitions.PROVISIONED
    table: str
    set: int


@dataclass(frozen=True, slots=True)
class WrongMacsEvent(Event):
    """Commands came with a wrong MAC."""

    SHAPE: ClassVar[Shape] = definitions.WRONG_MACS
    count: int


@dataclass(frozen=True, slots=True)
class DebugOpenedEvent(Event):
    """The unit restarts with MicroPython's prompt."""

    SHAPE: ClassVar[Shape] = definitions.DEBUG_OPENED


@dataclass(frozen=True, slots=True)
class LongPassEvent(Event):
    """A card was read, and its pass seems to have gone further than one card goes."""

    SHAPE: ClassVar[Shape] = definitions.LONG_PASS
    card: int | None
    """None if the card is sealed."""
    longer_um: int


@dataclass(frozen=True, slots=True)
class GhostHandEvent(Event):
    """The round whose betting is open is dealt without wagers."""

    SHAPE: ClassVar[Shape] = definitions.GHOST_HAND
    count: int
    """Which ghost hand of this shoe of cards it is, from 1."""


@dataclass(frozen=True, slots=True)
class SealEvent(Event):
    """Cards of the round lie face down: the shoe commits to the key that seals them."""

    SHAPE: ClassVar[Shape] = definitions.SEAL
    commitment: bytes


@dataclass(frozen=True, slots=True)
class SealedCardEvent(Event):
    """A card came out that lies face down; the fields besides `place` and `sealed` are those of
    `CardEvent`."""

    SHAPE: ClassVar[Shape] = definitions.SEALED_CARD
    place: int
    """Among the sealed cards of its round, from 0."""
    sealed: bytes
    """The card under the round's key; protocol/README.md, "Sealed cards"."""
    position: str
    speed_mm_s: int
    margin_permille: int
    skew_um: int
    samples: int
    by_hand: bool


@dataclass(frozen=True, slots=True)
class UnsealedEvent(Event):
    """The sealed cards of the round may be known, or are never to be."""

    SHAPE: ClassVar[Shape] = definitions.UNSEALED
    seal_key: bytes
    """The round's key; empty if its cards are never to be known."""


@dataclass(frozen=True, slots=True)
class PlayEvent(Event):
    """A hand of blackjack does something besides drawing a card."""

    SHAPE: ClassVar[Shape] = definitions.PLAY
    box: int
    """1 to 7."""
    hand: int
    """Of the box, from 1: splitting makes more, after the one that splits."""
    action: str
    total: int
    """Of the hand before."""
    soft: bool
    """Whether an ace counts eleven in it."""


@dataclass(frozen=True, slots=True)
class LookedEvent(Event):
    """The dealer looked at the hole card: whether it makes a blackjack, not which card it is."""

    SHAPE: ClassVar[Shape] = definitions.LOOKED
    blackjack: bool


@dataclass(frozen=True, slots=True)
class HandResultEvent(Event):
    """The result of a hand of a round of blackjack."""

    SHAPE: ClassVar[Shape] = definitions.HAND_RESULT
    box: int
    hand: int
    outcome: str
    total: int
    soft: bool


@dataclass(frozen=True, slots=True)
class BlackjackResultEvent(Event):
    """The end of a round of blackjack, after the results of its hands."""

    SHAPE: ClassVar[Shape] = definitions.BLACKJACK_RESULT
    dealer_total: int
    soft: bool
    cards: int
    """Of the dealer."""
    game: bytes
    """SHA-256 of the game document."""


@dataclass(frozen=True, slots=True)
class HandBegunEvent(Event):
    """A hand of hold'em is dealt."""

    SHAPE: ClassVar[Shape] = definitions.HAND_BEGUN
    seats: int
    """How many players get cards, 2 to 10."""


@dataclass(frozen=True, slots=True)
class BettingEndedEvent(Event):
    """The dealer has ended a round of betting of hold'em."""

    SHAPE: ClassVar[Shape] = definitions.BETTING_ENDED
    street: str
    """One of `enums.STREETS`."""


@dataclass(frozen=True, slots=True)
class RunTwiceEvent(Event):
    """The rest of the board of a hand of hold'em is dealt twice."""

    SHAPE: ClassVar[Shape] = definitions.RUN_TWICE
    street: str
    """The first card that is dealt twice: "turn" or "river"."""


@dataclass(frozen=True, slots=True)
class HandEndedEvent(Event):
    """A hand of hold'em has ended."""

    SHAPE: ClassVar[Shape] = definitions.HAND_ENDED
    seats: int
    board: bytes
    """The cards of the board, 0 to 51 each."""
    second: bytes
    """The second board; empty if the hand was not run twice."""
    game: bytes
    """SHA-256 of the game document."""


DECIDED = (ResultEvent, BlackjackResultEvent, HandEndedEvent)
"""The events that decide a round, by family. Each names the game that dealt it."""
DECIDED_KINDS = tuple(each.SHAPE.name for each in DECIDED)

EVENTS = {
    each.SHAPE.number: each
    for each in list(globals().values())
    if isinstance(each, type) and issubclass(each, Event) and each not in (Event, UnknownEvent)
}
"""The class of each kind of event, by the kind's number."""
