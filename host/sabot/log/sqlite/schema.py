"""The tables of a log, and whether a file has exactly these.

The schema in a file decides what its tables return: a partial index hides records, a trigger
changes them, a dropped constraint lets a second unit have the name of the first. So a file whose
schema differs in anything from what `create` makes is not read.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sabot.errors import WHEN_DAMAGED, DatabaseUnusable
from sabot.log.found import BEFORE_GAMES
from sabot.log.sqlite.log_file import FORMAT, LogConnection
from sabot.text import counted, printable

VERSION = 6
"""The value of `version` in the table `about` of a log that this sabot writes."""

OLDEST = 2
"""The oldest version that is read."""

_READ = range(OLDEST, VERSION + 1)
"""The versions that are read. A log of an older one is converted when something opens it to
write to it."""

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
_TABLES_OF_2 = (
    _ABOUT,
    "CREATE TABLE units (id INTEGER PRIMARY KEY, unit TEXT NOT NULL UNIQUE)",
    "CREATE TABLE records (unit INTEGER NOT NULL, number INTEGER NOT NULL,"
    " received_unix_ms INTEGER NOT NULL, record BLOB NOT NULL, mac BLOB NOT NULL,"
    " PRIMARY KEY (unit, number)) WITHOUT ROWID",
    "CREATE TABLE tombstones (unit INTEGER NOT NULL, first INTEGER NOT NULL,"
    " last INTEGER NOT NULL, tombstone BLOB NOT NULL, PRIMARY KEY (unit, first)) WITHOUT ROWID",
)
_ADDED_IN_3 = (
    # Each game document by which a unit in the log has dealt, as the shoe sent it.
    "CREATE TABLE games (sha256 BLOB NOT NULL PRIMARY KEY, document BLOB NOT NULL) WITHOUT ROWID",
    # The host's own notes of when a log had which shoe (presence.py); no unit needs records.
    "CREATE TABLE presence (unit TEXT NOT NULL, state TEXT NOT NULL,"
    " begin_unix_ms INTEGER NOT NULL, end_unix_ms INTEGER NOT NULL,"
    " PRIMARY KEY (unit, state, begin_unix_ms)) WITHOUT ROWID",
)
_ADDED_IN_4 = (
    # What people did, and the server: a chain of notes (sabot/desk), and the secret of the next.
    "CREATE TABLE desk (number INTEGER PRIMARY KEY, record BLOB NOT NULL, mac BLOB NOT NULL)",
    "CREATE TABLE desk_key (number INTEGER NOT NULL, secret BLOB NOT NULL)",
    "CREATE TABLE users (name TEXT NOT NULL PRIMARY KEY, role TEXT NOT NULL, hash TEXT NOT NULL,"
    " closed INTEGER NOT NULL, made_unix_ms INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE sessions (sha256 BLOB NOT NULL PRIMARY KEY, name TEXT NOT NULL,"
    " begun_unix_ms INTEGER NOT NULL, used_unix_ms INTEGER NOT NULL) WITHOUT ROWID",
)
_ADDED_IN_5 = (
    # What the centre signed for (sabot/receipts), each up to an event that the log has or had.
    "CREATE TABLE receipts (unit INTEGER NOT NULL, number INTEGER NOT NULL, receipt BLOB NOT NULL,"
    " PRIMARY KEY (unit, number)) WITHOUT ROWID",
)
_ADDED_IN_6 = (
    # Which board has taken the place of which (sabot/log/seam.py), by the name of the new one. That
    # may have no records yet; `last` is the last event of the other.
    "CREATE TABLE seams (unit TEXT NOT NULL PRIMARY KEY, last INTEGER NOT NULL,"
    " seam BLOB NOT NULL) WITHOUT ROWID",
)
_ADDED = {3: _ADDED_IN_3, 4: _ADDED_IN_4, 5: _ADDED_IN_5, 6: _ADDED_IN_6}
"""What each version added to the one before it."""
_ROW_IS = {
    "games": "game document",
    "presence": "presence note",
    "desk": "desk note",
    "desk_key": "desk secret",
    "users": "user",
    "receipts": "receipt",
    "seams": "seam",
}
"""What a row of a table is, of all that were added but the sessions: users sign in again."""
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


def create(connection: LogConnection) -> None:
    """Make the tables of a log."""
    for statement in (*_TABLES_OF_2, *_added_after(2), EVENTS_TABLE, *EVENTS_INDEXES):
        connection.execute(statement)
    about = [("format", FORMAT), ("version", str(VERSION))]
    connection.executemany("INSERT INTO about VALUES (?, ?)", about)


def lead(connection: LogConnection, before: int, after: int, newest: Mapping[str, int]) -> None:
    """Make a log of version `before` one of version `after`: add the tables that are missing, or
    remove those that came later. `newest` are the numbers of the newest events, by unit."""
    for statement in _added_after(before, up_to=after):
        connection.execute(statement)
    for statement in _added_after(after, up_to=before):
        connection.execute(f"DROP TABLE {_entry(statement).name}")
    connection.execute("UPDATE about SET value = ? WHERE name = 'version'", (str(after),))
    if before == 2:
        fact = (BEFORE_GAMES, json.dumps(newest))
        connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", fact)
    elif after == 2:
        connection.execute("DELETE FROM about WHERE name = ?", (BEFORE_GAMES,))


def only_in_later(connection: LogConnection, before: int, after: int) -> list[str]:
    """What a log of version `before` has that one of version `after` cannot have, for people."""
    found = []
    for statement in _added_after(after, up_to=before):
        name = _entry(statement).name
        if name in _ROW_IS:
            (rows,) = connection.execute(f"SELECT count(*) FROM {name}").fetchone()
            found += [counted(rows, _ROW_IS[name])] if rows else []
    return found


def is_empty(connection: LogConnection) -> bool:
    """Whether the database has nothing in it, not even a table of another program."""
    return connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None


def check(path: Path, connection: LogConnection, *, lists: bool = True) -> int:
    """Raise DatabaseUnusable unless the database at `path` is a log with exactly the tables and
    indexes of its version. Without `lists`, those that `sabot rebuild` makes may differ. Return the
    version.
    """
    # Nothing but this table is read before it is known what the others are.
    found = [
        _Entry(*(str(value or "") for value in row))
        for row in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    ]
    here = set(found)
    version = VERSION
    if any(each.kind == "table" and each.sql in (_ABOUT, _ABOUT_OF_VERSION_1) for each in found):
        version = _version(path, connection)
    elif not here & _EXPECTED[version]:
        raise _not_a_log(path)
    wrong = here ^ _EXPECTED[version]
    if len(found) > len(here):
        wrong |= {each for each in here if found.count(each) > 1}
    if all(each.derived for each in wrong):
        if wrong and lists:
            names = {each.name for each in wrong}
            raise DatabaseUnusable(
                f"{path}: its lists ({_named(names)}) are missing or altered; `sabot rebuild` "
                "makes them again from the records"
            )
        return version
    names = {each.name for each in wrong if not each.derived}
    raise DatabaseUnusable(
        f"{path}: its tables were altered ({_named(names)}), so that what they show cannot be "
        f"trusted; {WHEN_DAMAGED}"
    )


def _version(path: Path, connection: LogConnection) -> int:
    query = "SELECT name, value FROM about WHERE name IN ('format', 'version')"
    about = dict(connection.execute(query).fetchall())
    if about.get("format") != FORMAT:
        raise _not_a_log(path)
    version = about.get("version", "")
    if version in map(str, _READ):
        return int(version)
    if version == "1":
        raise DatabaseUnusable(
            f"{path}: a log of version 1, this sabot reads {OLDEST} to {VERSION}; read it with "
            "the sabot that wrote it, and name another file with --db to go on logging"
        )
    raise DatabaseUnusable(
        f"{path}: a log of version {_shown(version)}, this sabot reads {OLDEST} to {VERSION}; "
        "update sabot, or name another file with --db"
    )


def _not_a_log(path: Path) -> DatabaseUnusable:
    return DatabaseUnusable(f"{path}: a database, but not a Sabot log; name another file with --db")


def _named(names: Iterable[str]) -> str:
    first, *others = sorted(names)
    return f"{_shown(first)} and {len(others)} more" if others else _shown(first)


def _shown(text: object) -> str:
    return printable(str(text)[:_SHOWN])


def _added_after(version: int, *, up_to: int = VERSION) -> list[str]:
    """What was added by the versions after one, up to another."""
    return [each for added in _ADDED if version < added <= up_to for each in _ADDED[added]]


def _entry(statement: str) -> _Entry:
    """The row of `sqlite_schema` that a statement makes."""
    _, kind, name, *rest = statement.split()
    kind = kind.lower()
    return _Entry(kind, name, rest[1] if kind == "index" else name, statement)


_OF_2 = frozenset(map(_entry, (*_TABLES_OF_2, EVENTS_TABLE, *EVENTS_INDEXES))) | {
    _Entry("index", f"sqlite_autoindex_{table}_1", table, "") for table in _WITH_OWN_INDEX
}
_EXPECTED = {2: _OF_2}
for _version_, _statements in _ADDED.items():
    _EXPECTED[_version_] = _EXPECTED[_version_ - 1] | frozenset(map(_entry, _statements))
