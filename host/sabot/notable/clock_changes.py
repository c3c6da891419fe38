"""By how much times were wrong before a shoe's clock was set: the log itself knows.

The event `clock_set` has the time that the clock showed before. So a host whose own clock was wrong
when a shoe was attached, and which was set later, says so in the log, once it has set the shoe
again. What was recorded before, since the clock was set last, is wrong by the difference.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sabot.link.events import ClockSetEvent, Event
from sabot.link.wire import WireError
from sabot.log.presence import ATTACHED, Span
from sabot.log.store import Filter, Row, Store
from sabot.table_time import duration_text
from sabot.text import counted

TOLERANCE_MS = 5000
"""A clock may be set by this much without a word. A crystal of 50 ppm is off by 4.3 s after a day.
A larger change means that the clock was wrong, or was not set for days, so that earlier times do
not match the video."""

_KINDS = ("boot", "clock_set")
_NEAR_MS = 120_000
"""A log notes within 5 s that its host's clock was set, and sets its shoes again within a
minute."""


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A clock that was set to a very different time."""

    event: int
    """The event that reports it."""
    since_unix_ms: int
    """Since when it had run wrong, by itself."""
    before_unix_ms: int
    """What it showed when it was set."""
    by_ms: int
    """By how much it was set: ahead if positive. Earlier times have to be moved by as much."""

    def text(self) -> str:
        """What to know of a time before it."""
        how = "behind" if self.by_ms > 0 else "ahead"
        return (
            f"{amount_text(self.by_ms)} {how}: the clock of the shoe was set by so much at event "
            f"{self.event:,}"
        )


def amount_text(ms: int) -> str:
    """An amount of time for people, without its sign: hours up to two days, then days."""
    days, hours = divmod(round(abs(ms) / 3_600_000), 24)
    return f"{counted(days, 'day')} {hours} h" if days >= 2 else duration_text(abs(ms))


def change_after(store: Store, unit: str, number: int) -> ClockChange | None:
    """By how much the times of the events up to `number`, since the clock was set last, are wrong:
    all that it was set by afterwards, until the shoe started again. None if they are right, or if
    nothing says that they are not."""
    found: ClockChange | None = None
    for row in store.rows(Filter(unit, first=number + 1, kinds=_KINDS)):
        event = _event_of(row)
        by_ms = _by_ms(event)
        if by_ms is None:  # a start, or the first time after one
            break
        assert isinstance(event, ClockSetEvent) and event.before_unix_ms is not None
        if found is None:
            if abs(by_ms) > TOLERANCE_MS:
                found = ClockChange(row.number, 0, event.before_unix_ms, by_ms)
        else:
            found = replace(found, by_ms=found.by_ms + by_ms)
    return found if found is not None and abs(found.by_ms) > TOLERANCE_MS else None


def changes_near(store: Store, unit: str, unix_ms: int) -> Iterator[ClockChange]:
    """Yield the changes to a time near this one."""
    near = Filter(
        unit, kinds=("clock_set",), from_unix_ms=unix_ms - _NEAR_MS, to_unix_ms=unix_ms + _NEAR_MS
    )
    for row in store.rows(near):
        event = _event_of(row)
        by_ms = _by_ms(event)
        if by_ms is not None and abs(by_ms) > TOLERANCE_MS:
            assert isinstance(event, ClockSetEvent) and event.before_unix_ms is not None
            since = _since(store, unit, row.number, event.before_unix_ms)
            yield ClockChange(row.number, since, event.before_unix_ms, by_ms)


def _since(store: Store, unit: str, number: int, before_unix_ms: int) -> int:
    """Since when a clock that was set at event `number` had run wrong."""
    since = before_unix_ms
    for row in store.rows(Filter(unit, last=number - 1, kinds=_KINDS, newest_first=True)):
        event = _event_of(row)
        if not isinstance(event, ClockSetEvent) or event.unix_ms is None:
            break
        since = event.unix_ms
        by_ms = _by_ms(event)
        if by_ms is None or abs(by_ms) > TOLERANCE_MS:
            break
    return since


def moved(spans: Iterable[Span], changes: Iterable[ClockChange]) -> list[Span]:
    """The spans that a host noted, those whose times were wrong moved to when they were. The host's
    clock was wrong as long as the shoe's, which it had set: a span belongs to that time if it began
    then, or was the wait before."""
    found = list(spans)
    for change in changes:
        first, last = change.since_unix_ms - _NEAR_MS, change.before_unix_ms + _NEAR_MS
        for at, each in enumerate(found):
            begun = each.begin_unix_ms if each.state == ATTACHED else each.end_unix_ms
            if first <= begun <= each.end_unix_ms <= last:
                # The shoe answered when its clock was set, so the session lasted until then.
                end = max(each.end_unix_ms, change.before_unix_ms)
                end = end if each.state == ATTACHED else each.end_unix_ms
                begin = each.begin_unix_ms + change.by_ms
                found[at] = Span(each.unit, begin, end + change.by_ms, each.state)
    return found


def _event_of(row: Row) -> Event | None:
    try:
        return row.event()
    except WireError:
        return None


def _by_ms(event: Event | None) -> int | None:
    """By how much an event says that the clock was set; None if it had not been set before."""
    if not isinstance(event, ClockSetEvent):
        return None
    if event.unix_ms is None or event.before_unix_ms is None:
        return None
    return event.unix_ms - event.before_unix_ms
