"""Derives again what the rows of records have beside the records: kind, time, shoe and round.

A site sends them with its records. If they do not fit, `verify` says so, and this makes them fit.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from sabot.link import wire
from sabot.log.found import DAMAGED, LARGEST
from sabot.log.postgres import queries, removing
from sabot.log.postgres.sessions import PostgresConnection

_COLUMNS = "number, day, record, kind, unix_ms, shoe, round"

Derived = tuple[str, int | None, int, int]
"""Kind, time, shoe and round."""


def derive_again(connection: PostgresConnection, progress: Callable[[int], None]) -> int:
    """Derive all again, within a transaction; return for how many records. `progress` is called
    with how many are done."""
    done = 0
    connection.execute("LOCK TABLE ONLY records IN SHARE ROW EXCLUSIVE MODE")
    for unit_id in queries.units(connection).values():
        for wrong, amount in _wrong(connection, unit_id):
            for number, day, derived in wrong:
                connection.execute(
                    "UPDATE records SET kind = ?, unix_ms = ?, shoe = ?, round = ?"
                    " WHERE unit = ? AND day = ? AND number = ?",
                    (*derived, unit_id, day, number),
                )
            done += amount
            progress(done)
        removing.narrow(connection, unit_id)
    return done


def _wrong(
    connection: PostgresConnection, unit_id: int
) -> Iterator[tuple[list[tuple[int, Any, Derived]], int]]:
    """Yield, some records at a time, number, day and right values of those whose values are wrong,
    and how many were looked at."""
    shoe = round_ = 0
    for some in queries.numbered_rows(connection, unit_id, _COLUMNS, None, None):
        wrong = []
        for number, day, record, *stored in some:
            derived = derived_from(record, shoe, round_)
            shoe, round_ = derived[2:]
            if derived != tuple(stored):
                wrong.append((number, day, derived))
        yield wrong, len(some)


def derived_from(record: bytes, shoe: int, round_: int) -> Derived:
    """What is derived from a record; `shoe` and `round_` are those of the record before it."""
    kind, unix_ms = DAMAGED, None
    with suppress(wire.WireError):
        event = wire.parse_event(record)
        kind = event.kind
        unix_ms = None if event.unix_ms is None else min(event.unix_ms, LARGEST)
        shoe, round_ = min(event.shoe, LARGEST), min(event.round, LARGEST)
    return kind, unix_ms, shoe, round_
