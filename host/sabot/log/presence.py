"""When a log had a session with a shoe, and when it ran and waited for it; and how the events of
the shoe come (sabot/link/flow.py).

These are the host's own notes, by its own clock: no shoe signs them. A killed log loses `EVERY_S`
of them at most.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from sabot.errors import SabotError
from sabot.link.flow import Flow, FlowWatch
from sabot.text import shortened

EVERY_S = 5.0
"""How often the open spans are stored."""
SHORTEST_MS = 3000
"""A shoe that is back sooner was not away: a restart of the USB connection takes as long."""
_ASLEEP_MS = 45_000
"""Without a note for so long, the log was stopped, or the computer slept. A locked database delays
one by 35 s at most."""
_LONGEST_WHY = 300  # characters
_MOST_KEPT = 10_000  # closed spans, while the database cannot be written

ATTACHED, WAITING = "attached", "waiting"


@dataclass(frozen=True, slots=True)
class Span:
    """From `begin_unix_ms` to `end_unix_ms` a log had a session with `unit` (`attached`), or had
    had one and waited for it (`waiting`)."""

    unit: str
    begin_unix_ms: int
    end_unix_ms: int
    state: str


@dataclass(slots=True, eq=False)
class _Open:
    """The span of a port that lasts. Before the first session it is not known of which unit."""

    unit: str | None
    state: str
    begin: int
    end: int
    why: str = ""

    @property
    def counts(self) -> bool:
        return self.state == ATTACHED or self.end - self.begin >= SHORTEST_MS


class Presence:
    """Notes of each port's shoe, stored with `keep`. Thread-safe; only `store` waits for `keep`.

    That no shoe ever came is not noted of the units in `known`: their shoes may be in store.
    """

    def __init__(
        self,
        ports: Sequence[str],
        keep: Callable[[Sequence[Span], Sequence[Flow]], None],
        now_unix_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        now_s: Callable[[], float] = time.monotonic,
        known: Collection[str] = (),
    ) -> None:
        self._keep = keep
        self._now_s, self._known = now_s, known
        self._begun_s, self._begun_unix_ms = now_s(), now_unix_ms()
        self._now_unix_ms = now_unix_ms
        self._lock = threading.Lock()  # of what follows
        now = now_unix_ms()
        self._open = {port: _Open(None, WAITING, now, now) for port in ports}
        self._interrupted: dict[str, _Open] = {}
        """By port: the session that goes on if its shoe is back at once."""
        self._closed: deque[Span] = deque(maxlen=_MOST_KEPT)
        self._watches: dict[str, FlowWatch] = {}
        self._storing = threading.Lock()  # of what follows
        self._kept: dict[str, Flow] = {}
        """How the events of each unit came when that was stored last."""

    def watch(self, unit: str, stored: int, now_s: Callable[[], float]) -> FlowWatch:
        """Return what watches the events of a board in all its sessions with this log. `stored` is
        the number of the newest event of it in the log, `now_s` a steady clock."""
        with self._lock:
            watch = self._watches.get(unit)
            if watch is None:
                watch = FlowWatch(unit, stored, now_s, self._now_unix_ms)
                self._watches[unit] = watch
            return watch

    def attached(self, port: str, unit: str) -> None:
        """A session with `unit` has begun."""
        with self._lock:
            now = self._extend(port)
            before, session = self._open[port], self._interrupted.pop(port, None)
            if before.unit is None:  # for this one it has waited
                before.unit = unit
            if not before.counts and session is not None and session.unit == unit:
                session.end = now
                self._open[port] = session
                return
            self._close(before)
            self._open[port] = _Open(unit, ATTACHED, now, now)

    def lost(self, port: str, why: str = "") -> None:
        """There is no session: the log waits for the shoe from now on, or still. `why` is for
        people."""
        with self._lock:
            now = self._extend(port)
            session = self._open[port]
            session.why = why
            if session.state == ATTACHED:
                self._close(session)
                self._interrupted[port] = session
                self._open[port] = _Open(session.unit, WAITING, now, now)

    def ended(self, port: str) -> None:
        """The log of this port has ended."""
        with self._lock:
            self._extend(port)
            self._close(self._open.pop(port))

    def store(self) -> None:
        """Store all that is noted so far. If the database cannot be written, the next call does."""
        with self._storing:
            with self._lock:
                for port in self._open:
                    self._extend(port)
                closed = list(self._closed)
                self._closed.clear()
                lasting = [span for each in self._open.values() if (span := _span(each))]
                flows = {
                    **{port: self._never_came(port) for port in self._awaited()},
                    **{unit: watch.flow for unit, watch in self._watches.items()},
                }
            changed = [flow for unit, flow in flows.items() if flow != self._kept.get(unit)]
            try:
                if closed or lasting or changed:
                    self._keep([*closed, *lasting], changed)
                self._kept = flows
            except SabotError:  # the threads of the shoes report it
                with self._lock:
                    self._closed.extendleft(reversed(closed))

    def _awaited(self) -> list[str]:
        """The ports at which there was no shoe, and those of which that was noted."""
        waiting = [port for port, each in self._open.items() if each.unit is None]
        return [port for port in waiting if port not in self._known] + [
            port for port, flow in self._kept.items() if flow.waited_s and port not in waiting
        ]

    def _never_came(self, port: str) -> Flow:
        """What is noted of a port at which there was no shoe; nothing once there is one."""
        lasting = self._open.get(port)
        flow = Flow(unit=port, newest_on_shoe=0, newest_stored=0)
        if lasting is None or lasting.unit is not None:
            return flow
        return replace(
            flow, waited_s=int(self._now_s() - self._begun_s),
            cause=shortened(lasting.why.removeprefix(f"{port}: "), _LONGEST_WHY),
            held_since_unix_ms=self._begun_unix_ms, noted_unix_ms=self._now_unix_ms(),
        )  # fmt: skip

    def _extend(self, port: str) -> int:
        """Let the span of a port last until now, unless nothing was noted for long, or the clock
        was set back: then another begins. Return the time."""
        now, lasting = self._now_unix_ms(), self._open[port]
        if lasting.end - SHORTEST_MS <= now <= lasting.end + _ASLEEP_MS:
            lasting.end = now = max(now, lasting.end)
        else:
            self._close(lasting)
            self._interrupted.pop(port, None)
            self._open[port] = _Open(lasting.unit, lasting.state, now, now, lasting.why)
        return now

    def _close(self, lasting: _Open) -> None:
        if span := _span(lasting):
            self._closed.append(span)


def _span(lasting: _Open) -> Span | None:
    """What is stored of it; None if it is too short, or the unit is not known."""
    if lasting.unit is None or not lasting.counts:
        return None
    return Span(lasting.unit, lasting.begin, lasting.end, lasting.state)
