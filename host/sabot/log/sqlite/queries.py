"""What other parts of a log ask of its tables, in one place each."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from sabot.errors import WHEN_DAMAGED, DatabaseUnusable
from sabot.link.flow import Flow
from sabot.log import boards
from sabot.log.found import AFTER_FLOWS, FLOW, LARGEST, flows_of, kinds_in_columns
from sabot.log.sqlite.derived import underived
from sabot.log.sqlite.log_file import LogConnection
from sabot.text import counted
from sabot_protocol.frame import MAX_PAYLOAD

_LONGEST_NAME = MAX_PAYLOAD  # of a unit: it came in a message
_NEWEST = (
    "SELECT max("
    f"ifnull((SELECT max(number) FROM records WHERE unit = ?1 AND number <= {LARGEST}), 0),"
    "ifnull((SELECT last FROM tombstones WHERE unit = ?1 AND typeof(last) = 'integer'"
    " ORDER BY first DESC LIMIT 1), 0))"
)


def fact(connection: LogConnection, name: str) -> str | None:
    """A value of the table `about`."""
    found = connection.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
    return None if found is None else found[0]


def flows(connection: LogConnection) -> dict[str, Flow]:
    """As `Store.flows`."""
    query = "SELECT name, value FROM about WHERE name >= ? AND name < ?"
    return flows_of(connection.execute(query, (FLOW, AFTER_FLOWS)))


def keep_flows(connection: LogConnection, flows: Iterable[Flow]) -> None:
    """Store how the events of units come."""
    rows = [(f"{FLOW}{flow.unit}", flow.as_fact()) for flow in flows]
    connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", rows)


def units(path: Path, connection: LogConnection) -> dict[str, int]:
    """The id of every unit by its name, by unit and board.

    Raises DatabaseUnusable if a name is not text or too long, or if two units have the same one: a
    unit would then show the records of another one.
    """
    # Without the index of the names: the rows themselves say which units there are.
    query = (
        "SELECT id, CASE WHEN typeof(unit) = 'text' AND length(unit) <= ? THEN unit END FROM units"
        " NOT INDEXED"
    )
    rows = connection.execute(query, (_LONGEST_NAME,)).fetchall()
    found = {unit: unit_id for unit_id, unit in rows}
    if None in found:
        wrong = f"the name of unit {found[None]} is not text of up to {_LONGEST_NAME} characters"
    elif len(found) < len(rows):
        wrong = f"{counted(len(rows) - len(found), 'unit')} with the name of another one"
    else:
        return {unit: found[unit] for unit in boards.in_order(found)}
    raise DatabaseUnusable(f"{path}: {wrong}; {WHEN_DAMAGED}")


def unit_id(path: Path, connection: LogConnection, unit: str) -> int | None:
    """The id of a unit; None if the log does not have it. Raises DatabaseUnusable if two units have
    this name."""
    found = connection.execute("SELECT id FROM units NOT INDEXED WHERE unit = ?", (unit,))
    ids = [each for (each,) in found]
    if len(ids) > 1:
        units(path, connection)  # raises
    return ids[0] if ids else None


def unit_id_of(connection: LogConnection, unit: str) -> int | None:
    """The id of a unit, in a transaction of a file whose names were checked."""
    found = connection.execute("SELECT id FROM units WHERE unit = ?", (unit,)).fetchone()
    return None if found is None else found[0]


def newest(connection: LogConnection, unit_id: int) -> int:
    """The last number of a unit, including pruned events; 0 if there is none."""
    return int(connection.execute(_NEWEST, (unit_id,)).fetchone()[0])


def first_from(connection: LogConnection, unit_id: int | None, number: int) -> int | None:
    """The first number of a unit's records from `number` on; None without any, or if a forger
    put something else there."""
    query = "SELECT number FROM records WHERE unit = ? AND number >= ? ORDER BY number LIMIT 1"
    found = connection.execute(query, (unit_id, number)).fetchone()
    return found[0] if found is not None and type(found[0]) is int else None


def records_within(connection: LogConnection, unit_id: int | None, first: int, last: int) -> int:
    """How many records of a unit have a number from `first` to `last`."""
    query = "SELECT count(*) FROM records WHERE unit = ? AND number BETWEEN ? AND ?"
    return int(connection.execute(query, (unit_id, first, last)).fetchone()[0])


def limits(first: int | None, last: int | None) -> tuple[str, list[int]]:
    """The SQL that limits numbers to `first` to `last`, after another condition, and its
    parameters. None is no limit."""
    of_each = (("number >= ?", first), ("number <= ?", last))
    given = [(condition, value) for condition, value in of_each if value is not None]
    return "".join(f" AND {each}" for each, _ in given), [value for _, value in given]


def counts(connection: LogConnection, unit_id: int | None, kinds: Sequence[str]) -> list[int]:
    """How many events of each kind a unit has."""
    if unit_id is None:
        return [0] * len(kinds)
    columns = [kinds_in_columns([kind])[1] for kind in kinds]
    sums = [f"ifnull(sum(kind IN ({', '.join('?' * len(each))})), 0)" for each in columns]
    query = f"SELECT {', '.join(sums)} FROM events NOT INDEXED WHERE unit = ?"
    parameters = (*chain.from_iterable(columns), unit_id)
    found = [int(count) for count in connection.execute(query, parameters).fetchone()]
    for (_, _, kind, *_), *_ in underived(connection, unit_id):
        if kind in kinds:
            found[kinds.index(kind)] += 1
    return found


def last_received(connection: LogConnection, unit_id: int | None) -> int | None:
    """When the newest record of a unit was received; None if it has none, or if a forger put
    something else than a number there."""
    query = (
        "SELECT received_unix_ms FROM records WHERE unit = ? AND number <= ?"
        " ORDER BY number DESC LIMIT 1"
    )
    found = connection.execute(query, (unit_id, LARGEST)).fetchone()
    return found[0] if found is not None and type(found[0]) is int else None


def pruned_within(connection: LogConnection, unit_id: int, first: int, last: int) -> bool:
    query = (
        "SELECT last FROM tombstones WHERE unit = ? AND first <= ? AND typeof(last) = 'integer'"
        " ORDER BY first DESC LIMIT 1"
    )
    found = connection.execute(query, (unit_id, last)).fetchone()
    return found is not None and found[0] >= first
