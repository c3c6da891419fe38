"""The verifier: checks a log's audit chain, its numbers, its clock and every round.

It makes one pass over the records of each unit, with a few in memory at a time. ChainChecks finds
changes to the records, PlayChecks faults in the dealing, ClockChecks faults in the times.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from sabot.audit import checkpoints, context, retention
from sabot.audit.chain import MacKeys, Ratchet, epoch_of, mac
from sabot.audit.checkpoints import Checkpoint
from sabot.audit.checks import tombstone_checks
from sabot.audit.checks.chain_checks import ChainChecks, RawRecord
from sabot.audit.checks.clock_checks import ClockChecks
from sabot.audit.checks.decoding import Values
from sabot.audit.checks.findings import Finding, FoundInUnit, Note, Summary
from sabot.audit.checks.index_checks import IndexChecks
from sabot.audit.checks.known_games import KnownGames
from sabot.audit.checks.play_checks import PlayChecks
from sabot.audit.retention import Minimum
from sabot.errors import DatabaseUnusable
from sabot.keys.chain_keys import Keys
from sabot.log.derived import LARGEST
from sabot.log.store import Store
from sabot.text import counted
from sabot_protocol import events
from sabot_protocol.chain import chain_id

_PROBED = 64  # the first records, which are tried to find out which key made them
_PROGRESS_EVERY = 2000
_POLL_S = 0.1


_OF_ALL_SHOES = ("no_key", "wrong_key", "operator", "truncated", "rewritten")
"""Kinds of findings that concern every shoe of cards of a unit."""


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """What a log is checked against, and which part of it is reported. Without `keys` the audit
    chain cannot be checked."""

    keys: Keys | None = None
    operator: bytes | None = None
    """Public key (32 raw bytes) that must have signed every tombstone. Without it each tombstone is
    a finding: anyone could have signed it."""
    kept: Sequence[Checkpoint] = ()
    """Checkpoints of any units, kept outside the log."""
    shoe: int | None = None
    """Report findings and rounds of this shoe of cards only; the whole chain is checked anyway."""


def verify(
    store: Store, summary: Summary, options: VerifyOptions = VerifyOptions()
) -> Iterator[Finding]:
    """Yield every finding in the log: in its file, then by unit and event. `summary` counts what
    was checked."""
    yield from _in_file(store)
    for unit in _units(store, options):
        yield from _verify_one(store, unit, summary, options, lambda count: None)


def verify_file(
    path: Path, options: VerifyOptions, progress: Callable[[int], None] = lambda count: None
) -> tuple[list[Finding], Summary]:
    """Verify the log at `path`, with its units in parallel on the cores of this machine. Return the
    findings, those in the file first, then by unit and event; and the counts.

    `progress` is called now and then with the number of records checked so far.
    """
    summary = Summary()
    findings: list[Finding] = []
    with Store(path) as store:
        units = _units(store, options)
        if len(units) < 2 or multiprocessing.cpu_count() < 2:
            done = 0

            def count(more: int) -> None:
                nonlocal done
                done += more
                progress(done)

            findings += _in_file(store)
            for unit in units:
                findings += _verify_one(store, unit, summary, options, count)
            return findings, summary
    for found, checked in _in_parallel(path, units, options, progress):
        findings += found
        summary.add(checked)
    return findings, summary


def _in_parallel(
    path: Path, units: Sequence[str], options: VerifyOptions, progress: Callable[[int], None]
) -> Iterator[tuple[list[Finding], Summary]]:
    """Yield findings and counts: of the file, then of each unit, in the order of `units`."""
    done = multiprocessing.Value("q", 0)
    stop = multiprocessing.Event()
    workers = min(len(units), multiprocessing.cpu_count())
    with ProcessPoolExecutor(workers, initializer=_begin, initargs=(done, stop)) as pool:
        # The first `submit` starts the workers. A Ctrl-C waits until they can no longer get it: in
        # the middle of a start it would print a traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            futures = [pool.submit(_work, path, unit, options) for unit in units]
            futures.insert(0, pool.submit(_work_on_file, path))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        pending: set[Future[tuple[list[Finding], Summary]]] = set(futures)
        try:
            while pending:
                _, pending = wait(pending, timeout=_POLL_S, return_when=FIRST_COMPLETED)
                progress(done.value)
            for future in futures:
                yield future.result()
        finally:
            stop.set()  # after Ctrl-C the workers end within a moment
            pool.shutdown(cancel_futures=True)


_worker: Any = None


def _begin(done: Any, stop: Any) -> None:
    """Prepare a worker to report progress. Ctrl-C is blocked in it: the parent handles it."""
    global _worker
    _worker = (done, stop)


def _work(path: Path, unit: str, options: VerifyOptions) -> tuple[list[Finding], Summary]:
    done, stop = _worker

    def count(more: int) -> None:
        with done.get_lock():
            done.value += more
        if stop.is_set():
            raise _WorkerStopped

    summary = Summary()
    with Store(path) as store:
        return list(_verify_one(store, unit, summary, options, count)), summary


def _work_on_file(path: Path) -> tuple[list[Finding], Summary]:
    _, stop = _worker
    with Store(path) as store:
        return list(_in_file(store, stop.is_set)), Summary()


class _WorkerStopped(Exception):
    """Raised in a worker when the parent process no longer needs its result."""


def _in_file(store: Store, stopped: Callable[[], bool] = lambda: False) -> Iterator[Finding]:
    """Yield every finding about the file itself."""
    for fault in store.faults(stopped):
        yield Finding("", 0, "file", fault)
    if _minimums(store) is None:
        yield Finding("", 0, "file", "the minimum of days to keep records cannot be read")


def _units(store: Store, options: VerifyOptions) -> list[str]:
    """Every unit in the log, then the units that only a checkpoint names."""
    units: list[str] = list(store.units())
    return units + sorted({each.unit for each in options.kept} - set(units))


def _verify_one(
    store: Store,
    unit: str,
    summary: Summary,
    options: VerifyOptions,
    count: Callable[[int], None],
) -> Iterator[Finding]:
    """Yield every finding of one unit; `count` gets the number of records just checked."""
    summary.units += 1
    found: list[Finding] = []
    stones = store.tombstone_rows(unit)

    def record_after(number: int) -> tuple[int, bytes] | None:
        return next(((after, data) for after, data, _ in store.raw(unit, number + 1)), None)

    minimums = _minimums(store) or ()
    removed = tombstone_checks.wrong_with(stones, options.operator, minimums, record_after)
    found += [Finding(unit, *each) for each in removed]
    derived = store.derived(unit)
    known = list(islice(derived, 1))  # read first: records appended meanwhile are in `raw` only
    records = _counted(store.raw(unit), count)
    found += verify_unit(
        unit,
        records,
        summary,
        macs=_macs_of(store, unit, options.keys),
        tombstones=[tombstone for _, _, tombstone in stones],
        derived=chain(known, derived),
        shoe=options.shoe,
        games=_games_of(store, unit),
    )
    kept = [each for each in options.kept if each.unit == unit]
    after = {each.last: each.after for each in context.tombstones(store, unit)}
    for number, kind, detail in checkpoints.wrong_with(store, unit, kept, after):
        if not any((each.event, each.kind) == (number, "changed") for each in found):
            found.append(Finding(unit, number, kind, detail))
    yield from sorted(found, key=lambda each: each.event)


def _minimums(store: Store) -> Sequence[Minimum] | None:
    """Every minimum that was set for the log; None if they cannot be read."""
    try:
        return retention.minimums(store)
    except DatabaseUnusable:
        return None


def _games_of(store: Store, unit: str) -> KnownGames:
    """The game documents of a log. One of version 2 has none."""
    after = store.must_have_games_after(unit)
    return KnownGames(store.game, LARGEST if after is None else after)


def _counted(records: Iterator[RawRecord], count: Callable[[int], None]) -> Iterator[RawRecord]:
    while some := list(islice(records, _PROGRESS_EVERY)):
        yield from some
        count(len(some))


def _macs_of(store: Store, unit: str, keys: Keys | None) -> MacKeys | None:
    """The keys of a unit's chain. Of the keys of several chains, those that made its records."""
    chains = [] if keys is None else keys.chains(unit)
    if keys is None or not chains:
        return None
    first_keys = [key for each in chains if (key := keys.first_key(unit, each)) is not None]
    if len(first_keys) > 1:
        rows = list(islice(store.raw(unit), _PROBED))
        for first_key in first_keys:
            if _fits(first_key, rows):
                return Ratchet(first_key)
    return Ratchet(first_keys[-1])


def _fits(first_key: bytes, rows: Sequence[RawRecord]) -> bool:
    """Whether any of these records continues the one before it with this key."""
    ratchet = Ratchet(first_key)
    before, due = chain_id(first_key), 1
    for number, record, stored in rows:
        if not all(isinstance(each, bytes) for each in (record, stored)) or type(number) is not int:
            continue
        if number == due and mac(ratchet.mac_key(epoch_of(number)), before, record) == stored:
            return True
        before, due = stored, number + 1
    return False


def verify_unit(
    unit: str,
    records: Iterable[RawRecord],
    summary: Summary,
    *,
    macs: MacKeys | None = None,
    tombstones: Iterable[bytes] = (),
    first: int = 1,
    before: bytes | None = None,
    derived: Iterable[tuple[Any, ...]] | None = None,
    shoe: int | None = None,
    games: KnownGames | None = None,
) -> Iterator[Finding]:
    """Yield every finding among the records of one unit (number, record, MAC), by event.

    `records` come in the order of their rows. `macs` has the keys of the chain; without them the
    chain is not checked, which is a finding. `first` is the first event that must be present, and
    `before` the MAC of the event before it; None means the chain's id for event 1, and unknown for
    any other. `derived` are the rows derived from the records: number, name of the kind, time, shoe
    of cards, round. With `games` the play is held to the documents of its games. With `shoe` only
    what concerns that shoe of cards is reported.
    """
    found = FoundInUnit(unit)
    play = PlayChecks(found.add, games=games)
    clock = ClockChecks(unit, found.add, summary.notes)
    chain_checks = ChainChecks(unit, macs, found.add, play.not_judged, tombstones, first, before)
    span = None if shoe is None else _ShoeSpan(shoe, play, clock)
    if derived is not None:
        index = IndexChecks(derived, found.add)
        chain_checks.seen = index.compare
    handlers = play.handlers
    previous: Values = [-1] * 5
    base: int | None = None
    for values in chain_checks.follow(records):
        t_ms, unix_ms = values[3:5]
        # Until the clock is set again, time of day minus time since the start is constant.
        now = None if unix_ms is None else unix_ms - t_ms
        if now != base or values[2] != previous[2] or t_ms < previous[3]:
            base = clock.check_change(values, previous, base)
        previous = values
        if play.not_composed:
            play.end_of(values)
        handler = handlers[values[0]]
        if handler is not None:
            handler(values)
    if macs is None and chain_checks.rows:
        found.add(first, "no_key", "there is no key of this unit: the chain was not checked")
    if derived is not None:
        index.ended(chain_checks.next_number)
    clock.ended(play.timeless)
    if games is not None:
        for number, detail in games.missing(play.dealt_by):
            if number > games.optional_up_to:
                found.add(number, "game", f"{detail}; what its rounds paid cannot be checked")
            else:
                summary.notes.append(Note(unit, number, "game", detail))
    summary.events += chain_checks.rows
    summary.rounds += play.rounds if span is None else span.rounds()
    summary.notes += [Note(unit, *note) for note in chain_checks.notes]
    findings = found.in_order()
    if span is not None:
        summary.shoe_seen |= span.seen
        concerned = [each for each in findings if span.concerns(each)]
        if len(concerned) < len(findings):
            others = len(findings) - len(concerned)
            detail = (
                f"{counted(others, 'finding')} outside shoe of cards {shoe}: verify without --shoe"
            )
            summary.notes.append(Note(unit, 0, "elsewhere", detail))
        findings = concerned
    yield from findings


class _ShoeSpan:
    """The range of a log's events that can concern one shoe of cards."""

    def __init__(self, shoe: int, play: PlayChecks, clock: ClockChecks) -> None:
        self.seen = False
        self._shoe = shoe
        self._play = play
        self._begins, self._ends = 0, LARGEST
        self._rounds_before = self._rounds = 0
        for shape in (events.SHOE_LOADED, events.BETTING_OPEN, events.SHOE_ENDED):
            self._watch(shape.number)

    def _watch(self, kind: int) -> None:
        handler = self._play.handlers[kind]

        def watched(values: Values) -> None:
            number, shoe = values[1], values[5]
            if handler is not None:
                handler(values)
            if shoe < self._shoe:
                self._begins = number + 1
                self._rounds_before = self._play.rounds
            elif shoe == self._shoe:
                self.seen = True
            elif self._ends == LARGEST:
                self._ends = number - 1
                self._rounds = self._play.rounds

        self._play.handlers[kind] = watched

    def rounds(self) -> int:
        """The number of rounds of the shoe of cards."""
        last = self._play.rounds if self._ends == LARGEST else self._rounds
        return last - self._rounds_before if self.seen else 0

    def concerns(self, finding: Finding) -> bool:
        """Whether a finding is about this shoe of cards, or about all."""
        return finding.kind in _OF_ALL_SHOES or self._begins <= finding.event <= self._ends
