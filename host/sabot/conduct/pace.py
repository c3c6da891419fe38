"""How a table is dealt, measured of each round: pure, from the events of one unit in order.

Times are those since the unit's start, which no clock changes. What is not measured is None, never
guessed: a round after a start or a stop has no cycle, and neither has one before which the table
waited for players.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median

from sabot.link.events import (
    BettingClosedEvent,
    BettingOpenEvent,
    BlackjackResultEvent,
    BootEvent,
    CardEvent,
    CutCardEvent,
    ErrorClearedEvent,
    ErrorEvent,
    Event,
    GapEvent,
    HandBegunEvent,
    HandEndedEvent,
    ResultEvent,
    RoundVoidEvent,
    SealedCardEvent,
    ShoeEndedEvent,
    ShoeLoadedEvent,
)
from sabot_protocol.cards import CUT_CARD, DECK_SIZE

KINDS = (
    "boot", "gap", "error", "error_cleared", "shoe_loaded", "shoe_ended", "betting_open",
    "betting_closed", "hand_begun", "card", "sealed_card", "cut_card", "result",
    "blackjack_result", "hand_ended", "round_void",
)  # fmt: skip
"""The kinds of events that are needed."""
IDLE_MS = 180_000
"""A table that waits longer for wagers has no players (sabot/notable/pace.py has the same)."""
LONG_REVEAL_MS = 60_000
_HOUR_MS = 3_600_000
_ENDS = ResultEvent | BlackjackResultEvent | HandEndedEvent


@dataclass(frozen=True, slots=True)
class RoundTimes:
    """One round, or what was voided."""

    unit: str
    event: int
    """The event that ended it."""
    shoe: int
    round: int
    unix_ms: int | None
    """When it ended; None without a clock."""
    cycle_ms: int | None = None
    """From the end of the round before it."""
    result_ms: int | None = None
    """From no more bets to the result."""
    reveal_ms: int | None = None
    """From the last card to the result, if cards lay face down."""
    by_hand: int = 0
    """Cards that the supervisor entered."""
    errors: int = 0
    """Stops in it."""
    void: str | None = None
    """Why it was voided; None if it has a result."""


@dataclass(frozen=True, slots=True)
class ShoeTimes:
    """One shoe of cards that has ended. Nothing of it is said before (log/reading/remainder.py)."""

    unit: str
    event: int
    shoe: int
    unix_ms: int | None
    first_card_ms: int | None
    """From its loading to its first card."""
    cut_depth: int | None
    """Cards that lay below the cut card; None if it did not come, or a part is lost."""


@dataclass(slots=True)
class _Open:
    closed_ms: int | None = None
    card_ms: int | None = None
    sealed: bool = False
    by_hand: int = 0
    errors: int = 0


@dataclass(slots=True)
class _Shoe:
    loaded_ms: int | None
    size: int
    first_card_ms: int | None = None
    drawn: int = 0
    cut_after: int | None = None
    whole: bool = True


@dataclass(slots=True)
class Measuring:
    """Follows the events of one unit."""

    unit: str
    _ended_ms: int | None = None
    _waits_ms: int | None = None
    _open: _Open = field(default_factory=_Open)
    _shoe: _Shoe | None = None

    def add(self, event: Event) -> Iterator[RoundTimes | ShoeTimes]:
        """Take the next event; yield what has ended with it."""
        now_ms = event.t_ms
        if isinstance(event, BootEvent | GapEvent):
            self._ended_ms = self._waits_ms = None
            self._open = _Open(by_hand=self._open.by_hand, errors=self._open.errors)
            if self._shoe is not None:
                self._shoe.loaded_ms = None
                self._shoe.whole = self._shoe.whole and not isinstance(event, GapEvent)
        elif isinstance(event, ErrorEvent):
            self._ended_ms = None
            self._open.errors += 1
        elif isinstance(event, ErrorClearedEvent):
            self._ended_ms = self._open.closed_ms = self._open.card_ms = None
        elif isinstance(event, ShoeLoadedEvent):
            self._shoe = _Shoe(now_ms, event.decks * DECK_SIZE)
            self._ended_ms = None
        elif isinstance(event, ShoeEndedEvent):
            yield from self._end_of_shoe(event)
        elif isinstance(event, BettingOpenEvent):
            self._open = _Open()
            self._waits_ms = now_ms
            self._waited(self._ended_ms, now_ms)
        elif isinstance(event, BettingClosedEvent | HandBegunEvent):
            self._close(now_ms, opened=isinstance(event, HandBegunEvent))
        elif isinstance(event, CardEvent | SealedCardEvent):
            self._card(event, now_ms)
        elif isinstance(event, CutCardEvent):
            if self._shoe is not None and self._shoe.cut_after is None:
                self._shoe.cut_after = self._shoe.drawn
        elif isinstance(event, RoundVoidEvent):
            yield self._ended(event, event.reason)
        elif isinstance(event, _ENDS):
            yield self._ended(event, None)

    def _close(self, now_ms: int, *, opened: bool) -> None:
        if opened:
            self._open = _Open()
            self._waited(self._ended_ms, now_ms)
        else:
            self._waited(self._waits_ms, now_ms)
        self._waits_ms = None
        self._open.closed_ms = now_ms

    def _waited(self, since_ms: int | None, now_ms: int) -> None:
        """A table that waited long had no players: the time is not that of a round."""
        if since_ms is None or now_ms - since_ms > IDLE_MS:
            self._ended_ms = None

    def _card(self, event: CardEvent | SealedCardEvent, now_ms: int) -> None:
        if isinstance(event, CardEvent) and event.card == CUT_CARD:
            return
        self._open.card_ms = now_ms
        self._open.sealed |= isinstance(event, SealedCardEvent)
        self._open.by_hand += event.by_hand
        if self._shoe is not None:
            self._shoe.drawn += 1
            if self._shoe.first_card_ms is None and self._shoe.loaded_ms is not None:
                self._shoe.first_card_ms = now_ms - self._shoe.loaded_ms

    def _ended(self, event: Event, void: str | None) -> RoundTimes:
        now_ms, was = event.t_ms, self._open
        cycle_ms = result_ms = reveal_ms = None
        if void is None:
            cycle_ms = _since(self._ended_ms, now_ms)
            result_ms = _since(was.closed_ms, now_ms)
            reveal_ms = _since(was.card_ms, now_ms) if was.sealed else None
        self._ended_ms = now_ms if void is None else None
        self._open = _Open()
        return RoundTimes(
            self.unit, event.number, event.shoe, event.round, event.unix_ms,
            cycle_ms, result_ms, reveal_ms, was.by_hand, was.errors, void,
        )  # fmt: skip

    def _end_of_shoe(self, event: ShoeEndedEvent) -> Iterator[ShoeTimes]:
        shoe, self._shoe = self._shoe, None
        self._ended_ms = None
        if shoe is None:
            return
        depth = None
        if shoe.cut_after is not None and shoe.whole:
            depth = max(0, shoe.size - shoe.cut_after)
        yield ShoeTimes(
            self.unit, event.number, event.shoe, event.unix_ms, shoe.first_card_ms, depth
        )


def _since(from_ms: int | None, now_ms: int) -> int | None:
    return None if from_ms is None or now_ms < from_ms else now_ms - from_ms


@dataclass(frozen=True, slots=True)
class Figures:
    """How some rounds were dealt together. Times are medians, in milliseconds."""

    rounds: int
    """With a result."""
    an_hour: float | None
    """How many of them would be dealt in an hour of play: from the time between them, without waits
    for players."""
    result_ms: float | None
    reveal_ms: float | None
    long_reveals: int
    by_hand: int
    errors: int
    voids: int
    """Rounds that were voided, but for misdeals."""
    misdeals: int
    cut_depth: float | None
    """The median of cards below the cut card, of shoes of cards that have ended."""


def figures_of(rounds: Iterable[RoundTimes], shoes: Iterable[ShoeTimes] = ()) -> Figures:
    """Return the figures of some rounds, and of the shoes of cards that ended among them."""
    some = [*rounds]
    played = [each for each in some if each.void is None]
    cycles = [each.cycle_ms for each in played if each.cycle_ms]
    reveals = [each.reveal_ms for each in played if each.reveal_ms is not None]
    return Figures(
        len(played),
        len(cycles) * _HOUR_MS / sum(cycles) if cycles else None,
        _median(each.result_ms for each in played),
        _median(reveals),
        sum(each > LONG_REVEAL_MS for each in reveals),
        sum(each.by_hand for each in some),
        sum(each.errors for each in some),
        sum(each.void not in (None, "misdeal") for each in some),
        sum(each.void == "misdeal" for each in some),
        _median(each.cut_depth for each in shoes),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return float(median(known)) if known else None
