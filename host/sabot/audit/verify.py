"""The verifier: checks a log's audit chain, its numbers, its clock and every round.

It makes one pass over the records of each unit, with a few in memory at a time. ChainChecks finds
changes to the records, PlayChecks faults in the dealing, ClockChecks faults in the times.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sabot.audit import checkpoints, context, receipts, retention
from sabot.audit.absence import in_log
from sabot.audit.absence.elsewhere import NOWHERE, Elsewhere
from sabot.audit.absence.named import Named
from sabot.audit.chain import MOST_EVENTS, MacKeys, Ratchet, epoch_of, mac
from sabot.audit.checkpoints import Checkpoint
from sabot.audit.checks import desk_checks, seam_checks, tombstone_checks
from sabot.audit.checks.chain_events import RawRecord
from sabot.audit.checks.findings import Finding, FoundInUnit, Note, Summary
from sabot.audit.checks.unit_checks import CheckedPart, UnitChecks
from sabot.audit.play.known_games import KnownGames
from sabot.audit.retention import Minimum
from sabot.audit.spans import Span, checked, join, spans_of
from sabot.audit.workers import Workers, count_here, stopped_here, workers
from sabot.desk.notes import UNIT
from sabot.errors import DatabaseUnusable
from sabot.keys.chain_keys import Keys
from sabot.log import boards
from sabot.log.place import Place
from sabot.log.store import Store, open_store
from sabot_protocol.chain import chain_id

_PROBED = 64  # the first records, which are tried to find out which key made them
_WHOLE = Span(None, None, None)


def _now_unix_ms() -> int:
    return time.time_ns() // 1_000_000


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
    elsewhere: Elsewhere = NOWHERE
    """What is named in the log or beside it, and is known to be in another place."""
    own_receipts: bool = True
    """Compare the log with the receipts that it has. False if that is done with the notary's
    key."""
    now_unix_ms: int = field(default_factory=lambda: _now_unix_ms())
    """The time, UTC, after which nothing can be dated."""


def verify(
    store: Store, summary: Summary, options: VerifyOptions = VerifyOptions()
) -> Iterator[Finding]:
    """Yield every finding in the log: in its file, of its desk, then by unit and event. `summary`
    counts what was checked."""
    yield from _in_file(store)
    yield from _of_log(store, options, summary)
    for unit in _units(store, options):
        yield from _verify_one(store, unit, summary, options, lambda count: None)


def verify_log(
    place: Place, options: VerifyOptions, progress: Callable[[int], None] = lambda count: None
) -> tuple[list[Finding], Summary]:
    """Verify the log at `place`, on all cores of this machine. Return the findings, those in the
    file first, then those of the desk, then by unit and event; and the counts.

    `progress` is called now and then with the number of records checked so far.
    """
    with open_store(place) as store:
        units = _units(store, options)
        # The limits of one shoe of cards are found in one pass.
        spans = [[_WHOLE] if options.shoe is not None else spans_of(store, each) for each in units]
        tasks = sum(map(len, spans))
        if tasks < 2 or multiprocessing.cpu_count() < 2:
            return _in_this_process(store, units, options, progress)
        with workers(tasks + 1, progress) as pool:
            (file,) = pool.submit(_work_on_file, [(place,)])
            begun = [
                _begun(pool, store, unit, options, of_unit)
                for unit, of_unit in zip(units, spans, strict=True)
            ]
            in_file = pool.result(file)
            if not in_file:
                return _finished(store, options, begun)
        # What is damaged is not the same whichever way it is read: each unit is read in one pass.
        with workers(len(units), progress) as pool:
            begun = [_begun(pool, store, unit, options, [_WHOLE]) for unit in units]
            findings, summary = _finished(store, options, begun)
            return in_file + findings, summary


_Unfinished = Callable[[Summary], Iterable[Finding]]
"""Waits for the check of a unit, whose findings it returns; the summary counts what was checked."""


def _finished(
    store: Store, options: VerifyOptions, begun: Sequence[_Unfinished]
) -> tuple[list[Finding], Summary]:
    summary = Summary()
    findings = list(_of_log(store, options, summary))
    return findings + [finding for finish in begun for finding in finish(summary)], summary


def _in_this_process(
    store: Store, units: Sequence[str], options: VerifyOptions, progress: Callable[[int], None]
) -> tuple[list[Finding], Summary]:
    summary, done = Summary(), 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        progress(done)

    findings = [*_in_file(store), *_of_log(store, options, summary)]
    for unit in units:
        findings += _verify_one(store, unit, summary, options, count)
    return findings, summary


def _begun(
    pool: Workers, store: Store, unit: str, options: VerifyOptions, spans: Sequence[Span]
) -> _Unfinished:
    """Begin to check a unit in other processes."""
    if len(spans) == 1:
        (future,) = pool.submit(_work_on_unit, [(store.place, unit, options)])

        def finish_unit(summary: Summary) -> Iterable[Finding]:
            found, checked = pool.result(future)
            summary.add(checked)
            return found

        return finish_unit
    stones = store.tombstone_rows(unit)
    futures = pool.submit(_work_on_span, [(store.place, unit, options, span) for span in spans])

    def finish_spans(summary: Summary) -> Iterable[Finding]:
        parts = zip(spans, map(pool.result, futures), strict=True)
        return _verify_one(store, unit, summary, options, pool.count, parts, stones)

    return finish_spans


def _work_on_file(place: Place) -> list[Finding]:
    with open_store(place) as store:
        return list(_in_file(store, stopped_here))


def _work_on_unit(place: Place, unit: str, options: VerifyOptions) -> tuple[list[Finding], Summary]:
    summary = Summary()
    with open_store(place) as store:
        return list(_verify_one(store, unit, summary, options, count_here)), summary


def _work_on_span(
    place: Place, unit: str, options: VerifyOptions, span: Span
) -> CheckedPart | None:
    with open_store(place) as store:
        if (place, unit) not in _MACS:
            _MACS[place, unit] = macs_of(store, unit, options.keys)
        return checked(store, unit, span, _MACS[place, unit], _games_of(store, options), count_here)


_MACS: dict[tuple[Place, str], MacKeys | None] = {}
"""In a process that checks spans: the keys of chains, which are derived one after the other."""


def _in_file(store: Store, stopped: Callable[[], bool] = lambda: False) -> Iterator[Finding]:
    """Yield every finding about the file itself."""
    for fault in store.faults(stopped):
        yield Finding("", 0, "file", fault)
    if _minimums(store) is None:
        yield Finding("", 0, "file", "the minimum of days to keep records cannot be read")


def _of_log(store: Store, options: VerifyOptions, summary: Summary) -> Iterator[Finding]:
    """Yield every finding about what belongs to no unit alone: the desk, what is named and is not
    there, and the seams."""
    of_desk: list[Named] = []
    yield from _of_desk(store, options, summary, of_desk)
    with store.reading() as connection:
        desk = desk_checks.exists(connection)
    for each in in_log.absent(store, options.keys, of_desk, options.elsewhere, desk=desk):
        if isinstance(each, Note):
            summary.notes.append(each)
        else:
            yield each
    if options.own_receipts:
        summary.notes += receipts.not_vouched(store)
    yield from _of_seams(store, options, summary)


def _of_desk(
    store: Store, options: VerifyOptions, summary: Summary, named: list[Named]
) -> Iterator[Finding]:
    """Yield every finding about the desk, and add to `named` what its notes are about."""
    kept = [each for each in options.kept if each.unit == UNIT]
    found = FoundInUnit(UNIT)
    with store.reading() as connection:
        if desk_checks.exists(connection):
            of_notes = desk_checks.check(connection, options.keys, found)
            named += [Named(unit, "notes of the desk speak", *at) for unit, at in of_notes.items()]
            if not connection.reads_secrets():
                detail = "this role may not read users, sessions and the secret: not checked"
                summary.notes.append(Note(UNIT, 0, "unread", detail))
    for contradiction in checkpoints.wrong_with(store, UNIT, kept, {}):
        found.add(*contradiction)
    yield from found.in_order()


def _of_seams(store: Store, options: VerifyOptions, summary: Summary) -> Iterator[Finding]:
    """Yield every finding about the seams between boards, and note each seam."""
    with store.at_one_moment():
        for name, found in seam_checks.wrong_in_log(store, options.operator, options.keys):
            yield Finding(name, *found)
        for seam in store.seams():
            waits = "" if store.last_number(seam.name) else "; no event of it has come yet"
            summary.notes.append(Note(seam.name, 0, "seam", f"{seam.text()}{waits}"))


def _units(store: Store, options: VerifyOptions) -> list[str]:
    """Every unit in the log, then the units that only a checkpoint names."""
    units: list[str] = list(store.units())
    return units + sorted({each.unit for each in options.kept} - {UNIT} - set(units))


def _verify_one(
    store: Store,
    unit: str,
    summary: Summary,
    options: VerifyOptions,
    count: Callable[[int], None],
    parts: Iterable[tuple[Span, CheckedPart | None]] = ((_WHOLE, None),),
    stones: Sequence[tuple[Any, Any, bytes]] | None = None,
) -> Iterator[Finding]:
    """Yield every finding of one unit; `count` gets the number of records just checked. `parts` are
    the spans of its records with what their checks gave, None if they are to be checked here, and
    `stones` the rows of its tombstones before the first of these checks began."""
    found: list[Finding] = []
    stones = store.tombstone_rows(unit) if stones is None else stones

    def record_after(number: int) -> tuple[int, bytes] | None:
        return next(((after, data) for after, data, _ in store.raw(unit, number + 1)), None)

    minimums = _minimums(store) or ()
    macs = macs_of(store, unit, options.keys)
    removed = tombstone_checks.wrong_with(
        stones, options.operator, minimums, record_after, macs, options.now_unix_ms
    )
    found += [Finding(unit, *each) for each in removed]
    checks = UnitChecks(
        unit,
        macs=macs,
        tombstones=[tombstone for _, _, tombstone in stones],
        derived=(),
        shoe=options.shoe,
        games=_games_of(store, options),
    )
    checks.started(context.kept_of_removed(store, unit))
    join(checks, parts, store, unit, count)
    if store.tombstone_rows(unit) != stones:  # `sabot prune` has removed events meanwhile
        yield from _verify_one(store, unit, summary, options, count)
        return
    of_unit = store.boards(boards.unit_of(unit))
    summary.units += unit in of_unit[:1] or not of_unit  # all boards of a unit are one
    found += checks.ended(summary)
    kept = [each for each in options.kept if each.unit == unit]
    after = {each.last: each.after for each in context.tombstones(store, unit)}
    for number, kind, detail in checkpoints.wrong_with(store, unit, kept, after):
        if not any((each.event, each.kind) == (number, "changed") for each in found):
            found.append(Finding(unit, number, kind, detail))
    if options.own_receipts:
        of_receipts, notes = receipts.own_of_unit(store, unit, options.operator)
        found += of_receipts
        summary.notes += notes
    yield from sorted(found, key=lambda each: each.event)


def _minimums(store: Store) -> Sequence[Minimum] | None:
    """Every minimum that was set for the log; None if they cannot be read."""
    try:
        return retention.minimums(store)
    except DatabaseUnusable:
        return None


def _games_of(store: Store, options: VerifyOptions) -> KnownGames:
    """The game documents of a log."""
    return KnownGames(store.game, options.elsewhere)


def macs_of(store: Store, unit: str, keys: Keys | None) -> MacKeys | None:
    """The keys of a unit's chain. Of the keys of several chains, those that made its records."""
    of = boards.unit_of(unit)
    chains = [] if keys is None else keys.chains(of)
    if keys is None or not chains:
        return None
    first_keys = [key for each in chains if (key := keys.first_key(of, each)) is not None]
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
        if (
            0 < number == due <= MOST_EVENTS
            and mac(ratchet.mac_key(epoch_of(number)), before, record) == stored
        ):
            return True
        before, due = stored, number + 1
    return False
