"""The outbox: the newest messages of all units in a database of its own, and where each feed is.

It is made again from the log if it is lost: a message that it does not have is made of the log
again, with the same id (unit_messages.py). So it may also be kept small.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sabot.errors import DatabaseLocked, DatabaseUnusable, DiskFull
from sabot.feeds.message import Message, Position
from sabot.log.sqlite.opening import opened, write_ahead

END = 1 << 31
"""A place after all messages of an event."""

MOST_MESSAGES = 200_000
"""How many messages it has at most: about 150 MB. Those that a feed lacks beyond are made of the
log again."""

_APPLICATION_ID = 0x5AB07FED
_BUSY_MS = 500
_TABLES = """
CREATE TABLE units (
    unit TEXT PRIMARY KEY, begins INTEGER NOT NULL, up_to INTEGER NOT NULL, mac BLOB NOT NULL
) STRICT;
CREATE TABLE messages (
    unit TEXT NOT NULL, event INTEGER NOT NULL, place INTEGER NOT NULL, id TEXT NOT NULL,
    what TEXT NOT NULL, at_table TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (unit, event, place)
) STRICT;
CREATE TABLE cursors (
    feed TEXT NOT NULL, unit TEXT NOT NULL, event INTEGER NOT NULL, place INTEGER NOT NULL,
    PRIMARY KEY (feed, unit)
) STRICT, WITHOUT ROWID;
"""
_IN_PLAY = """
CREATE TABLE in_play (
    feed TEXT PRIMARY KEY, sends INTEGER NOT NULL, named INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""
_FROM_BEFORE = f"""
{_IN_PLAY}
INSERT INTO in_play SELECT DISTINCT feed, 1, 0 FROM cursors;
DELETE FROM messages;
UPDATE units SET begins = up_to;
"""
"""Of an outbox of Sabot before 0.3: feeds that have delivered go on as they did, and the messages
are made again, with those of held rounds."""
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@dataclass(frozen=True, slots=True)
class Span:
    """For which events of a unit the outbox has all messages: those after `begins`, up to
    `up_to`."""

    begins: int
    up_to: int
    mac: bytes
    """The MAC of event `up_to`."""


@dataclass(frozen=True, slots=True)
class InPlay:
    """What a feed did at its last start with the rounds of a shoe of cards in play."""

    sends: bool
    """Whether it sent them."""
    named: bool
    """Whether a line has said so, of a house that has not chosen."""


class Outbox:
    """The outbox in the file `path`, which is made if it is not there. One that is damaged is put
    aside, and `report` gets a line about it. Thread-safe.

    Every method raises DatabaseUnusable if the file cannot be read or written, DatabaseLocked,
    DiskFull.
    """

    def __init__(self, path: Path, report: Callable[[str], None] = lambda _: None) -> None:
        self.path = path
        self._lock = threading.RLock()
        with _errors(path):
            try:
                self._connection = _opened(path)
            except sqlite3.DatabaseError as error:
                if _code(error) not in _DAMAGED:
                    raise
                aside = path.with_name(f"{path.name}.damaged-{time.time_ns() // 1_000_000_000}")
                _put_aside(path, aside)
                report(
                    f"{path}: damaged, now {aside.name}; it is made again from the log: receivers "
                    "get messages again, with the same ids"
                )
                self._connection = _opened(path)

    def close(self) -> None:
        """Close the file."""
        with self._lock, suppress(sqlite3.Error):
            self._connection.close()

    def spans(self) -> dict[str, Span]:
        """What the outbox has, by unit."""
        with self._reading() as connection:
            rows = connection.execute("SELECT unit, begins, up_to, mac FROM units")
            return {unit: Span(*rest) for unit, *rest in rows}

    def span(self, unit: str) -> Span | None:
        """What the outbox has of a unit; None if it has not looked at it yet."""
        with self._reading() as connection:
            query = "SELECT begins, up_to, mac FROM units WHERE unit = ?"
            found = connection.execute(query, (unit,)).fetchone()
        return None if found is None else Span(*found)

    def put(self, spans: Mapping[str, Span], messages: Iterable[Message]) -> None:
        """Add messages, and what the outbox has then of their units, in one transaction."""
        with self._writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    (each.unit, *each.position, each.id, each.what, each.table, each.body)
                    for each in messages
                ),
            )
            connection.executemany(
                "INSERT INTO units VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE"
                " SET up_to = excluded.up_to, mac = excluded.mac",
                ((unit, span.begins, span.up_to, span.mac) for unit, span in spans.items()),
            )

    def after(self, unit: str, position: Position, most: int) -> list[Message]:
        """The next messages of a unit after a position, at most so many."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT event, place, id, what, at_table, body FROM messages"
                " WHERE unit = ? AND (event, place) > (?, ?) ORDER BY event, place LIMIT ?",
                (unit, *position, most),
            )
            return [Message(unit, Position(event, place), *rest) for event, place, *rest in rows]

    def cursors(self, feed: str) -> dict[str, Position]:
        """Up to where a feed's receiver has each unit's messages."""
        with self._reading() as connection:
            query = "SELECT unit, event, place FROM cursors WHERE feed = ?"
            return {unit: Position(*at) for unit, *at in connection.execute(query, (feed,))}

    def advance(self, feed: str, cursors: Mapping[str, Position]) -> None:
        """Note up to where a feed's receiver has the messages of some units."""
        with self._writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?, ?)",
                ((feed, unit, *position) for unit, position in cursors.items()),
            )

    def in_play(self, feed: str) -> InPlay | None:
        """What a feed did with rounds of a shoe of cards in play; None if it is new."""
        with self._reading() as connection:
            query = "SELECT sends, named FROM in_play WHERE feed = ?"
            found = connection.execute(query, (feed,)).fetchone()
        return None if found is None else InPlay(*map(bool, found))

    def note_in_play(self, feed: str, noted: InPlay) -> None:
        """Note what a feed does with them from now on."""
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO in_play VALUES (?, ?, ?)", (feed, noted.sends, noted.named)
            )

    def trim(self, needed_from: Mapping[str, int], most: int = MOST_MESSAGES) -> int:
        """Remove the messages of events before those that are still needed, by unit, and of the
        others the oldest above `most`. Return how many were removed."""
        removed = 0
        with self._writing() as connection:
            for unit, event in needed_from.items():
                removed += self._remove(connection, "unit = ? AND event < ?", unit, event)
            (count,) = connection.execute("SELECT count(*) FROM messages").fetchone()
            if count > most:
                (last,) = connection.execute(
                    "SELECT rowid FROM messages ORDER BY rowid LIMIT 1 OFFSET ?",
                    (count - most - 1,),
                ).fetchone()
                removed += self._remove(connection, "rowid <= ?", last)
        return removed

    @staticmethod
    def _remove(connection: sqlite3.Connection, which: str, *parameters: object) -> int:
        """Remove messages; the outbox of a unit begins after the last one that was removed."""
        gone = connection.execute(
            f"SELECT unit, max(event) FROM messages WHERE {which} GROUP BY unit", parameters
        ).fetchall()
        if not gone:
            return 0
        connection.executemany("UPDATE units SET begins = max(begins, ?2) WHERE unit = ?1", gone)
        return connection.execute(f"DELETE FROM messages WHERE {which}", parameters).rowcount

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _errors(self.path):
            yield self._connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise


def _opened(path: Path) -> sqlite3.Connection:
    connection = opened(path, "rwc", sqlite3.Connection, _BUSY_MS / 1000)
    try:
        # Two programs with one outbox would send everything twice.
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        (id_,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if id_ != _APPLICATION_ID and (tables or id_):
            raise DatabaseUnusable(
                f"{path}: another program's database; move it, feeds need this name"
            )
        # After a crash of the machine the newest cursors may be gone: messages come twice.
        write_ahead(connection)
        connection.execute("PRAGMA synchronous=NORMAL")
        if not tables:
            connection.executescript(
                f"BEGIN; {_TABLES} {_IN_PLAY} PRAGMA application_id={_APPLICATION_ID}; COMMIT;"
            )
        elif not connection.execute(
            "SELECT 1 FROM sqlite_schema WHERE name = 'in_play'"
        ).fetchone():
            connection.executescript(f"BEGIN; {_FROM_BEFORE} COMMIT;")
        if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("quick_check")
    except sqlite3.DatabaseError as error:
        connection.close()
        if _code(error) is None and str(error) == "quick_check":
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise
    except BaseException:
        connection.close()
        raise
    return connection


def _code(error: sqlite3.Error) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _put_aside(path: Path, aside: Path) -> None:
    path.replace(aside)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Raise the errors of SQLite, and of the file, as ours."""
    try:
        yield
    except sqlite3.Error as error:
        code = _code(error)
        if code == sqlite3.SQLITE_FULL:
            raise DiskFull(
                f"{path}: the disk is full; make room: feeds go on by themselves"
            ) from None
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise DatabaseLocked(
                f"{path}: another program has it; end the other `sabot feed` of this configuration"
            ) from None
        raise DatabaseUnusable(
            f"{path}: cannot be used ({error}); remove it: it is made again from the log"
        ) from None
    except OSError as error:
        raise DatabaseUnusable(f"{path}: cannot be written ({error.strerror})") from None
