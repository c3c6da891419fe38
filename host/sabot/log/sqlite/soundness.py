"""What is wrong with a log's file as a database, whatever its records say.

SQLite lets a person with the file store what the tables do not allow, and indexes that do not fit
their tables. The commands then show something else than the records, which is all that the audit
chain protects.
"""

import hashlib
from collections.abc import Iterator

from sabot.log.sqlite.log_file import LogConnection
from sabot.log.sqlite.presence_table import RIGHT_ROW
from sabot.log.sqlite.seams_table import RIGHT_ROW as RIGHT_SEAM
from sabot.text import counted, printable
from sabot_protocol.chain import KEY_SIZE
from sabot_protocol.events import MAC_SIZE, MAX_SIZE
from sabot_protocol.games import MAX_DOCUMENT

_MOST = 20  # messages of SQLite
_LARGEST_NOTE = 4096  # bytes
_LARGEST_RECEIPT = 4096  # bytes
_LONGEST = 200  # characters of a user's name, role or hash
_TYPES = {
    "about": "typeof(name) = 'text' AND typeof(value) = 'text'",
    "records": "typeof(unit) = 'integer' AND typeof(number) = 'integer'"
    " AND typeof(received_unix_ms) = 'integer' AND typeof(record) = 'blob'"
    f" AND typeof(mac) = 'blob' AND length(record) <= {MAX_SIZE} AND length(mac) = {MAC_SIZE}",
    "tombstones": "typeof(unit) = 'integer' AND typeof(first) = 'integer'"
    " AND typeof(last) = 'integer' AND typeof(tombstone) = 'blob'",
    "games": "typeof(sha256) = 'blob' AND typeof(document) = 'blob'"
    f" AND length(sha256) = 32 AND length(document) <= {MAX_DOCUMENT}",
    "presence": RIGHT_ROW,
    "desk": "typeof(record) = 'blob' AND typeof(mac) = 'blob' AND number > 0"
    f" AND length(record) <= {_LARGEST_NOTE} AND length(mac) = {MAC_SIZE}",
    "desk_key": f"typeof(number) = 'integer' AND typeof(secret) = 'blob' AND number > 0"
    f" AND length(secret) = {KEY_SIZE}",
    "users": "typeof(name) = 'text' AND typeof(role) = 'text' AND typeof(hash) = 'text'"
    " AND closed IN (0, 1) AND typeof(closed) = 'integer' AND typeof(made_unix_ms) = 'integer'"
    f" AND max(length(name), length(role), length(hash)) <= {_LONGEST}",
    "sessions": "typeof(sha256) = 'blob' AND typeof(name) = 'text' AND length(sha256) = 32"
    f" AND typeof(begun_unix_ms) = 'integer' AND typeof(used_unix_ms) = 'integer'"
    f" AND length(name) <= {_LONGEST}",
    "receipts": "typeof(unit) = 'integer' AND typeof(number) = 'integer' AND number > 0"
    f" AND typeof(receipt) = 'blob' AND length(receipt) <= {_LARGEST_RECEIPT}",
    "seams": RIGHT_SEAM,
    "events": "typeof(unit) = 'integer' AND typeof(number) = 'integer' AND typeof(kind) = 'text'"
    " AND typeof(unix_ms) IN ('integer', 'null') AND typeof(shoe) = 'integer'"
    " AND typeof(round) = 'integer'",
}


def faults(connection: LogConnection) -> Iterator[str]:
    """Yield, for people, every fault of a file that has the tables of a log: what SQLite finds,
    values of the wrong type or size, rows of units that the log does not name, and units without
    records."""
    for (message,) in connection.execute(f"PRAGMA integrity_check({_MOST})"):
        if message != "ok":
            yield f"damaged, or changed by another program: {printable(message)}"
    here = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    for table, right in _TYPES.items():
        if table not in here:  # of a newer version than the log's
            continue
        (wrong,) = connection.execute(
            f"SELECT count(*) FROM {table} WHERE ({right}) IS NOT TRUE"
        ).fetchone()
        if wrong:
            yield f"{counted(wrong, 'row')} of {table} with values that no log has"
    if "games" in here:
        query = f"SELECT sha256, document FROM games WHERE {_TYPES['games']}"
        for sha256, document in connection.execute(query):
            if hashlib.sha256(document).digest() != sha256:
                yield "a game document does not fit its SHA-256"
    units = {unit for (unit,) in connection.execute("SELECT id FROM units NOT INDEXED")}
    for table in ("records", "tombstones", "events", "receipts"):
        if table in here and (stray := _stray(connection, table, units)) is not None:
            yield f"{table} has rows of a unit {stray!r}, which the log does not name"
    for unit in sorted(units):
        query = "SELECT 1 FROM records WHERE unit = ? LIMIT 1"
        if connection.execute(query, (unit,)).fetchone() is None:
            yield f"the log names a unit {unit}, of which it has no records"


def _stray(connection: LogConnection, table: str, units: set[int]) -> object:
    """The first unit in a table that is none of `units`; None if there is none."""
    query = f"SELECT unit FROM {table} WHERE unit > ? ORDER BY unit LIMIT 1"
    found = connection.execute(f"SELECT min(unit) FROM {table}").fetchone()
    while found is not None and found[0] is not None:
        if found[0] not in units:
            return str(found[0])[:_MOST]
        found = connection.execute(query, found).fetchone()
    return None
