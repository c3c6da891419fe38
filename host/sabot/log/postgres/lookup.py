"""Finds places in a unit's events by time.

The events of a unit are in the order of their numbers, and its clock can jump: what is true of the
times of two events is not true of those between them. So a time span becomes the events from the
first to the last that lie within it, and the reader looks at each of these.
"""

from datetime import date
from typing import Any

from sabot.log.found import LARGEST, Filter
from sabot.log.postgres import queries
from sabot.log.postgres.sessions import PostgresConnection

_BEGIN = "betting_open"
_NEAR = 500  # events: in these there is nearly always a round

_Found = tuple[int, int, int]
"""Number, shoe and round of an event."""


def place_at(connection: PostgresConnection, unit_id: int, unix_ms: int) -> tuple[int, int] | None:
    """The shoe of cards and the round of the last event at or before a time."""
    found = _last_before(connection, unit_id, unix_ms + 1)
    return None if found is None else found[1:]


def rounds_within(
    connection: PostgresConnection, unit_id: int, begin: int | None, end: int | None
) -> tuple[int, int | None] | None:
    """First and last event of the rounds of which a part may lie within a time span; the last is
    None for the end of the log."""
    begin = 0 if begin is None else min(begin, LARGEST)
    end = LARGEST if end is None else min(end, LARGEST)
    # Also the round that had begun before the span and ends after it.
    edges = [_last_before(connection, unit_id, begin), _first_from(connection, unit_id, end)]
    known = [each[0] for each in edges if each is not None]
    days = queries.days_of(connection, unit_id, Filter(from_unix_ms=begin, to_unix_ms=end))
    if days is not None:
        query = (
            "SELECT min(number), max(number) FROM records WHERE unit = ? AND day BETWEEN ? AND ?"
            " AND unix_ms >= ? AND unix_ms < ?"
        )
        found = connection.execute(query, (unit_id, *days, begin, end)).fetchone() or ()
        known += [number for number in found if number is not None]
    if not known:
        return None
    return _begin_of(connection, unit_id, min(known)), _end_of(connection, unit_id, max(known))


def _last_before(connection: PostgresConnection, unit_id: int, unix_ms: int) -> _Found | None:
    # The day that began last has an event before that time; one that is as late may have a later.
    days = (
        "WITH here AS (SELECT day, first_unix_ms, last_unix_ms FROM days"
        " WHERE unit = ? AND first_unix_ms < ?)"
        " SELECT array_agg(day) FROM here"
        " WHERE last_unix_ms >= (SELECT max(first_unix_ms) FROM here)"
    )
    order = "unix_ms < ? ORDER BY unix_ms DESC, number DESC"
    return _nearest(connection, unit_id, days, order, unix_ms)


def _first_from(connection: PostgresConnection, unit_id: int, unix_ms: int) -> _Found | None:
    days = (
        "WITH here AS (SELECT day, first_unix_ms, last_unix_ms FROM days"
        " WHERE unit = ? AND last_unix_ms >= ?)"
        " SELECT array_agg(day) FROM here"
        " WHERE first_unix_ms <= (SELECT min(last_unix_ms) FROM here)"
    )
    return _nearest(connection, unit_id, days, "unix_ms >= ? ORDER BY unix_ms, number", unix_ms)


def _nearest(
    connection: PostgresConnection, unit_id: int, of_days: str, order: str, unix_ms: int
) -> _Found | None:
    """The first event in an order on certain days."""
    unix_ms = max(-LARGEST, min(unix_ms, LARGEST))
    (days,) = connection.execute(of_days, (unit_id, unix_ms)).fetchone() or (None,)
    query = (
        f"SELECT number, shoe, round FROM records WHERE unit = ? AND day = ANY (?) AND {order}"
        " LIMIT 1"
    )
    found: _Found | None = None
    if days:
        found = connection.execute(query, (unit_id, days, unix_ms)).fetchone()
    return found


def _begin_of(connection: PostgresConnection, unit_id: int, number: int) -> int:
    """The event that opened the round in which event `number` is, or `number` itself."""
    found = _round(connection, unit_id, number - _NEAR, number, "DESC")
    if found is None:
        found = _round(connection, unit_id, None, number, "DESC")
    return number if found is None else found


def _end_of(connection: PostgresConnection, unit_id: int, number: int) -> int | None:
    """The last event before the round after the one in which event `number` is: until then that
    round may be called a misdeal. None if no other follows."""
    found = _round(connection, unit_id, number + 1, number + _NEAR, "ASC")
    if found is None:
        found = _round(connection, unit_id, number + 1, None, "ASC")
    return None if found is None else found - 1


def _round(
    connection: PostgresConnection, unit_id: int, first: int | None, last: int | None, order: str
) -> int | None:
    """The last or first beginning of a round from event `first` to `last`."""
    first = 0 if first is None else max(first, 0)
    last = LARGEST if last is None else min(last, LARGEST)
    days: tuple[date, date] | None = queries.days_of(
        connection, unit_id, Filter(first=first, last=last)
    )
    if days is None:
        return None
    query = (
        "SELECT number FROM records WHERE unit = ? AND day BETWEEN ? AND ?"
        f" AND number BETWEEN ? AND ? AND kind = ? ORDER BY number {order} LIMIT 1"
    )
    parameters: tuple[Any, ...] = (unit_id, *days, first, last, _BEGIN)
    found = connection.execute(query, parameters).fetchone()
    return None if found is None else int(found[0])
