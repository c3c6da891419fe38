"""Checks a log: its audit chain, its numbers, and every round as its cards demand.

One pass over the records of each unit, a few in memory at a time: `links` says what was done to
the records, `conduct` what the dealing was not, and the clock is looked at here.
"""

import multiprocessing
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from sabot.audit import checkpoints
from sabot.audit.chain import MacKeys, Ratchet, epoch_of, mac
from sabot.audit.chain_checks import Links, RawRecord
from sabot.audit.checkpoints import Checkpoint
from sabot.audit.decoding import Values
from sabot.audit.play_checks import Conduct
from sabot.audit.tombstone import NoTombstone, Tombstone
from sabot.keys import signing
from sabot.keys.chain_keys import Keys
from sabot.log.rounds import time_text
from sabot.log.store import DAMAGED, Store
from sabot_protocol import events
from sabot_protocol.chain import chain_id

MOST_OF_A_KIND = 1000
"""Findings of one kind in one unit that are told one by one; of the others their number."""

_PROBED = 64  # first records, among which those are looked for that tell which key is theirs
_PROGRESS_EVERY = 2000
_POLL_S = 0.1

_DAY_MS = 86_400_000
_SET_BACK_MS = 120_000  # that a clock is put right by without a word
_AHEAD_MS = 366 * _DAY_MS
_CLOCK_SET = events.CLOCK_SET.number
_KIND_NAMES = ["?"] * 256
for _shape in events.KINDS:
    _KIND_NAMES[_shape.number] = _shape.name
_LARGEST = (1 << 63) - 1  # integer in a column

OF_THE_WHOLE = ("no_key", "wrong_key", "operator", "truncated", "rewritten")
"""Kinds of findings that concern every shoe of cards of a unit."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a log must not have: at which event of which unit, and what.

    Of the audit chain: `changed` (the bytes of a record or of its MAC), `missing` (numbers that
    are nowhere), `inserted` (records that do not belong there), `doubled` (events that are there
    again), `reordered` (events that stand elsewhere), `truncated` (events that once were there,
    and the log ends before them), `rewritten` (a checkpoint that was kept elsewhere has another
    MAC), `wrong_epoch` (a record made with the key of another epoch: it was stolen), `wrong_key`
    (the log names another chain than the key's), `no_key` (there is none, so that all this was
    not checked), `checkpoint` (one in the log that is not so), `tombstone` (one that was changed
    or does not fit), `operator` (one signed by another than the operator who was named).

    Of the events: `gap` (numbers that the shoe itself reports as lost), `damaged` (a record that
    is no event), `derived` (what the log shows of a record is not what it says), `time` (a clock
    of the shoe that ran backwards or jumped without being set), `incomplete` (a round without an
    end), `cards` (a composition that the decks cannot give, or that its cards do not), `rules` (a
    draw, decision, order, total, winner, margin, burn or count that differs from the recomputed
    one, a hit that the cards are not, a card marked as entered by hand that was not or the other
    way round), `game` (another game than the one that was loaded, or one loaded while cards were
    in play).

    What a game's wagers ask for is not in the log, so a hit that was not told is not missed.

    A surplus copy is found although the shoe itself has stopped for it: it is in the log.
    """

    unit: str
    event: int
    """The first one concerned; 0 for none in particular."""
    kind: str
    detail: str

    def as_json(self) -> dict[str, object]:
        """The finding as `sabot verify --json` prints it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a good log can have, and that its reader should know.

    Kinds: `removed` (records that a tombstone stands for), `clock` (a host has set the clock back
    by more than two minutes, ahead by more than a year, or never while rounds were dealt),
    `elsewhere` (findings outside of the shoe of cards that was asked for).
    """

    unit: str
    event: int
    kind: str
    detail: str

    def as_json(self) -> dict[str, object]:
        """The note as `sabot verify --json` prints it."""
        return asdict(self)


@dataclass(slots=True)
class Summary:
    """What was checked, and what is to be told without being a fault."""

    units: int = 0
    events: int = 0
    rounds: int = 0
    notes: list[Note] = field(default_factory=list)
    shoe_seen: bool = False
    """Whether an event of the shoe of cards that was asked for was there."""

    def add(self, other: "Summary") -> None:
        """Count what was checked elsewhere."""
        self.units += other.units
        self.events += other.events
        self.rounds += other.rounds
        self.notes += other.notes
        self.shoe_seen |= other.shoe_seen


@dataclass(frozen=True, slots=True)
class Against:
    """What a log is held against. Without `keys` the audit chain cannot be checked."""

    keys: Keys | None = None
    operator: bytes | None = None
    """Public key, 32 raw bytes, that must have signed every tombstone; None for any."""
    kept: Sequence[Checkpoint] = ()
    """Checkpoints of any units, kept elsewhere."""
    shoe: int | None = None
    """Findings and rounds of this shoe of cards only; the chain is followed all the same."""


def verify(store: Store, summary: Summary, against: Against = Against()) -> Iterator[Finding]:
    """Every finding in the log, unit by unit and by event; `summary` counts what was looked at."""
    for unit in _units(store, against):
        yield from _verify_one(store, unit, summary, against, lambda count: None)


def verify_file(
    path: Path, against: Against, progress: Callable[[int], None] = lambda count: None
) -> tuple[list[Finding], Summary]:
    """The same of the log at `path`, its units at once where there are several and several cores.

    `progress` is called now and then with how many records have been looked at.
    """
    summary = Summary()
    findings: list[Finding] = []
    with Store(path) as store:
        units = _units(store, against)
        if len(units) < 2 or multiprocessing.cpu_count() < 2:
            done = 0

            def count(more: int) -> None:
                nonlocal done
                done += more
                progress(done)

            for unit in units:
                findings += _verify_one(store, unit, summary, against, count)
            return findings, summary
    for found, checked in _in_parallel(path, units, against, progress):
        findings += found
        summary.add(checked)
    return findings, summary


def _in_parallel(
    path: Path, units: Sequence[str], against: Against, progress: Callable[[int], None]
) -> Iterator[tuple[list[Finding], Summary]]:
    """Findings and counts of each unit, in the order of `units`."""
    done = multiprocessing.Value("q", 0)
    stop = multiprocessing.Event()
    workers = min(len(units), multiprocessing.cpu_count())
    with ProcessPoolExecutor(workers, initializer=_begin, initargs=(done, stop)) as pool:
        futures = [pool.submit(_work, path, unit, against) for unit in units]
        pending: set[Future[tuple[list[Finding], Summary]]] = set(futures)
        try:
            while pending:
                _, pending = wait(pending, timeout=_POLL_S, return_when=FIRST_COMPLETED)
                progress(done.value)
            for future in futures:
                yield future.result()
        finally:
            stop.set()  # on Ctrl-C they end within a moment
            pool.shutdown(cancel_futures=True)


_worker: Any = None


def _begin(done: Any, stop: Any) -> None:
    """In a worker: keep what it reports by; Ctrl-C is for whoever started it."""
    global _worker
    _worker = (done, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(path: Path, unit: str, against: Against) -> tuple[list[Finding], Summary]:
    done, stop = _worker

    def count(more: int) -> None:
        with done.get_lock():
            done.value += more
        if stop.is_set():
            raise _Stopped

    summary = Summary()
    with Store(path) as store:
        return list(_verify_one(store, unit, summary, against, count)), summary


class _Stopped(Exception):
    """Whoever wanted to know does not any more."""


def _units(store: Store, against: Against) -> list[str]:
    """Every unit in the log, and those that only a checkpoint has."""
    units: list[str] = list(store.units())
    return units + sorted({each.unit for each in against.kept} - set(units))


def _verify_one(
    store: Store,
    unit: str,
    summary: Summary,
    against: Against,
    count: Callable[[int], None],
) -> Iterator[Finding]:
    """Every finding of one unit; `count` is called with how many records more are done."""
    summary.units += 1
    if not isinstance(unit, str):  # SQLite keeps bytes in a column of text
        yield Finding(repr(unit), 0, "derived", "the table's unit is no text")
        return
    found: list[Finding] = []
    tombstones = store.tombstones(unit)
    after: dict[int, bytes] = {}
    for data in tombstones:
        try:
            tombstone = Tombstone.parse(data)
        except (NoTombstone, TypeError):
            continue  # told of where the records that it stands for are missing
        after[tombstone.last] = tombstone.after
        if against.operator not in (None, tombstone.public_key):
            signer = signing.fingerprint(tombstone.public_key)
            detail = f"events to {tombstone.last} were removed by {signer}, not by the operator"
            found.append(Finding(unit, tombstone.first, "operator", detail))
    derived = store.derived(unit)
    known = list(islice(derived, 1))  # opened first: what is appended meanwhile is in `raw` only
    records = _counted(store.raw(unit, -_LARGEST), count)
    found += verify_unit(
        unit,
        records,
        summary,
        macs=_macs_of(store, unit, against.keys),
        tombstones=tombstones,
        derived=chain(known, derived),
        shoe=against.shoe,
    )
    kept = [each for each in against.kept if each.unit == unit]
    for number, kind, detail in checkpoints.wrong_with(store, unit, kept, after):
        if not any((each.event, each.kind) == (number, "changed") for each in found):
            found.append(Finding(unit, number, kind, detail))
    yield from sorted(found, key=lambda each: each.event)


def _counted(records: Iterator[RawRecord], count: Callable[[int], None]) -> Iterator[RawRecord]:
    while some := list(islice(records, _PROGRESS_EVERY)):
        yield from some
        count(len(some))


def _macs_of(store: Store, unit: str, keys: Keys | None) -> MacKeys | None:
    """The keys of a unit's chain: where it has several, of the one that a record verifies under."""
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
    """Whether any of these records goes on from the one before it under this key."""
    ratchet = Ratchet(first_key)
    before, due = chain_id(first_key), 1
    for number, record, own in rows:
        if not all(isinstance(each, bytes) for each in (record, own)) or type(number) is not int:
            continue
        if number == due and mac(ratchet.mac_key(epoch_of(number)), before, record) == own:
            return True
        before, due = own, number + 1
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
) -> Iterator[Finding]:
    """Every finding among the records of one unit (number, record, MAC), by event.

    `records` come in the order of their rows. `macs` has the keys of the chain; without them it
    is not checked, which is a finding. `first` is the first event that must be there, and `before`
    the MAC that it stands behind; None: the chain's id for event 1, otherwise nobody knows.
    `derived` are the rows that were derived from the records: number, name of the kind, time, shoe
    of cards, round. `shoe` leaves out what does not concern that shoe of cards.
    """
    found = _Found(unit)
    conduct = Conduct(found.tell)
    clock = _Clock(unit, found.tell, summary.notes)
    links = Links(unit, macs, found.tell, conduct.not_judged, tombstones, first, before)
    span = None if shoe is None else _Span(shoe, conduct, clock)
    if derived is not None:
        index = _Derived(derived, found.tell)
        links.seen = index.compare
    handlers = conduct.handlers
    previous: Values = [-1] * 5
    base: int | None = None
    for values in links.follow(records):
        t_ms, unix_ms = values[3:5]
        # Set once, a clock shows at each event the time of day at the start and what passed since.
        now = None if unix_ms is None else unix_ms - t_ms
        if now != base or values[2] != previous[2] or t_ms < previous[3]:
            base = clock.other(values, previous, base)
        previous = values
        if conduct.not_composed:
            conduct.end_of(values)
        handler = handlers[values[0]]
        if handler is not None:
            handler(values)
    if macs is None and links.rows:
        found.tell(first, "no_key", "there is no key of this unit: the chain was not checked")
    if derived is not None:
        index.ended(links.next_number)
    clock.ended(conduct.timeless)
    summary.events += links.rows
    summary.rounds += conduct.rounds if span is None else span.rounds()
    summary.notes += [Note(unit, *note) for note in links.notes]
    findings = found.in_order()
    if span is not None:
        summary.shoe_seen |= span.seen
        concerned = [each for each in findings if span.concerns(each)]
        if len(concerned) < len(findings):
            others = len(findings) - len(concerned)
            detail = f"{others} findings outside of shoe of cards {shoe}: verify without --shoe"
            summary.notes.append(Note(unit, 0, "elsewhere", detail))
        findings = concerned
    yield from findings


class _Found:
    """The findings of a unit; of too many of a kind only how many more there are."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._findings: list[Finding] = []
        self._kinds: Counter[str] = Counter()
        self._last: dict[str, int] = {}

    def tell(self, event: int, kind: str, detail: str) -> None:
        self._kinds[kind] += 1
        if self._kinds[kind] <= MOST_OF_A_KIND:
            self._findings.append(Finding(self._unit, event, kind, detail))
        else:
            self._last[kind] = max(event, self._last.get(kind, 0))

    def in_order(self) -> list[Finding]:
        for kind, event in self._last.items():
            more = self._kinds[kind] - MOST_OF_A_KIND
            detail = f"the last of {more} more of this kind"
            self._findings.append(Finding(self._unit, event, kind, detail))
        return sorted(self._findings, key=lambda each: each.event)


class _Clock:
    """The times of a unit: a finding is what the log contradicts itself in, a note what a host
    has done to the clock."""

    def __init__(self, unit: str, tell: Callable[[int, str, str], None], notes: list[Note]) -> None:
        self._unit = unit
        self._tell = tell
        self._notes = notes
        self._latest: int | None = None  # time of day before the clock went dark

    def other(self, values: Values, previous: Values, base: int | None) -> int | None:
        """Take an event whose times do not simply go on from those of the `previous` one; `base`
        was the time of day at its boot.

        Returns the time of day at the boot by which those that come are to be judged.
        """
        kind, number, boot, t_ms, unix_ms = values[:5]
        _, number_before, boot_before, t_before, _ = previous[:5]
        now = None if unix_ms is None else unix_ms - t_ms
        if base is not None:
            self._latest = base + t_before
        if boot < boot_before:
            self._tell(number, "time", f"boot {boot} after boot {boot_before}")
        elif boot == boot_before and t_ms < t_before:
            self._tell(number, "time", f"{t_ms} ms after {t_before} ms")
            return base
        elif boot == boot_before and number == number_before + 1 and kind != _CLOCK_SET:
            if base is not None:
                detail = f"{unix_ms} ms of the day do not go with {t_ms} ms since boot"
                self._tell(number, "time", detail)
                return base
        if unix_ms is not None and self._latest is not None:
            passed = t_ms - t_before if boot == boot_before else 0
            self._set(number, unix_ms, self._latest + passed)
        return now

    def _set(self, number: int, unix_ms: int, expected: int) -> None:
        if unix_ms < expected - _SET_BACK_MS:
            how = f"back by {(expected - unix_ms) // 1000} s"
        elif unix_ms > expected + _AHEAD_MS:
            how = f"ahead by {(unix_ms - expected) // _DAY_MS} days"
        else:
            return
        detail = f"the clock was set {how}, to {time_text(unix_ms)}"
        if len(self._notes) < MOST_OF_A_KIND:
            self._notes.append(Note(self._unit, number, "clock", detail))

    def ended(self, timeless: int) -> None:
        """All events were seen; so many rounds had no time of day."""
        if timeless:
            detail = f"{timeless} rounds have no time of day: no host had set the clock"
            self._notes.append(Note(self._unit, 0, "clock", detail))


class _Span:
    """From where to where a log can concern one shoe of cards."""

    def __init__(self, shoe: int, conduct: Conduct, clock: _Clock) -> None:
        self.seen = False
        self._shoe = shoe
        self._conduct = conduct
        self._begins, self._ends = 0, _LARGEST
        self._rounds_before = self._rounds = 0
        for shape in (events.SHOE_LOADED, events.BETTING_OPEN, events.SHOE_ENDED):
            self._watch(shape.number)

    def _watch(self, kind: int) -> None:
        handler = self._conduct.handlers[kind]

        def watched(values: Values) -> None:
            number, shoe = values[1], values[5]
            if handler is not None:
                handler(values)
            if shoe < self._shoe:
                self._begins = number + 1
                self._rounds_before = self._conduct.rounds
            elif shoe == self._shoe:
                self.seen = True
            elif self._ends == _LARGEST:
                self._ends = number - 1
                self._rounds = self._conduct.rounds

        self._conduct.handlers[kind] = watched

    def rounds(self) -> int:
        """How many of its rounds there were."""
        last = self._conduct.rounds if self._ends == _LARGEST else self._rounds
        return last - self._rounds_before if self.seen else 0

    def concerns(self, finding: Finding) -> bool:
        """Whether a finding is of this shoe of cards, or of all."""
        return finding.kind in OF_THE_WHOLE or self._begins <= finding.event <= self._ends


class _Derived:
    """Holds the rows that were derived from records against the records: one finding for all that
    differ. Behind some record there may be none yet."""

    def __init__(
        self, rows: Iterable[tuple[Any, ...]], tell: Callable[[int, str, str], None]
    ) -> None:
        self._rows = iter(rows)
        self._held: list[tuple[Any, ...]] = []  # taken from `rows`, and not compared yet
        self._tell = tell
        self._wrong: tuple[int, str] | None = None
        self._count = 0
        self._without: int | None = None  # first record without a row, while none behind has one

    def compare(self, rows: Sequence[RawRecord], decoded: Sequence[Values | None]) -> None:
        """Take the next records."""
        names = _KIND_NAMES
        wanted: list[tuple[Any, ...]] = [
            (row[0], names[values[0]], values[4], values[5], values[6])
            if values is not None
            else (row[0], DAMAGED)
            for row, values in zip(rows, decoded, strict=True)
        ]
        self._held += islice(self._rows, max(0, len(wanted) - len(self._held)))
        if self._without is None and self._held == wanted:
            self._held = []
            return
        last = wanted[-1][0]
        while not (self._held and _comes_behind(self._held[-1][0], last)):
            row = next(self._rows, None)
            if row is None:
                break
            self._held.append(row)
        self._one_by_one(wanted)

    def _one_by_one(self, wanted: Sequence[tuple[Any, ...]]) -> None:
        held = {row[0]: row for row in self._held}
        for right in wanted:
            stored = held.pop(right[0], None)
            if stored is None:
                self._without = right[0] if self._without is None else self._without
                continue
            if self._without is not None:
                self._differs(self._without, "it is missing there")
                self._without = None
            if not _agree(stored, right):
                self._differs(right[0], f"there it is {stored[1:]}, {right[1:]} by its record")
        last = wanted[-1][0]
        self._held = [row for row in held.values() if _comes_behind(row[0], last)]

    def ended(self, next_number: int) -> None:
        """There are no more records: what is derived from others is of some that are gone."""
        behind = len(self._held) + sum(1 for _ in self._rows)
        if behind:
            detail = f"{behind} events more are in the tables that were derived from the records"
            self._tell(next_number, "truncated", detail)
        if self._wrong is not None:
            number, detail = self._wrong
            others = f", and {self._count - 1} more" if self._count > 1 else ""
            detail = f"the table that commands show it from differs: {detail}{others}"
            self._tell(number, "derived", f"{detail}; `sabot rebuild` makes it anew")

    def _differs(self, number: int, detail: str) -> None:
        self._wrong = self._wrong or (number, detail)
        self._count += 1


def _comes_behind(number: object, last: object) -> bool:
    """Whether a row belongs behind the record numbered `last`, in SQLite's order."""
    if isinstance(number, int) and isinstance(last, int):
        return number > last
    return isinstance(last, int)


def _agree(stored: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    """Whether a derived row is right."""
    if right[1] == DAMAGED:
        return True  # that is found, and what it was nobody knows
    _, kind, unix_ms, shoe, round_ = right
    limited = (
        None if unix_ms is None else min(unix_ms, _LARGEST),
        min(shoe, _LARGEST),
        min(round_, _LARGEST),
    )
    return stored[1:] == (kind, *limited)
