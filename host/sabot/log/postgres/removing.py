"""Removes old records from a log in PostgreSQL, and leaves their tombstones.

Records are removed a partition at a time, which takes no longer for many records than for few: a
partition of which nothing stays is dropped, and one of which less stays than goes is replaced by
another with what stays. Only where more stays are records deleted one by one.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import psycopg

from sabot.errors import DatabaseLocked, DatabaseUnusable
from sabot.log.place import Address
from sabot.log.postgres import queries
from sabot.log.postgres.sessions import PostgresConnection
from sabot.log.store import Removal

_TRY_MS = 1000
"""How long all others wait at most for the moment in which partitions are replaced."""
_PAUSE_S = 2.0
_TRIES = 30

_GOING = "unnest(?::integer[], ?::bigint[], ?::bigint[]) AS going (unit, first, last)"
_GOES = (
    f"EXISTS (SELECT FROM {_GOING} WHERE r.unit = going.unit AND r.number BETWEEN first AND last)"
)


@dataclass(frozen=True, slots=True)
class _Day:
    """What becomes of a day's partition."""

    day: date
    stays: int
    goes: int

    @property
    def table(self) -> str:
        return f"records_{self.day:%Y_%m_%d}"

    @property
    def replaced(self) -> bool:
        """Whether the partition goes as a whole, and what stays is copied first."""
        return self.stays < self.goes


def remove(place: Address, connection: PostgresConnection, removals: Sequence[Removal]) -> None:
    """Put tombstones in the place of the records of several units, within a transaction."""
    connection.execute("SET LOCAL ROLE sabot_keeper")
    ids = [_put_tombstone(place, connection, each) for each in removals]
    going = (ids, [each.first for each in removals], [each.last for each in removals])
    query = (
        f"SELECT DISTINCT d.day FROM days AS d JOIN {_GOING}"
        " ON d.unit = going.unit AND d.first <= going.last AND d.last >= going.first ORDER BY d.day"
    )
    found = connection.execute(query, going).fetchall()
    days = [_counted(connection, day, going) for (day,) in found]
    for each in days:
        if each.replaced and each.stays:
            _copy_what_stays(connection, each, going)
        elif not each.replaced:
            connection.execute(f"DELETE FROM {each.table} AS r WHERE {_GOES}", going)
        _narrow(connection, each, ids)
    # Only now, and as short as possible, with all others kept from the records:
    if replaced := [each for each in days if each.replaced]:
        _lock(place, connection, [each.table for each in replaced])
        for each in replaced:
            _replace(connection, each)


def narrow(connection: PostgresConnection, unit_id: int) -> None:
    """Make the limits of all days of a unit again."""
    query = "SELECT day FROM days WHERE unit = ?"
    for (day,) in connection.execute(query, (unit_id,)).fetchall():
        _narrow(connection, _Day(day, 0, 0), [unit_id])


def _put_tombstone(place: Address, connection: PostgresConnection, removal: Removal) -> int:
    unit_id = queries.unit_id(connection, removal.unit)
    if unit_id is None:
        raise DatabaseUnusable(f"{place}: has no unit {removal.unit}; `sabot units` lists them")
    query = "SELECT 1 FROM tombstones WHERE unit = ? AND first <= ? AND last >= ?"
    if connection.execute(query, (unit_id, removal.last, removal.first)).fetchone():
        raise DatabaseUnusable(
            f"{place}: some of the events {removal.first} to {removal.last} of {removal.unit} are "
            "pruned already; run the command again"
        )
    connection.execute(
        "INSERT INTO tombstones VALUES (?, ?, ?, ?)",
        (unit_id, removal.first, removal.last, removal.tombstone),
    )
    return unit_id


def _counted(connection: PostgresConnection, day: date, going: tuple[Any, ...]) -> _Day:
    """What stays and goes of a day. Its records are not changed by others until the end, but for
    those of today and tomorrow, which are deleted one by one."""
    ended, table = _Day(day, 0, 0), _Day(day, 0, 0).table
    (past,) = connection.execute(
        "SELECT ? < (now() AT TIME ZONE 'UTC')::date - 1", (day,)
    ).fetchone() or (False,)
    if not past:
        return ended
    connection.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
    stays, goes = connection.execute(
        f"SELECT count(*) FILTER (WHERE NOT goes), count(*) FILTER (WHERE goes)"
        f" FROM (SELECT {_GOES} AS goes FROM {table} AS r) AS each",
        going,
    ).fetchone() or (0, 0)
    return _Day(day, stays, goes)


def _copy_what_stays(connection: PostgresConnection, day: _Day, going: tuple[Any, ...]) -> None:
    connection.execute(
        f"CREATE TABLE {day.table}_kept"
        " (LIKE records INCLUDING CONSTRAINTS, PRIMARY KEY (unit, number))"
    )
    connection.execute(
        f"INSERT INTO {day.table}_kept SELECT * FROM {day.table} AS r WHERE NOT {_GOES}"
        " ORDER BY unit, number",
        going,
    )


def _lock(place: Address, connection: PostgresConnection, tables: Sequence[str]) -> None:
    """Keep all others from the records for the moment that follows. Those who read for long are
    waited for, and meanwhile records come in between two tries."""
    connection.execute(f"SET LOCAL lock_timeout = {_TRY_MS}")
    for _ in range(_TRIES):
        try:
            with connection.session.transaction():
                for table in ("records", *tables):
                    connection.execute(f"LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE")
            return
        except psycopg.errors.LockNotAvailable:
            time.sleep(_PAUSE_S)
    raise DatabaseLocked(
        f"{place}: programs that read for long kept old records from being removed; nothing was "
        "removed: run the command again when they have ended"
    )


def _replace(connection: PostgresConnection, day: _Day) -> None:
    connection.execute(f"DROP TABLE {day.table}")
    if day.stays:
        connection.execute(f"ALTER TABLE {day.table}_kept RENAME TO {day.table}")
        connection.execute(
            f"ALTER TABLE records ATTACH PARTITION {day.table}"
            f" FOR VALUES FROM ('{day.day}') TO ('{date.fromordinal(day.day.toordinal() + 1)}')"
        )


def _narrow(connection: PostgresConnection, day: _Day, unit_ids: Sequence[int]) -> None:
    """Make the limits of units on a day again."""
    given = (day.day, list(unit_ids))
    connection.execute("DELETE FROM days WHERE day = ? AND unit = ANY (?)", given)
    table = f"{day.table}_kept" if day.replaced else day.table
    if day.stays or not day.replaced:
        connection.execute(
            "INSERT INTO days SELECT min(number), max(number), min(shoe), max(shoe),"
            f" min(unix_ms), max(unix_ms), unit, day FROM {table}"
            " WHERE day = ? AND unit = ANY (?) GROUP BY unit, day",
            given,
        )
