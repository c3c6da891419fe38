"""Whether a log that is open for writing is still the file under its name.

A process keeps a file that was removed or renamed, and would acknowledge events that no one can
find again. A file that another program overwrote keeps its identity: then only its times and its
size show that somebody else wrote it.
"""

from dataclasses import dataclass
from pathlib import Path

from sabot.errors import DatabaseUnusable


@dataclass(frozen=True, slots=True)
class FileState:
    """A log's files as they were after a transaction."""

    identity: tuple[int, int, int, int]
    """Device and inode of the database, and of its write-ahead log."""
    written: tuple[int, int]
    """Size in bytes and time of the last write, in ns, of the database. In write-ahead mode only a
    checkpoint writes to it."""


def state_of(path: Path, ahead_path: Path) -> FileState:
    """Return the state of the log at `path`, and of its write-ahead log, as they are now. Raises
    DatabaseUnusable if one of the two is gone."""
    try:
        database, ahead = path.stat(), ahead_path.stat()
    except OSError:
        raise replaced(path) from None
    identity = (database.st_dev, database.st_ino, ahead.st_dev, ahead.st_ino)
    return FileState(identity, (database.st_size, database.st_mtime_ns))


def replaced(path: Path) -> DatabaseUnusable:
    """The error for a log that is no longer the one that was opened."""
    return DatabaseUnusable(
        f"{path}: was removed, replaced or overwritten while it was open; put the file back, or "
        "log again: what was not acknowledged is still on the shoe"
    )
