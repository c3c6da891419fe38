"""The log: events of many units in a database, each in the very bytes that its shoe wrote."""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.engine.interfaces import DBAPIConnection

from sabot import wire
from sabot.errors import DatabaseUnusable, DiskFull, HistoryDiffers, SabotError
from sabot.session import Record

FORMAT = "sabot-log"
VERSION = 1

_BUSY_TIMEOUT_S = 30.0
_SWITCH_PAUSE_S = 0.01
_CANNOT_GROW = {"SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_SHMSIZE"}

_metadata = sa.MetaData()

_about = sa.Table(
    "about",
    _metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

_events = sa.Table(
    "events",
    _metadata,
    sa.Column("unit", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("unix_ms", sa.Integer),
    sa.Column("shoe", sa.Integer, nullable=False),
    sa.Column("round", sa.Integer, nullable=False),
    sa.Column("received_unix_ms", sa.Integer, nullable=False),
    sa.Column("record", sa.LargeBinary, nullable=False),
    sa.Index("events_by_round", "unit", "shoe", "round"),
    sa.Index("events_by_time", "unix_ms"),
    sqlite_with_rowid=False,
)


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
    """An event as stored. `data` is what the shoe wrote; the rest is copied from it."""

    unit: str
    number: int
    kind: str
    unix_ms: int | None
    shoe: int
    round: int
    received_unix_ms: int
    data: bytes

    def event(self) -> wire.Event:
        """The event in `data`. Raises wire.WireError where the bytes were changed."""
        return wire.parse_event(self.data)


class Store:
    """A log database at `path`; a new one is made with `create`. Thread-safe.

    Raises DatabaseUnusable for a file that is not there, not ours, newer, or not writable
    though `create` asks for it; DiskFull where it cannot grow.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        if not create and not path.exists():
            raise DatabaseUnusable(f"{path}: no such database; `sabot log` makes one")
        self._engine = _engine(path, writable=create)
        try:
            with self._guarded(), self._engine.begin() as connection:
                if create:
                    self._create(connection)
                self._check(connection)
            if create:
                self._write_ahead()
        except SabotError:
            self._engine.dispose()
            raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    def append(self, unit: str, records: Sequence[Record]) -> None:
        """Store events of `unit` in one transaction; on return they are durable.

        One that is there already with the same bytes is left; raises HistoryDiffers where the
        bytes differ, and then stores none of them.
        """
        received = time.time_ns() // 1_000_000
        rows: list[dict[str, object]] = [
            {
                "unit": unit,
                "number": record.event.number,
                "kind": record.event.kind,
                "unix_ms": record.event.unix_ms,
                "shoe": record.event.shoe,
                "round": record.event.round,
                "received_unix_ms": received,
                "record": record.data,
            }
            for record in records
        ]
        with self._guarded(), self._engine.begin() as connection:
            try:
                with connection.begin_nested():
                    connection.execute(sa.insert(_events), rows)
            except sa.exc.IntegrityError:
                self._append_missing(connection, rows)

    def last_number(self, unit: str) -> int:
        """Number of the newest event of `unit`, 0 where there is none."""
        query = sa.select(sa.func.max(_events.c.number)).where(_events.c.unit == unit)
        with self._guarded(), self._engine.connect() as connection:
            return connection.execute(query).scalar() or 0

    def units(self) -> list[str]:
        """Every unit that the log knows."""
        query = sa.select(_events.c.unit).distinct().order_by(_events.c.unit)
        with self._guarded(), self._engine.connect() as connection:
            return list(connection.execute(query).scalars())

    def rows(self, wanted: Filter = Filter()) -> Iterator[Row]:
        """The events that `wanted` lets through, by unit and number, a few in memory at a time."""
        query = sa.select(
            _events.c.unit, _events.c.number, _events.c.kind, _events.c.unix_ms,
            _events.c.shoe, _events.c.round, _events.c.received_unix_ms, _events.c.record,
        )  # fmt: skip
        for column, value in (
            (_events.c.unit, wanted.unit),
            (_events.c.shoe, wanted.shoe),
            (_events.c.round, wanted.round),
        ):
            if value is not None:
                query = query.where(column == value)
        if wanted.kinds is not None:
            query = query.where(_events.c.kind.in_(wanted.kinds))
        if wanted.from_unix_ms is not None:
            query = query.where(_events.c.unix_ms >= wanted.from_unix_ms)
        if wanted.to_unix_ms is not None:
            query = query.where(_events.c.unix_ms < wanted.to_unix_ms)
        query = query.order_by(_events.c.unit, _events.c.number)
        with self._guarded(), self._engine.connect() as connection:
            for row in connection.execution_options(yield_per=1000).execute(query):
                yield Row(*row)

    def _append_missing(self, connection: Connection, rows: Sequence[Mapping[str, object]]) -> None:
        for row in rows:
            query = sa.select(_events.c.record).where(
                _events.c.unit == row["unit"], _events.c.number == row["number"]
            )
            stored = connection.execute(query).scalar()
            if stored is None:
                connection.execute(sa.insert(_events), [row])
            elif stored != row["record"]:
                raise HistoryDiffers(
                    f"{row['unit']}: event {row['number']} is in {self.path} with other contents; "
                    "log this shoe to another database and keep both"
                )

    def _create(self, connection: Connection) -> None:
        if sa.inspect(connection).get_table_names():
            return
        _metadata.create_all(connection)
        connection.execute(
            sa.insert(_about),
            [{"name": "format", "value": FORMAT}, {"name": "version", "value": str(VERSION)}],
        )

    def _check(self, connection: Connection) -> None:
        if _about.name not in sa.inspect(connection).get_table_names():
            raise DatabaseUnusable(f"{self.path}: not a Sabot log; name another file with --db")
        rows = connection.execute(sa.select(_about.c.name, _about.c.value)).all()
        about = dict(tuple(row) for row in rows)
        if about.get("format") != FORMAT:
            raise DatabaseUnusable(f"{self.path}: not a Sabot log; name another file with --db")
        version = about.get("version", "")
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
        with self._guarded(), closing(self._engine.raw_connection()) as connection:
            while True:
                try:
                    connection.cursor().execute("PRAGMA journal_mode=WAL")
                    return
                except sqlite3.OperationalError:  # SQLite does not wait where two switch at once
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(_SWITCH_PAUSE_S)

    def _guarded(self) -> "_InWords":
        return _InWords(self.path)


class _InWords:
    """Turns what the database library raises into what the user can do about it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        if not isinstance(cause, sqlite3.Error):
            return
        text = str(cause)
        if "full" in text or getattr(cause, "sqlite_errorname", "") in _CANNOT_GROW:
            raise DiskFull(
                f"{self._path}: the disk is full ({text}); make room, then log again: the events "
                "are still on the shoe"
            ) from None
        if "not a database" in text or "no such" in text:
            text = "not a Sabot log; name another file with --db"
        elif "readonly" in text or "read-only" in text:
            text = "cannot be written to; check its permissions, or name another file with --db"
        elif "unable to open" in text:
            text = "cannot be opened; does the folder exist, and may you write there?"
        elif "disk I/O" in text:
            text = "cannot be read (disk I/O error); is it a file, is its disk in order?"
        elif "locked" in text:
            text = "locked by another program for too long; stop that, then try again"
        raise DatabaseUnusable(f"{self._path}: {text}") from None


def _engine(path: Path, *, writable: bool) -> Engine:
    mode = "rwc" if writable else "ro"
    if not writable and not os.access(path.parent, os.W_OK) and not _wal_of(path).exists():
        mode += "&immutable=1"  # an archived log: the files that a reader needs cannot be made
    uri = f"{path.resolve().as_uri()}?mode={mode}"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            uri, uri=True, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.pool.QueuePool)

    @sa.event.listens_for(engine, "connect")
    def _durable(connection: DBAPIConnection, _: object) -> None:
        if writable:
            connection.execute("PRAGMA synchronous=FULL")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writable else "BEGIN")

    return engine


def _wal_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")
