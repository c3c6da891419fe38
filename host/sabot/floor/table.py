"""What one table does now, from the events of its unit.

Nothing is here before it may show: neither a card nor a decision or result that tells one
(sabot/log/reveal.py).
"""

from copy import deepcopy
from dataclasses import dataclass, replace

from sabot.link.events import (
    BettingClosedEvent,
    BettingOpenEvent,
    BlackjackResultEvent,
    BootEvent,
    CutCardEvent,
    ErrorClearedEvent,
    ErrorEvent,
    Event,
    GameLoadedEvent,
    HandBegunEvent,
    HandEndedEvent,
    KeyEvent,
    LidEvent,
    LockEvent,
    ProvisionedEvent,
    ResultEvent,
    RoundVoidEvent,
    ServiceEvent,
    ShoeEndedEvent,
    ShoeLoadedEvent,
)
from sabot.log.reveal import Reveal, ShownGames, shown
from sabot.log.rounds import Dealt, Rounds

STATES = {
    "no_cards": "no shoe of cards is in play",
    "betting": "wagers are taken",
    "dealing": "a round is dealt",
    "decided": "a round has ended, and the next has not begun",
    "stopped": "an error stopped play, until the supervisor's key",
}
"""What a table can do, and what each means."""

PACE_MS = 3_600_000
"""Rounds are counted over an hour."""
_MOST_ENDS = 1000  # of rounds within an hour: no table deals one in three seconds


@dataclass(frozen=True, slots=True)
class Table:
    """A table, after the newest event of its unit."""

    unit: str
    name: str = ""
    """The table that was set when the unit was provisioned; empty if no event says it."""
    game: str = ""
    phase: str = "no_cards"
    """What it does if no error has stopped it: one of STATES."""
    error: str = ""
    """The error that stopped play; empty for none."""
    cut_card: bool = False
    """Whether the cut card of this shoe of cards has been drawn."""
    lid_open: bool = False
    key_on: bool = False
    service_on: bool = False
    shoe: int = 0
    """Number of the shoe of cards, counted by the unit from 1."""
    round: int = 0
    """Number of the round in the shoe of cards, from 1; 0 before the first."""
    open_round: Dealt | None = None
    """The round that has begun, as far as it may show; None between two rounds."""
    rounds: tuple[Dealt, ...] = ()
    """The rounds of this shoe of cards that have ended, the void ones too."""
    ends_unix_ms: tuple[int, ...] = ()
    """When rounds ended, by the unit's clock, of all its shoes of cards within the last hour."""
    last_event: int = 0
    last_unix_ms: int | None = None
    """When the unit recorded it; None without a clock."""

    @property
    def state(self) -> str:
        """One of STATES."""
        return "stopped" if self.error else self.phase

    def rounds_an_hour(self, now_unix_ms: int) -> int:
        """Return how many rounds ended within the hour before `now_unix_ms`."""
        return sum(0 <= now_unix_ms - end < PACE_MS for end in self.ends_unix_ms)


class TableFold:
    """Follows the events of one unit, in order; `games` are those by which it deals. Events before
    the first one that is added are not needed, but what they said is not known then."""

    def __init__(self, unit: str, games: ShownGames) -> None:
        self._table = Table(unit)
        self._reveal = Reveal(games)
        self._rounds = Rounds(unit)
        self._waiting: list[Event] = []
        """The events of a round that must not show yet."""

    def add(self, event: Event) -> None:
        """Take the next event."""
        self._table = replace(
            _with_switches(self._table, event),
            phase=_phase(self._table.phase, event),
            error=_error(self._table.error, event),
            shoe=event.shoe or self._table.shoe,
            round=event.round,
            last_event=event.number,
            last_unix_ms=event.unix_ms,
        )
        self._reveal.add(event)
        self._waiting.append(event)
        if self._reveal.hidden is None:
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                self._take(each)

    def _take(self, event: Event) -> None:
        if isinstance(event, ShoeLoadedEvent):
            self._table = replace(self._table, rounds=())
        ended = self._rounds.add(event)
        if ended is None:
            return
        # A round that is called a misdeal ends once more.
        before = (each for each in self._table.rounds if each.first_event != ended.first_event)
        ends = self._table.ends_unix_ms
        if ended.ended_unix_ms is not None and ended.void is None:
            ends = _ends(ends, ended.ended_unix_ms)
        self._table = replace(self._table, rounds=(*before, ended), ends_unix_ms=ends)

    @property
    def table(self) -> Table:
        """The table now."""
        rounds = self._rounds
        if self._waiting:
            rounds = deepcopy(rounds)
            for event in self._waiting:
                visible = shown(event, self._reveal.hidden)
                if visible is not None:
                    rounds.add(visible)
        return replace(self._table, open_round=rounds.open)


def _ends(before: tuple[int, ...], end_unix_ms: int) -> tuple[int, ...]:
    kept = [each for each in before if end_unix_ms - each < PACE_MS]
    return (*kept[1 - _MOST_ENDS :], end_unix_ms)


def _phase(before: str, event: Event) -> str:
    match event:
        case ShoeLoadedEvent():
            return "decided"
        case ShoeEndedEvent():
            return "no_cards"
        case BettingOpenEvent():
            return "betting"
        case BettingClosedEvent() | HandBegunEvent():
            return "dealing"
        case RoundVoidEvent() | HandEndedEvent() | ResultEvent() | BlackjackResultEvent():
            return "decided"
    return before


def _error(before: str, event: Event) -> str:
    match event:
        case ErrorEvent():
            return before or event.error  # it stays until the first one is cleared, and all with it
        case ErrorClearedEvent() | ShoeLoadedEvent():
            return ""
        case LockEvent(released=True):  # no lock opens while play is stopped
            return ""
    return before


def _with_switches(table: Table, event: Event) -> Table:
    match event:
        case BootEvent() | GameLoadedEvent():
            return replace(table, game=event.game)
        case ProvisionedEvent():
            return replace(table, name=event.table)
        case LidEvent():
            return replace(table, lid_open=event.open)
        case KeyEvent():
            return replace(table, key_on=event.on)
        case ServiceEvent():
            return replace(table, service_on=event.on)
        case ShoeLoadedEvent():
            return replace(table, game=event.game, cut_card=False)
        case CutCardEvent():
            return replace(table, cut_card=True)
    return table
