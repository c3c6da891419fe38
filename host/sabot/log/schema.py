"""The tables of a log, and whether a file has exactly these.

The schema in a file decides what its tables return: a partial index hides records, a trigger
changes them, a dropped constraint lets a second unit have the name of the first. So a file whose
schema differs in anything from what `create` makes is not read.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sabot.errors import DatabaseUnusable
from sabot.log.log_file import FORMAT, WHEN_DAMAGED
from sabot.text import printable

VERSION = 2
"""The value of `version` in a log's table `about`. No other version has the tables below."""

# For each unit it has a row for every record up to some number, and for none after that.
EVENTS_TABLE = (
    "CREATE TABLE events (unit INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL,"
    " unix_ms INTEGER, shoe INTEGER NOT NULL, round INTEGER NOT NULL,"
    " PRIMARY KEY (unit, number)) WITHOUT ROWID"
)
EVENTS_INDEXES = (
    "CREATE INDEX events_by_round ON events (unit, shoe, round)",
    "CREATE INDEX events_by_time ON events (unit, unix_ms)",
)
_ABOUT = "CREATE TABLE about (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)"
_ABOUT_OF_VERSION_1 = "CREATE TABLE about (name TEXT NOT NULL, value TEXT NOT NULL)"
_TABLES = (
    _ABOUT,
    "CREATE TABLE units (id INTEGER PRIMARY KEY, unit TEXT NOT NULL UNIQUE)",
    "CREATE TABLE records (unit INTEGER NOT NULL, number INTEGER NOT NULL,"
    " received_unix_ms INTEGER NOT NULL, record BLOB NOT NULL, mac BLOB NOT NULL,"
    " PRIMARY KEY (unit, number)) WITHOUT ROWID",
    "CREATE TABLE tombstones (unit INTEGER NOT NULL, first INTEGER NOT NULL,"
    " last INTEGER NOT NULL, tombstone BLOB NOT NULL, PRIMARY KEY (unit, first)) WITHOUT ROWID",
)
_WITH_OWN_INDEX = ("about", "units")  # SQLite makes it by itself, for a constraint

_SHOWN = 40  # characters of a name that the message shows


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    """A row of `sqlite_schema`. `sql` is empty for an index that SQLite made by itself."""

    kind: str
    name: str
    table: str
    sql: str

    @property
    def derived(self) -> bool:
        """Whether `sabot rebuild` makes it again, or removes it with the table `events`."""
        return self.table == "events" and self.kind in ("table", "index")


def create(connection: sqlite3.Connection) -> None:
    """Make the tables of a log."""
    for statement in (*_TABLES, EVENTS_TABLE, *EVENTS_INDEXES):
        connection.execute(statement)
    about = [("format", FORMAT), ("version", str(VERSION))]
    connection.executemany("INSERT INTO about VALUES (?, ?)", about)


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether the database has nothing in it, not even a table of another program."""
    return connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None


def check(path: Path, connection: sqlite3.Connection, *, lists: bool = True) -> None:
    """Raise DatabaseUnusable unless the database at `path` is a log of this version, with exactly
    its tables and indexes. Without `lists`, those that `sabot rebuild` makes may differ.
    """
    # Nothing but this table is read before it is known what the others are.
    found = [
        _Entry(*(str(value or "") for value in row))
        for row in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    ]
    here = set(found)
    if any(each.kind == "table" and each.sql in (_ABOUT, _ABOUT_OF_VERSION_1) for each in found):
        _check_version(path, connection)
    elif not here & _EXPECTED:
        raise _not_a_log(path)
    wrong = here ^ _EXPECTED
    if len(found) > len(here):
        wrong |= {each for each in here if found.count(each) > 1}
    if all(each.derived for each in wrong):
        if wrong and lists:
            names = {each.name for each in wrong}
            raise DatabaseUnusable(
                f"{path}: its lists ({_named(names)}) are missing or altered; `sabot rebuild` "
                "makes them again from the records"
            )
        return
    names = {each.name for each in wrong if not each.derived}
    raise DatabaseUnusable(
        f"{path}: its tables were altered ({_named(names)}), so that what they show cannot be "
        f"trusted; {WHEN_DAMAGED}"
    )


def _check_version(path: Path, connection: sqlite3.Connection) -> None:
    query = "SELECT name, value FROM about WHERE name IN ('format', 'version')"
    about = dict(connection.execute(query).fetchall())
    if about.get("format") != FORMAT:
        raise _not_a_log(path)
    version = about.get("version", "")
    if version == str(VERSION):
        return
    if version == "1":
        raise DatabaseUnusable(
            f"{path}: a log of version 1, this sabot reads {VERSION}; read it with the "
            "sabot that wrote it, and name another file with --db to go on logging"
        )
    raise DatabaseUnusable(
        f"{path}: a log of version {_shown(version)}, this sabot reads {VERSION}; "
        "update sabot, or name another file with --db"
    )


def _not_a_log(path: Path) -> DatabaseUnusable:
    return DatabaseUnusable(f"{path}: a database, but not a Sabot log; name another file with --db")


def _named(names: Iterable[str]) -> str:
    first, *others = sorted(names)
    return f"{_shown(first)} and {len(others)} more" if others else _shown(first)


def _shown(text: object) -> str:
    return printable(str(text)[:_SHOWN])


def _entry(statement: str) -> _Entry:
    """The row of `sqlite_schema` that a statement makes."""
    _, kind, name, *rest = statement.split()
    kind = kind.lower()
    return _Entry(kind, name, rest[1] if kind == "index" else name, statement)


_EXPECTED = frozenset(map(_entry, (*_TABLES, EVENTS_TABLE, *EVENTS_INDEXES))) | {
    _Entry("index", f"sqlite_autoindex_{table}_1", table, "") for table in _WITH_OWN_INDEX
}
