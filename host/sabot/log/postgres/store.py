"""A log in a database of a PostgreSQL server.

What is derived from a record is stored in its row, so there is nothing to derive later. Records
come in through one function only (taking.py). The role that the store signs in with decides what
else it may do (docs/decisions/postgres.md).
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from sabot.errors import DatabaseUnusable, NoDatabaseServer
from sabot.link.flow import Flow
from sabot.link.session import Record
from sabot.log.found import LARGEST, Row
from sabot.log.place import Address
from sabot.log.postgres import queries, removing, taking
from sabot.log.postgres.arrays import bigints, texts
from sabot.log.postgres.checks import catalog
from sabot.log.postgres.copying import copy_to_file
from sabot.log.postgres.deriving import derive_again
from sabot.log.postgres.reader import PostgresReader
from sabot.log.postgres.sessions import PostgresConnection
from sabot.log.postgres.taking import Head, OtherBytes
from sabot.log.presence import Span
from sabot.log.store import Removal, SeamRow

_LOOKED_AT_S = 60.0
"""How often a store that appends looks whether the log is still as it was made: its events could
else go to a function that someone has put in the place of another."""
_WRITERS = 8  # sessions in which events are appended, however many shoes there are

# If this program vanishes within it, others wait no longer than that.
_ONE_WRITER = (
    "SET LOCAL idle_in_transaction_session_timeout = '60s';"
    " LOCK TABLE desk_key IN SHARE ROW EXCLUSIVE MODE"
)


class PostgresStore(PostgresReader):
    """The log at an address. `sabot database make` makes it; with `create` records are appended."""

    def __init__(self, place: Address, *, create: bool = False) -> None:
        super().__init__(place)
        self._appends = create
        self._heads: dict[str, int] = {}  # of the units that were appended to
        self._writers = threading.BoundedSemaphore(_WRITERS)
        self._watched = False
        self._look_again_s = time.monotonic() + _LOOKED_AT_S

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
        self._look_whether_altered()
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

    def _look_whether_altered(self) -> None:
        """Raise DatabaseUnusable if the log was altered since it was opened; look now and then."""
        now_s = time.monotonic()
        if now_s >= self._look_again_s:
            self._look_again_s = now_s + _LOOKED_AT_S
            try:
                with self.reading() as connection:
                    catalog.check(self._address, connection)
            except BaseException:
                self._look_again_s = now_s
                raise

    def _take_many(self, unit: str, rows: Sequence[Row], after: int | None) -> Head:
        """Take more than can be taken at once, in one transaction."""
        with self._sessions.session() as session, session.transaction():
            for at in range(0, len(rows), taking.MOST):
                some = rows[at : at + taking.MOST]
                head = taking.take(self._address, session, unit, some, after)
        return head

    def keep_game(self, document: bytes) -> None:
        self._call("SELECT keep_game(?)", (document,))

    def keep_presence(self, spans: Sequence[Span], flows: Sequence[Flow] = ()) -> None:
        self._call(
            "SELECT keep_presence(?, ?, ?, ?)",
            (
                texts([each.unit for each in spans]),
                texts([each.state for each in spans]),
                bigints([each.begin_unix_ms for each in spans]),
                bigints([each.end_unix_ms for each in spans]),
            ),
        )
        if flows:
            units = texts([each.unit for each in flows])
            self._call(
                "SELECT keep_flows(?, ?)", (units, texts([each.as_fact() for each in flows]))
            )

    def keep_receipts(self, unit: str, receipts: Sequence[tuple[int, bytes]]) -> None:
        with self._sessions.writing() as connection:
            unit_id = self._known(connection, unit)
            for number, receipt in receipts:
                connection.execute(
                    "INSERT INTO receipts VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    (unit_id, number, receipt),
                )

    def keep_seam(self, row: SeamRow) -> None:
        query = "SELECT keep_seam(?, ?, ?)"
        self._of_seams(row.name, query, row)

    def remove_seam(self, name: str) -> None:
        if not self._of_seams(name, "SELECT remove_seam(?)", (name,)):
            raise DatabaseUnusable(f"{self.place}: has no seam of {name}")

    def _of_seams(self, name: str, query: str, parameters: Sequence[Any]) -> Any:
        """Call a function of the seam of a board."""
        with self._sessions.session() as session:
            try:
                found = PostgresConnection(session).execute(query, parameters).fetchone()
            except psycopg.Error as error:
                raise taking.seam_refused(self._address, name, error) from None
        return None if found is None else found[0]

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

    def copy(self, to: Path) -> int:
        with self.at_one_moment():
            return copy_to_file(self, to)

    # Tables of others.

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
