"""For how many days a log's records must be kept at the least: set once, in the log itself.

The log keeps every minimum that was ever set, in the row `retention` of its table `about`. That
guards against mistakes, not against who can write to the file: what somebody removed is told by
the audit chain and the tombstones.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from sabot.cli.view import local_time
from sabot.errors import DatabaseUnusable, KeptByLaw

DAY_MS = 86_400_000
_NAME = "retention"
_BUSY_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Minimum:
    """For how many days records must be kept at the least, and when somebody set that."""

    days: int
    set_unix_ms: int


def minimums(db: Path) -> list[Minimum]:
    """Every minimum that was ever set for the log at `db`, the one in force last.

    Raises DatabaseUnusable.
    """
    with _opened(db, "ro") as connection:
        return _read(db, connection)


def set_minimum(db: Path, days: int, now_unix_ms: int, *, lower: bool) -> None:
    """Have a log's records kept for so many days at the least. Raises KeptByLaw for fewer than
    before, unless `lower`; DatabaseUnusable.
    """
    with _opened(db, "rw") as connection:
        before = _read(db, connection)
        if before and days == before[-1].days:
            return
        if before and days < before[-1].days and not lower:
            raise KeptByLaw(
                f"{db}: {before[-1].days} days were set on {local_time(before[-1].set_unix_ms)}, "
                f"{days} are fewer; --lower sets them, and the log will tell"
            )
        text = json.dumps([asdict(each) for each in (*before, Minimum(days, now_unix_ms))])
        connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (_NAME, text))
        connection.execute("COMMIT")


def check_keep_days(db: Path, keep_days: int, now_unix_ms: int) -> None:
    """Raises KeptByLaw where fewer days are to be kept than the log's minimum."""
    before = minimums(db)
    if before and keep_days < before[-1].days:
        until = local_time(now_unix_ms + before[-1].days * DAY_MS)
        raise KeptByLaw(
            f"{db}: records are to be kept for {before[-1].days} days, what is recorded now until "
            f"{until}; --keep-days {keep_days} is fewer"
        )


def _read(db: Path, connection: sqlite3.Connection) -> list[Minimum]:
    row = connection.execute("SELECT value FROM about WHERE name = ?", (_NAME,)).fetchone()
    if row is None:
        return []
    try:
        found = [Minimum(each["days"], each["set_unix_ms"]) for each in json.loads(row[0])]
        if found and all(_is_count(n) for each in found for n in (each.days, each.set_unix_ms)):
            return found
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise DatabaseUnusable(
        f"{db}: what it says of retention cannot be read; nothing is removed from it"
    )


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


@contextmanager
def _opened(db: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A transaction on a log that `Store` has found to be one; what is not committed is undone."""
    uri = f"{db.resolve().as_uri()}?mode={mode}"
    try:
        with closing(
            sqlite3.connect(uri, uri=True, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("BEGIN" if mode == "ro" else "BEGIN IMMEDIATE")
            yield connection
    except sqlite3.Error as error:
        raise DatabaseUnusable(
            f"{db}: what it says of retention cannot be read or set ({error}); is it writable, is "
            "it in use?"
        ) from None
