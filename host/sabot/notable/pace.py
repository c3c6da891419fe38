"""Whether a table deals too few rounds an hour, or too many."""

from collections import deque
from dataclasses import dataclass

from sabot.link.events import (
    BettingClosedEvent,
    BettingOpenEvent,
    BlackjackResultEvent,
    BootEvent,
    ErrorClearedEvent,
    ErrorEvent,
    Event,
    HandEndedEvent,
    ResultEvent,
)
from sabot.notable import kinds
from sabot.notable.kinds import Kind
from sabot.table_time import duration_text
from sabot.text import counted

_ENDS = (ResultEvent, BlackjackResultEvent, HandEndedEvent)
_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class PaceLimits:
    """The bounds of a table's pace, measured over `over_s`.

    Casino managers count on 40 to 60 rounds of baccarat an hour, 60 to 80 of blackjack and 30 to 50
    of poker (wascgroup.com, "Dealer speed, hands per hour and its cost"; the slowest baccarat,
    where players squeeze the cards, is at 40). A player alone with the dealer plays 200 hands of
    blackjack, and mini baccarat comes near that.
    """

    least_an_hour: int = 20
    """Half the pace of the slowest games."""
    most_an_hour: int = 300
    """A half more than the quickest games: twelve seconds for a round and its wagers. Cards that
    are dealt so may be dealt to be rid of them."""
    over_s: int = 900
    """Five rounds at the lower bound. A shoe of cards has enough rounds for it at the upper one."""
    idle_s: int = 180
    """A table that waits longer for wagers, or for its next round, has no players: its pace is
    measured again from there. A stop by an error is not measured either: that is an alert of its
    own."""


class Pace:
    """Follows the events of one unit, in order. Times are those since the unit's start, which no
    clock changes."""

    def __init__(self, limits: PaceLimits) -> None:
        self._limits = limits
        self._marks_ms: deque[int] = deque()
        """When the time that is measured began, and the ends of the rounds since then."""
        self._waits_since_ms: int | None = None  # for wagers, or for the next round
        self._out: Kind | None = None
        """SLOW or FAST, if the pace is out of its bounds."""

    def add(self, event: Event) -> Kind | None:
        """Take the next event. Return SLOW or FAST if the pace is out of its bounds now, and was
        not before; None otherwise."""
        now_ms = event.t_ms
        if isinstance(event, BootEvent | ErrorEvent | ErrorClearedEvent):
            self._begin()
        elif isinstance(event, BettingOpenEvent):
            self._waited(now_ms)
            self._waits_since_ms = now_ms
        elif isinstance(event, BettingClosedEvent):
            self._waited(now_ms)
            self._waits_since_ms = None
        elif isinstance(event, _ENDS):
            self._waits_since_ms = now_ms
            self._marks_ms.append(now_ms)
            return self._judged(now_ms)
        return None

    @property
    def measured(self) -> tuple[int, int]:
        """How many rounds ended, and in how many milliseconds."""
        marks = self._marks_ms
        return (len(marks) - 1, marks[-1] - marks[0]) if marks else (0, 0)

    def text(self, kind: Kind) -> str:
        """Return for people what was measured, and the bound of `kind`, SLOW or FAST."""
        rounds, took_ms = self.measured
        limits = self._limits
        how, bound = (
            ("fewer", limits.least_an_hour) if kind == kinds.SLOW else ("more", limits.most_an_hour)
        )
        return f"{counted(rounds, 'round')} in {duration_text(took_ms)}, {how} than {bound} an hour"

    def _waited(self, now_ms: int) -> None:
        waits = self._waits_since_ms
        if waits is None or now_ms - waits > 1000 * self._limits.idle_s:
            self._begin(now_ms)

    def _begin(self, *now_ms: int) -> None:
        self._waits_since_ms = None
        self._marks_ms = deque(now_ms)
        self._out = None

    def _judged(self, now_ms: int) -> Kind | None:
        over_ms, marks = 1000 * self._limits.over_s, self._marks_ms
        while len(marks) > 1 and marks[1] <= now_ms - over_ms:
            marks.popleft()
        rounds, took_ms = self.measured
        if took_ms < over_ms:
            return None
        an_hour = rounds * _HOUR_MS / took_ms
        before, self._out = self._out, None
        if an_hour < self._limits.least_an_hour:
            self._out = kinds.SLOW
        elif an_hour > self._limits.most_an_hour:
            self._out = kinds.FAST
        return self._out if self._out != before else None
