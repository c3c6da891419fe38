"""How the events of a shoe come: the newest that it holds, as its heartbeats say, against the
newest that the log has stored.

Events have stopped if the shoe holds some, and their number has not become smaller for 30 s. So a
log that has much to catch up with is at work, and a line on which an event comes now and then,
while the shoe records more, is not. A connection that stands shows nothing of that: a device server
may damage every frame with an event in it, and let heartbeats pass. How long events have been
waiting is measured by a steady clock, so no clock that is set makes a line look stopped, or hides
that it is.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields

from sabot.silences import LINE, NEVER
from sabot.text import counted, shortened

_LARGEST = (1 << 63) - 1
_MOST_CAUSE = 300  # characters
_NOTED_MS = 30_000
"""A log notes every five seconds which shoes it waits for, and may wait for a locked database."""
_CHECK = "check the line or the device server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """How the events of one shoe come, as its log last noted it."""

    unit: str
    """The name of its board in the log."""
    newest_on_shoe: int
    """The number of the newest event that the shoe holds."""
    newest_stored: int
    """The number of the newest event that the log has; 0 if it has none."""
    held_since_unix_ms: int | None = None
    """Since when the number of events that the shoe holds has not become smaller, by the host's
    clock; None if it holds none."""
    held_s: int = 0
    """For how long that is so, in seconds of a steady clock, without the time in which the log had
    no session with the shoe."""
    damaged_from_shoe: int = 0
    """Frames that came damaged since the log began."""
    damaged_to_shoe: int = 0
    """Frames that the shoe said it could not read, since the log began."""
    stored_unix_ms: int | None = None
    """When this log stored the newest event, by the host's clock; None if it has stored none."""
    cause: str = ""
    """What damages the frames, for people, once it was looked for; of a shoe that never came, why
    the log has none."""
    waited_s: int = 0
    """For how long the log has waited for a shoe under this name, and had none, in seconds; 0 if it
    has one, or had one."""
    noted_unix_ms: int | None = None
    """When that was noted, by the host's clock."""

    @property
    def held(self) -> int:
        """How many events the shoe holds that the log does not have."""
        return max(0, self.newest_on_shoe - self.newest_stored)

    @property
    def stopped(self) -> bool:
        """Whether events have been held for so long that a person must be told."""
        return self.held > 0 and self.held_s >= LINE.after_s

    def never_came(self, now_unix_ms: int) -> bool:
        """Whether a log that runs now has waited so long for a shoe that a person must know."""
        noted = self.noted_unix_ms
        is_now = noted is not None and abs(now_unix_ms - noted) <= _NOTED_MS
        return is_now and self.waited_s >= NEVER.after_s

    def never_text(self) -> str:
        """Return what a person is told of a shoe that never came."""
        why = f": {self.cause}" if self.cause else ""
        return f"{NEVER.say(port=self.unit)}{why}"

    def stored_s_ago(self, now_unix_ms: int) -> int | None:
        """Return how many seconds ago the newest event was stored; None if this log stored none."""
        stored = self.stored_unix_ms
        return None if stored is None else max(0, now_unix_ms - stored) // 1000

    def words(self, unit: str) -> str:
        """Return that the events of `unit` have stopped, without a reason."""
        return LINE.say(unit=unit, held=self.held)

    def text(self, unit: str) -> str:
        """Return what a person is told of `unit` whose events have stopped, in one line."""
        damaged = self.damaged_from_shoe + self.damaged_to_shoe
        were = f", {counted(damaged, 'frame')} {'was' if damaged == 1 else 'were'} damaged"
        why = self.cause or _CHECK
        return f"{self.words(unit)}{were if damaged else ''}: {why}"

    def as_fact(self) -> str:
        """Return what a log keeps of it."""
        kept = asdict(self)
        del kept["unit"]
        return json.dumps({name: value for name, value in kept.items() if value})


_NUMBERS = {each.name for each in fields(Flow)} - {"unit", "cause"}


def flow_of(unit: str, fact: str) -> Flow | None:
    """Return what a log kept; None if it is not that. Anyone who can write to the log may have
    changed it, and a later version may have kept more."""
    try:
        kept = json.loads(fact)
    except (ValueError, RecursionError):
        return None
    if not isinstance(kept, dict):
        return None
    numbers = {name: kept.get(name) for name in _NUMBERS}
    if any(
        value is not None and not (type(value) is int and 0 <= value <= _LARGEST)
        for value in numbers.values()
    ):
        return None
    cause = kept.get("cause", "")
    given = {name: value for name, value in numbers.items() if value is not None}
    given = {"newest_on_shoe": 0, "newest_stored": 0} | given
    return Flow(
        unit=unit, cause=shortened(cause, _MOST_CAUSE) if isinstance(cause, str) else "", **given
    )


class FlowWatch:
    """Watches how the events of one board come, through all sessions of a log with it. `stored` is
    the number of the newest event that the log has."""

    def __init__(
        self,
        unit: str,
        stored: int,
        now_s: Callable[[], float] = time.monotonic,
        now_unix_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._unit = unit
        self._now_s, self._now_unix_ms = now_s, now_unix_ms
        self._newest_on_shoe, self._newest_stored = stored, stored
        self._stored_unix_ms: int | None = None
        self._since_unix_ms: int | None = None  # events wait since then
        self._least = 0  # so many are held at the least since then
        self._begin_s: float | None = None  # and in this session since then
        self._waited_s = 0.0  # and before this session for so long
        self._before, self._damaged = (0, 0), (0, 0)  # of earlier sessions, and of this one
        self._cause = ""

    def begun(self) -> None:
        """A session has begun."""
        self._before, self._damaged = self._sums(), (0, 0)
        if self._since_unix_ms is not None:
            self._begin_s = self._now_s()

    def ended(self) -> None:
        """The session has ended. While there is none, no event can come."""
        self._waited_s, self._begin_s = self._all_waited_s(), None

    def heard(self, newest_on_shoe: int) -> None:
        """The shoe says which event is its newest."""
        self._newest_on_shoe = newest_on_shoe
        self._look()

    def stored(self, newest: int) -> None:
        """The log has stored events up to this number, newer than those before."""
        self._newest_stored = newest
        self._stored_unix_ms = self._now_unix_ms()
        self._look()

    def damaged(self, from_shoe: int, to_shoe: int) -> None:
        """So many frames of this session were damaged."""
        self._damaged = from_shoe, to_shoe

    def explain(self, cause: str) -> None:
        """Say what damages the frames, until events come again."""
        self._cause = cause

    @property
    def flow(self) -> Flow:
        """How the events come now. May be called in any thread."""
        from_shoe, to_shoe = self._sums()
        return Flow(
            unit=self._unit,
            newest_on_shoe=self._newest_on_shoe,
            newest_stored=self._newest_stored,
            held_since_unix_ms=self._since_unix_ms,
            held_s=int(self._all_waited_s()),
            damaged_from_shoe=from_shoe,
            damaged_to_shoe=to_shoe,
            stored_unix_ms=self._stored_unix_ms,
            cause=self._cause,
        )

    def _look(self) -> None:
        """Begin the time again if the shoe holds fewer events than ever in it, or none."""
        held = max(0, self._newest_on_shoe - self._newest_stored)
        if held > 0 and self._since_unix_ms is not None and held >= self._least:
            return
        self._least, self._waited_s, self._cause = held, 0.0, ""
        self._since_unix_ms = self._now_unix_ms() if held else None
        self._begin_s = self._now_s() if held else None

    def _all_waited_s(self) -> float:
        begin_s = self._begin_s
        return self._waited_s + (0.0 if begin_s is None else max(0.0, self._now_s() - begin_s))

    def _sums(self) -> tuple[int, int]:
        return self._before[0] + self._damaged[0], self._before[1] + self._damaged[1]
