"""A log in a file of SQLite.

Every event is stored at once in the table `records`, which is the log. The table `events` is an
index to find events quickly: it is derived from `records` when there is time, and can be rebuilt.
"""

import hashlib
import sqlite3
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from sabot.errors import DatabaseUnusable, HistoryDiffers, LogConverted, SabotError
from sabot.link.flow import Flow
from sabot.link.session import Record
from sabot.log.found import LARGEST
from sabot.log.presence import Span
from sabot.log.sqlite import presence_table, queries, receipts_table, schema, seams_table
from sabot.log.sqlite.derived import derive, forget_unknown, understand
from sabot.log.sqlite.log_file import (
    LOGGING,
    LogConnection,
    Writer,
)
from sabot.log.sqlite.reader import SqliteReader
from sabot.log.sqlite.same_file import replaced
from sabot.log.store import Removal, SeamRow

_CLOSING_BUSY_TIMEOUT_MS = 100
_CHUNK = 1000  # records derived in one transaction; appending waits meanwhile
_CLOSING_DERIVES = 20_000  # takes less than half a second

_INSERT_RECORD = "INSERT INTO records VALUES (?, ?, ?, ?, ?)"
_INSERT_NEWEST = (  # newer than all that was pruned or derived: no other table changes
    "INSERT INTO records SELECT ?1, ?2, ?3, ?4, ?5 WHERE"
    " ?2 > ifnull((SELECT last FROM tombstones WHERE unit = ?1 ORDER BY first DESC LIMIT 1), 0) AND"
    f" ?2 > ifnull((SELECT max(number) FROM events WHERE unit = ?1 AND number <= {LARGEST}), 0)"
)


class SqliteStore(SqliteReader):
    """The log at `path`; a new file is made with `create`."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        super().__init__(path, appends=create)
        self.writer = Writer(path, LOGGING if create else "rw")
        """Its `with` block is a transaction."""
        self._ids: dict[str, int] = {}
        self._newest: dict[str, tuple[int, int, bytes, bytes]] = {}  # id, number, record, MAC
        self._may_lack_rows = create  # some records may have no row in `events`
        if path.is_dir():
            raise DatabaseUnusable(f"{path}: a folder; name a file with --db")
        if not create and not path.exists():
            raise DatabaseUnusable(f"{path}: no such database; `sabot log` makes one")
        try:
            if not create:
                with self.reading(lists=False) as connection:
                    queries.units(path, connection)
                return
            with self.writer as connection:
                if schema.is_empty(connection):
                    schema.create(connection)
            self.convert()
            self.writer.write_ahead()  # only now: the file is a Sabot log
            self.convert()  # it may have been led back before others could see that this one logs
            with self.writer as connection:
                self.understood = understand(connection)
        except SabotError:
            self.writer.close()
            raise

    def close(self) -> None:
        if self._appends:
            with suppress(SabotError):  # readers do not need it, and the next log catches up
                self.writer.pragma(f"busy_timeout={_CLOSING_BUSY_TIMEOUT_MS}")
                self.derive(_CLOSING_DERIVES)
        self.writer.close()

    def append(self, unit: str, records: Sequence[Record]) -> None:
        if not self._appends:
            raise DatabaseUnusable(f"{self.path}: opened for reading, cannot be written to")
        if not records:
            return
        received = time.time_ns() // 1_000_000
        if self.writer.written_by_others():
            self._check_contents()
        with self.writer as connection:
            unit_id = self._ids.get(unit) or self._unit_or_new(connection, unit)
            rows = sorted(  # if the first is newer than every stored record, all are
                (unit_id, record.event.number, received, record.data, record.mac)
                for record in records
            )
            numbers = [number for _, number, *_ in rows]
            seams_table.check_goes_on(connection, unit, numbers)
            self._may_lack_rows = True
            try:
                if connection.execute(_INSERT_NEWEST, rows[0]).rowcount:
                    connection.executemany(_INSERT_RECORD, rows[1:])
                else:
                    self._append_missing(connection, unit, rows)
            except sqlite3.IntegrityError:  # one of them is stored already
                self._append_missing(connection, unit, rows)
            except OverflowError:
                raise DatabaseUnusable(
                    f"{self.path}: an event of {unit} has a number too large to be stored; "
                    "switch the shoe off and on, update its firmware"
                ) from None
        self._ids[unit] = unit_id
        self._newest[unit] = (unit_id, *rows[-1][1:2], *rows[-1][3:])

    def convert(self) -> None:
        with self.writer as connection:
            before = self.lead(connection, schema.VERSION)
        if before < schema.VERSION:
            warnings.warn(
                f"{self.path}: was a log of version {before}, now it is of version "
                f"{schema.VERSION}, which an older sabot refuses; `sabot convert --db {self.path} "
                f"--to {before}` leads it back while it has nothing that is only in newer ones",
                LogConverted,
                stacklevel=2,
            )

    def lead(
        self,
        connection: LogConnection,
        to: int,
        begin: Callable[[int], None] = lambda version: None,
    ) -> int:
        """Make the log one of version `to`, in a transaction; return the version that it had.

        `begin` is called with that before anything is changed. Raises DatabaseUnusable if something
        would be lost, DatabaseLocked if another program logs to it.
        """
        before = schema.check(self.path, connection)
        units = queries.units(self.path, connection)
        if before == to:
            return before
        with self.writer.while_no_one_logs():
            if lost := schema.only_in_later(connection, before, to):
                raise DatabaseUnusable(
                    f"{self.path}: cannot be led from version {before} to {to}: {', '.join(lost)} "
                    "would be lost; take the copy from before it was converted instead: the shoes "
                    "send what they still hold"
                )
            begin(before)
            newest = {name: queries.newest(connection, id_) for name, id_ in units.items()}
            schema.lead(connection, before, to, newest)
            schema.check(self.path, connection)
        return before

    def keep_game(self, document: bytes) -> None:
        row = (hashlib.sha256(document).digest(), document)
        with self.writer as connection:
            connection.execute("INSERT OR IGNORE INTO games VALUES (?, ?)", row)

    def keep_presence(self, spans: Sequence[Span], flows: Sequence[Flow] = ()) -> None:
        if self.writer.written_by_others():
            self._check_contents()
        with self.writer as connection:
            presence_table.write(connection, spans)
            queries.keep_flows(connection, flows)

    def keep_receipts(self, unit: str, receipts: Sequence[tuple[int, bytes]]) -> None:
        with self.writer as connection:
            unit_id = self._unit(connection, unit)
            if unit_id is None:
                raise DatabaseUnusable(f"{self.path}: has no unit {unit}; `sabot units` lists them")
            receipts_table.write(connection, unit_id, receipts)

    def keep_seam(self, row: SeamRow) -> None:
        self.convert()
        with self.writer as connection:
            seams_table.write(self.path, connection, row)

    def remove_seam(self, name: str) -> None:
        self.convert()
        with self.writer as connection:
            seams_table.remove(self.path, connection, name)

    def prune_all(self, removals: Sequence[Removal]) -> None:
        for each in removals:  # a transaction each: a shoe waits for none for long
            self._prune(*each)

    def _prune(self, unit: str, first: int, last: int, tombstone: bytes) -> None:
        with self.writer as connection:
            unit_id = self._unit(connection, unit)
            if unit_id is None:
                raise DatabaseUnusable(f"{self.path}: has no unit {unit}; `sabot units` lists them")
            if queries.pruned_within(connection, unit_id, first, last):
                raise DatabaseUnusable(
                    f"{self.path}: some of the events {first} to {last} of {unit} are "
                    "pruned already; run the command again"
                )
            for table in ("records", "events"):
                connection.execute(
                    f"DELETE FROM {table} WHERE unit = ? AND number BETWEEN ? AND ?",
                    (unit_id, first, last),
                )
            connection.execute(
                "INSERT INTO tombstones VALUES (?, ?, ?, ?)", (unit_id, first, last, tombstone)
            )

    def derive(self, most: int | None = None) -> None:
        if self._appends and not self._may_lack_rows:
            self.writer.checkpoint()
        done = 0
        while self._appends and self._may_lack_rows and (most is None or done < most):
            made = 0
            with self.writer as connection:
                for unit_id in queries.units(self.path, connection).values():
                    made += derive(connection, unit_id, _CHUNK - made)
                self._may_lack_rows = made > 0
            done += made

    def rebuild(self, progress: Callable[[int], None] | None = None) -> int:
        done = 0
        with self.writer as connection:
            schema.check(self.path, connection, lists=False)
            connection.execute("DROP TABLE IF EXISTS events")
            connection.execute(schema.EVENTS_TABLE)
            forget_unknown(connection)
            for unit_id in queries.units(self.path, connection).values():
                while made := derive(connection, unit_id, _CHUNK):
                    done += made
                    if progress is not None:
                        progress(done)
            for index in schema.EVENTS_INDEXES:
                connection.execute(index)
            schema.check(self.path, connection)
        return done

    def change_fact(self, name: str, change: Callable[[str | None], str | None]) -> None:
        with self.writer as connection:
            before = queries.fact(connection, name)
            after = change(before)
            if after != before:
                connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, after))

    def _check_contents(self) -> None:
        """Raise DatabaseUnusable unless the file is sound and has what was stored in it last."""
        query = "SELECT 1 FROM records WHERE (unit, number, record, mac) = (?, ?, ?, ?)"
        with self.reading() as connection:
            sound = connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
            stored = [connection.execute(query, each).fetchone() for each in self._newest.values()]
            units = queries.units(self.path, connection)
        if not sound or None in stored or not self._ids.items() <= units.items():
            raise replaced(self.path)
        self.writer.contents_checked()

    def _append_missing(
        self,
        connection: LogConnection,
        unit: str,
        rows: Sequence[tuple[int, int, int, bytes, bytes]],
    ) -> None:
        query = "SELECT record, mac FROM records WHERE unit = ? AND number = ?"
        for row in rows:
            unit_id, number, _, *contents = row
            stored = connection.execute(query, (unit_id, number)).fetchone()
            if stored is None:
                if not queries.pruned_within(connection, unit_id, number, number):
                    connection.execute(_INSERT_RECORD, row)
                    connection.execute(  # `events` has every record up to some number
                        "DELETE FROM events WHERE unit = ? AND number > ?", (unit_id, number)
                    )
            elif stored != tuple(contents):
                what = "contents" if stored[0] != contents[0] else "MAC"
                raise HistoryDiffers(
                    f"{unit}: event {number} is in {self.path} with other {what}; "
                    "log this shoe to another database and keep both"
                )

    def _unit_or_new(self, connection: LogConnection, unit: str) -> int:
        """The id of a unit in this log; a new unit gets one."""
        unit_id = self._unit(connection, unit)
        if unit_id is None:
            seams_table.check_new(self.path, connection, unit)
            unit_id = connection.execute("INSERT INTO units (unit) VALUES (?)", (unit,)).lastrowid
        assert unit_id is not None
        return unit_id

    def writing(self) -> Writer:
        return self.writer

    def watch(self) -> None:
        self.writer.watch()

    def forget_replaced(self) -> None:
        self.writer.scrub()
