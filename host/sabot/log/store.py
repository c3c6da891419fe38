"""The log: events of many units in a database, each in the very bytes that its shoe wrote.

What a shoe sent, `records`, is stored at once and is what counts. The table `events` is derived
from it, for whoever looks for something; it follows when there is time, and can be made anew.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType

from sabot.errors import DatabaseUnusable, DiskFull, HistoryDiffers, SabotError
from sabot.link import wire
from sabot.link.session import Record

FORMAT = "sabot-log"
VERSION = 2

DAMAGED = "damaged"
"""`Row.kind` of a record that cannot be read as an event."""

_BUSY_TIMEOUT_S = 30.0
_CLOSING_BUSY_TIMEOUT_MS = 100
_SWITCH_PAUSE_S = 0.01
_LARGEST = (1 << 63) - 1  # integer in a column; SQLite sorts text, which somebody put there, behind
_CHUNK = 1000  # records derived in one transaction, while others wait to append
_CLOSING_DERIVES = 20_000  # fewer than half a second takes
_PAGE_BYTES = 1024  # each commit writes a whole page: a tenth faster than with 4096
_HEAD_BYTES = 1 << 16
_MAGIC = b"SQLite format 3\0"

_TABLES = (
    "CREATE TABLE about (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE units (id INTEGER PRIMARY KEY, unit TEXT NOT NULL UNIQUE)",
    "CREATE TABLE records (unit INTEGER NOT NULL, number INTEGER NOT NULL,"
    " received_unix_ms INTEGER NOT NULL, record BLOB NOT NULL, mac BLOB NOT NULL,"
    " PRIMARY KEY (unit, number)) WITHOUT ROWID",
    "CREATE TABLE tombstones (unit INTEGER NOT NULL, first INTEGER NOT NULL,"
    " last INTEGER NOT NULL, tombstone BLOB NOT NULL, PRIMARY KEY (unit, first)) WITHOUT ROWID",
)
# Of each unit it has a row for every record up to some number, and for none behind that.
_EVENTS = (
    "CREATE TABLE events (unit INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL,"
    " unix_ms INTEGER, shoe INTEGER NOT NULL, round INTEGER NOT NULL,"
    " PRIMARY KEY (unit, number)) WITHOUT ROWID"
)
_INDEXES = (
    "CREATE INDEX events_by_round ON events (unit, shoe, round)",
    "CREATE INDEX events_by_time ON events (unit, unix_ms)",
)
_INSERT_RECORD = "INSERT INTO records VALUES (?, ?, ?, ?, ?)"
_INSERT_BEHIND_ALL = (  # that was pruned or derived: nothing else is to be done about such a record
    "INSERT INTO records SELECT ?1, ?2, ?3, ?4, ?5 WHERE"
    " ?2 > ifnull((SELECT last FROM tombstones WHERE unit = ?1 ORDER BY first DESC LIMIT 1), 0) AND"
    f" ?2 > ifnull((SELECT max(number) FROM events WHERE unit = ?1 AND number <= {_LARGEST}), 0)"
)
_INSERT_EVENT = "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?, ?)"
_NEWEST = (
    "SELECT max("
    f"ifnull((SELECT max(number) FROM records WHERE unit = ?1 AND number <= {_LARGEST}), 0),"
    "ifnull((SELECT last FROM tombstones WHERE unit = ?1 ORDER BY first DESC LIMIT 1), 0))"
)


class DatabaseLocked(DatabaseUnusable):
    """Another program has kept the database locked for too long."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which events are wanted; None where it does not matter. Times are UTC milliseconds."""

    unit: str | None = None
    shoe: int | None = None
    round: int | None = None
    kinds: Sequence[str] | None = None
    from_unix_ms: int | None = None
    to_unix_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """An event as stored. `data` is what the shoe wrote and `mac` what it sent with it; kind,
    time, shoe and round are copied from `data`.

    Of a record that cannot be read the kind is `damaged`, the time None, and shoe and round are
    those of the event before it: whoever looks there comes upon it.
    """

    unit: str
    number: int
    kind: str
    unix_ms: int | None
    shoe: int
    round: int
    received_unix_ms: int
    data: bytes
    mac: bytes

    def event(self) -> wire.Event:
        """The event in `data`. Raises wire.WireError where the bytes were changed."""
        return wire.parse_event(self.data)


class Store:
    """A log database at `path`; a new one is made with `create`. Thread-safe.

    Without `create` it is for reading, and what there is may be pruned and rebuilt. Raises
    DatabaseUnusable for a file that is not there, not ours, of another version, damaged, or not
    writable though it is to be written; DatabaseLocked; DiskFull where it cannot grow.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        self._appends = create
        self._writer = _Writer(path, "rwc" if create else "rw")
        self._ids: dict[str, int] = {}
        self._behind = create  # whether there may be records without a row in `events`
        if path.is_dir():
            raise DatabaseUnusable(f"{path}: a folder; name a file with --db")
        if not create and not path.exists():
            raise DatabaseUnusable(f"{path}: no such database; `sabot log` makes one")
        try:
            if not create:
                with self._reading() as connection:
                    self._check(connection)
                return
            with self._writer as connection:
                self._create(connection)
                self._check(connection)
            self._write_ahead()
        except SabotError:
            self._writer.close()
            raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; what can be derived within a moment is."""
        if self._appends:
            with suppress(SabotError):  # readers do without, and the next log catches up
                self._writer.pragma(f"busy_timeout={_CLOSING_BUSY_TIMEOUT_MS}")
                self.derive(_CLOSING_DERIVES)
        self._writer.close()

    def append(self, unit: str, records: Sequence[Record]) -> None:
        """Store events of `unit` in one transaction; on return they are durable.

        One that is there already with the same bytes and MAC is left, as is one that was pruned;
        raises HistoryDiffers where bytes or MAC differ, and then stores none of them.
        """
        if not self._appends:
            raise DatabaseUnusable(f"{self.path}: opened to be read, cannot be written to")
        if not records:
            return
        received = time.time_ns() // 1_000_000
        with self._writer as connection:
            known = self._ids.get(unit) or _id_of(connection, unit)
            rows = sorted(  # what the first one is behind, all are
                (known, record.event.number, received, record.data, record.mac)
                for record in records
            )
            self._behind = True
            try:
                if connection.execute(_INSERT_BEHIND_ALL, rows[0]).rowcount:
                    connection.executemany(_INSERT_RECORD, rows[1:])
                else:
                    self._append_missing(connection, unit, rows)
            except sqlite3.IntegrityError:  # one of them is there
                self._append_missing(connection, unit, rows)
            except OverflowError:
                raise DatabaseUnusable(
                    f"{self.path}: an event of {unit} has a number too large to be stored; "
                    "switch the shoe off and on, update its firmware"
                ) from None
        self._ids[unit] = known

    def last_number(self, unit: str) -> int:
        """Number of the newest event of `unit` that was ever stored, 0 where there is none."""
        with self._reading() as connection:
            known = _known(connection, unit)
            return 0 if known is None else _newest(connection, known)

    def units(self) -> list[str]:
        """Every unit that the log knows."""
        with self._reading() as connection:
            return [unit for _, unit in _units(connection)]

    def count(self) -> int:
        """How many events there are."""
        with self._reading() as connection:
            return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])

    def rows(self, wanted: Filter = Filter()) -> Iterator[Row]:
        """The events that `wanted` lets through, by unit and number, a few in memory at a time.

        As the log was when the first one is asked for: it can grow meanwhile.
        """
        with self._reading() as connection:
            for known, unit in _units(connection):
                if wanted.unit in (None, unit):
                    yield from _derived_rows(connection, known, unit, wanted)
                    for derived, received, data, mac in _tail(connection, known):
                        _, number, kind, unix_ms, shoe, round_ = derived
                        row = Row(unit, number, kind, unix_ms, shoe, round_, received, data, mac)
                        if _lets_through(wanted, row):
                            yield row

    def raw(
        self, unit: str, first: int = 1, last: int | None = None
    ) -> Iterator[tuple[int, bytes, bytes]]:
        """Number, record and MAC of events `first` to `last` of `unit` (None: to the end), by
        number, a few in memory at a time: what counts, and nothing that was derived.
        """
        query = "SELECT number, record, mac FROM records WHERE unit = ? AND number >= ?"
        with self._reading() as connection:
            given = [_known(connection, unit), first]
            if last is not None:
                query += " AND number <= ?"
                given.append(last)
            yield from connection.execute(query + " ORDER BY number", given)

    def derived(self, unit: str) -> Iterator[tuple[int, str, int | None, int, int]]:
        """The rows of `events` alone: number, kind, time, shoe and round of events of `unit`, by
        number; `verify` holds them against the records.
        """
        query = "SELECT number, kind, unix_ms, shoe, round FROM events WHERE unit = ?"
        with self._reading() as connection:
            given = (_known(connection, unit),)
            yield from connection.execute(query + " ORDER BY number", given)

    def tombstones(self, unit: str) -> list[bytes]:
        """What stands for the pruned events of `unit`, in the order of their numbers."""
        query = "SELECT tombstone FROM tombstones WHERE unit = ? ORDER BY first"
        with self._reading() as connection:
            return [row[0] for row in connection.execute(query, (_known(connection, unit),))]

    def prune(self, unit: str, first: int, last: int, tombstone: bytes) -> None:
        """Remove events `first` to `last` of `unit` and put `tombstone` in their place, in one
        transaction. They can never be stored again.

        Raises DatabaseUnusable where the log does not know the unit, or some are pruned already.
        """
        with self._writer as connection:
            known = _known(connection, unit)
            if known is None:
                raise DatabaseUnusable(f"{self.path}: has no unit {unit}; check its name")
            if _pruned_within(connection, known, first, last):
                raise DatabaseUnusable(
                    f"{self.path}: of events {first} to {last} of {unit} some are pruned already; "
                    "look again what there is to prune"
                )
            for table in ("records", "events"):
                connection.execute(
                    f"DELETE FROM {table} WHERE unit = ? AND number BETWEEN ? AND ?",
                    (known, first, last),
                )
            connection.execute(
                "INSERT INTO tombstones VALUES (?, ?, ?, ?)", (known, first, last, tombstone)
            )

    def derive(self, most: int | None = None) -> None:
        """Have `events` catch up with the records, with all or at least with `most` of them.

        Does nothing for a store that only reads.
        """
        done = 0
        while self._appends and self._behind and (most is None or done < most):
            made = 0
            with self._writer as connection:
                for known, _ in _units(connection):
                    made += _derive(connection, known, _CHUNK - made)
                self._behind = made > 0
            done += made

    def rebuild(self, progress: Callable[[int], None] | None = None) -> int:
        """Make `events` anew from the records, in one transaction; how many there are.

        `progress` is called with how many have been made so far. Appending waits meanwhile.
        """
        done = 0
        with self._writer as connection:
            connection.execute("DROP TABLE IF EXISTS events")
            connection.execute(_EVENTS)
            for known, _ in _units(connection):
                while made := _derive(connection, known, _CHUNK):
                    done += made
                    if progress is not None:
                        progress(done)
            for index in _INDEXES:
                connection.execute(index)
        return done

    def _append_missing(
        self,
        connection: sqlite3.Connection,
        unit: str,
        rows: Sequence[tuple[int, int, int, bytes, bytes]],
    ) -> None:
        query = "SELECT record, mac FROM records WHERE unit = ? AND number = ?"
        for row in rows:
            known, number, _, *contents = row
            stored = connection.execute(query, (known, number)).fetchone()
            if stored is None:
                if not _pruned_within(connection, known, number, number):
                    connection.execute(_INSERT_RECORD, row)
                    connection.execute(  # which goes up to some number, and knows none behind it
                        "DELETE FROM events WHERE unit = ? AND number > ?", (known, number)
                    )
            elif stored != tuple(contents):
                what = "contents" if stored[0] != contents[0] else "MAC"
                raise HistoryDiffers(
                    f"{unit}: event {number} is in {self.path} with other {what}; "
                    "log this shoe to another database and keep both"
                )

    def _create(self, connection: sqlite3.Connection) -> None:
        if _table_names(connection):
            return
        for statement in (*_TABLES, _EVENTS, *_INDEXES):
            connection.execute(statement)
        about = [("format", FORMAT), ("version", str(VERSION))]
        connection.executemany("INSERT INTO about VALUES (?, ?)", about)

    def _check(self, connection: sqlite3.Connection) -> None:
        if not _table_names(connection) and not self.path.stat().st_size:
            raise DatabaseUnusable(f"{self.path}: an empty file, no log yet; `sabot log` makes one")
        try:
            about = dict(connection.execute("SELECT name, value FROM about").fetchall())
        except sqlite3.OperationalError as error:
            if "no such" not in str(error):
                raise
            about = {}
        if about.get("format") != FORMAT:
            raise DatabaseUnusable(
                f"{self.path}: a database, but not a Sabot log; name another file with --db"
            )
        version = about.get("version", "")
        if version == "1":
            raise DatabaseUnusable(
                f"{self.path}: a log of version 1, this sabot knows {VERSION}; read it with the "
                "sabot that wrote it, and name another file with --db to log on"
            )
        if version != str(VERSION):
            raise DatabaseUnusable(
                f"{self.path}: a log of version {version}, this sabot knows {VERSION}; "
                "update sabot, or name another file with --db"
            )

    def _write_ahead(self) -> None:
        """Readers and the writer do not wait for each other. Only once the file is known as ours:
        the mode is kept in it.
        """
        deadline = time.monotonic() + _BUSY_TIMEOUT_S
        while True:
            try:
                self._writer.pragma("journal_mode=WAL")
                return
            except DatabaseLocked:  # SQLite does not wait where two switch at once
                if time.monotonic() > deadline:
                    raise
                time.sleep(_SWITCH_PAUSE_S)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own that sees the log as it is now, whatever is written meanwhile."""
        mode = "ro"
        if (
            not self._appends
            and not os.access(self.path.parent, os.W_OK)
            and not self.path.with_name(self.path.name + "-wal").exists()
        ):
            mode += "&immutable=1"  # an archived log: the files that a reader needs cannot be made
        try:
            with closing(_connect(self.path, mode)) as connection:
                connection.execute("BEGIN")
                yield connection
        except sqlite3.Error as error:
            raise _in_words(self.path, error) from None


class _Writer:
    """The one connection that writes. `with` it is a transaction, for one thread at a time.

    No generator makes it one: a log spends a transaction on each event.
    """

    def __init__(self, path: Path, mode: str) -> None:
        self._path = path
        self._mode = mode
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> sqlite3.Connection:
        self._lock.acquire()
        try:
            connection = self._connection or self._open()
            connection.execute("BEGIN IMMEDIATE")
            return connection
        except BaseException as error:
            self._end()
            raise _in_words(self._path, error) from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None and self._connection is not None:
                self._connection.execute("COMMIT")
        except sqlite3.Error as failed:
            raise _in_words(self._path, failed) from None
        finally:
            self._end()
        if isinstance(error, sqlite3.Error):
            raise _in_words(self._path, error) from None

    def pragma(self, pragma: str) -> None:
        """Set something, outside of any transaction."""
        with self._lock:
            try:
                (self._connection or self._open()).execute(f"PRAGMA {pragma}")
            except sqlite3.Error as error:
                raise _in_words(self._path, error) from None

    def close(self) -> None:
        """Let go of the file. A transaction after this one fails."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _open(self) -> sqlite3.Connection:
        self._connection = _connect(self._path, self._mode)
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute(f"PRAGMA page_size={_PAGE_BYTES}")  # of a new file
        return self._connection

    def _end(self) -> None:
        try:
            if self._connection is not None and self._connection.in_transaction:
                with suppress(sqlite3.Error):  # the disk failed: so nothing is committed either
                    self._connection.execute("ROLLBACK")
        finally:
            self._lock.release()


def _in_words(path: Path, error: BaseException) -> BaseException:
    """What the user can do about an error of the database library; any other error as it is."""
    if not isinstance(error, sqlite3.Error):
        return error
    text = str(error)
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(_CANNOT_GROW):
        return DiskFull(
            f"{path}: the disk is full ({text}); make room, then log again: the events "
            "are still on the shoe"
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return DatabaseLocked(f"{path}: locked by another program for too long; stop that first")
    if name == "SQLITE_NOTADB":
        text = _no_database(path)
    elif "no such table: events" in text:
        text = "what is derived from its records is gone; `sabot rebuild` makes it anew"
    elif name.startswith("SQLITE_CORRUPT") or "no such" in text or "decode" in text:
        text = f"damaged ({text}); {_WHEN_DAMAGED}"
    elif name.startswith("SQLITE_READONLY"):
        text = "cannot be written to; check its permissions, or name another file with --db"
    elif name.startswith("SQLITE_CANTOPEN"):
        text = "cannot be opened; does the folder exist, and may you write there?"
    elif name.startswith("SQLITE_IOERR"):
        text = "cannot be read (disk I/O error); is it a file, is its disk in order?"
    return DatabaseUnusable(f"{path}: {text}")


def _no_database(path: Path) -> str:
    """What a file is that SQLite does not take for a database."""
    with suppress(OSError), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        if head.startswith(_MAGIC) or FORMAT.encode() in head:
            return f"damaged at its beginning; {_WHEN_DAMAGED}"
    return "not a Sabot log; name another file with --db"


_CANNOT_GROW = (
    "SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_SHMSIZE",
)  # fmt: skip
_WHEN_DAMAGED = "keep it, and log to another file with --db: the shoe sends what it still holds"

_Derived = tuple[int, int, str, int | None, int, int]


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}",
        uri=True,
        timeout=_BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
    )


def _table_names(connection: sqlite3.Connection) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    return [name for (name,) in connection.execute(query)]


def _units(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """Id and name of every unit, by name."""
    return connection.execute("SELECT id, unit FROM units ORDER BY unit").fetchall()


def _known(connection: sqlite3.Connection, unit: str) -> int | None:
    """The id that the log has for a unit."""
    found = connection.execute("SELECT id FROM units WHERE unit = ?", (unit,)).fetchone()
    return None if found is None else int(found[0])


def _id_of(connection: sqlite3.Connection, unit: str) -> int:
    """The same, a new one for a unit that the log does not know."""
    known = _known(connection, unit)
    if known is None:
        known = connection.execute("INSERT INTO units (unit) VALUES (?)", (unit,)).lastrowid
    assert known is not None
    return known


def _newest(connection: sqlite3.Connection, known: int) -> int:
    """The last number of a unit, pruned ones counted; 0 where there is none."""
    return int(connection.execute(_NEWEST, (known,)).fetchone()[0])


def _pruned_within(connection: sqlite3.Connection, known: int, first: int, last: int) -> bool:
    query = "SELECT last FROM tombstones WHERE unit = ? AND first <= ? ORDER BY first DESC LIMIT 1"
    found = connection.execute(query, (known, last)).fetchone()
    return found is not None and found[0] >= first


def _tail(
    connection: sqlite3.Connection, known: int
) -> Generator[tuple[_Derived, int, bytes, bytes]]:
    """The records of a unit that `events` does not have yet, in order: what is derived from each,
    when it was received, the record and its MAC.
    """
    newest = connection.execute(
        "SELECT number, shoe, round FROM events WHERE unit = ? AND number <= ?"
        " ORDER BY number DESC LIMIT 1",
        (known, _LARGEST),
    ).fetchone()
    last, shoe, round_ = (0, 0, 0) if newest is None else newest
    records = connection.execute(
        "SELECT number, received_unix_ms, record, mac FROM records"
        " WHERE unit = ? AND number > ? AND number <= ? ORDER BY number",
        (known, last, _LARGEST),
    )
    for number, received, record, mac in records:
        kind, unix_ms = DAMAGED, None
        with suppress(wire.WireError):
            event = wire.parse_event(record)
            kind = event.kind
            unix_ms = None if event.unix_ms is None else min(event.unix_ms, _LARGEST)
            shoe, round_ = min(event.shoe, _LARGEST), min(event.round, _LARGEST)
        yield (known, number, kind, unix_ms, shoe, round_), received, record, mac


def _derive(connection: sqlite3.Connection, known: int, most: int) -> int:
    """Give the next records of a unit, `most` at the most, rows in `events`; how many."""
    with closing(_tail(connection, known)) as tail:
        made = [derived for derived, *_ in islice(tail, most)]
    connection.executemany(_INSERT_EVENT, made)
    return len(made)


def _derived_rows(
    connection: sqlite3.Connection, known: int, unit: str, wanted: Filter
) -> Iterator[Row]:
    """The rows that `events` finds for a filter."""
    query = (
        "SELECT ?, e.number, e.kind, e.unix_ms, e.shoe, e.round, r.received_unix_ms, r.record,"
        " r.mac FROM events e CROSS JOIN records r ON r.unit = e.unit AND r.number = e.number"
        " WHERE e.unit = ?"
    )
    given: list[object] = [unit, known]
    for condition, value in (
        ("e.shoe = ?", wanted.shoe),
        ("e.round = ?", wanted.round),
        ("e.unix_ms >= ?", wanted.from_unix_ms),
        ("e.unix_ms < ?", wanted.to_unix_ms),
    ):
        if value is not None:
            query += f" AND {condition}"
            given.append(value)
    if wanted.kinds is not None:
        query += f" AND e.kind IN ({', '.join('?' * len(wanted.kinds))})"
        given += wanted.kinds
    for row in connection.execute(query + " ORDER BY e.number", given):
        yield Row(*row)


def _lets_through(wanted: Filter, row: Row) -> bool:
    """The same filter, for a row that `events` does not have yet."""
    if wanted.shoe not in (None, row.shoe) or wanted.round not in (None, row.round):
        return False
    if wanted.kinds is not None and row.kind not in wanted.kinds:
        return False
    if wanted.from_unix_ms is None and wanted.to_unix_ms is None:
        return True
    return (
        row.unix_ms is not None
        and (wanted.from_unix_ms is None or row.unix_ms >= wanted.from_unix_ms)
        and (wanted.to_unix_ms is None or row.unix_ms < wanted.to_unix_ms)
    )
