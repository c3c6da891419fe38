"""An index of the rounds and incidents of a log, to search it within a second.

It is in memory and made of the records, so that nothing stored can lie. What may not show yet
(log/reveal.py) is not in it. It says what `sabot rounds` and `sabot incidents` say.
"""

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from sabot import faults
from sabot.audit import spans as audit_spans
from sabot.audit.spans import Span, spans_of
from sabot.audit.table_names import Tables
from sabot.audit.workers import count_here, workers
from sabot.errors import SabotError
from sabot.floor.rounds.index_spans import Games, SpanRead, read_span
from sabot.floor.rounds.index_tables import FoundIncident, FoundRound, IndexTables
from sabot.floor.rounds.index_units import IndexedUnit, UnitState, join_spans, read_unit
from sabot.floor.rounds.indexed_round import IndexedRound
from sabot.floor.rounds.search import Query
from sabot.log import boards
from sabot.log.place import Place
from sabot.log.reveal import hidden_round
from sabot.log.store import Store, open_store

_POLL_S = 0.25
_FEW_RECORDS = 50_000  # are read in less time than processes take to start
_SHARE = 0.2  # of the time at most goes into keeping up
_WAIT_S = 0.2
_WHOLE = Span(None, None, None)
_SETTLE_S = 0.1  # incidents are looked for so long before what is new is looked at again


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an index is."""

    done: int
    """Records read."""
    total: int
    """Records in the log, about."""
    complete: bool
    """Whether all that was in the log when the index was begun has been read."""
    problem: str = ""
    """Why the log cannot be read now, for people; empty if it can."""


class RoundIndex:
    """The rounds and incidents of the log `store`. A thread reads them from `start` to `stop`, the
    newest first; all else may be called from any thread at any time."""

    def __init__(self, store: Store, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._now_s = now_s
        self._follower = store.follower()
        self._found = IndexTables()
        self._games = Games(store)
        self._units: dict[str, IndexedUnit] = {}
        self._due: dict[str, int] = {}  # units with something new, and their newest event
        self._alone = False  # whether processes that help were killed
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()  # of what follows
        self._progress = Progress(0, 0, False)

    # ---- from any thread

    def start(self) -> None:
        """Begin to read the log."""
        self._thread = threading.Thread(target=self._run, name="index", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop, within a moment."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> "RoundIndex":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def progress(self) -> Progress:
        """How far the index is."""
        with self._lock:
            return self._progress

    def tables(self) -> list[str]:
        """All tables at which units stood, sorted."""
        return sorted({name for each in [*self._units.values()] for name in each.tables.names})

    def tables_of(self, unit: str) -> Tables | None:
        """At which tables a unit stood; None if it has not been read yet."""
        known = self._units.get(unit)
        return None if known is None else known.tables

    def units(self) -> list[str]:
        """All units that are in the index, and each board that has taken another's place by its own
        name, in order."""
        names = [*self._units]
        return boards.in_order([*boards.units_of(names), *names])

    def rounds(self, query: Query, most: int, skip: int = 0) -> tuple[list[FoundRound], int]:
        """The rounds that fit, the newest first: at most `most`, after the first `skip`; and how
        many fit in all."""
        return self._found.rounds(query, most, skip)

    def incidents(self, query: Query, most: int, skip: int = 0) -> tuple[list[FoundIncident], int]:
        """The incidents that fit, the newest first, and how many fit in all."""
        return self._found.incidents(query, most, skip)

    def kinds_of(self, rounds: Sequence[FoundRound]) -> list[list[str]]:
        """The kinds of incidents of each of these rounds."""
        return self._found.kinds_of(rounds)

    def beside(self, unit: str, first_event: int) -> tuple[FoundRound | None, FoundRound | None]:
        """The rounds before and after the one that began with an event."""
        return self._found.beside(unit, first_event)

    def counts(self) -> tuple[int, int]:
        """How many rounds and incidents are in the index."""
        return self._found.counts()

    # ---- in the thread of the index

    def _run(self) -> None:
        pause_s = 0.0
        while not self._stopping.wait(pause_s):
            begin_s = self._now_s()
            problem = ""
            try:
                self.look()
            except SabotError as error:
                problem = str(error)
            except Exception as error:  # what it has may be half made
                text = f"the index has ended; start the server again: {faults.text_of(error)}"
                self._note(problem=text)
                break
            self._note(problem=problem)
            took_s = self._now_s() - begin_s
            pause_s = max(_POLL_S, took_s * (1 / _SHARE - 1))
        self._follower.close()

    def look(self) -> None:
        """Look once at what is new. Raises DatabaseUnusable if the log cannot be read now."""
        for unit, newest in self._follower.poll().items():
            self._due[unit] = newest
            if not newest:
                self._forget(unit)
        new = [unit for unit in self._due if unit not in self._units]
        if new:
            try:
                self._read(new)
            except (SabotError, BrokenProcessPool) as error:
                for unit in new:
                    self._again(unit)
                if isinstance(error, SabotError):
                    raise
                self._alone = True
                return
        for unit in [unit for unit in self._due if unit in self._units]:
            if self._stopping.is_set():
                return
            if self._units[unit].keep_up(self._follower, self._now_s()):
                del self._due[unit]
            else:
                self._again(unit)
        self._settle()
        self._note(complete=not self._due)

    def _settle(self) -> None:
        """Look for incidents where that is due, for a moment; those that have waited longest come
        first."""
        begin_s = self._now_s()
        for unit, each in [*self._units.items()]:
            now_s = self._now_s()
            if self._stopping.is_set() or now_s - begin_s > _SETTLE_S:
                return
            if each.is_due(now_s):
                self._units[unit] = self._units.pop(unit)
                if not each.settle(now_s):
                    self._again(unit)

    def _again(self, unit: str) -> None:
        """Have all records of a unit read again."""
        self._forget(unit)
        self._due[unit] = self._store.last_number(unit)

    def _read(self, units: Sequence[str]) -> None:
        """Read all records of these units."""
        total = sum(self._due[unit] for unit in units)
        self._note(0, total, complete=False)
        spans = {
            unit: spans_of(self._store, unit) if self._due[unit] >= audit_spans.SPAN else [_WHOLE]
            for unit in units
        }
        read = _Reading(self._store, self._found, self._games, self._units, spans)
        most = max(map(len, spans.values()), default=0)
        tasks = [
            (unit, of_unit[-1 - age] if len(of_unit) > 1 else None)
            for age in range(most) for unit, of_unit in spans.items() if age < len(of_unit)
        ]  # fmt: skip
        if total < _FEW_RECORDS or self._alone or multiprocessing.cpu_count() < 2:
            done = 0

            def count(more: int) -> None:
                nonlocal done
                done += more
                self._note(min(done, total), total)

            for unit, span in tasks:
                if self._stopping.is_set():
                    return
                read.add(unit, span, _read(self._store, unit, span, self._games, count))
            return

        def progress(done: int) -> None:
            self._note(min(done, total), total)

        with workers(len(tasks), progress, beside_service=True) as pool:
            submitted = pool.submit(_work, [(self._store.place, *task) for task in tasks])
            of: dict[Future[_Read], tuple[str, Span | None]] = dict(
                zip(submitted, tasks, strict=True)
            )
            while of and not self._stopping.is_set():
                done_now, _ = wait(of, _WAIT_S, FIRST_COMPLETED)
                pool.count(0)
                for future in done_now:
                    read.add(*of.pop(future), future.result())

    def _forget(self, unit: str) -> None:
        self._units.pop(unit, None)
        self._due.pop(unit, None)
        self._found.drop(unit)

    def _note(
        self,
        done: int | None = None,
        total: int | None = None,
        *,
        complete: bool | None = None,
        problem: str = "",
    ) -> None:
        with self._lock:
            before = self._progress
            self._progress = Progress(
                before.done if done is None else done,
                before.total if total is None else total,
                before.complete if complete is None else complete,
                problem,
            )


_Read = SpanRead | tuple[UnitState, list[IndexedRound]]
"""What was read: a span of a unit, or all of it."""


def _read(
    store: Store, unit: str, span: Span | None, games: Games, count: Callable[[int], None]
) -> _Read:
    if span is None:
        return read_unit(store, unit, games, count)
    return read_span(store, unit, span, games, count)


_OPENED: dict[Place, tuple[Store, Games]] = {}
"""In a process that helps."""


def _work(place: Place, unit: str, span: Span | None) -> _Read:
    """Read a span of a unit, or all of it, in a process of `audit.workers`."""
    if place not in _OPENED:
        store = open_store(place)
        _OPENED[place] = store, Games(store)
    return _read(_OPENED[place][0], unit, span, _OPENED[place][1], count_here)


class _Reading:
    """The units that are being read."""

    def __init__(
        self,
        store: Store,
        found: IndexTables,
        games: Games,
        units: dict[str, IndexedUnit],
        spans: dict[str, list[Span]],
    ) -> None:
        self._store, self._found, self._games = store, found, games
        self._units = units
        self._spans = spans
        self._read: dict[tuple[str, Span], SpanRead] = {}
        self._tables: dict[str, Tables] = {}

    def add(self, unit: str, span: Span | None, read: _Read) -> None:
        """Take what was read. With the last span of a unit its spans are joined."""
        if isinstance(read, SpanRead):
            assert span is not None
            self._show(unit, read.rounds)
            self._read[unit, span] = read
            spans = self._spans[unit]
            if not all((unit, each) in self._read for each in spans):
                return
            of_unit = [self._read.pop((unit, each)) for each in spans]
            state = join_spans(self._store, unit, self._games, of_unit)
            if state is not None:
                self._begin(unit, state, [row for each in of_unit for row in each.rounds])
                return
            self._found.drop(unit)
            read = read_unit(self._store, unit, self._games)
        self._begin(unit, *read)

    def _begin(self, unit: str, state: UnitState, rounds: Sequence[IndexedRound]) -> None:
        begun = IndexedUnit(self._store, unit, self._found, self._games, state)
        begun.show(rounds)
        self._units[unit] = begun

    def _show(self, unit: str, rounds: Iterable[IndexedRound]) -> None:
        """Show rounds of a unit whose other spans are still read."""
        if unit not in self._tables:
            self._tables[unit] = Tables(self._store, unit)
        hidden = hidden_round(self._store, unit)  # each time: the log goes on
        shown = [each for each in rounds if (each.shoe, each.round) != hidden]
        self._found.put_rounds(unit, shown, self._tables[unit].at)
