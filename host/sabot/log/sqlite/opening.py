"""The one place that opens a file of SQLite. It first looks at what lies beside the file.

SQLite believes what it finds there. It plays a rollback journal (FILE-journal) back into the file,
and then removes whatever file the journal names as its super-journal: so a planted one removes any
file that this user may remove (sqlite.org, "Atomic Commit In SQLite", 5). It truncates and
overwrites FILE-shm and FILE-wal, also if these are other names of another file.

A log is in write-ahead mode, and Sabot never opens two files in one connection. So a rollback
journal beside a log in that mode is never its own, and neither is one that names a super-journal.
"""

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from sabot.errors import DatabaseUnusable
from sabot.files import make_private

MAGIC = b"SQLite format 3\0"
"""The first bytes of every file of SQLite."""

AHEAD, SHARED, JOURNAL = "-wal", "-shm", "-journal"
"""What SQLite keeps beside a file: its write-ahead log, the index of that, its rollback journal."""

_HEAD_BYTES = 20
_READ_TIMEOUT_S = 60.0
_VERSIONS = slice(18, 20)  # the versions of the format for writing and reading
_WRITE_AHEAD = 2  # such a version: write-ahead mode
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")  # ends a journal that names a super-journal
_NOTHING_DONE = "nothing was opened or changed"

_Connection = TypeVar("_Connection", bound=sqlite3.Connection)


def opened(path: Path, mode: str, kind: type[_Connection], timeout_s: float) -> _Connection:
    """Open a connection, of the class `kind`, that begins no transaction by itself, and that
    several threads may use one after the other. `mode` is SQLite's: ro, rw or rwc; a file that rwc
    makes only its user can read.

    Raises DatabaseUnusable if something beside the file is not its own; sqlite3.Error.
    """
    real = real_path(path)
    _look_beside(real, real if path.is_symlink() else path)
    if mode.startswith("rwc"):
        with suppress(OSError):  # it is there, or SQLite says why it cannot be made
            make_private(real)
    connection = sqlite3.connect(
        f"{real.as_uri()}?mode={mode}",
        uri=True,
        timeout=timeout_s,
        isolation_level=None,
        check_same_thread=False,
        factory=kind,
    )
    assert isinstance(connection, kind)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    return connection


def write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead mode, which the file keeps. The switch itself needs a rollback journal:
    it is kept in memory, so that no process that is killed leaves one beside such a file. The
    switch writes one sector."""
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        connection.execute("PRAGMA journal_mode=MEMORY")
        connection.execute("PRAGMA journal_mode=WAL")


def _look_beside(real: Path, shown: Path) -> None:
    """Raise DatabaseUnusable unless what lies beside the file at `real`, if anything does, can be
    its own."""
    _check_is_file(real, shown)
    for ending in (AHEAD, SHARED, JOURNAL):
        beside, name = real.with_name(real.name + ending), shown.with_name(shown.name + ending)
        try:
            found = beside.lstat()
        except OSError:  # nothing is there, or the folder cannot be read, as SQLite will say
            continue
        if not stat.S_ISREG(found.st_mode):
            what = "a link" if stat.S_ISLNK(found.st_mode) else "no file"
            raise _planted(name, f"it is {what}")
        if found.st_nlink > 1:
            raise _planted(name, "it is another name of a file elsewhere (a hard link)")
        # Of two programs that make the log at the same time, one sees the journal of the other,
        # until that has made it. A planted one stays.
        why = _not_its_own(beside, real) if ending == JOURNAL else ""
        if why and beside.exists():
            raise _planted(name, why)


def is_database(path: Path) -> bool:
    """Whether a file begins as one of SQLite does. Never of one that this process has open
    (`_head_of`)."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def real_path(path: Path) -> Path:
    """Return the path of the file itself, beside which SQLite looks. Raises DatabaseUnusable if
    links lead in a circle."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        raise DatabaseUnusable(f"{path}: its links lead nowhere; name another file") from None


def _check_is_file(real: Path, shown: Path) -> None:
    with suppress(OSError):  # SQLite says why
        if not stat.S_ISREG(real.stat().st_mode):
            raise DatabaseUnusable(f"{shown}: not a file; name another one with --db")


def _head_of(path: Path) -> bytes:
    """Return the first bytes of a file; empty if there is none, or none that can be read.

    Another process reads them. This one may have the file open in SQLite. When a process closes a
    file, it loses all locks that it has on it (sqlite.org, "How To Corrupt An SQLite Database
    File", 2.2). Another program that closes the log would then remove its write-ahead log.
    """
    read = f"import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read({_HEAD_BYTES}))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", read, str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_READ_TIMEOUT_S,
        check=False,
    )
    return done.stdout


def _not_its_own(journal: Path, of: Path) -> str:
    """Return why a rollback journal cannot be that of the file `of`: SQLite would play it back.
    Empty if it can be, of a transaction whose process was killed."""
    head = _head_of(of)
    if head and not head.startswith(MAGIC):
        return "what it lies beside is no database"
    if _WRITE_AHEAD in head[_VERSIONS]:
        return "a log has none"
    try:
        with journal.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_NAMES_ANOTHER)))
            named = file.read() == _NAMES_ANOTHER
    except OSError:
        return "it cannot be read"
    return "it names another file, which SQLite would remove" if named else ""


def _planted(name: Path, why: str) -> DatabaseUnusable:
    return DatabaseUnusable(
        f"{name}: not Sabot's: {why}; {_NOTHING_DONE}: keep it in another folder, find out who put "
        "it there, then run the command again"
    )
