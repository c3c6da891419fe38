"""The reading half of a log in PostgreSQL (store.py)."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sabot.link.flow import Flow
from sabot.log import boards
from sabot.log.found import Filter, RawRecord, Row
from sabot.log.place import Address
from sabot.log.postgres import lookup, queries
from sabot.log.postgres.checks import catalog, soundness
from sabot.log.postgres.follow import PostgresFollower
from sabot.log.postgres.sessions import PostgresConnection, Sessions
from sabot.log.presence import Span
from sabot.log.seam import MOST_BYTES
from sabot.log.store import SeamRow, Store

_LARGEST_TOMBSTONE = 1 << 24  # bytes, as a log in a file may have


class PostgresReader(Store):
    """What a log at an address says."""

    def __init__(self, place: Address) -> None:
        super().__init__(place)
        self._address = place
        self._sessions = Sessions(place)
        self._within = threading.local()  # has the connection of `at_one_moment`
        with self.reading() as connection:
            catalog.check(place, connection)
            self._id = queries.fact(connection, "id")
            """The log's own: another one is another log."""

    def close(self) -> None:
        self._sessions.close()

    # Events.

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

    # The rest.

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

    def seam_rows(self) -> list[SeamRow]:
        query = (
            "SELECT unit, last, CASE WHEN octet_length(seam) <= ? THEN seam ELSE '' END FROM seams"
        )
        with self.reading() as connection:
            rows = {row[0]: SeamRow(*row) for row in connection.execute(query, (MOST_BYTES,))}
        return [rows[name] for name in boards.in_order(rows)]

    def flows(self) -> dict[str, Flow]:
        with self.reading() as connection:
            return queries.flows(connection)

    def fact(self, name: str) -> str | None:
        with self.reading() as connection:
            return queries.fact(connection, name)

    def faults(self, stopped: Callable[[], bool] = lambda: False) -> list[str]:
        with self.reading() as connection:
            return list(soundness.faults(self._address, connection, stopped))

    def follower(self) -> PostgresFollower:
        return PostgresFollower(self._address)

    # Moments.

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

    def _unit(self, connection: PostgresConnection, unit: str) -> int | None:
        """The id of a unit in this log; None if it has none. It is asked for each time: after a
        backup was restored, while this program runs, it can be the id of another unit."""
        return queries.unit_id(connection, unit)
