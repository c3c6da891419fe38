"""What a site's log and a centre hold, read by SQL alone: nothing of Sabot reads or judges it.

The tables are those of the design: `records` and `receipts` of a SQLite log, and the schema `sabot`
of a centre.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

_BUSY_MS = 30_000


class Stored(NamedTuple):
    """A record as it is stored."""

    record: bytes
    mac: bytes


@dataclass(slots=True)
class SiteCopy:
    """What a site's log holds."""

    records: dict[str, dict[int, Stored]] = field(default_factory=dict)
    """By unit and number."""
    receipts: list[tuple[str, int, bytes]] = field(default_factory=list)
    """Unit and number by their columns, and the receipt."""


class Head(NamedTuple):
    """The newest record of a unit at the centre, and how many it has taken."""

    number: int
    mac: bytes
    records: int


class Alarm(NamedTuple):
    """An alarm of the centre."""

    unit: str
    number: int
    kind: str
    detail: str
    record: bytes
    mac: bytes


class Checkpoint(NamedTuple):
    """What a site says that it holds."""

    unit: str
    number: int
    mac: bytes
    records: int


@dataclass(slots=True)
class CentreCopy:
    """What a centre holds."""

    records: dict[str, dict[int, Stored]] = field(default_factory=dict)
    doubled: list[tuple[str, int]] = field(default_factory=list)
    """Unit and number of what is there more than once."""
    heads: dict[str, Head] = field(default_factory=dict)
    receipts: list[tuple[str, int, bytes]] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    holes: list[tuple[str, int, int]] = field(default_factory=list)
    """Unit, first and last number that the centre says it never got."""
    alarms: list[Alarm] = field(default_factory=list)


@contextmanager
def reading_site(log: Path) -> Iterator[sqlite3.Connection]:
    """A connection that only reads a site's log."""
    with closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True)) as connection:
        connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
        yield connection


def read_site(log: Path) -> SiteCopy:
    """Read a site's log."""
    copy = SiteCopy()
    with reading_site(log) as connection:
        names = dict(connection.execute("SELECT id, unit FROM units"))
        copy.records = {name: {} for name in names.values()}
        for unit, number, record, mac in connection.execute(
            "SELECT unit, number, record, mac FROM records"
        ):
            copy.records[names[unit]][number] = Stored(record, mac)
        copy.receipts = site_receipts(connection, names)
    return copy


def site_receipts(
    connection: sqlite3.Connection, names: Mapping[int, str] | None = None
) -> list[tuple[str, int, bytes]]:
    """The receipts in a site's log; none of one that was never forwarded."""
    if names is None:
        names = dict(connection.execute("SELECT id, unit FROM units"))
    table = "SELECT 1 FROM sqlite_schema WHERE name = 'receipts'"
    if connection.execute(table).fetchone() is None:
        return []
    rows = connection.execute("SELECT unit, number, receipt FROM receipts").fetchall()
    return [(names.get(unit, unit), number, receipt) for unit, number, receipt in rows]


def read_centre(address: str) -> CentreCopy:
    """Read a centre, all as of one moment."""
    with psycopg.connect(address, connect_timeout=10) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        return _read(connection)


def _read(connection: "psycopg.Connection[tuple[Any, ...]]") -> CentreCopy:
    copy = CentreCopy()
    named = _Named(connection.execute("SELECT id, unit FROM sabot.units").fetchall())
    seen: Counter[tuple[str, int]] = Counter()
    query = "SELECT unit, number, record, mac FROM sabot.records"
    for unit, number, record, mac in connection.execute(query):
        name = named(unit)
        seen[name, number] += 1
        copy.records.setdefault(name, {})[number] = Stored(bytes(record), bytes(mac))
    copy.doubled = sorted(place for place, count in seen.items() if count > 1)
    copy.heads = heads_of(connection)
    copy.receipts = centre_receipts(connection)
    copy.checkpoints = [
        Checkpoint(named(unit), number, bytes(mac), records)
        for unit, number, mac, records in connection.execute(
            "SELECT unit, number, mac, records FROM sabot.site_checkpoints"
        )
    ]
    query = "SELECT unit, first, last FROM sabot.holes"
    copy.holes = [(named(unit), first, last) for unit, first, last in connection.execute(query)]
    query = "SELECT unit, number, kind, detail, record, mac FROM sabot.alarms ORDER BY id"
    copy.alarms = [
        Alarm(named(unit), number, kind, detail or "", bytes(record or b""), bytes(mac or b""))
        for unit, number, kind, detail, record, mac in connection.execute(query)
    ]
    return copy


def heads_of(connection: "psycopg.Connection[tuple[Any, ...]]") -> dict[str, Head]:
    """The head of each unit of a centre that has any record."""
    rows = connection.execute("SELECT unit, newest, mac, records FROM sabot.units").fetchall()
    return {unit: Head(newest, bytes(mac or b""), taken) for unit, newest, mac, taken in rows}


def newest_of(heads: Mapping[str, Head], unit: str) -> int:
    """The number of the newest record of a unit; 0 if there is none."""
    return heads[unit].number if unit in heads else 0


def centre_receipts(
    connection: "psycopg.Connection[tuple[Any, ...]]",
) -> list[tuple[str, int, bytes]]:
    """The receipts that a centre keeps."""
    named = _Named(connection.execute("SELECT id, unit FROM sabot.units").fetchall())
    rows = connection.execute("SELECT unit, number, receipt FROM sabot.receipts").fetchall()
    return [(named(unit), number, bytes(receipt)) for unit, number, receipt in rows]


class _Named:
    """A unit's name from a column that has it, or its id."""

    def __init__(self, rows: Iterable[Sequence[Any]]) -> None:
        self._names: dict[object, object] = dict(tuple(row) for row in rows)

    def __call__(self, unit: object) -> str:
        return str(self._names.get(unit, unit))
