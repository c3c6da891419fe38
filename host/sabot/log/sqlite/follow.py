"""Follows a log in a file while others write it.

One connection is kept, because opening one takes longer than everything else. Each question is a
transaction of its own: the writer is never kept from making a checkpoint.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sabot.errors import DatabaseUnusable
from sabot.link.flow import Flow
from sabot.log.follow import Follower
from sabot.log.found import LARGEST, RawRecord
from sabot.log.presence import ATTACHED
from sabot.log.sqlite import queries, schema
from sabot.log.sqlite.derived import RECORD_AND_MAC
from sabot.log.sqlite.log_file import ERRORS, LogConnection, connect, reading_mode, user_error
from sabot.log.sqlite.presence_table import RIGHT_ROW

_BUSY_MS = 200  # a locked log is reported; who looks at the screens does not wait
_CHUNK = 1000  # records in memory at once
# One search for each unit: this is what following a log of many units costs.
_NEWEST = (
    "SELECT unit, id, (SELECT number || ' ' || hex(substr(CAST(mac AS BLOB), 1, 16)) FROM records"
    f" WHERE unit = u.id AND number <= {LARGEST} ORDER BY number DESC LIMIT 1)"
    " FROM units u NOT INDEXED"
)
_RECORDS = (
    f"SELECT number, {RECORD_AND_MAC} FROM records"
    f" WHERE unit = ? AND number > ? AND number <= ? ORDER BY number LIMIT {_CHUNK}"
)
_RECEIVED_BEFORE = (
    f"SELECT number FROM records WHERE unit = ? AND number <= {LARGEST}"
    " AND received_unix_ms < ? ORDER BY number DESC LIMIT 1"
)
# A clock that was set back begins an earlier span: only the sum shows that a span goes on.
_NOTED = (
    "SELECT unit, max(end_unix_ms), sum(end_unix_ms) FROM presence"
    f" WHERE state = '{ATTACHED}' AND {RIGHT_ROW} GROUP BY unit"
)


class SqliteFollower(Follower):
    """Follows the log at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: LogConnection | None = None
        self._file: tuple[int, ...] = ()
        self._seen: tuple[int, int] | None = None  # data_version and schema_version
        self._ids: dict[str, int] = {}
        self._newest: dict[str, str] = {}  # its number and MAC
        self._replaced = False  # whether the file is another one than at the last poll

    def close(self) -> None:
        if self._connection is not None:
            with suppress(*ERRORS):
                self._connection.close()
        self._connection, self._seen = None, None

    def poll(self) -> dict[str, int]:
        with self._reading() as connection:
            here = self._versions(connection)
            if here == self._seen:
                return {}
            if self._seen is None or here[1] != self._seen[1]:
                schema.check(self._path, connection, lists=False)
            rows = connection.execute(_NEWEST).fetchall()
            newest = {unit: each for unit, _, each in rows if each is not None}
            self._ids = {unit: id_ for unit, id_, _ in rows}
            if len(self._ids) < len(rows) or not all(type(unit) is str for unit in self._ids):
                queries.units(self._path, connection)  # raises
            self._seen = here
        before, self._newest = self._newest, newest
        changed = {
            unit: int(each.partition(" ")[0])
            for unit, each in newest.items()
            if self._replaced or before.get(unit) != each
        }
        self._replaced = False
        return changed | dict.fromkeys(before.keys() - newest.keys(), 0)

    def records(self, unit: str, after: int, last: int = LARGEST) -> Iterator[RawRecord]:
        while True:
            with self._reading() as connection:
                parameters = (self._ids.get(unit), after, last)
                some: list[RawRecord] = connection.execute(_RECORDS, parameters).fetchall()
            yield from some
            if len(some) < _CHUNK:
                return
            after = some[-1][0]

    def received_before(self, unit: str, unix_ms: int) -> int:
        with self._reading() as connection:
            parameters = (self._ids.get(unit), unix_ms)
            found = connection.execute(_RECEIVED_BEFORE, parameters).fetchone()
        return 0 if found is None else int(found[0])

    def newest_note(self) -> int:
        with self._reading() as connection:
            if not connection.has_table("desk"):
                return 0
            (newest,) = connection.execute("SELECT max(number) FROM desk").fetchone()
        return int(newest or 0)

    def noted(self) -> dict[str, tuple[int, int]]:
        with self._reading() as connection:
            if not connection.has_table("presence"):
                return {}
            return {unit: (end, mark) for unit, end, mark in connection.execute(_NOTED)}

    def flows(self) -> dict[str, Flow]:
        with self._reading() as connection:
            return queries.flows(connection)

    def _versions(self, connection: LogConnection) -> tuple[int, int]:
        (data,) = connection.execute("PRAGMA data_version").fetchone()
        (of_schema,) = connection.execute("PRAGMA schema_version").fetchone()
        return data, of_schema

    @contextmanager
    def _reading(self) -> Iterator[LogConnection]:
        """The connection to the file that has the name now."""
        try:
            file = _identity(self._path)
            if file != self._file:
                self.close()
                self._file, self._replaced = file, True
            if self._connection is None:
                self._connection = connect(self._path, reading_mode(self._path))
                self._connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
            yield self._connection
        except ERRORS as error:
            self.close()
            raise user_error(self._path, error) from None


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise DatabaseUnusable(
            f"{path}: cannot be read any more ({error.strerror}); put the file back"
        ) from None
    return found.st_dev, found.st_ino
