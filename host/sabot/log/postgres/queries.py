"""What a log in PostgreSQL is asked, in one place each.

A query of records first asks the small table `days` on which days an answer can be, and then reads
only their partitions: two years of days have 730.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any

from sabot.link.flow import Flow
from sabot.log import boards
from sabot.log.found import (
    AFTER_FLOWS,
    FLOW,
    LARGEST,
    Filter,
    RawRecord,
    Row,
    flows_of,
    has_kind,
    kind_now,
    kinds_in_columns,
    row_of,
)
from sabot.log.postgres.sessions import PostgresConnection
from sabot.log.presence import Span

CHUNK = 1000  # rows that the server sends at once

_FIRST_DAY = date(1970, 1, 1)
_DAY_MS = 86_400_000
_MOST_DAYS = 2_000_000  # into the year 7445

Days = tuple[date, date]
"""The first and the last day of records that can matter."""


def units(connection: PostgresConnection) -> dict[str, int]:
    """The id of every unit by its name, by unit and board."""
    found = dict(connection.execute("SELECT unit, id FROM units"))
    return {unit: found[unit] for unit in boards.in_order(found)}


def unit_id(connection: PostgresConnection, unit: str) -> int | None:
    """The id of a unit; None if the log does not have it."""
    return _value(connection, "SELECT id FROM units WHERE unit = ?", (unit,))


def newest(connection: PostgresConnection, unit: str) -> int:
    """The last number of a unit, including pruned events; 0 if there is none."""
    return _value(connection, "SELECT newest FROM units WHERE unit = ?", (unit,)) or 0


def fact(connection: PostgresConnection, name: str) -> str | None:
    """A value of the table `about`."""
    found = connection.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
    return None if found is None else str(found[0])


def flows(connection: PostgresConnection) -> dict[str, Flow]:
    """As `Store.flows`."""
    query = "SELECT name, value FROM about WHERE name >= ? AND name < ?"
    return flows_of(connection.execute(query, (FLOW, AFTER_FLOWS)).fetchall())


def days_of(connection: PostgresConnection, unit_id: int, wanted: Filter) -> Days | None:
    """The days on which a unit has records that a filter can select; None if it has none."""
    conditions = (
        ("last >= ?", wanted.first),
        ("first <= ?", wanted.last),
        ("? BETWEEN first_shoe AND last_shoe", wanted.shoe),
        ("last_unix_ms >= ?", wanted.from_unix_ms),
        ("first_unix_ms < ?", wanted.to_unix_ms),
    )
    text, values = _given(conditions)
    query = f"SELECT min(day), max(day) FROM days WHERE unit = ?{text}"
    first, last = connection.execute(query, (unit_id, *values)).fetchone() or (None, None)
    return None if first is None or last is None else (first, last)


def rows(connection: PostgresConnection, unit_id: int, unit: str, wanted: Filter) -> Iterator[Row]:
    """The rows that a filter selects, in order, a few in memory at a time."""
    days = days_of(connection, unit_id, wanted)
    if days is None:
        return
    query, parameters = query_of(wanted, unit_id, days)
    for some in connection.stream(query, [unit, *parameters], CHUNK):
        yield from (row for row in map(row_of, some) if has_kind(wanted, row.kind))


def query_of(wanted: Filter, unit_id: int, days: Days) -> tuple[str, list[Any]]:
    """The SQL of the rows that a filter selects, after a value of its own, the unit's name, and its
    other parameters."""
    others, kinds = (False, None) if wanted.kinds is None else kinds_in_columns(wanted.kinds)
    text, values = _given(
        (
            ("shoe = ?", wanted.shoe),
            ("round = ?", wanted.round),
            ("unix_ms >= ?", wanted.from_unix_ms),
            ("unix_ms < ?", wanted.to_unix_ms),
            ("number >= ?", wanted.first),
            ("number <= ?", wanted.last),
            ("kind <> ALL (?)" if others else "kind = ANY (?)", kinds),
        )
    )
    order = " DESC" if wanted.newest_first else ""
    query = (
        "SELECT ?::text, number, kind, unix_ms, shoe, round, received_unix_ms, record, mac"
        f" FROM records WHERE unit = ? AND day BETWEEN ? AND ?{text} ORDER BY number{order}"
    )
    return query, [unit_id, *days, *values]


def numbered_rows(
    connection: PostgresConnection,
    unit_id: int | None,
    columns: str,
    first: int | None,
    last: int | None,
) -> Iterator[list[Any]]:
    """Columns of the records of a unit from event `first` to `last`, by number, many at a time. The
    last ones may be none."""
    wanted = Filter(first=first, last=last)
    days = None if unit_id is None else days_of(connection, unit_id, wanted)
    if days is None:
        yield []
        return
    text, values = _given((("number >= ?", first), ("number <= ?", last)))
    query = (
        f"SELECT {columns} FROM records WHERE unit = ? AND day BETWEEN ? AND ?{text}"
        " ORDER BY number"
    )
    yield from connection.stream(query, [unit_id, *days, *values], CHUNK)


def between(connection: PostgresConnection, unit_id: int, after: int, last: int) -> list[RawRecord]:
    """The records of a unit after event `after`, up to event `last`, by number: all at once."""
    days = days_of(connection, unit_id, Filter(first=after + 1, last=last))
    query = (
        "SELECT number, record, mac FROM records WHERE unit = ? AND day BETWEEN ? AND ?"
        " AND number > ? AND number <= ? ORDER BY number"
    )
    if days is None:
        return []
    return connection.execute(query, (unit_id, *days, after, last)).fetchall()


def records_within(connection: PostgresConnection, unit_id: int, first: int, last: int) -> int:
    """How many records of a unit have a number from `first` to `last`."""
    days = days_of(connection, unit_id, Filter(first=first, last=last))
    if days is None:
        return 0
    query = (
        "SELECT count(*) FROM records WHERE unit = ? AND day BETWEEN ? AND ?"
        " AND number BETWEEN ? AND ?"
    )
    return _value(connection, query, (unit_id, *days, first, last)) or 0


def first_from(connection: PostgresConnection, unit_id: int, number: int) -> int | None:
    """The first number of a unit's records from `number` on; None without any."""
    # The day that begins next has a record there; one that is going on may have an earlier one.
    query = (
        "WITH here AS (SELECT day, first FROM days WHERE unit = ? AND last >= ?)"
        " SELECT min(day), max(day) FROM here"
        " WHERE first <="
        f" (SELECT coalesce(min(first) FILTER (WHERE first >= ?), {LARGEST}) FROM here)"
    )
    days = connection.execute(query, (unit_id, number, number)).fetchone()
    query = (
        "SELECT number FROM records WHERE unit = ? AND day BETWEEN ? AND ? AND number >= ?"
        " ORDER BY number LIMIT 1"
    )
    return _value(connection, query, (unit_id, *(days or ()), number))


def last_received(connection: PostgresConnection, unit_id: int) -> int | None:
    """When the newest record of a unit was received; None without one."""
    day = "SELECT day, last FROM days WHERE unit = ? ORDER BY last DESC LIMIT 1"
    found = connection.execute(day, (unit_id,)).fetchone()
    if found is None:
        return None
    query = "SELECT received_unix_ms FROM records WHERE unit = ? AND day = ? AND number = ?"
    return _value(connection, query, (unit_id, *found))


def received_before(connection: PostgresConnection, unit_id: int, unix_ms: int) -> int:
    """The number of the newest record of a unit that was received before a time; 0 without one."""
    day = _FIRST_DAY + timedelta(days=min(max(unix_ms, 0) // _DAY_MS, _MOST_DAYS))
    before = _value(
        connection, "SELECT max(last) FROM days WHERE unit = ? AND day < ?", (unit_id, day)
    )
    query = (
        "SELECT number FROM records WHERE unit = ? AND day = ? AND received_unix_ms < ?"
        " ORDER BY number DESC LIMIT 1"
    )
    return max(before or 0, _value(connection, query, (unit_id, day, unix_ms)) or 0)


def counts(connection: PostgresConnection, unit_id: int, kinds: Sequence[str]) -> list[int]:
    """How many events of each kind a unit has."""
    query = "SELECT kind, count(*) FROM records WHERE unit = ? AND kind = ANY (?) GROUP BY kind"
    _, columns = kinds_in_columns(kinds)
    found = Counter[str]()
    for kind, count in connection.execute(query, (unit_id, columns)):
        found[kind_now(kind)] += count
    return [found[kind] for kind in kinds]


def presence(connection: PostgresConnection, unit: str) -> list[Span]:
    """The spans of a unit."""
    query = (
        "SELECT unit, begin_unix_ms, end_unix_ms, state FROM presence WHERE unit = ?"
        " ORDER BY begin_unix_ms"
    )
    return [Span(*row) for row in connection.execute(query, (unit,))]


def _given(conditions: Sequence[tuple[str, Any]]) -> tuple[str, list[Any]]:
    """The SQL of the conditions that have a value, after another one, and their values."""
    given = [(text, value) for text, value in conditions if value is not None]
    return "".join(f" AND {text}" for text, _ in given), [value for _, value in given]


def _value(connection: PostgresConnection, query: str, parameters: Sequence[Any]) -> int | None:
    """The only number of the first row; None without a row."""
    found = connection.execute(query, parameters).fetchone()
    return None if found is None else found[0]
