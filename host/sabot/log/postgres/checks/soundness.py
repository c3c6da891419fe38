"""What is wrong with a log in PostgreSQL as a database, whatever its records say.

A person who may do anything at the server can store what no function of the log stores. The
commands then show something else than the records, which is all that the audit chain protects.
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import date

from sabot.errors import DatabaseUnusable
from sabot.log import boards
from sabot.log.place import Address
from sabot.log.postgres import queries
from sabot.log.postgres.checks import catalog, gone, rights, said
from sabot.log.postgres.checks.gone import Gone
from sabot.log.postgres.sessions import PostgresConnection
from sabot.silences import GONE
from sabot.text import counted, printable

_OF_A_UNIT = ("tombstones", "holes", "missing", "receipts", "site_checkpoints", "days")

# What the rows of a unit say of its records, and what the small tables say of them.
_LIMITS = (
    "SELECT count(*) FROM ("
    " SELECT unit, day, min(number) AS first, max(number) AS last, min(shoe) AS first_shoe,"
    " max(shoe) AS last_shoe, min(unix_ms) AS first_unix_ms, max(unix_ms) AS last_unix_ms"
    " FROM records WHERE day = ? GROUP BY unit, day) AS r"
    " FULL JOIN (SELECT * FROM days WHERE day = ?) AS d USING (unit, day) WHERE (r.first, r.last,"
    " r.first_shoe, r.last_shoe, r.first_unix_ms, r.last_unix_ms) IS DISTINCT FROM (d.first,"
    " d.last, d.first_shoe, d.last_shoe, d.first_unix_ms, d.last_unix_ms)"
)


def faults(
    place: Address, connection: PostgresConnection, stopped: Callable[[], bool]
) -> Iterator[str]:
    """Yield, for people, every fault of a database that is a log. Raises DatabaseUnusable soon
    after `stopped` returns true."""
    for line in catalog.altered(connection):
        yield f"tables or functions are not as they were made: {line}"
    yield from rights.escalations(connection)
    yield from said.faults(connection)
    query = "SELECT sha256, document FROM games"
    for sha256, document in connection.execute(query):
        if hashlib.sha256(document).digest() != sha256:
            yield "a game document does not fit its SHA-256"
    names = set(queries.units(connection))
    for (name,) in connection.execute("SELECT unit FROM seams ORDER BY unit").fetchall():
        if boards.before(name) not in names:
            yield f"seams has one of {printable(name)}, and the log has no board before it"
    units = set(queries.units(connection).values())
    for table in _OF_A_UNIT:
        for (unit,) in connection.execute(f"SELECT DISTINCT unit FROM {table} ORDER BY unit"):
            if unit not in units:
                yield f"{table} has rows of a unit {unit}, which the log does not name"
    yield from _of_days(place, connection, units, stopped)


def _of_days(
    place: Address, connection: PostgresConnection, units: set[int], stopped: Callable[[], bool]
) -> Iterator[str]:
    """The faults of the partitions, one after the other."""
    query = (
        "SELECT c.relname::text FROM pg_inherits AS h JOIN pg_class AS c ON c.oid = h.inhrelid"
        " WHERE h.inhparent = 'sabot.records'::regclass ORDER BY c.relname"
    )
    partitions = [table for (table,) in connection.execute(query).fetchall()]
    for each in gone.days(connection):
        if f"records_{each:%Y_%m_%d}" not in partitions:
            yield from map(_lacks, gone.of_day(connection, each))
    there: set[int] = set()
    last: dict[int, int] = {}
    for table in partitions:
        if stopped():
            raise DatabaseUnusable(f"{place}: the check was ended")
        day = table.removeprefix("records_").replace("_", "-")
        (wrong,) = connection.execute(_LIMITS, (day, day)).fetchone() or (0,)
        if wrong:
            what = counted(wrong, "unit")
            yield f"the limits of the day {printable(day)} of {what} do not fit their records"
        yield from map(_lacks, gone.of_day(connection, date.fromisoformat(day)))
        found = connection.execute(
            "SELECT unit, max(number) FROM records WHERE day = ? GROUP BY unit", (day,)
        )
        for unit, number in found:
            there.add(unit)
            last[unit] = max(number, last.get(unit, 0))
    for unit in sorted(there - units):
        yield f"records has rows of a unit {unit}, which the log does not name"
    yield from map(_lacks, (*gone.uncovered(connection), *gone.missing(connection)))
    yield from _of_heads(connection, last)


def _lacks(each: Gone) -> str:
    return GONE.say(unit=printable(each.unit), first=each.first, last=each.last)


def _of_heads(connection: PostgresConnection, last: dict[int, int]) -> Iterator[str]:
    query = (
        "SELECT u.unit, u.id, u.newest, (SELECT max(t.last) FROM tombstones AS t"
        " WHERE t.unit = u.id) FROM units AS u ORDER BY u.unit"
    )
    for unit, unit_id, newest, pruned in connection.execute(query).fetchall():
        here = max(last.get(unit_id, 0), pruned or 0)
        if here == 0:
            yield f"the log names a unit {printable(unit)}, of which it has no records"
        elif here != newest:
            yield f"the newest event of {printable(unit)} is {here}, but its head says {newest}"
