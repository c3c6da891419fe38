"""Opens the file of a log to tamper with it, with SQL and without code of the project."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

TABLES = {
    "about": ("name", "value"),
    "units": ("id", "unit"),
    "records": ("unit", "number", "received_unix_ms", "record", "mac"),
    "tombstones": ("unit", "first", "last", "tombstone"),
    "events": ("unit", "number", "kind", "unix_ms", "shoe", "round"),
    "games": ("sha256", "document"),
    "presence": ("unit", "state", "begin_unix_ms", "end_unix_ms"),
    "desk": ("number", "record", "mac"),
    "desk_key": ("number", "secret"),
    "users": ("name", "role", "hash", "closed", "made_unix_ms"),
    "sessions": ("sha256", "name", "begun_unix_ms", "used_unix_ms"),
    "receipts": ("unit", "number", "receipt"),
    "seams": ("unit", "last", "seam"),
}
"""Every table of a log with its columns; a test holds it to what a new log has."""
INDEXES = ("events_by_round", "events_by_time", "sqlite_autoindex_units_1")
SCHEMA = "type, name, tbl_name, rootpage, sql"


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The file, with its own description writable."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("PRAGMA synchronous=OFF")  # thousands of cases need not survive a crash
        yield connection


def a_row(connection: sqlite3.Connection, table: str, rng: random.Random) -> tuple[Any, ...]:
    """Any row of a table."""
    rows = connection.execute(f"SELECT * FROM {table} NOT INDEXED").fetchall()
    return tuple(rng.choice(rows))


def restore(connection: sqlite3.Connection, schema: list[tuple[Any, ...]]) -> None:
    """Put back what described all tables and indexes."""
    connection.execute("DELETE FROM sqlite_schema")
    insert = f"INSERT INTO sqlite_schema (rowid, {SCHEMA}) VALUES (?, ?, ?, ?, ?, ?)"
    connection.executemany(insert, schema)
