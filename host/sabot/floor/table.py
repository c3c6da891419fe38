"""What one table does now, from the events of its unit.

Nothing is here before it may show: neither a card nor a decision or result that tells one
(sabot/log/reveal.py).
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

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
    GapEvent,
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
    UnknownEvent,
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
    family: str = ""
    """ "baccarat", "blackjack" or "holdem"; empty until its game has been dealt."""
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
        self._unit = unit
        self._reveal = Reveal(games)
        self._rounds = Rounds(unit)
        self._waiting: list[Event] = []
        """The events of a round that must not show yet."""
        self._lasting: dict[str, Any] = {}
        """Fields of the table that an event said, and that stay so until another one does."""
        self._shoe = self._round = 0
        self._last: Event | None = None
        self._ended: tuple[Dealt, ...] = ()
        self._ends_unix_ms: tuple[int, ...] = ()

    def add(self, event: Event) -> None:
        """Take the next event."""
        shoe = _shoe_of(event)
        if shoe not in (0, self._shoe):  # its event `shoe_loaded` may be lost
            self._shoe = shoe
            self._lasting["cut_card"] = False
        says = _SAYS.get(type(event))
        if says is not None:
            self._lasting.update(says(event))
        if isinstance(event, ErrorEvent):  # the first one stays until it is cleared, and all then
            self._lasting["error"] = self._lasting.get("error") or event.error
        if not isinstance(event, UnknownEvent | GapEvent):
            self._round = event.round
        self._last = event
        self._reveal.add(event)
        if self._reveal.hidden is not None:
            self._waiting.append(event)
            return
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                self._take(each)
        self._take(event)

    def _take(self, event: Event) -> None:
        before = self._ended[-1].shoe if self._ended else 0
        if isinstance(event, ShoeLoadedEvent) or (before and _shoe_of(event) not in (0, before)):
            self._ended = ()
        ended = self._rounds.add(event)
        if ended is None:
            return
        # A round that is called a misdeal ends once more, and one that is not understood.
        again = any(each.first_event == ended.first_event for each in self._ended)
        others = (each for each in self._ended if each.first_event != ended.first_event)
        self._ended = (*others, ended)
        if ended.ended_unix_ms is not None and ended.void is None and not again:
            self._ends_unix_ms = _ends(self._ends_unix_ms, ended.ended_unix_ms)

    @property
    def table(self) -> Table:
        """The table now."""
        last, rounds = self._last, self._rounds
        if last is None:
            return Table(self._unit)
        if self._waiting:
            rounds = deepcopy(rounds)
            for event in self._waiting:
                visible = shown(event, self._reveal.hidden)
                if visible is not None:
                    rounds.add(visible)
        return Table(
            self._unit,
            shoe=self._shoe,
            round=self._round,
            open_round=rounds.open,
            rounds=self._ended,
            ends_unix_ms=self._ends_unix_ms,
            last_event=last.number,
            last_unix_ms=last.unix_ms,
            **self._lasting,
        )


def _shoe_of(event: Event) -> int:
    """Return the shoe of cards that an event is of; 0 if it is of none, or does not say it."""
    return 0 if isinstance(event, UnknownEvent | GapEvent) else event.shoe


def _ends(before: tuple[int, ...], end_unix_ms: int) -> tuple[int, ...]:
    # Later ones are of a clock that was set back since.
    kept = [each for each in before if 0 <= end_unix_ms - each < PACE_MS]
    return (*kept[1 - _MOST_ENDS :], end_unix_ms)


_DECIDED = {"phase": "decided"}
_DEALING = {"phase": "dealing"}
_SAYS: dict[type[Event], Callable[[Any], dict[str, Any]]] = {
    BootEvent: lambda event: {"game": event.game},
    GameLoadedEvent: lambda event: {"game": event.game, "family": ""},
    ProvisionedEvent: lambda event: {"name": event.table},
    LidEvent: lambda event: {"lid_open": event.open},
    KeyEvent: lambda event: {"key_on": event.on},
    ServiceEvent: lambda event: {"service_on": event.on},
    CutCardEvent: lambda event: {"cut_card": True},
    ErrorClearedEvent: lambda event: {"error": ""},
    # No lock opens while play is stopped.
    LockEvent: lambda event: {"error": ""} if event.released else {},
    ShoeLoadedEvent: lambda event: {
        "game": event.game, "cut_card": False, "error": "", **_DECIDED,
    },
    ShoeEndedEvent: lambda event: {"phase": "no_cards"},
    BettingOpenEvent: lambda event: {"phase": "betting"},
    BettingClosedEvent: lambda event: _DEALING,
    HandBegunEvent: lambda event: {"family": "holdem", **_DEALING},
    RoundVoidEvent: lambda event: _DECIDED,
    HandEndedEvent: lambda event: _DECIDED,
    ResultEvent: lambda event: {"family": "baccarat", **_DECIDED},
    BlackjackResultEvent: lambda event: {"family": "blackjack", **_DECIDED},
}  # fmt: skip
"""What an event of a kind says about the fields of a table."""
