"""Events that a log in PostgreSQL has taken, and that are not in its tables any more.

The head of a unit goes on saying that they are there, so no one would send them again. They are
found without reading the log: the newest record of each unit, the numbers that no day has, and then
day by day how many records each unit should have there. Only where the count differs are numbers
read.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from sabot.log.postgres import queries
from sabot.log.postgres.sessions import PostgresConnection


class Gone(NamedTuple):
    """Events `first` to `last` of a unit, which are not there."""

    unit: str
    first: int
    last: int


class HeadRow(NamedTuple):
    """A unit, and what is stored of its newest event."""

    unit: str
    newest: int
    day: date | None
    """The day on which it was received."""
    received_unix_ms: int | None
    """When; None if it is not there."""
    differs: bool
    """Whether it has another MAC than the head of the unit says."""

    @property
    def is_gone(self) -> bool:
        """Whether the newest event is not there."""
        return self.received_unix_ms is None


_HEADS = (
    "SELECT u.id, u.unit, u.newest, u.mac, d.day, d.last FROM units AS u LEFT JOIN LATERAL ("
    "SELECT day, last FROM days WHERE unit = u.id ORDER BY day DESC LIMIT 1) AS d ON true"
    " WHERE u.records > 0 AND NOT EXISTS (SELECT FROM tombstones AS t WHERE t.unit = u.id"
    " AND t.last >= u.newest) ORDER BY u.unit"
)
_DAY_OF = "SELECT day FROM days WHERE unit = ? ORDER BY last DESC LIMIT 1"
_ON_A_DAY = (
    "SELECT r.unit, r.received_unix_ms, r.mac FROM unnest(?::integer[], ?::bigint[])"
    " AS head (unit, number) JOIN records AS r ON r.unit = head.unit AND r.number = head.number"
    " WHERE r.day = ?"
)
# Ranges that cover all numbers from 1 to a unit's newest, if nothing is gone.
_COVERED = (
    "SELECT unit, first, last FROM days UNION ALL SELECT unit, first, last FROM tombstones"
    " UNION ALL SELECT unit, first, last FROM holes UNION ALL SELECT unit, first, last FROM missing"
    " UNION ALL SELECT id, newest + 1, newest + 1 FROM units UNION ALL SELECT id, 0, 0 FROM units"
)
_UNCOVERED = (
    "SELECT u.unit, gap.reach + 1, gap.next - 1 FROM (SELECT unit, max(last) OVER w AS reach,"
    f" lead(first) OVER w AS next FROM ({_COVERED}) AS covered"
    " WINDOW w AS (PARTITION BY unit ORDER BY first, last)) AS gap"
    " JOIN units AS u ON u.id = gap.unit WHERE gap.next > gap.reach + 1 ORDER BY 1, 2"
)
_COUNTS = (
    "SELECT d.unit, d.first, d.last FROM (SELECT unit, first, last FROM days WHERE day = ?) AS d"
    " LEFT JOIN (SELECT unit, count(*) AS amount, min(number) AS first, max(number) AS last"
    " FROM records WHERE day = ? GROUP BY unit) AS r USING (unit)"
    " WHERE (r.amount, r.first, r.last) IS DISTINCT FROM (d.last - d.first + 1, d.first, d.last)"
)
_GAPS = (
    "SELECT number + 1, next - 1 FROM (SELECT number, lead(number) OVER (ORDER BY number) AS next"
    " FROM (SELECT number FROM records WHERE unit = ? AND day = ?"
    " UNION SELECT unnest(ARRAY[?, ?]::bigint[])) AS numbers) AS pairs"
    " WHERE next > number + 1 ORDER BY 1"
)
_KNOWN = (
    "SELECT first, last FROM (SELECT unit, first, last FROM tombstones UNION ALL"
    " SELECT unit, first, last FROM holes UNION ALL SELECT unit, first, last FROM missing) AS known"
    " WHERE unit = ? AND first <= ? AND last >= ? ORDER BY first"
)
_ELSEWHERE = (
    "SELECT day FROM days WHERE unit = ? AND day <> ? AND first <= ? AND last >= ? ORDER BY day"
)


def days(connection: PostgresConnection) -> list[date]:
    """The days that have records, the newest first, without reading all that is known of them."""
    query = (
        "WITH RECURSIVE each AS (SELECT max(day) AS day FROM days UNION ALL"
        " SELECT (SELECT max(day) FROM days WHERE day < each.day) FROM each WHERE day IS NOT NULL)"
        " SELECT day FROM each WHERE day IS NOT NULL"
    )
    return [day for (day,) in connection.execute(query)]


def heads(connection: PostgresConnection) -> list[HeadRow]:
    """What is stored of the newest event of each unit, without those of which it was pruned. One
    partition is read for each unit, and each partition once."""
    by_day: dict[date | None, list[tuple[int, str, int, bytes]]] = {}
    for unit_id, unit, newest, mac, day, last in connection.execute(_HEADS).fetchall():
        if last != newest:  # what is newer by its day has come late
            (day,) = connection.execute(_DAY_OF, (unit_id,)).fetchone() or (None,)
        by_day.setdefault(day, []).append((unit_id, unit, newest, mac))
    found = []
    for day, some in by_day.items():
        given = [unit_id for unit_id, *_ in some], [newest for *_, newest, _ in some], day
        there = {
            unit_id: (received, mac)
            for unit_id, received, mac in connection.execute(_ON_A_DAY, given)
        }
        for unit_id, unit, newest, mac in some:
            received, stored = there.get(unit_id, (None, mac))
            found.append(HeadRow(unit, newest, day, received, stored != mac))
    return sorted(found, key=lambda each: each.unit)


def uncovered(connection: PostgresConnection) -> list[Gone]:
    """The events below the head of a unit that are on no day, were not pruned, and of which the log
    does not say that it lacks them."""
    return [Gone(*row) for row in connection.execute(_UNCOVERED)]


def missing(connection: PostgresConnection) -> list[Gone]:
    """The events of which the log says itself that they are gone: sites are asked for them."""
    query = (
        "SELECT u.unit, m.first, m.last FROM missing AS m JOIN units AS u ON u.id = m.unit"
        " ORDER BY u.unit, m.first"
    )
    return [Gone(*row) for row in connection.execute(query)]


def of_day(connection: PostgresConnection, day: date) -> Iterator[Gone]:
    """Yield the events that were stored on a day and are not there any more."""
    names = {unit_id: unit for unit, unit_id in queries.units(connection).items()}
    for unit_id, first, last in connection.execute(_COUNTS, (day, day)).fetchall():
        limits = (unit_id, day, first - 1, last + 1)
        for gap in connection.execute(_GAPS, limits).fetchall():
            for part in _not_known(connection, unit_id, day, gap):
                yield Gone(names.get(unit_id, f"number {unit_id}"), *part)


def _not_known(
    connection: PostgresConnection, unit_id: int, day: date, gap: tuple[int, int]
) -> list[tuple[int, int]]:
    """The parts of a gap in a day that are on no other day, and that the log does not say it
    lacks."""
    first, last = gap
    known = connection.execute(_KNOWN, (unit_id, last, first)).fetchall()
    parts = without(gap, known)
    for (other,) in connection.execute(_ELSEWHERE, (unit_id, day, last, first)).fetchall():
        query = (
            "SELECT number, number FROM records WHERE unit = ? AND day = ?"
            " AND number BETWEEN ? AND ? ORDER BY number"
        )
        there = connection.execute(query, (unit_id, other, first, last)).fetchall()
        parts = [left for part in parts for left in without(part, there)]
    return parts


def without(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts of a span that are in none of `others`, which are in order."""
    parts, at, end = [], span[0], span[1]
    for first, last in others:
        if last < at or first > end:
            continue
        if first > at:
            parts.append((at, first - 1))
        at = max(at, last + 1)
    return [*parts, (at, end)] if at <= end else parts
