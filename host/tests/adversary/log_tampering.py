"""Ways to tamper with the file of a log: each changes it at random with SQL, or byte by byte.

Only a forged tombstone is made with code of the project. A way may find nothing to change, and may
fail: SQLite refuses some changes. `tamper` then tries another one.
"""

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sabot.audit import tombstone
from sabot.audit.tombstone import RemovedShoe

Way = Callable[[Path, random.Random], None]

TABLES = {
    "about": ("name", "value"),
    "units": ("id", "unit"),
    "records": ("unit", "number", "received_unix_ms", "record", "mac"),
    "tombstones": ("unit", "first", "last", "tombstone"),
    "events": ("unit", "number", "kind", "unix_ms", "shoe", "round"),
}
INDEXES = ("events_by_round", "events_by_time", "sqlite_autoindex_units_1")
_SCHEMA = "type, name, tbl_name, rootpage, sql"


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The file, with its own description writable."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("PRAGMA synchronous=OFF")  # thousands of cases need not survive a crash
        yield connection


def tamper(path: Path, rng: random.Random) -> list[str]:
    """Change the file in one to three ways; return their names."""
    done: list[str] = []
    wanted = rng.choice((1, 1, 1, 2, 3))
    while len(done) < wanted:
        way = rng.choice(WAYS)
        before = path.read_bytes()
        try:  # SQLite refuses some changes, and earlier ones may have left nothing to change
            way(path, rng)
        except (sqlite3.Error, IndexError, OverflowError, ValueError, TypeError):
            path.write_bytes(before)
            for suffix in ("-wal", "-shm", "-journal"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            if done:  # the file may be beyond what SQLite opens
                break
            continue
        done.append(way.__name__)
    return done


def any_value(rng: random.Random, own: Any) -> Any:
    """A value to put in place of `own`, of any of SQLite's types."""
    values: list[Any] = [
        None, 0, -1, 1, 2, 7, 255, 1 << 31, (1 << 63) - 1, -(1 << 63), 1 - (1 << 63),
        0.0, 0.5, -1.5, 1e300, float("inf"), float("-inf"), float("nan"), float(1 << 53),
        "", "0", "1", "-1", "1.0", "x", "U1", "NaN", "9" * 30, "\x1b[2J\n", "a" * 5000, "é\0z",
        b"", b"\0", b"1", rng.randbytes(16), rng.randbytes(40), bytes(200), bytes(100_000),
        rng.randrange(-(1 << 63), 1 << 63), rng.randbytes(rng.randrange(60)),
    ]  # fmt: skip
    if isinstance(own, int):
        values += [own + 1, own - 1, -own, own + 0.5, float(own), str(own), own + 1000] * 3
    if isinstance(own, str):
        values += [own + " ", own.lower(), own + "\0", own[:-1], own.encode(), own + "x"] * 4
    if isinstance(own, bytes) and own:
        at = rng.randrange(len(own))
        flipped = own[:at] + bytes([own[at] ^ 1 << rng.randrange(8)]) + own[at + 1 :]
        values += [flipped, own[:-1], own + b"\0", own[::-1], own.hex(), flipped] * 4
    return rng.choice(values)


def _row(connection: sqlite3.Connection, table: str, rng: random.Random) -> tuple[Any, ...]:
    rows = connection.execute(f"SELECT * FROM {table} NOT INDEXED").fetchall()
    return tuple(rng.choice(rows))


def _here(table: str, row: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """A condition that finds a row again."""
    columns = TABLES[table]
    return " AND ".join(f"{name} IS ?" for name in columns), list(row)


def cell(path: Path, rng: random.Random) -> None:
    """One value."""
    table = rng.choice(list(TABLES))
    column = rng.randrange(len(TABLES[table]))
    with opened(path) as connection:
        row = _row(connection, table, rng)
        where, given = _here(table, row)
        value = any_value(rng, row[column])
        set_ = f"UPDATE {table} SET {TABLES[table][column]} = ? WHERE {where}"
        connection.execute(set_, [value, *given])


def unconstrained_cell(path: Path, rng: random.Random) -> None:
    """One value that the table does not allow: its constraints are gone meanwhile."""
    table = rng.choice(list(TABLES))
    with _without(path, table, rng):
        cell(path, rng)


@contextmanager
def _without(path: Path, table: str, rng: random.Random) -> Iterator[None]:
    """Take types, constraints and the index of a constraint off a table, and put them back."""
    with opened(path) as connection:
        before = connection.execute(f"SELECT rowid, {_SCHEMA} FROM sqlite_schema").fetchall()
        for word in rng.sample(["INTEGER", "TEXT", "BLOB", "NOT NULL", "UNIQUE"], 3):
            if table != "units" or word != "INTEGER":  # it is the row's own number there
                connection.execute(
                    "UPDATE sqlite_schema SET sql = replace(sql, ?, '') WHERE name = ?",
                    (f" {word}", table),
                )
        connection.execute(
            "DELETE FROM sqlite_schema WHERE name LIKE 'sqlite_autoindex%' AND tbl_name = ?"
            " AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ? AND sql LIKE '%UNIQUE%')",
            (table, table),
        )
    try:
        yield
    finally:
        with opened(path) as connection:
            _restore(connection, before)


def _restore(connection: sqlite3.Connection, schema: list[tuple[Any, ...]]) -> None:
    connection.execute("DELETE FROM sqlite_schema")
    insert = f"INSERT INTO sqlite_schema (rowid, {_SCHEMA}) VALUES (?, ?, ?, ?, ?, ?)"
    connection.executemany(insert, schema)


def deleted_rows(path: Path, rng: random.Random) -> None:
    """One row or many, of one table."""
    table = rng.choice(list(TABLES))
    with opened(path) as connection:
        where, given = _here(table, _row(connection, table, rng))
        if rng.random() < 0.3 and table in ("records", "events"):
            first = rng.randrange(1, 300)
            where = f"unit = {rng.randrange(1, 4)} AND number BETWEEN {first} AND ?"
            given = [first + rng.randrange(200)]
        connection.execute(f"DELETE FROM {table} WHERE {where}", given)


def events_and_records_deleted(path: Path, rng: random.Random) -> None:
    """The same numbers, from the records and from the lists."""
    first = rng.randrange(1, 300)
    last = first + rng.choice((0, 9, 999))
    where = f"unit = {rng.randrange(1, 4)} AND number BETWEEN {first} AND {last}"
    with opened(path) as connection:
        for table in ("records", "events"):
            connection.execute(f"DELETE FROM {table} WHERE {where}")


def doubled_row(path: Path, rng: random.Random) -> None:
    """A copy of a row under another key, in one table or in both that have events."""
    tables = rng.choice((["records"], ["events"], ["records", "events"], ["tombstones"], ["units"]))
    key = any_value(rng, 5)
    with opened(path) as connection:
        if tables == ["units"]:
            name = any_value(rng, _row(connection, "units", rng)[1])
            connection.execute("INSERT INTO units VALUES (?, ?)", (key, name))
            return
        unit, number, *_ = _row(connection, tables[0], rng)
        other = rng.choice((unit, unit, 1, 2, any_value(rng, unit)))
        for table in tables:
            columns = TABLES[table]
            connection.execute(
                f"INSERT INTO {table} SELECT ?, ?, {', '.join(columns[2:])} FROM {table}"
                f" WHERE {columns[0]} IS ? AND {columns[1]} IS ?",
                (other, key, unit, number),
            )


def second_unit(path: Path, rng: random.Random) -> None:
    """A second row of a unit's name, with records of its own, although the names are unique."""
    new = rng.choice((0, -1, 5, 99, (1 << 63) - 1, -(1 << 63)))
    with opened(path) as connection:
        before = connection.execute(f"SELECT rowid, {_SCHEMA} FROM sqlite_schema").fetchall()
        unit, name = _row(connection, "units", rng)
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, ' UNIQUE', '') WHERE name = 'units'"
        )
        connection.execute("DELETE FROM sqlite_schema WHERE name = 'sqlite_autoindex_units_1'")
    with opened(path) as connection:
        connection.execute("INSERT INTO units VALUES (?, ?)", (new, name))
        _restore(connection, before)
    with opened(path) as connection:
        if rng.random() < 0.5:
            connection.execute("REINDEX")
        for table in ("records", "events") if rng.random() < 0.8 else ():
            columns = ", ".join(TABLES[table][1:])
            connection.execute(
                f"INSERT INTO {table} SELECT {new}, {columns} FROM {table} WHERE unit = ?",
                (rng.choice((unit, 1, 2)),),
            )


def names_swapped(path: Path, rng: random.Random) -> None:
    """Two units have each other's name, or their records each other's unit."""
    with opened(path) as connection:
        if rng.random() < 0.5:
            for old, new in ((1, "#"), (2, None), (1, None)):
                name = new or rng.choice(("x", "SHOE-1", "SHOE-2"))
                connection.execute("UPDATE units SET unit = ? WHERE id = ?", (name, old))
        else:
            table = rng.choice(("records", "events", "tombstones"))
            for old, new in ((1, 50), (2, 1), (50, 2)):
                connection.execute(f"UPDATE {table} SET unit = {new} WHERE unit = {old}")


def moved_rows(path: Path, rng: random.Random) -> None:
    """The numbers of many rows, up, down or below zero."""
    table = rng.choice(("records", "events"))
    by = rng.choice((1, -1, 1000, -1000, 1 << 40, -(1 << 62)))
    order = "DESC" if by > 0 else "ASC"
    with opened(path) as connection:
        unit = rng.choice((1, 2))
        first = rng.randrange(1, 200)
        query = f"SELECT number FROM {table} WHERE unit = ? AND number >= ? ORDER BY number {order}"
        for (number,) in connection.execute(query, (unit, first)).fetchall():
            connection.execute(
                f"UPDATE {table} SET number = number + ? WHERE unit = ? AND number = ?",
                (by, unit, number),
            )


def forged_events(path: Path, rng: random.Random) -> None:
    """Records of one unit in place of another's, or of other events of its own."""
    with opened(path) as connection:
        _, _, _, record, mac = _row(connection, "records", rng)
        unit, number, *_ = _row(connection, "records", rng)
        what = rng.choice(("record = ?1, mac = ?2", "record = ?1", "mac = ?2"))
        connection.execute(
            f"UPDATE records SET {what} WHERE unit = ?3 AND number = ?4",
            (record, mac, unit, number),
        )


ALTERATIONS = (
    "CREATE INDEX more ON records (number)",
    "CREATE INDEX more ON records (unit, number) WHERE number > 9",
    "CREATE INDEX more ON records (unit, abs(number))",
    "CREATE UNIQUE INDEX more ON units (unit COLLATE NOCASE)",
    "CREATE INDEX more ON events (kind)",
    "CREATE TABLE more (x)",
    "CREATE TABLE more (x INTEGER PRIMARY KEY AUTOINCREMENT)",
    "CREATE VIRTUAL TABLE more USING fts5 (x)",
    "CREATE VIEW more AS SELECT * FROM records",
    "CREATE TRIGGER more AFTER INSERT ON records BEGIN DELETE FROM events; END",
    "CREATE TRIGGER more INSTEAD OF DELETE ON records BEGIN SELECT 1; END",
    "CREATE TRIGGER more BEFORE UPDATE ON about BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TEMP TRIGGER more AFTER INSERT ON records BEGIN DELETE FROM events; END",
    "DROP INDEX events_by_round",
    "DROP INDEX events_by_time",
    "DROP TABLE events",
    "DROP TABLE tombstones",
    "DROP TABLE about",
    "ALTER TABLE events RENAME TO others",
    "ALTER TABLE records RENAME TO others",
    "ALTER TABLE units RENAME COLUMN unit TO name",
    "ALTER TABLE units ADD COLUMN more",
    "ALTER TABLE records ADD COLUMN more TEXT NOT NULL DEFAULT 'x'",
    "ALTER TABLE units ADD COLUMN more AS (unit || 'x')",
    "ALTER TABLE events ADD COLUMN more INTEGER GENERATED ALWAYS AS (number + 1) VIRTUAL",
    "ANALYZE",
    "VACUUM",
    "REINDEX",
)
_INSTEAD = (
    ("events_by_round", "CREATE INDEX events_by_round ON events (unit, shoe, round) WHERE {}"),
    ("events_by_time", "CREATE INDEX events_by_time ON events (unit, unix_ms) WHERE {}"),
    ("events_by_round", "CREATE INDEX events_by_round ON events (unit, round, shoe)"),
    ("events_by_round", "CREATE INDEX events_by_round ON events (unit, shoe + 0, round)"),
    ("events_by_time", "CREATE INDEX events_by_time ON events (unit, unix_ms DESC)"),
    ("events_by_time", "CREATE UNIQUE INDEX events_by_time ON events (unit, number, unix_ms)"),
)
_HIDDEN = ("number <> 9", "kind <> 'result'", "round <> 3", "unix_ms IS NOT NULL", "shoe = 1")


def altered_schema(path: Path, rng: random.Random) -> None:
    """Something more, less or else among the tables and indexes."""
    with opened(path) as connection:
        if rng.random() < 0.3:
            index, statement = rng.choice(_INSTEAD)
            connection.execute(f"DROP INDEX {index}")
            connection.execute(statement.format(rng.choice(_HIDDEN)))
        else:
            connection.execute(rng.choice(ALTERATIONS))


def view_in_place(path: Path, rng: random.Random) -> None:
    """A view or another table under the name of one of ours."""
    table = rng.choice(list(TABLES))
    columns = ", ".join(TABLES[table])
    kind = rng.choice(("VIEW", "TABLE"))
    with opened(path) as connection:
        connection.execute(f"ALTER TABLE {table} RENAME TO others")
        connection.execute(f"CREATE {kind} {table} AS SELECT {columns} FROM others")


def statistics(path: Path, rng: random.Random) -> None:
    """Statistics that make SQLite choose another index, from this log or made up."""
    with opened(path) as connection:
        connection.execute("ANALYZE")
        connection.execute(
            "UPDATE sqlite_stat1 SET stat = ?", (rng.choice(("1 1 1", "9999999 1", "x", None)),)
        )
        if rng.random() < 0.5:
            connection.execute("DELETE FROM sqlite_stat1 WHERE tbl = 'records'")


_REPLACED = (
    (" NOT NULL", ""), (" UNIQUE", ""), (" PRIMARY KEY", ""), (" INTEGER", " TEXT"),
    (" INTEGER", " BLOB"), (" INTEGER", " REAL"), (" TEXT", " TEXT COLLATE NOCASE"),
    (" TEXT", " TEXT COLLATE RTRIM"), (" TEXT", " INTEGER"), (" BLOB", " TEXT"),
    (" WITHOUT ROWID", ""), (" WITHOUT ROWID", " WITHOUT ROWID, STRICT"), (")", ") "),
    ("CREATE", "create"), ("unit", "Unit"), ("(unit", "(/**/unit"),
    ("shoe, round", "shoe, round DESC"), ("mac BLOB", "mac BLOB DEFAULT 1"),
    ("PRIMARY KEY (unit, number)", "PRIMARY KEY (number, unit)"),
    ("number INTEGER", "number INTEGER CHECK (number <> 9)"), ("unix_ms INTEGER", "unix_ms"),
    ("value TEXT", "value TEXT AS (name)"),
)  # fmt: skip


def described_otherwise(path: Path, rng: random.Random) -> None:
    """The text that describes a table or an index, and nothing of what is in it."""
    old, new = rng.choice(_REPLACED)
    with opened(path) as connection:
        named = "name = ? AND sql LIKE ?"
        name = rng.choice([*TABLES, *INDEXES])
        done = connection.execute(
            f"UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE {named}",
            (old, new, name, f"%{old}%"),
        )
        if not done.rowcount:
            raise IndexError


def schema_row(path: Path, rng: random.Random) -> None:
    """A row of SQLite's own table: another root page, type or name; gone, or there twice."""
    with opened(path) as connection:
        rows = connection.execute(f"SELECT rowid, {_SCHEMA} FROM sqlite_schema").fetchall()
        one, other = rng.choice(rows), rng.choice(rows)
        root_page = "UPDATE sqlite_schema SET rootpage = ? WHERE rowid = ?"
        match rng.randrange(5):
            case 0:
                pages = ((one[4], other[0]), (other[4], one[0]))
                connection.executemany(root_page, pages)
            case 1:
                page = rng.choice((0, -1, 1, 2, other[4], 999_999))
                connection.execute(root_page, (page, one[0]))
            case 2:
                connection.execute("DELETE FROM sqlite_schema WHERE rowid = ?", (one[0],))
            case 3:
                columns = f"INSERT INTO sqlite_schema ({_SCHEMA}) VALUES (?, ?, ?, ?, ?)"
                connection.execute(columns, one[1:])
            case 4:
                column = rng.choice(("type", "name", "tbl_name"))
                value = rng.choice(("table", "index", "view", "x", other[2], None, b"\0"))
                connection.execute(
                    f"UPDATE sqlite_schema SET {column} = ? WHERE rowid = ?", (value, one[0])
                )


def stale_index(path: Path, rng: random.Random) -> None:
    """A table is changed while SQLite does not know of its index; or the index while it does."""
    index = rng.choice(INDEXES)
    with opened(path) as connection:
        before = connection.execute(f"SELECT rowid, {_SCHEMA} FROM sqlite_schema").fetchall()
        connection.execute("DELETE FROM sqlite_schema WHERE name = ?", (index,))
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, ' UNIQUE', '') WHERE name = 'units'"
            " AND ? LIKE '%units%'",
            (index,),
        )
    changes = (
        "UPDATE events SET shoe = shoe + 1, unix_ms = unix_ms - 1000 WHERE number % 7 = 3",
        "DELETE FROM events WHERE number BETWEEN 20 AND 60",
        "UPDATE events SET number = number + 10000 WHERE number > 100",
        "UPDATE units SET unit = unit || 'x'",
        "UPDATE units SET unit = 'SHOE-1'",
    )
    with opened(path) as connection:
        connection.execute(rng.choice(changes))
    with opened(path) as connection:
        _restore(connection, before)
    if rng.random() < 0.5:
        with opened(path) as connection:
            connection.execute("REINDEX events_by_time")


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
    with opened(path) as connection, closing(sqlite3.connect(new, isolation_level=None)) as other:
        other.execute(f"PRAGMA encoding='{rng.choice(('UTF-16le', 'UTF-16be'))}'")
        statements = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"
        for (statement,) in connection.execute(statements).fetchall():
            other.execute(statement)
        for table, columns in TABLES.items():
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()
            marks = ", ".join("?" * len(columns))
            other.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    shutil.move(new, path)


def left_over_wal(path: Path, rng: random.Random) -> None:
    """A change that is only in a write-ahead log beside the file."""
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)
    with opened(copy) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        unit, number, *_ = _row(connection, "records", rng)
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


def other_length(path: Path, rng: random.Random) -> None:
    """The file is cut off, or has more after its end."""
    data = path.read_bytes()
    cut = data[: rng.randrange(len(data))]
    path.write_bytes(rng.choice((cut, data[:-1024], data + rng.randbytes(1024), data + data)))


def facts(path: Path, rng: random.Random) -> None:
    """What the log says about itself."""
    name = rng.choice(("format", "version", "retention", "retention", "more", "Format", "version "))
    value = rng.choice(
        (
            "sabot-log", "2", "3", "1", "", "[]", "[" * 3000, "null", '[{"days": 1}]', "NaN",
            '[{"days": 30, "set_unix_ms": 5}]', '[{"days": -1, "set_unix_ms": 5}]', b"2", 2, 2.0,
            '[{"days": 1e400, "set_unix_ms": 0}]', f'[{{"days": {"9" * 400}, "set_unix_ms": 0}}]',
        )
    )  # fmt: skip
    with opened(path) as connection:
        connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))


def forged_tombstone(path: Path, rng: random.Random) -> None:
    """Records are removed, and a key made on the spot signs for them."""
    with opened(path) as connection:
        unit, name = _row(connection, "units", rng)
        rows = connection.execute(
            "SELECT number, record, mac FROM records WHERE unit = ? ORDER BY number", (unit,)
        ).fetchall()
        first = rng.randrange(len(rows))
        last = min(first + rng.choice((0, 0, 5, 80)), len(rows) - 1)
        number = rows[first][0]
        made = tombstone.make(
            Ed25519PrivateKey.generate(),
            unit=name,
            first=number,
            last=rows[last][0],
            shoes=[RemovedShoe(1, 1, last - first + 1)] * rng.choice((1, 1, 1, 0)),
            before=b"" if number == 1 else rows[first - 1][2],
            after=rows[last][2],
            sha256=bytes(32),
            removed_unix_ms=rng.choice((0, 1_900_000_000_000, (1 << 63) - 1)),
            keep_days=rng.choice((0, 1, 365, (1 << 63) - 1)),
            context=(),
        )
        for table in ("records", "events"):
            connection.execute(
                f"DELETE FROM {table} WHERE unit = ? AND number BETWEEN ? AND ?",
                (unit, number, rows[last][0]),
            )
        stone = (unit, number, rows[last][0], made)
        connection.execute("INSERT INTO tombstones VALUES (?, ?, ?, ?)", stone)


WAYS: tuple[Way, ...] = (
    cell, cell, cell, unconstrained_cell, unconstrained_cell, unconstrained_cell, deleted_rows,
    events_and_records_deleted, doubled_row, doubled_row, second_unit, names_swapped, moved_rows,
    forged_events, forged_tombstone, altered_schema, altered_schema, view_in_place, statistics,
    described_otherwise, described_otherwise, schema_row, schema_row, stale_index, stale_index,
    pragma, other_encoding, left_over_wal, left_over_journal, changed_bytes, changed_bytes,
    other_length, facts,
)  # fmt: skip
