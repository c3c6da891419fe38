"""The table `presence`: when a log had a session with a shoe, and when it waited for it."""

from collections.abc import Iterable

from sabot.log.presence import ATTACHED, WAITING, Span
from sabot.log.sql import Connection
from sabot.log.sqlite.log_file import LogConnection

_LAST_UNIX_MS = 253_402_300_799_999  # the end of the year 9999
_LONGEST_NAME = 1000  # of a unit, in characters

RIGHT_ROW = (
    f"typeof(unit) = 'text' AND length(unit) <= {_LONGEST_NAME}"
    " AND typeof(begin_unix_ms) = 'integer' AND typeof(end_unix_ms) = 'integer'"
    f" AND begin_unix_ms BETWEEN 0 AND {_LAST_UNIX_MS}"
    f" AND end_unix_ms BETWEEN begin_unix_ms AND {_LAST_UNIX_MS}"
    f" AND typeof(state) = 'text' AND state IN ('{ATTACHED}', '{WAITING}')"
)
"""The SQL condition of a row that a log can have. Others are not read, and `verify` finds them."""


def write(connection: LogConnection, spans: Iterable[Span]) -> None:
    """Store spans, or the later end of one that is stored already."""
    connection.executemany(
        "INSERT INTO presence VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE"
        " SET end_unix_ms = max(end_unix_ms, excluded.end_unix_ms)",
        [(each.unit, each.state, each.begin_unix_ms, each.end_unix_ms) for each in spans],
    )


def read_since(connection: Connection, unix_ms: int) -> list[Span]:
    """The spans of all units that ended after a time, or last since then."""
    query = (
        "SELECT unit, begin_unix_ms, end_unix_ms, state FROM presence"
        f" WHERE end_unix_ms > ? AND {RIGHT_ROW} ORDER BY begin_unix_ms"
    )
    return [Span(*row) for row in connection.execute(query, (unix_ms,))]


def read(connection: LogConnection, unit: str) -> list[Span]:
    """The spans of a unit."""
    query = (
        "SELECT unit, begin_unix_ms, end_unix_ms, state FROM presence"
        f" WHERE unit = ? AND {RIGHT_ROW} ORDER BY begin_unix_ms"
    )
    return [Span(*row) for row in connection.execute(query, (unit,))]
