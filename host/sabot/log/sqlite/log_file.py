"""The file of a log: its connections, and SQLite's errors as messages for users."""

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType

from sabot.errors import WHEN_DAMAGED, DatabaseLocked, DatabaseUnusable, DiskFull
from sabot.log.sqlite.opening import AHEAD, MAGIC, opened, real_path, write_ahead
from sabot.log.sqlite.same_file import FileState, replaced, state_of
from sabot.retry import retried
from sabot.text import printable

FORMAT = "sabot-log"
"""The value of `format` in a log's table `about`."""

BUSY_TIMEOUT_S = 30.0
_SWITCH_PAUSE_S = 0.01
_REPAIR_S = 2.0
_REPAIR_POLL_S = 0.02
_TURN_S = 0.001
_EMPTY_AGAIN_S = 1.0  # how soon to try again if a reader needs the write-ahead log
_PAGE_BYTES = 1024  # each commit writes a whole page: a tenth faster than with 4096
_HEAD_BYTES = 1 << 16
_SHOWN = 200  # characters of SQLite's message

LOGGING = "rwc"
"""The mode of a program that logs: it may make the file."""

ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What a damaged file raises. Python cannot even make the error if SQLite's message names something
that is not UTF-8."""


class LogConnection(sqlite3.Connection):
    """What sabot/log/sql.py says of a connection."""

    def has_table(self, name: str) -> bool:
        query = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
        return self.execute(query, (name,)).fetchone() is not None

    def reads_secrets(self) -> bool:
        return True

    def bounded(self, column: str, kind: str, most: int = 8) -> str:
        fits = "" if kind == "integer" else f" AND length({column}) <= {most}"
        return f"CASE WHEN typeof({column}) = '{kind}'{fits} THEN {column} END"


class Writer:
    """The only connection that writes. A `with` block is a transaction, for one thread at a time.

    With write-ahead logging, a transaction raises DatabaseUnusable if the file under the name is no
    longer the one that was opened.

    Only a program that logs moves pages from the write-ahead log into the database while it runs
    (`write_ahead`): one that sees that another wrote there must go through all of it. A lock
    (flock) on the write-ahead log shows the others that it runs.

    It is a class and not a generator for speed: a log makes a transaction for each event.
    """

    def __init__(self, path: Path, mode: str) -> None:
        self._path = path
        real = real_path(path)
        self._ahead_path = real.with_name(real.name + AHEAD)
        self._mode = mode
        self._lock = threading.Lock()
        self._connection: LogConnection | None = None
        self._watched = False
        self._ahead = False  # whether the write-ahead log may have more than the database
        self._state: FileState | None = None
        self._others_wrote = False
        self._logs: int | None = None  # the file whose lock shows that this program logs
        self._version: int | None = None  # PRAGMA data_version when the write-ahead log was emptied
        self._empty_at_s = 0.0  # not before

    def __enter__(self) -> LogConnection:
        self._lock.acquire()
        try:
            self._look()
            connection = self._connection or self._open()
            if self._mode == LOGGING:
                connection.execute("BEGIN IMMEDIATE")
            else:
                _begin_between(connection)
            return connection
        except BaseException as error:
            self._end()
            raise user_error(self._path, error) from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None and self._connection is not None:
                self._connection.execute("COMMIT")
                if self._watched:
                    self._state, self._ahead = self._still_the_same(), True
        except sqlite3.Error as failed:
            raise user_error(self._path, failed) from None
        finally:
            self._end()
        if isinstance(error, ERRORS):
            raise user_error(self._path, error) from None

    def written_by_others(self) -> bool:
        """Whether another program wrote to the database since `contents_checked`: it made a
        checkpoint, or overwrote the file."""
        with self._lock:
            self._look()
            return self._others_wrote

    def contents_checked(self) -> None:
        """What another program wrote is right."""
        with self._lock:
            self._others_wrote = False

    def pragma(self, pragma: str) -> None:
        """Set a pragma, outside of any transaction."""
        with self._lock:
            try:
                (self._connection or self._open()).execute(f"PRAGMA {pragma}")
            except sqlite3.Error as error:
                raise user_error(self._path, error) from None

    def write_ahead(self) -> None:
        """Switch to write-ahead logging: readers and the writer do not wait for each other. The
        file keeps this mode."""
        retried(  # SQLite does not wait if two programs switch at once
            self._switch, DatabaseLocked, within_s=BUSY_TIMEOUT_S, every_s=_SWITCH_PAUSE_S
        )
        self.pragma("data_version")  # reading makes the write-ahead log
        with suppress(OSError):  # `_still_the_same` reports it
            self._logs = os.open(self._ahead_path, os.O_RDONLY)
            fcntl.flock(self._logs, fcntl.LOCK_SH)
        self._watched = True

    def _switch(self) -> None:
        with self._lock:
            try:
                write_ahead(self._connection or self._open())
            except sqlite3.Error as error:
                raise user_error(self._path, error) from None

    def watch(self) -> None:
        """From now on, as one that logs, raise DatabaseUnusable at a transaction if the file was
        removed or replaced; not of a log without write-ahead logging, such as a copy."""
        with self._lock:
            connection = self._connection or self._open()
            try:
                (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
                connection.execute("PRAGMA data_version")  # reading makes the write-ahead log
            except sqlite3.Error as error:
                raise user_error(self._path, error) from None
            if mode == "wal" and not self._watched:
                self._watched, self._state = True, self._still_the_same()

    def checkpoint(self) -> None:
        """Move what is in the write-ahead log to the database, as far as no reader needs it there:
        then a copy of the database alone has it. Nothing happens if there is nothing new.

        If another program wrote, or `scrub` asked for it, also empty the write-ahead log.
        """
        with self._lock:
            if self._connection is None:
                return
            try:
                version = _one(self._connection, "data_version")
                now_s = time.monotonic()
                empty = version != self._version and now_s >= self._empty_at_s
                if not self._ahead and not empty:
                    return
                self._look()
                if self._others_wrote:  # it may be another database
                    return
                if not empty:
                    self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                elif _emptied(self._connection):
                    self._version = version
                else:
                    self._empty_at_s = now_s + _EMPTY_AGAIN_S
                self._state = self._still_the_same()
            except sqlite3.Error as error:
                raise user_error(self._path, error) from None
            self._ahead = False

    def scrub(self) -> None:
        """Empty the write-ahead log, so that it has no content that was replaced, unless a reader
        needs it; then the next call does. If a program logs, that one does it as soon as it has
        nothing else to do.
        """
        with self._lock:
            if self._logs is not None:
                self._version = None
            elif self._connection is not None:
                with suppress(OSError):  # there is none, or it is locked by a program that logs
                    locked = os.open(self._ahead_path, os.O_RDONLY)
                    try:
                        fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        with suppress(sqlite3.Error):  # nothing of the transaction is lost
                            _emptied(self._connection)
                    finally:
                        os.close(locked)

    @contextmanager
    def while_no_one_logs(self) -> Iterator[None]:
        """Within a transaction: raise DatabaseLocked if another program logs. One that begins to
        log waits until the end."""
        own = self._logs
        try:
            locked = os.open(self._ahead_path, os.O_RDONLY) if own is None else own
        except FileNotFoundError:  # without a write-ahead log no one logs
            yield
            return
        try:
            try:
                fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DatabaseLocked(
                    f"{self._path}: cannot be led to another version while a program logs to it; "
                    "end that first: the shoes keep their events meanwhile"
                ) from None
            yield
        finally:
            if own is None:
                os.close(locked)
            else:
                fcntl.flock(own, fcntl.LOCK_SH)

    def close(self) -> None:
        """Close the file. A transaction after this fails."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            if self._logs is not None:
                os.close(self._logs)
                self._logs = None

    def _open(self) -> LogConnection:
        self._connection = connect(self._path, self._mode)
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute("PRAGMA secure_delete=ON")  # what is removed or replaced is gone
        self._connection.execute(f"PRAGMA page_size={_PAGE_BYTES}")  # of a new file
        if self._mode != LOGGING:  # the last of several programs moves all pages when it ends
            self._connection.execute("PRAGMA wal_autocheckpoint=0")
        return self._connection

    def _look(self) -> None:
        """Note whether another program wrote to the database since this one did. Each transaction
        and checkpoint of this one begins so, because afterwards it does not show."""
        if self._state is not None:
            before, self._state = self._state, self._still_the_same()
            self._others_wrote = self._others_wrote or self._state.written != before.written

    def _still_the_same(self) -> FileState:
        now = state_of(self._path, self._ahead_path)
        if self._state is not None and now.identity != self._state.identity:
            raise replaced(self._path)
        return now

    def _end(self) -> None:
        try:
            if self._connection is not None and self._connection.in_transaction:
                with suppress(sqlite3.Error):  # the disk failed, and nothing was committed
                    self._connection.execute("ROLLBACK")
        finally:
            self._lock.release()


def _begin_between(connection: LogConnection) -> None:
    """Begin a transaction between those of a program that logs. SQLite itself waits longer and
    longer, 0.1 s in the end, and then mostly comes while that program writes the next event."""
    give_up_s = time.monotonic() + BUSY_TIMEOUT_S
    connection.execute("PRAGMA busy_timeout=0")
    try:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorname.startswith("SQLITE_BUSY")
                if not busy or time.monotonic() > give_up_s:
                    raise
            time.sleep(_TURN_S)
    finally:
        connection.execute(f"PRAGMA busy_timeout={int(1000 * BUSY_TIMEOUT_S)}")


def _one(connection: LogConnection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _emptied(connection: LogConnection) -> bool:
    """Move all pages to the database and empty the write-ahead log; false if a reader needs it, for
    which no one waits."""
    waits_ms = _one(connection, "busy_timeout")
    connection.execute("PRAGMA busy_timeout=0")
    try:
        (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy
    finally:
        connection.execute(f"PRAGMA busy_timeout={waits_ms}")


def user_error(path: Path, error: BaseException) -> BaseException:
    """Return an error of the database library as one that says what to do; others unchanged."""
    if not isinstance(error, ERRORS):
        return error
    text = printable(str(error)[:_SHOWN])  # it may name what a forger wrote
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(_CANNOT_GROW):
        return DiskFull(
            f"{path}: the disk is full ({text}); make room, then log again: the events "
            "are still on the shoe"
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return DatabaseLocked(f"{path}: locked by another program for too long; stop that first")
    if name == "SQLITE_NOTADB":
        text = _no_database(path)
    elif "no such table: events" in text:
        text = "its lists are missing or altered; `sabot rebuild` makes them again from the records"
    elif name.startswith("SQLITE_CORRUPT") or "no such" in text or "decode" in text:
        text = f"damaged ({text}); {WHEN_DAMAGED}"
    elif name.startswith("SQLITE_READONLY"):
        text = "cannot be written to; check its permissions, or name another file with --db"
    elif name.startswith("SQLITE_CANTOPEN"):
        text = "cannot be opened; does the folder exist, and may you write there?"
        if path.is_file() and not os.access(path, os.R_OK):
            text = "only its own user may read it; run the command as that user"
    elif name.startswith("SQLITE_IOERR"):
        text = "cannot be read (disk I/O error); check that it is a file, and check its disk"
    return DatabaseUnusable(f"{path}: {text}")


def _no_database(path: Path) -> str:
    """The message for a file that SQLite does not accept as a database."""
    with suppress(OSError), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        if head.startswith(MAGIC) or FORMAT.encode() in head:
            return f"damaged at its beginning; {WHEN_DAMAGED}"
    return "not a Sabot log; name another file with --db"


_CANNOT_GROW = (
    "SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_SHMSIZE",
)  # fmt: skip


def snapshot(path: Path, mode: str) -> LogConnection:
    """Open a connection that sees the log as it is now, whatever is written meanwhile.

    A reader that comes while another program repairs or removes the write-ahead log of a killed one
    gets SQLITE_READONLY_RECOVERY or a relative of it (sqlite.org, "Write-Ahead Logging", Read-Only
    Databases): a moment later it can read.
    """
    give_up_s = time.monotonic() + _REPAIR_S
    while True:
        connection = connect(path, mode)
        try:
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM sqlite_schema")  # the snapshot begins here
            return connection
        except ERRORS as error:
            connection.close()
            name = getattr(error, "sqlite_errorname", "")
            if not name.startswith("SQLITE_READONLY_") or time.monotonic() > give_up_s:
                raise
            if name == "SQLITE_READONLY_ROLLBACK":
                _roll_back(path)
            time.sleep(_REPAIR_POLL_S)


def _roll_back(path: Path) -> None:
    """Undo the transaction of a killed process in a log without write-ahead logging, such as a copy
    that was converted. SQLite does it for the first one who may write."""
    with suppress(*ERRORS), closing(connect(path, "rw")) as connection:
        connection.execute("SELECT count(*) FROM sqlite_schema")


def reading_mode(path: Path) -> str:
    """How SQLite opens a log to read it. In an archive, a folder that it cannot write to, a reader
    cannot make the files that it would need beside the log."""
    real = real_path(path)
    ahead = real.with_name(real.name + AHEAD)
    archived = not os.access(real.parent, os.W_OK) and not ahead.exists()
    return "ro&immutable=1" if archived else "ro"


def connect(path: Path, mode: str) -> LogConnection:
    """Open a log as `opened` does. `mode` is SQLite's: ro, rw or rwc."""
    return opened(path, mode, LogConnection, BUSY_TIMEOUT_S)
