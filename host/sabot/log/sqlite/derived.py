"""The table `events` of a log: an index derived from its records, to find them quickly."""

from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from itertools import islice

from sabot.link import wire
from sabot.link.words import UNKNOWN
from sabot.log.found import (
    DAMAGED,
    LARGEST,
    UNKNOWN_KINDS,
    Filter,
    Row,
    has_kind,
    kind_now,
    kinds_in_columns,
    row_of,
    selects,
)
from sabot.log.sqlite.log_file import LogConnection
from sabot_protocol.events import MAC_SIZE, MAX_SIZE

_MOST_SORTED = 20_000  # events, in a tenth of a second

_UNKNOWN_KINDS = "unknown_kinds"
"""The fact of a log: the kinds in `events` that were not known when they were derived, with spaces
between them."""

_INSERT_EVENT = "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?, ?)"

# A value that cannot be a record or a MAC is not even read: it may be very large, or no text.
RECORD_AND_MAC = ", ".join(
    f"CASE WHEN typeof({column}) <> 'blob' THEN typeof({column})"
    f" WHEN length({column}) > {size} THEN zeroblob({size + 1}) ELSE {column} END"
    for column, size in (("record", MAX_SIZE), ("mac", MAC_SIZE))
)
"""SQL for both. One that is not bytes becomes a word, and one that is too large zeros, more than
there can be."""

Derived = tuple[int, int, str, int | None, int, int]
"""A row of `events`: id of the unit, number, kind, time, shoe and round."""


def underived(
    connection: LogConnection, unit_id: int
) -> Generator[tuple[Derived, int, bytes, bytes]]:
    """Yield the records of a unit that `events` does not have yet, in order: the row derived from
    each, when it was received, the record and its MAC.
    """
    newest = connection.execute(
        "SELECT number, shoe, round FROM events WHERE unit = ? AND number <= ?"
        " ORDER BY number DESC LIMIT 1",
        (unit_id, LARGEST),
    ).fetchone()
    last, shoe, round_ = (0, 0, 0) if newest is None else newest
    records = connection.execute(
        f"SELECT number, received_unix_ms, {RECORD_AND_MAC} FROM records"
        " WHERE unit = ? AND number > ? AND number <= ? ORDER BY number",
        (unit_id, last, LARGEST),
    )
    for number, received, record, mac in records:
        kind, unix_ms = DAMAGED, None
        with suppress(wire.WireError):
            event = wire.parse_event(record)
            kind = event.kind
            unix_ms = None if event.unix_ms is None else min(event.unix_ms, LARGEST)
            shoe, round_ = min(event.shoe, LARGEST), min(event.round, LARGEST)
        yield (unit_id, number, kind, unix_ms, shoe, round_), received, record, mac


def underived_rows(
    connection: LogConnection, unit_id: int, unit: str, wanted: Filter
) -> Iterator[Row]:
    """Yield the rows that a filter selects of those that are not in `events` yet, in order."""
    for derived, received, data, mac in underived(connection, unit_id):
        _, number, kind, unix_ms, shoe, round_ = derived
        row = row_of((unit, number, kind, unix_ms, shoe, round_, received, data, mac))
        if selects(wanted, row):
            yield row


def derive(connection: LogConnection, unit_id: int, most: int) -> int:
    """Make rows in `events` for the next records of a unit, at most `most`. Return how many."""
    with closing(underived(connection, unit_id)) as rows:
        made = [derived for derived, *_ in islice(rows, most)]
    connection.executemany(_INSERT_EVENT, made)
    unknown = {kind for _, _, kind, *_ in made if kind.startswith(UNKNOWN)}
    if unknown:
        _note_unknown(connection, unknown | _unknown(connection))
    return len(made)


def understand(connection: LogConnection) -> dict[str, int]:
    """Correct the kinds in `events` that an older version did not know when it derived them, and
    that this one knows. Return how many events of each such kind there were.

    A fact of the log says which kinds were not known: without any, no event is looked at.
    """
    found: dict[str, int] = {}
    unknown = _unknown(connection)
    for kind in sorted(unknown):
        known = kind_now(kind)
        if known != kind:
            change = "UPDATE events SET kind = ? WHERE kind = ?"
            found[known] = connection.execute(change, (known, kind)).rowcount
    if found:
        _note_unknown(connection, {kind for kind in unknown if kind_now(kind) == kind})
    return found


def forget_unknown(connection: LogConnection) -> None:
    """Note that `events` has no kind that is not known: it is derived again."""
    if _unknown(connection):
        _note_unknown(connection, set())


def _unknown(connection: LogConnection) -> set[str]:
    """The kinds in `events` that were not known when they were derived."""
    query = "SELECT value FROM about WHERE name = ?"
    found = connection.execute(query, (_UNKNOWN_KINDS,)).fetchone()
    kinds = "" if found is None else str(found[0])
    return {kind for kind in kinds.split() if kind.startswith(UNKNOWN)}


def _note_unknown(connection: LogConnection, kinds: set[str]) -> None:
    if kinds != _unknown(connection):
        row = (_UNKNOWN_KINDS, " ".join(sorted(kinds)))
        connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", row)


def derived_rows(
    connection: LogConnection, unit_id: int, unit: str, wanted: Filter
) -> Iterator[Row]:
    """The rows of `events` that a filter selects, in order, a few in memory at a time."""
    by_time = _is_short(connection, unit_id, wanted)
    query, parameters = query_of(wanted, unit_id, by_time=by_time)
    found = map(row_of, connection.execute(query, [unit, *parameters]))
    if wanted.kinds is None or UNKNOWN_KINDS not in wanted.kinds:
        return found
    return (row for row in found if has_kind(wanted, row.kind))


def query_of(wanted: Filter, unit_id: int, *, by_time: bool = False) -> tuple[str, list[object]]:
    """The SQL that selects rows of `events` with their records after a value of its own, the unit's
    name, and its other parameters.

    It names its index, because SQLite would go through all events of the unit instead: it has no
    statistics of the table. With `by_time` the rows of the time span are sorted before the first
    one is returned.
    """
    index = "NOT INDEXED"  # along the primary key, which is the order of the result
    if wanted.shoe is not None:
        index = "INDEXED BY events_by_round"
    elif by_time:
        index = "INDEXED BY events_by_time"
    query = (
        "SELECT ?, e.number, e.kind, e.unix_ms, e.shoe, e.round, r.received_unix_ms,"
        f" {RECORD_AND_MAC} FROM events e {index}"
        " CROSS JOIN records r ON r.unit = e.unit AND r.number = e.number"
        " WHERE e.unit = ?"
    )
    parameters: list[object] = [unit_id]
    for condition, value in (
        ("e.shoe = ?", wanted.shoe),
        ("e.round = ?", wanted.round),
        ("e.unix_ms >= ?", wanted.from_unix_ms),
        ("e.unix_ms < ?", wanted.to_unix_ms),
        ("e.number >= ?", wanted.first),
        ("e.number <= ?", wanted.last),
    ):
        if value is not None:
            query += f" AND {condition}"
            parameters.append(value)
    if wanted.kinds is not None:
        others, kinds = kinds_in_columns(wanted.kinds)
        query += f" AND e.kind {'NOT ' * others}IN ({', '.join('?' * len(kinds))})"
        parameters += kinds
    return query + f" ORDER BY e.number{' DESC' if wanted.newest_first else ''}", parameters


def _is_short(connection: LogConnection, unit_id: int, wanted: Filter) -> bool:
    """Whether the time span of a filter has so few events that sorting them is quick."""
    if wanted.from_unix_ms is None and wanted.to_unix_ms is None:
        return False
    query = (
        "SELECT count(*) FROM (SELECT 1 FROM events INDEXED BY events_by_time"
        " WHERE unit = ? AND unix_ms >= ? AND unix_ms < ? LIMIT ?)"
    )
    begin = -LARGEST if wanted.from_unix_ms is None else wanted.from_unix_ms
    end = LARGEST if wanted.to_unix_ms is None else wanted.to_unix_ms
    (count,) = connection.execute(query, (unit_id, begin, end, _MOST_SORTED + 1)).fetchone()
    return int(count) <= _MOST_SORTED
