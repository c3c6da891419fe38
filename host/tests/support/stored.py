"""What a log has, read without code of the project: by SQLite's and PostgreSQL's own libraries."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sabot.log.place import Place

IN_A_FILE = pytest.mark.parametrize("log_place", ["sqlite"], indirect=True)
"""For a test that is about the file of a log: it does not run with PostgreSQL too."""


def sql_in(place: Path | Place, statement: str, *given: object) -> list[tuple[Any, ...]]:
    """Carry out a statement, with `?` for each value, and commit; return the rows."""
    if isinstance(place, Path):
        with closing(sqlite3.connect(place)) as connection, connection:
            return connection.execute(statement, given).fetchall()
    with psycopg.connect(place.uri, options="-csearch_path=sabot") as session:
        done = session.execute(statement.replace("?", "%s"), given)
        return done.fetchall() if done.description else []


def contents_in(place: Path | Place, unit: str = "U1") -> list[tuple[bytes, bytes]]:
    """Record and MAC of the events of a unit."""
    query = "SELECT record, mac FROM records, units WHERE id = records.unit AND units.unit = ?"
    if not isinstance(place, Path):
        query = query.replace("record, mac", "records.record, records.mac")
    return sql_in(place, query + " ORDER BY number", unit)
