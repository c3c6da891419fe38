"""How the events of a shoe come: the newest that it holds, as its heartbeats say, against the
newest that the log has stored.

A connection that stands shows nothing of that: a device server may damage every frame with an event
in it, and let heartbeats pass. How long events have been waiting is measured by a steady clock, so
no clock that is set makes a line look stopped, or hides that it is.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields

from sabot.silences import LINE
from sabot.text import counted, shortened

_LARGEST = (1 << 63) - 1
_MOST_CAUSE = 300  # characters
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
    """Since when the shoe holds events and none comes, by the host's clock; None if none waits."""
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
    """What damages the frames, for people, once it was looked for."""

    @property
    def held(self) -> int:
        """How many events the shoe holds that the log does not have."""
        return max(0, self.newest_on_shoe - self.newest_stored)

    @property
    def stopped(self) -> bool:
        """Whether events have been held for so long that a person must be told."""
        return self.held > 0 and self.held_s >= LINE.after_s

    def stored_s_ago(self, now_unix_ms: int) -> int | None:
        """Return how many seconds ago the newest event was stored; None if this log stored none."""
        stored = self.stored_unix_ms
        return None if stored is None else max(0, now_unix_ms - stored) // 1000

    def text(self, unit: str) -> str:
        """Return what a person is told of `unit` whose events have stopped, in one line."""
        damaged = self.damaged_from_shoe + self.damaged_to_shoe
        were = f", {counted(damaged, 'frame')} {'was' if damaged == 1 else 'were'} damaged"
        why = self.cause or _CHECK
        return f"{LINE.say(unit=unit, held=self.held)}{were if damaged else ''}: {why}"

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
        if newest_on_shoe <= self._newest_stored or self._since_unix_ms is None:
            self._wait_from_now()

    def stored(self, newest: int) -> None:
        """The log has stored events up to this number, newer than those before."""
        self._newest_stored = newest
        self._stored_unix_ms = self._now_unix_ms()
        self._wait_from_now()
        self._cause = ""

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

    def _wait_from_now(self) -> None:
        """Wait for the events that the shoe holds, if it holds any, from now on."""
        waits = self._newest_stored < self._newest_on_shoe
        self._since_unix_ms = self._now_unix_ms() if waits else None
        self._begin_s = self._now_s() if waits else None
        self._waited_s = 0.0

    def _all_waited_s(self) -> float:
        begin_s = self._begin_s
        return self._waited_s + (0.0 if begin_s is None else max(0.0, self._now_s() - begin_s))

    def _sums(self) -> tuple[int, int]:
        return self._before[0] + self._damaged[0], self._before[1] + self._damaged[1]
