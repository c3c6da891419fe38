"""Ways to tamper with the tables and indexes of a log themselves."""

import random
from pathlib import Path

from host.tests.adversary.log_file import INDEXES, SCHEMA, TABLES, opened, restore

ALTERATIONS = (
    "CREATE INDEX more ON records (number)",
    "CREATE INDEX more ON records (unit, number) WHERE number > 9",
    "CREATE INDEX more ON records (unit, abs(number))",
    "CREATE UNIQUE INDEX more ON units (unit COLLATE NOCASE)",
    "CREATE INDEX more ON events (kind)",
    "CREATE INDEX more ON presence (unit) WHERE state = 'waiting'",
    "CREATE TRIGGER more AFTER INSERT ON games BEGIN DELETE FROM games; END",
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
    "DROP TABLE games",
    "DROP TABLE presence",
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
        rows = connection.execute(f"SELECT rowid, {SCHEMA} FROM sqlite_schema").fetchall()
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
                columns = f"INSERT INTO sqlite_schema ({SCHEMA}) VALUES (?, ?, ?, ?, ?)"
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
        before = connection.execute(f"SELECT rowid, {SCHEMA} FROM sqlite_schema").fetchall()
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
        restore(connection, before)
    if rng.random() < 0.5:
        with opened(path) as connection:
            connection.execute("REINDEX events_by_time")
