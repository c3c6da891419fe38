"""Logs of older versions: their tables as those versions wrote them, copied from such logs."""

import sqlite3
from contextlib import closing
from pathlib import Path

OF_2 = """
CREATE TABLE about (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE units (id INTEGER PRIMARY KEY, unit TEXT NOT NULL UNIQUE);
CREATE TABLE records (unit INTEGER NOT NULL, number INTEGER NOT NULL, received_unix_ms INTEGER NOT NULL, record BLOB NOT NULL, mac BLOB NOT NULL, PRIMARY KEY (unit, number)) WITHOUT ROWID;
CREATE TABLE tombstones (unit INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, tombstone BLOB NOT NULL, PRIMARY KEY (unit, first)) WITHOUT ROWID;
CREATE TABLE events (unit INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, unix_ms INTEGER, shoe INTEGER NOT NULL, round INTEGER NOT NULL, PRIMARY KEY (unit, number)) WITHOUT ROWID;
CREATE INDEX events_by_round ON events (unit, shoe, round);
CREATE INDEX events_by_time ON events (unit, unix_ms);
"""  # noqa: E501
ADDED = {
    3: """
CREATE TABLE games (sha256 BLOB NOT NULL PRIMARY KEY, document BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE presence (unit TEXT NOT NULL, state TEXT NOT NULL, begin_unix_ms INTEGER NOT NULL, end_unix_ms INTEGER NOT NULL, PRIMARY KEY (unit, state, begin_unix_ms)) WITHOUT ROWID;
""",  # noqa: E501
    4: """
CREATE TABLE desk (number INTEGER PRIMARY KEY, record BLOB NOT NULL, mac BLOB NOT NULL);
CREATE TABLE desk_key (number INTEGER NOT NULL, secret BLOB NOT NULL);
CREATE TABLE users (name TEXT NOT NULL PRIMARY KEY, role TEXT NOT NULL, hash TEXT NOT NULL, closed INTEGER NOT NULL, made_unix_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions (sha256 BLOB NOT NULL PRIMARY KEY, name TEXT NOT NULL, begun_unix_ms INTEGER NOT NULL, used_unix_ms INTEGER NOT NULL) WITHOUT ROWID;
""",  # noqa: E501
    5: """
CREATE TABLE receipts (unit INTEGER NOT NULL, number INTEGER NOT NULL, receipt BLOB NOT NULL, PRIMARY KEY (unit, number)) WITHOUT ROWID;
""",  # noqa: E501
}
"""What a version added to the one before it."""
VERSIONS = (2, *ADDED)


def make(path: Path, version: int) -> None:
    """Make an empty log of an older version."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(OF_2 + "".join(ADDED[each] for each in ADDED if each <= version))
        about = [("format", "sabot-log"), ("version", str(version))]
        connection.executemany("INSERT INTO about VALUES (?, ?)", about)
    path.chmod(0o600)


def tables_of(path: Path) -> list[tuple[object, ...]]:
    """The tables and indexes of a log, as SQLite describes them."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()
