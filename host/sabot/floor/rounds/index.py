"""An index of the rounds and incidents of a log, to search it within a second.

It is in memory and made of the records, so that nothing stored can lie. What may not show yet
(log/reveal.py) is not in it. It says what `sabot rounds` and `sabot incidents` say.
"""

import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from sabot.audit.spans import Span, spans_of
from sabot.audit.workers import workers
from sabot.errors import SabotError
from sabot.floor.rounds.index_spans import SpanRead, read_span, work_on_span
from sabot.floor.rounds.index_tables import FoundIncident, FoundRound, IndexTables
from sabot.floor.rounds.index_units import IndexedUnit
from sabot.floor.rounds.search import Query
from sabot.log.follow import Follower
from sabot.log.store import Store

_POLL_S = 0.25
_FEW_RECORDS = 50_000  # are read in less time than processes take to start
_SHARE = 0.2  # of the time at most goes into keeping up
_WAIT_S = 0.2


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
        self._follower = Follower(store.path)
        self._found = IndexTables()
        self._units: dict[str, IndexedUnit] = {}
        self._due: dict[str, None] = {}
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

    def units(self) -> list[str]:
        """All units that are in the index, sorted."""
        return sorted([*self._units])

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
            self._note(problem=problem)
            took_s = self._now_s() - begin_s
            pause_s = max(_POLL_S, took_s * (1 / _SHARE - 1))
        self._follower.close()

    def look(self) -> None:
        """Look once at what is new. Raises DatabaseUnusable if the log cannot be read now."""
        for unit, newest in self._follower.poll().items():
            self._due[unit] = None
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
        for unit, each in [*self._units.items()]:
            if not self._stopping.is_set() and not each.settle(self._now_s()):
                self._again(unit)
        self._note(complete=not self._due)

    def _again(self, unit: str) -> None:
        """Have all records of a unit read again."""
        self._forget(unit)
        self._due[unit] = None

    def _read(self, units: Sequence[str]) -> None:
        """Read all records of these units."""
        total = sum(map(self._store.last_number, units))
        self._note(0, total, complete=False)
        reading = {unit: spans_of(self._store, unit) for unit in units}
        for unit in units:
            self._units[unit] = IndexedUnit(self._store, unit, self._found)
        read = _Reading(self._units, reading)
        most = max(map(len, reading.values()), default=0)
        tasks = [
            (unit, spans[-1 - age]) for age in range(most) for unit, spans in reading.items()
            if age < len(spans)
        ]  # fmt: skip
        if total < _FEW_RECORDS or self._alone or multiprocessing.cpu_count() < 2:
            for unit, span in tasks:
                if self._stopping.is_set():
                    return
                read.add(unit, span, read_span(self._store, unit, span))
                self._note(read.records, total)
            return

        def progress(done: int) -> None:
            self._note(min(done, total), total)

        with workers(len(tasks), progress, beside_service=True) as pool:
            arguments = [(self._store.path, unit, span) for unit, span in tasks]
            submitted = pool.submit(work_on_span, arguments)
            of: dict[Future[SpanRead], tuple[str, Span]] = dict(zip(submitted, tasks, strict=True))
            while of and not self._stopping.is_set():
                done, _ = wait(of, _WAIT_S, FIRST_COMPLETED)
                pool.count(0)
                for future in done:
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


class _Reading:
    """The spans of units that are being read."""

    def __init__(self, units: dict[str, IndexedUnit], spans: dict[str, list[Span]]) -> None:
        self.records = 0
        self._units = units
        self._spans = spans
        self._read: dict[tuple[str, Span], SpanRead] = {}

    def add(self, unit: str, span: Span, read: SpanRead) -> None:
        """Take what a span has. With the last span of a unit its spans are joined."""
        self.records += read.records
        self._units[unit].show(read.rounds)
        self._read[unit, span] = read
        spans = self._spans[unit]
        if all((unit, each) in self._read for each in spans):
            self._units[unit].join([self._read.pop((unit, each)) for each in spans])
