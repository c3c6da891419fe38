"""Ways to tamper with the file of a log, its settings, and the files beside it."""

import random
import shutil
from pathlib import Path

from host.tests.adversary.log_file import TABLES, a_row, opened

_OF_THE_PROCESS = {
    "data_store_directory", "hard_heap_limit", "soft_heap_limit", "temp_store_directory"
}  # fmt: skip
"""What would change SQLite for all tests after this one."""
_VALUES = ("0", "1", "2", "7", "4096", "-1", "ON", "OFF", "FULL", "DELETE", "EXCLUSIVE", "'x'")


def any_pragma(path: Path, rng: random.Random) -> None:
    """Any of the settings that SQLite knows, with any value."""
    with opened(path) as connection:
        names = {name for (name,) in connection.execute("PRAGMA pragma_list")} - _OF_THE_PROCESS
        for _ in range(rng.choice((1, 1, 3))):
            name = rng.choice(sorted(names))
            connection.execute(f"PRAGMA {name}={rng.choice(_VALUES)}").fetchall()
        if rng.random() < 0.5:
            connection.execute("VACUUM")


def pragma(path: Path, rng: random.Random) -> None:
    """The file's own settings."""
    statements = rng.choice(
        (
            ("user_version=7",), ("application_id=1196444487",), ("schema_version=99",),
            ("journal_mode=DELETE",), ("journal_mode=WAL",), ("journal_mode=PERSIST",),
            ("journal_mode=DELETE", "page_size=4096"), ("auto_vacuum=FULL",),
            ("auto_vacuum=INCREMENTAL",), ("secure_delete=ON",), ("journal_size_limit=0",),
            ("foreign_keys=ON",), ("case_sensitive_like=ON",), ("default_cache_size=1",),
        )
    )  # fmt: skip
    with opened(path) as connection:
        for each in statements:
            connection.execute(f"PRAGMA {each}")
        if rng.random() < 0.5:
            connection.execute("VACUUM")


def other_encoding(path: Path, rng: random.Random) -> None:
    """The same tables and rows in a new file, in which text is UTF-16."""
    new = path.with_name("new")
    new.unlink(missing_ok=True)
    with opened(path) as connection, opened(new) as other:
        other.execute(f"PRAGMA encoding='{rng.choice(('UTF-16le', 'UTF-16be'))}'")
        statements = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"
        for (statement,) in connection.execute(statements).fetchall():
            other.execute(statement)
        other.execute("BEGIN")
        for table, columns in TABLES.items():
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()
            marks = ", ".join("?" * len(columns))
            other.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        other.execute("COMMIT")
    shutil.move(new, path)


def left_over_wal(path: Path, rng: random.Random) -> None:
    """A change that is only in a write-ahead log beside the file."""
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)
    with opened(copy) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        unit, number, *_ = a_row(connection, "records", rng)
        statement = rng.choice(
            (
                "UPDATE records SET mac = zeroblob(16) WHERE unit = ? AND number = ?",
                "DELETE FROM records WHERE unit = ? AND number = ?",
                "UPDATE events SET round = 77 WHERE unit = ? AND number = ?",
            )
        )
        connection.execute(statement, (unit, number))
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{copy}{suffix}", f"{path}{suffix}")
    if rng.random() < 0.3:
        wal = path.with_name(path.name + "-wal")
        wal.write_bytes(wal.read_bytes()[: rng.randrange(1, 2000)])


def left_over_journal(path: Path, rng: random.Random) -> None:
    """What looks like the journal of an interrupted change."""
    name = path.with_name(path.name + "-journal")
    magic = bytes.fromhex("d9d505f920a163d7")
    name.write_bytes(rng.choice((b"", rng.randbytes(600), magic + rng.randbytes(1600))))


def changed_bytes(path: Path, rng: random.Random) -> None:
    """Some bytes of the file, mostly in its header and in the headers of pages."""
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 3, 20))):
        page = 1024 * rng.randrange(len(data) // 1024)
        at = rng.choice((rng.randrange(100), page + rng.randrange(12), rng.randrange(len(data))))
        data[at] = rng.randrange(256)
    path.write_bytes(data)


_LEAVES, _INTERIOR = (0x0A, 0x0D), (0x02, 0x05)
"""The first byte of the b-tree pages of SQLite's file format that have cells."""


def btree_cell(path: Path, rng: random.Random) -> None:
    """A cell of a b-tree page: its place, its bytes, how many there are; or a page in place of
    another one."""
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[16:18], "big") or 1
    size = 65536 if size == 1 else size
    pages = [at for at in range(size, len(data), size) if data[at] in _LEAVES + _INTERIOR]
    page = rng.choice(pages)
    header = 8 if data[page] in _LEAVES else 12
    count = int.from_bytes(data[page + 3 : page + 5], "big")
    pointers = [page + header + 2 * n for n in range(count)]
    how = rng.choice(("swap", "double", "fewer", "more", "bytes", "page", "free"))
    if how == "swap":
        one, other = rng.sample(pointers, 2)
        data[one : one + 2], data[other : other + 2] = data[other : other + 2], data[one : one + 2]
    elif how == "double":
        one, other = rng.sample(pointers, 2)
        data[one : one + 2] = data[other : other + 2]
    elif how in ("fewer", "more"):
        changed = max(0, count + (1 if how == "more" else -1))
        data[page + 3 : page + 5] = changed.to_bytes(2, "big")
    elif how == "bytes":
        pointer = rng.choice(pointers)
        cell = page + int.from_bytes(data[pointer : pointer + 2], "big")
        data[cell + rng.randrange(8)] ^= 1 << rng.randrange(8)
    elif how == "page":
        other = rng.choice(pages)
        data[page : page + size] = data[other : other + size]
    else:
        data[page + 1 : page + 3] = rng.randrange(size).to_bytes(2, "big")
    path.write_bytes(data)


def other_length(path: Path, rng: random.Random) -> None:
    """The file is cut off, or has more after its end."""
    data = path.read_bytes()
    cut = data[: rng.randrange(len(data))]
    path.write_bytes(rng.choice((cut, data[:-1024], data + rng.randbytes(1024), data + data)))
