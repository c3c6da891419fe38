"""The reading half of a log in a file of SQLite (store.py)."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sabot.errors import DatabaseUnusable
from sabot.files import make_private
from sabot.link.flow import Flow
from sabot.log.found import Filter, RawRecord, Row
from sabot.log.presence import Span
from sabot.log.sqlite import (
    lookup,
    presence_table,
    queries,
    receipts_table,
    schema,
    seams_table,
    soundness,
)
from sabot.log.sqlite.derived import RECORD_AND_MAC, derived_rows, underived_rows
from sabot.log.sqlite.follow import SqliteFollower
from sabot.log.sqlite.log_file import (
    ERRORS,
    LogConnection,
    connect,
    reading_mode,
    snapshot,
    user_error,
)
from sabot.log.sqlite.opening import AHEAD, real_path
from sabot.log.store import SeamRow, Store
from sabot_protocol.games import MAX_DOCUMENT

_LARGEST_TOMBSTONE = 1 << 24  # bytes; a shoe of cards takes about ten
_STOPPED_EVERY = 100_000  # steps of SQLite: a few milliseconds
_CHUNK = 1000  # records in memory at once


class SqliteReader(Store):
    """What the log at `path` says; `appends` if this program logs to it."""

    def __init__(self, path: Path, *, appends: bool) -> None:
        super().__init__(path)
        self.path = path
        real = real_path(path)
        self._ahead = real.with_name(real.name + AHEAD)
        self._appends = appends
        self._within = threading.local()  # has the connection of `at_one_moment`

    def last_number(self, unit: str) -> int:
        with self.reading() as connection:
            unit_id = self._unit(connection, unit)
            return 0 if unit_id is None else queries.newest(connection, unit_id)

    def units(self) -> list[str]:
        with self.reading() as connection:
            return list(queries.units(self.path, connection))

    def count(self) -> int:
        with self.reading(lists=False) as connection:
            return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])

    def rows(self, wanted: Filter = Filter()) -> Iterator[Row]:
        wanted = wanted.in_columns()
        with self.reading() as connection:
            for unit, unit_id in self._wanted_units(connection, wanted.unit).items():
                newest = underived_rows(connection, unit_id, unit, wanted)
                if wanted.newest_first:
                    yield from reversed(list(newest))
                yield from derived_rows(connection, unit_id, unit, wanted)
                if not wanted.newest_first:
                    yield from newest

    def place_at(self, unit: str, unix_ms: int) -> tuple[int, int] | None:
        with self.reading() as connection:
            unit_id = self._unit(connection, unit)
            return None if unit_id is None else lookup.place_at(connection, unit_id, unix_ms)

    def rounds_within(
        self, unit: str, begin_unix_ms: int | None, end_unix_ms: int | None
    ) -> tuple[int, int | None] | None:
        with self.reading() as connection:
            unit_id = self._unit(connection, unit)
            span = begin_unix_ms, end_unix_ms
            return None if unit_id is None else lookup.rounds_within(connection, unit_id, *span)

    def raw_chunks(
        self, unit: str, first: int | None = None, last: int | None = None
    ) -> Iterator[list[RawRecord]]:
        query = f"SELECT number, {RECORD_AND_MAC} FROM records WHERE unit = ?"
        with self.reading(lists=False) as connection:
            limits, values = queries.limits(first, last)
            parameters = [self._unit(connection, unit), *values]
            some: list[RawRecord] = []
            try:
                for row in connection.execute(f"{query}{limits} ORDER BY number", parameters):
                    some.append(row)
                    if len(some) == _CHUNK:
                        yield some
                        some = []
            except ERRORS:  # a damaged page: those before it can be read
                yield some
                raise
            yield some

    def first_from(self, unit: str, number: int) -> int | None:
        with self.reading(lists=False) as connection:
            return queries.first_from(connection, self._unit(connection, unit), number)

    def records_within(self, unit: str, first: int, last: int) -> int:
        with self.reading(lists=False) as connection:
            return queries.records_within(connection, self._unit(connection, unit), first, last)

    def derived(
        self, unit: str, first: int | None = None, last: int | None = None
    ) -> Iterator[tuple[int, str, int | None, int, int]]:
        query = "SELECT number, kind, unix_ms, shoe, round FROM events WHERE unit = ?"
        with self.reading() as connection:
            parameters: list[object] = [self._unit(connection, unit)]
            limits, values = queries.limits(first, last)
            yield from connection.execute(
                f"{query}{limits} ORDER BY number", [*parameters, *values]
            )

    def counts(self, unit: str, kinds: Sequence[str]) -> list[int]:
        with self.reading() as connection:
            return queries.counts(connection, self._unit(connection, unit), kinds)

    def last_received(self, unit: str) -> int | None:
        with self.reading(lists=False) as connection:
            return queries.last_received(connection, self._unit(connection, unit))

    def tombstone_rows(self, unit: str) -> list[tuple[Any, Any, bytes]]:
        query = (
            "SELECT first, last, CASE WHEN typeof(tombstone) = 'blob' AND length(tombstone) <= ?"
            " THEN tombstone ELSE x'' END FROM tombstones WHERE unit = ? ORDER BY first"
        )
        with self.reading(lists=False) as connection:
            parameters = (_LARGEST_TOMBSTONE, self._unit(connection, unit))
            return connection.execute(query, parameters).fetchall()

    def kept_game(self, sha256: bytes) -> object:
        query = (
            f"SELECT document FROM games WHERE sha256 = ? AND length(document) <= {MAX_DOCUMENT}"
        )
        with self.reading(lists=False) as connection:
            if not connection.has_table("games"):
                return None
            found = connection.execute(query, (sha256,)).fetchone()
        return None if found is None else found[0]

    def presence(self, unit: str) -> list[Span]:
        with self.reading(lists=False) as connection:
            here = connection.has_table("presence")
            return presence_table.read(connection, unit) if here else []

    def receipts(self, unit: str, after: int = 0) -> Iterator[tuple[int, bytes]]:
        with self.reading(lists=False) as connection:
            if connection.has_table("receipts"):
                yield from receipts_table.read(connection, self._unit(connection, unit), after)

    def last_receipt(self, unit: str) -> tuple[int, bytes] | None:
        with self.reading(lists=False) as connection:
            if not connection.has_table("receipts"):
                return None
            return receipts_table.last(connection, self._unit(connection, unit))

    def seam_rows(self) -> list[SeamRow]:
        with self.reading(lists=False) as connection:
            return seams_table.read(connection) if connection.has_table("seams") else []

    def copy(self, to: Path) -> int:
        try:
            make_private(to)
        except OSError as error:
            raise DatabaseUnusable(
                f"{to}: cannot be written ({error.strerror}); name another file with -o"
            ) from None
        try:
            with self.reading(lists=False) as connection, closing(connect(to, "rw")) as copied:
                connection.backup(copied)
                copied.execute("PRAGMA journal_mode=DELETE")  # it can be read in any folder
                return int(copied.execute("SELECT count(*) FROM records").fetchone()[0])
        except BaseException:  # also Ctrl-C: half a copy is useless
            to.unlink()
            raise

    def faults(self, stopped: Callable[[], bool] = lambda: False) -> list[str]:
        with self.reading() as connection:
            connection.set_progress_handler(stopped, _STOPPED_EVERY)
            return list(soundness.faults(connection))

    def flows(self) -> dict[str, Flow]:
        with self.reading() as connection:
            return queries.flows(connection)

    def fact(self, name: str) -> str | None:
        with self.reading() as connection:
            return queries.fact(connection, name)

    def _unit(self, connection: LogConnection, unit: str) -> int | None:
        """The id of a unit in this log; None if it has none."""
        return queries.unit_id(self.path, connection, unit)

    def _wanted_units(self, connection: LogConnection, unit: str | None) -> dict[str, int]:
        """The id of a unit, or of all for None."""
        if unit is None:
            return queries.units(self.path, connection)
        unit_id = self._unit(connection, unit)
        return {} if unit_id is None else {unit: unit_id}

    def follower(self) -> SqliteFollower:
        return SqliteFollower(self.path)

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        with self.reading() as connection:
            self._within.connection = connection
            try:
                yield
            finally:
                del self._within.connection

    @contextmanager
    def reading(self, *, lists: bool = True) -> Iterator[LogConnection]:
        # Without `lists` only the records and their tombstones may be read.
        if (within := getattr(self._within, "connection", None)) is not None:
            yield within
            return
        mode = "ro" if self._appends else reading_mode(self.path)
        try:
            with closing(snapshot(self.path, mode)) as connection:
                if schema.is_empty(connection) and not self.path.stat().st_size:
                    raise DatabaseUnusable(
                        f"{self.path}: an empty file, not a log; `sabot log` makes one"
                    )
                schema.check(self.path, connection, lists=lists)
                yield connection
        except ERRORS as error:
            if not os.access(self._ahead.parent, os.W_OK) and self._ahead.exists():
                raise DatabaseUnusable(
                    f"{self.path}: the newest events are in {self._ahead.name} beside it, which "
                    "can be read only in a folder that you may write to; copy both files to one"
                ) from None
            raise user_error(self.path, error) from None
