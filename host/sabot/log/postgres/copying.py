"""Copies a log in PostgreSQL to a file: for an auditor, or to go on without the server."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sabot.errors import DatabaseUnusable
from sabot.files import make_private
from sabot.log.postgres import queries
from sabot.log.postgres.sessions import PostgresConnection
from sabot.log.sqlite.log_file import connect
from sabot.log.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from sabot.log.postgres.store import PostgresStore

_WHOLE = {
    "games": "sha256, document",
    "seams": "unit, last, seam",
    "presence": "unit, state, begin_unix_ms, end_unix_ms",
    "desk": "number, record, mac",
    "desk_key": "number, secret",
    "users": "name, role, hash, closed, made_unix_ms",
    "sessions": "sha256, name, begun_unix_ms, used_unix_ms",
}
"""The tables that are copied as they are, and their columns in a file."""
_OF_A_UNIT = {
    "tombstones": "first, last, tombstone",
    "receipts": "number, receipt",
}
_OWN_FACTS = ("format", "version", "id")


def copy_to_file(store: "PostgresStore", to: Path) -> int:
    """Copy a log, as it is now, to the new file `to`; return how many events it has.

    Raises DatabaseUnusable if `to` exists or cannot be written, or if the role may not read all;
    then there is no file.
    """
    try:
        make_private(to)
    except OSError as error:
        raise DatabaseUnusable(
            f"{to}: cannot be written ({error.strerror}); name another file with -o"
        ) from None
    try:
        with SqliteStore(to, create=True) as copied, store.reading() as connection:
            _copy(connection, copied)
            copied.derive()
        with closing(connect(to, "rw")) as file:
            file.execute("PRAGMA journal_mode=DELETE")  # it can be read in any folder
            return int(file.execute("SELECT count(*) FROM records").fetchone()[0])
    except BaseException:  # also Ctrl-C: half a copy is useless
        for name in (to, to.with_name(to.name + "-wal"), to.with_name(to.name + "-shm")):
            name.unlink(missing_ok=True)
        raise


def _copy(connection: PostgresConnection, copied: SqliteStore) -> None:
    for table, columns in _WHOLE.items():
        _insert(copied, table, connection.stream(f"SELECT {columns} FROM {table}", (), 1000))
    facts = connection.execute("SELECT name, value FROM about").fetchall()
    _insert(copied, "about", iter([[fact for fact in facts if fact[0] not in _OWN_FACTS]]))
    for unit, unit_id in queries.units(connection).items():
        _insert(copied, "units", iter([[(unit_id, unit)]]))
        columns = f"{unit_id}, number, received_unix_ms, record, mac"
        rows = queries.numbered_rows(connection, unit_id, columns, None, None)
        _insert(copied, "records", rows)
        for table, columns in _OF_A_UNIT.items():
            query = f"SELECT {unit_id}, {columns} FROM {table} WHERE unit = ?"
            _insert(copied, table, connection.stream(query, (unit_id,), 1000))


def _insert(copied: SqliteStore, table: str, rows: Iterator[list[Any]]) -> None:
    """Insert rows, some of them in each transaction."""
    for some in rows:
        if some:
            marks = ", ".join("?" * len(some[0]))
            with copied.writer as connection:
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", some)
