"""A log in a database of a PostgreSQL server.

What is derived from a record is stored in its row, so there is nothing to derive later. Records
come in through one function only (taking.py); this class otherwise reads, and the role that it
signs in with decides what else it may do (docs/decisions/postgres.md).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sabot.errors import DatabaseUnusable, NoDatabaseServer
from sabot.link.session import Record
from sabot.log.found import LARGEST, Filter, RawRecord, Row
from sabot.log.place import Address
from sabot.log.postgres import catalog, lookup, queries, removing, soundness, taking
from sabot.log.postgres.arrays import bigints, texts
from sabot.log.postgres.copying import copy_to_file
from sabot.log.postgres.deriving import derive_again
from sabot.log.postgres.follow import PostgresFollower
from sabot.log.postgres.sessions import PostgresConnection, Sessions
from sabot.log.postgres.taking import Head, OtherBytes
from sabot.log.presence import Span
from sabot.log.store import Removal, Store

_WRITERS = 8  # sessions in which events are appended, however many shoes there are
_LARGEST_TOMBSTONE = 1 << 24  # bytes, as a log in a file may have


# If this program vanishes within it, others wait no longer than that.
_ONE_WRITER = (
    "SET LOCAL idle_in_transaction_session_timeout = '60s';"
    " LOCK TABLE desk_key IN SHARE ROW EXCLUSIVE MODE"
)


class PostgresStore(Store):
    """The log at an address. `sabot database make` makes it; with `create` records are appended."""

    def __init__(self, place: Address, *, create: bool = False) -> None:
        super().__init__(place)
        self._address = place
        self._appends = create
        self._sessions = Sessions(place)
        self._within = threading.local()  # has the connection of `at_one_moment`
        self._ids: dict[str, int] = {}
        self._heads: dict[str, int] = {}  # of the units that were appended to
        self._writers = threading.BoundedSemaphore(_WRITERS)
        with self.reading() as connection:
            catalog.check(place, connection)
            self._id = queries.fact(connection, "id")
        self._watched = False

    def close(self) -> None:
        self._sessions.close()

    # Storing.

    def take(
        self,
        unit: str,
        rows: Sequence[Row],
        after: int | None = None,
        *,
        received_unix_ms: int | None = None,
    ) -> Head:
        """Store events of `unit`, all or none, in one transaction and one round trip; return the
        head of the unit then. They are durable on return. At most `taking.MOST` at once.

        `after` is the number of the event before the first, as the sender knows it. Events that are
        stored already with the same bytes, and pruned ones, are passed over. Only a keeper may say
        when they were received.

        Raises OtherBytes (a HistoryDiffers), EndsBefore if the log ends before `after`,
        NotThisSites, DamagedOnTheWay; then nothing was stored. After NoDatabaseServer it is not
        known whether they were: sending them again is always right.
        """
        with self._sessions.session() as session:
            return taking.take(self._address, session, unit, rows, after, received_unix_ms)

    def append(self, unit: str, records: Sequence[Record]) -> None:
        if not self._appends:
            raise DatabaseUnusable(f"{self.place}: opened for reading, cannot be written to")
        if not records:
            return
        rows, after = _rows_of(unit, records), self._heads.get(unit)
        try:
            with self._writers:
                if len(rows) <= taking.MOST:
                    head = self.take(unit, rows, after)
                else:
                    head = self._take_many(unit, rows, after)
        except OtherBytes as error:
            raise self._history_differs(unit, rows, error) from None
        except taking.EndsBefore as error:
            # Asking the unit again for all after its newest event fills what can be filled.
            del self._heads[unit]
            raise NoDatabaseServer(
                f"{self.place}: has lost events of {unit} after event {error.newest}, as after a "
                "backup was restored; the shoe is asked for them again"
            ) from None
        except taking.DamagedOnTheWay as error:
            raise NoDatabaseServer(str(error)) from None
        self._heads[unit] = head.number

    def _take_many(self, unit: str, rows: Sequence[Row], after: int | None) -> Head:
        """Take more than can be taken at once, in one transaction."""
        with self._sessions.session() as session, session.transaction():
            for at in range(0, len(rows), taking.MOST):
                some = rows[at : at + taking.MOST]
                head = taking.take(self._address, session, unit, some, after)
        return head

    def keep_game(self, document: bytes) -> None:
        self._call("SELECT keep_game(?)", (document,))

    def keep_presence(self, spans: Sequence[Span]) -> None:
        self._call(
            "SELECT keep_presence(?, ?, ?, ?)",
            (
                texts([each.unit for each in spans]),
                texts([each.state for each in spans]),
                bigints([each.begin_unix_ms for each in spans]),
                bigints([each.end_unix_ms for each in spans]),
            ),
        )

    def keep_receipts(self, unit: str, receipts: Sequence[tuple[int, bytes]]) -> None:
        with self._sessions.writing() as connection:
            unit_id = self._known(connection, unit)
            for number, receipt in receipts:
                connection.execute(
                    "INSERT INTO receipts VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    (unit_id, number, receipt),
                )

    def prune_all(self, removals: Sequence[Removal]) -> None:
        with self.writing() as connection:
            removing.remove(self._address, connection, removals)

    def change_fact(self, name: str, change: Callable[[str | None], str | None]) -> None:
        with self.writing() as connection:
            before = queries.fact(connection, name)
            after = change(before)
            if after != before:
                connection.execute(
                    "INSERT INTO about VALUES (?, ?)"
                    " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    (name, after),
                )

    def convert(self) -> None:
        """Nothing: a log of another version is not even opened; `sabot database migrate`."""

    def derive(self, most: int | None = None) -> None:
        """Nothing is missing."""

    def rebuild(self, progress: Callable[[int], None] | None = None) -> int:
        with self.writing() as connection:
            return derive_again(connection, progress or (lambda done: None))

    # Reading events.

    def heads(self) -> dict[str, Head]:
        """The head of each unit that this role may write, by name."""
        with self._sessions.session() as session:
            return taking.heads(session)

    def units(self) -> list[str]:
        with self.reading() as connection:
            return list(queries.units(connection))

    def last_number(self, unit: str) -> int:
        with self.reading() as connection:
            return queries.newest(connection, unit)

    def count(self) -> int:
        with self.reading() as connection:
            (count,) = connection.execute("SELECT count(*) FROM records").fetchone() or (0,)
            return int(count)

    def rows(self, wanted: Filter = Filter()) -> Iterator[Row]:
        wanted = wanted.in_columns()
        with self.reading() as connection:
            if wanted.unit is None:
                for unit, unit_id in queries.units(connection).items():
                    yield from queries.rows(connection, unit_id, unit, wanted)
            elif (only := self._unit(connection, wanted.unit)) is not None:
                yield from queries.rows(connection, only, wanted.unit, wanted)

    def raw_chunks(
        self, unit: str, first: int | None = None, last: int | None = None
    ) -> Iterator[list[RawRecord]]:
        with self.reading() as connection:
            unit_id = self._unit(connection, unit)
            yield from queries.numbered_rows(
                connection, unit_id, "number, record, mac", first, last
            )

    def first_from(self, unit: str, number: int) -> int | None:
        with self.reading() as connection:
            unit_id = self._unit(connection, unit)
            return None if unit_id is None else queries.first_from(connection, unit_id, number)

    def records_within(self, unit: str, first: int, last: int) -> int:
        with self.reading() as connection:
            unit_id = self._unit(connection, unit)
            if unit_id is None:
                return 0
            return queries.records_within(connection, unit_id, first, last)

    def derived(
        self, unit: str, first: int | None = None, last: int | None = None
    ) -> Iterator[tuple[int, str, int | None, int, int]]:
        with self.reading() as connection:
            unit_id = self._unit(connection, unit)
            columns = "number, kind, unix_ms, shoe, round"
            for some in queries.numbered_rows(connection, unit_id, columns, first, last):
                yield from some

    def counts(self, unit: str, kinds: Sequence[str]) -> list[int]:
        with self.reading() as connection:
            unit_id = self._unit(connection, unit)
            if unit_id is None:
                return [0] * len(kinds)
            return queries.counts(connection, unit_id, kinds)

    def last_received(self, unit: str) -> int | None:
        with self.reading() as connection:
            unit_id = self._unit(connection, unit)
            return None if unit_id is None else queries.last_received(connection, unit_id)

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

    # Reading the rest.

    def tombstone_rows(self, unit: str) -> list[tuple[Any, Any, bytes]]:
        query = (
            "SELECT first, last, CASE WHEN octet_length(tombstone) <= ? THEN tombstone ELSE '' END"
            " FROM tombstones WHERE unit = ? ORDER BY first"
        )
        with self.reading() as connection:
            parameters = (_LARGEST_TOMBSTONE, self._unit(connection, unit))
            return connection.execute(query, parameters).fetchall()

    def kept_game(self, sha256: bytes) -> object:
        with self.reading() as connection:
            query = "SELECT document FROM games WHERE sha256 = ?"
            found = connection.execute(query, (sha256,)).fetchone()
        return None if found is None else found[0]

    def must_have_games_after(self, unit: str) -> int | None:
        return 0

    def presence(self, unit: str) -> list[Span]:
        with self.reading() as connection:
            return queries.presence(connection, unit)

    def receipts(self, unit: str, after: int = 0) -> Iterator[tuple[int, bytes]]:
        query = "SELECT number, receipt FROM receipts WHERE unit = ? AND number > ? ORDER BY number"
        with self.reading() as connection:
            parameters = (self._unit(connection, unit), after)
            for some in connection.stream(query, parameters, queries.CHUNK):
                yield from some

    def last_receipt(self, unit: str) -> tuple[int, bytes] | None:
        query = "SELECT number, receipt FROM receipts WHERE unit = ? ORDER BY number DESC LIMIT 1"
        with self.reading() as connection:
            found: tuple[int, bytes] | None = connection.execute(
                query, (self._unit(connection, unit),)
            ).fetchone()
        return found

    def fact(self, name: str) -> str | None:
        with self.reading() as connection:
            return queries.fact(connection, name)

    def faults(self, stopped: Callable[[], bool] = lambda: False) -> list[str]:
        with self.reading() as connection:
            return list(soundness.faults(self._address, connection, stopped))

    def copy(self, to: Path) -> int:
        with self.at_one_moment():
            return copy_to_file(self, to)

    def follower(self) -> PostgresFollower:
        return PostgresFollower(self._address)

    # Tables of others, and moments.

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        with self.reading() as connection:
            self._within.connection = connection
            try:
                yield
            finally:
                del self._within.connection

    @contextmanager
    def reading(self) -> Iterator[PostgresConnection]:
        if (within := getattr(self._within, "connection", None)) is not None:
            yield within
            return
        with self._sessions.reading() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[PostgresConnection]:
        """A transaction, one at a time of all programs: as the one writer of a file, it sees what
        all before it have written."""
        with self._sessions.writing() as connection:
            connection.session.execute(_ONE_WRITER)
            if self._watched and queries.fact(connection, "id") != self._id:
                raise DatabaseUnusable(
                    f"{self.place}: another log is there now; start the command again"
                )
            yield connection

    def watch(self) -> None:
        self._watched = True

    def forget_replaced(self) -> None:
        """Nothing: the server's own log of changes has what was replaced for as long as it is kept
        (docs/decisions/postgres.md)."""

    def _call(self, query: str, parameters: Sequence[Any]) -> None:
        """Carry out a statement as a transaction of its own."""
        with self._sessions.session() as session:
            PostgresConnection(session).execute(query, parameters)

    def _unit(self, connection: PostgresConnection, unit: str) -> int | None:
        """The id of a unit in this log; None if it has none. It never becomes another one."""
        found = self._ids.get(unit)
        if found is None:
            found = queries.unit_id(connection, unit)
            if found is not None:
                self._ids[unit] = found
        return found

    def _known(self, connection: PostgresConnection, unit: str) -> int:
        unit_id = self._unit(connection, unit)
        if unit_id is None:
            raise DatabaseUnusable(f"{self.place}: has no unit {unit}; `sabot units` lists them")
        return unit_id

    def _history_differs(self, unit: str, rows: Sequence[Row], error: OtherBytes) -> BaseException:
        """The error for a shoe whose event is stored with other bytes."""
        stored = next((record for _, record, _ in self.raw(unit, error.number, error.number)), b"")
        sent = next((row.data for row in rows if row.number == error.number), b"")
        what = "contents" if stored != sent else "MAC"
        return OtherBytes(
            f"{unit}: event {error.number} is in {self.place} with other {what}; "
            "log this shoe to another database and keep both",
            error.number,
        )


def _rows_of(unit: str, records: Sequence[Record]) -> list[Row]:
    """Records as rows, by number, each once. Raises OtherBytes if two have the same number."""
    rows: list[Row] = []
    for record in sorted(records, key=lambda each: each.event.number):
        event = record.event
        unix_ms = None if event.unix_ms is None else min(event.unix_ms, LARGEST)
        place = min(event.shoe, LARGEST), min(event.round, LARGEST)
        row = Row(unit, event.number, event.kind, unix_ms, *place, 0, record.data, record.mac)
        if rows and rows[-1].number == row.number:
            if (rows[-1].data, rows[-1].mac) != (row.data, row.mac):
                raise OtherBytes(f"{unit}: event {row.number} came twice, differently", row.number)
            continue
        rows.append(row)
    return rows
