"""Follows the log, and puts the messages of what is new into the outbox."""

import threading
import time
from collections.abc import Callable, Iterable

from sabot import faults
from sabot.errors import SabotError
from sabot.feeds.message import Message
from sabot.feeds.outbox import Outbox, Span
from sabot.feeds.unit_messages import Context, UnitMessages, chunks, unit_messages
from sabot.log import boards
from sabot.log.follow import RawRecord
from sabot.log.reading.remainder import is_replaced

_POLL_S = 0.2
_LOOK_S = 0.5  # what was made is put after so long
_MOST_RECORDS = 5000  # in one transaction of the outbox
_TRIM_EVERY = 150  # looks: half a minute


class Producer:
    """Makes the messages of all units. `needed_from` gives the first event of a unit whose messages
    some feed has not delivered yet; `notify` is called with units that have new ones, and
    `report` with each line of what went wrong, once.

    A unit that is new to the outbox begins at its newest event: what came before is made again for
    each feed that wants it (pages.py). A board that takes the place of one that was followed begins
    with its first event.
    """

    def __init__(
        self,
        context: Context,
        outbox: Outbox,
        needed_from: Callable[[str], int],
        notify: Callable[[Iterable[str]], None],
        report: Callable[[str], None],
        *,
        with_incidents: bool,
    ) -> None:
        self._context, self._outbox, self._needed_from = context, outbox, needed_from
        self._notify, self._report, self._with_incidents = notify, report, with_incidents
        self._follower = context.store.follower()
        self._spans: dict[str, Span] | None = None
        self._due: dict[str, int] = {}
        """By unit: its newest event, up to which there is something to look at."""
        self._making: dict[str, UnitMessages] = {}
        self._stopped: dict[str, str] = {}
        """Units that cannot be followed, and why."""
        self._problem = ""
        self._looks = 0

    def run(self, stopping: threading.Event) -> None:
        """Follow until `stopping` is set."""
        pause_s = 0.0
        while not stopping.wait(pause_s):
            pause_s = 0.0 if self.look(stopping.is_set) else _POLL_S
        self._follower.close()

    @property
    def is_well(self) -> bool:
        """Whether the last look succeeded, and all units are fed."""
        return not self._problem and not self._stopped

    def close(self) -> None:
        """Close the log."""
        self._follower.close()

    def look(self, stopped: Callable[[], bool] = lambda: False) -> bool:
        """Look once at what is new, some of it if that is much. Return whether there is more to do
        at once."""
        try:
            more = self._look(stopped)
            self._looks += 1
            if self._looks % _TRIM_EVERY == 0:
                self._outbox.trim({unit: self._needed_from(unit) for unit in self._spans or ()})
        except Exception as error:
            self._making.clear()  # what was made and not put is made again
            problem = str(error) if isinstance(error, SabotError) else faults.text_of(error)
            if problem != self._problem:
                self._problem = problem
                self._report(f"{problem}; trying again")
            return False
        if self._problem:
            self._problem = ""
            self._report("the log is followed again")
        return more

    def _look(self, stopped: Callable[[], bool]) -> bool:
        if self._spans is None:
            self._spans = self._outbox.spans()
        self._due.update(self._follower.poll())
        made: list[Message] = []
        spans: dict[str, Span] = {}
        taken, end_s = 0, time.monotonic() + _LOOK_S
        for unit in [*self._due]:
            if taken >= _MOST_RECORDS or time.monotonic() > end_s or stopped():
                break
            taken += self._take(unit, self._due[unit], _MOST_RECORDS - taken, made, spans)
        if spans:
            self._outbox.put(spans, made)
            known = self._spans.keys()
            self._spans = self._spans | spans
            self._notify({each.unit for each in made} | (spans.keys() - known))
        for unit in [unit for unit, newest in self._due.items() if self._is_over(unit, newest)]:
            del self._due[unit]
        return bool(self._due)

    def _is_over(self, unit: str, newest: int) -> bool:
        span = (self._spans or {}).get(unit)
        return unit in self._stopped or (span is not None and span.up_to >= newest) or not newest

    def _take(
        self, unit: str, newest: int, most: int, made: list[Message], spans: dict[str, Span]
    ) -> int:
        """Make the messages of what is new of a unit. Return how many records were looked at."""
        assert self._spans is not None
        span = self._spans.get(unit)
        if unit in self._stopped or not newest:
            return 0
        try:
            if span is None:
                if self._has_more_before(unit, spans):
                    return 0
                spans[unit] = self._first(unit, newest)
                self._end_before(unit, made, spans)
                return 1
            making = self._making_of(unit, span)
            if making is None:
                return 0
            count = 0
            for some in chunks(self._follower.records(unit, span.up_to, newest)):
                made += making.add(some)
                count += len(some)
                span = _span_to(span.begins, some[-1])
                if count >= most:
                    break
            spans[unit] = span
            return count
        except SabotError:
            raise
        except Exception as error:  # whatever its records do, the other units go on
            self._stop(unit, f"{unit}: cannot be fed: {faults.text_of(error)}")
            return 0

    def _making_of(self, unit: str, span: Span) -> UnitMessages | None:
        """What makes the messages of a unit after `span`; None if the log has another history."""
        making = self._making.get(unit)
        if making is None:
            if not self._is_same(unit, span):
                return None
            making, begin = unit_messages(
                self._context, unit, span.up_to,
                with_incidents=self._with_incidents, with_held=True,
            )  # fmt: skip
            for some in chunks(self._follower.records(unit, begin - 1, span.up_to)):
                for _ in making.add(some):
                    pass  # they are in the outbox
            self._making[unit] = making
        return making

    def _has_more_before(self, unit: str, spans: dict[str, Span]) -> bool:
        """Whether the board before this one has events that were not looked at."""
        before = boards.before(unit)
        if before is None or before in self._stopped or before not in (self._spans or {}):
            return False
        span = spans.get(before) or (self._spans or {})[before]
        return span.up_to < self._due.get(before, 0)

    def _end_before(self, unit: str, made: list[Message], spans: dict[str, Span]) -> None:
        """Make the messages of the rounds that the board before this one had in play."""
        before = boards.before(unit)
        span = None if before is None else spans.get(before) or (self._spans or {}).get(before)
        if before is None or span is None or before in self._stopped:
            return
        if span.up_to > self._context.store.last_number(before):
            return  # they are made of the log
        making = self._making_of(before, span)
        held = [] if making is None else making.end(span.up_to + 1)
        if held:
            made += held
            spans[before] = Span(span.begins, span.up_to + 1, b"")

    def _first(self, unit: str, newest: int) -> Span:
        if boards.before(unit) in (self._spans or {}):
            return Span(0, 0, b"")
        if is_replaced(self._context.store, unit):  # also what comes after its last event
            return Span(newest + 1, newest + 1, b"")
        last = next(iter(self._follower.records(unit, newest - 1, newest)), (newest, b"", b""))
        return _span_to(newest, last)

    def _is_same(self, unit: str, span: Span) -> bool:
        """Whether the log still has the event up to which the unit was fed, as it was."""
        last = next(iter(self._follower.records(unit, span.up_to - 1, span.up_to)), None)
        if last is None or not span.mac or last[2] == span.mac:  # it may have been pruned
            return True
        self._stop(
            unit,
            f"{unit}: event {span.up_to} is another one than the one that was fed: the log has "
            f"another history; see `sabot verify`, or remove {self._outbox.path.name} to send all "
            "of it",
        )
        return False

    def _stop(self, unit: str, why: str) -> None:
        self._stopped[unit] = why
        self._making.pop(unit, None)
        self._report(why)


def _span_to(begins: int, last: RawRecord) -> Span:
    number, _, mac = last
    return Span(begins, number, mac if isinstance(mac, bytes) else b"")
