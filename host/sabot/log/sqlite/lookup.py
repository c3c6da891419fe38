"""Finds places in a unit's events by time, through the index of times.

The events of a unit are in the order of their numbers, and its clock can jump: what is true of the
times of two events is not true of those between them. So a time span becomes the events from the
first to the last that lie within it, and the reader looks at each of these.
"""

from sabot.log.found import LARGEST
from sabot.log.sqlite.derived import Derived, underived
from sabot.log.sqlite.log_file import LogConnection

_BEGIN = "betting_open"
# What is no number, which only a forger puts there, is larger than every number.
_NUMBERS = f" AND unix_ms <= {LARGEST} AND number <= {LARGEST}"
_COLUMNS = "SELECT unit, number, kind, unix_ms, shoe, round FROM events"


def place_at(connection: LogConnection, unit_id: int, unix_ms: int) -> tuple[int, int] | None:
    """The shoe of cards and the round of the last event at or before a time."""
    found = _last_before(connection, unit_id, unix_ms + 1)
    return None if found is None else found[4:]


def rounds_within(
    connection: LogConnection, unit_id: int, begin: int | None, end: int | None
) -> tuple[int, int | None] | None:
    """First and last event of the rounds of which a part may lie within a time span; the last is
    None for the end of the log."""
    begin = 0 if begin is None else min(begin, LARGEST)
    end = LARGEST if end is None else min(end, LARGEST)
    # Also the round that had begun before the span and ends after it.
    edges = [_last_before(connection, unit_id, begin), _first_from(connection, unit_id, end)]
    numbers = [each[1] for each in edges if each is not None]
    query = (
        "SELECT min(number), max(number) FROM events INDEXED BY events_by_time"
        f" WHERE unit = ? AND unix_ms >= ? AND unix_ms < ?{_NUMBERS}"
    )
    numbers += connection.execute(query, (unit_id, begin, end)).fetchone()
    new = [derived for derived, *_ in underived(connection, unit_id)]
    numbers += [each[1] for each in new if each[3] is not None and begin <= each[3] < end]
    known = [number for number in numbers if number is not None]
    if not known:
        return None
    return _begin_of(connection, unit_id, min(known)), _end_of(connection, unit_id, max(known))


def _last_before(connection: LogConnection, unit_id: int, unix_ms: int) -> Derived | None:
    query = (
        f"{_COLUMNS} INDEXED BY events_by_time WHERE unit = ? AND unix_ms < ?{_NUMBERS}"
        " ORDER BY unix_ms DESC, number DESC LIMIT 1"
    )
    found = connection.execute(query, (unit_id, max(-LARGEST, min(unix_ms, LARGEST)))).fetchall()
    new = [derived for derived, *_ in underived(connection, unit_id)]
    found += [each for each in new if each[3] is not None and each[3] < unix_ms]
    return max(found, key=lambda each: (each[3], each[1]), default=None)


def _first_from(connection: LogConnection, unit_id: int, unix_ms: int) -> Derived | None:
    query = (
        f"{_COLUMNS} INDEXED BY events_by_time WHERE unit = ? AND unix_ms >= ?{_NUMBERS}"
        " ORDER BY unix_ms, number LIMIT 1"
    )
    found = connection.execute(query, (unit_id, unix_ms)).fetchall()
    new = [derived for derived, *_ in underived(connection, unit_id)]
    found += [each for each in new if each[3] is not None and each[3] >= unix_ms]
    return min(found, key=lambda each: (each[3], each[1]), default=None)


def _begin_of(connection: LogConnection, unit_id: int, number: int) -> int:
    """The event that opened the round in which event `number` is, or `number` itself."""
    query = (
        "SELECT number FROM events NOT INDEXED WHERE unit = ? AND number <= ? AND kind = ?"
        " ORDER BY number DESC LIMIT 1"
    )
    found = connection.execute(query, (unit_id, number, _BEGIN)).fetchone()
    return number if found is None else int(found[0])


def _end_of(connection: LogConnection, unit_id: int, number: int) -> int | None:
    """The last event before the round after the one in which event `number` is: until then that
    round may be called a misdeal. None if no other follows in `events`."""
    query = (
        "SELECT number FROM events NOT INDEXED WHERE unit = ? AND number > ? AND kind = ?"
        " ORDER BY number LIMIT 1"
    )
    found = connection.execute(query, (unit_id, number, _BEGIN)).fetchone()
    return None if found is None else int(found[0]) - 1
