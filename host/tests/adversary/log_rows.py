"""Ways to tamper with what is in the tables of a log."""

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.adversary.log_file import SCHEMA, TABLES, a_row, opened, restore
from sabot.audit import tombstone
from sabot.audit.tombstone import RemovedShoe
from sabot.receipts import receipt


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


def _here(table: str, row: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """A condition that finds a row again."""
    columns = TABLES[table]
    return " AND ".join(f"{name} IS ?" for name in columns), list(row)


def cell(path: Path, rng: random.Random) -> None:
    """One value."""
    table = rng.choice(list(TABLES))
    column = rng.randrange(len(TABLES[table]))
    with opened(path) as connection:
        row = a_row(connection, table, rng)
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
        before = connection.execute(f"SELECT rowid, {SCHEMA} FROM sqlite_schema").fetchall()
        for word in rng.sample(["INTEGER", "TEXT", "BLOB", "NOT NULL", "UNIQUE"], 3):
            if table not in ("units", "desk") or word != "INTEGER":  # the row's own number
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
            restore(connection, before)


def deleted_rows(path: Path, rng: random.Random) -> None:
    """One row or many, of one table."""
    table = rng.choice(list(TABLES))
    with opened(path) as connection:
        where, given = _here(table, a_row(connection, table, rng))
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
            name = any_value(rng, a_row(connection, "units", rng)[1])
            connection.execute("INSERT INTO units VALUES (?, ?)", (key, name))
            return
        unit, number, *_ = a_row(connection, tables[0], rng)
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
        before = connection.execute(f"SELECT rowid, {SCHEMA} FROM sqlite_schema").fetchall()
        unit, name = a_row(connection, "units", rng)
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, ' UNIQUE', '') WHERE name = 'units'"
        )
        connection.execute("DELETE FROM sqlite_schema WHERE name = 'sqlite_autoindex_units_1'")
    with opened(path) as connection:
        connection.execute("INSERT INTO units VALUES (?, ?)", (new, name))
        restore(connection, before)
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
        _, _, _, record, mac = a_row(connection, "records", rng)
        unit, number, *_ = a_row(connection, "records", rng)
        what = rng.choice(("record = ?1, mac = ?2", "record = ?1", "mac = ?2"))
        connection.execute(
            f"UPDATE records SET {what} WHERE unit = ?3 AND number = ?4",
            (record, mac, unit, number),
        )


def forged_tombstone(path: Path, rng: random.Random) -> None:
    """Records are removed, and a key made on the spot signs for them."""
    with opened(path) as connection:
        unit, name = a_row(connection, "units", rng)
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


def forged_game(path: Path, rng: random.Random) -> None:
    """Another game document, under its own hash or under that of one by which a unit dealt."""
    with opened(path) as connection:
        sha256, document = a_row(connection, "games", rng)
        if not isinstance(document, bytes):  # forged already
            raise TypeError
        forged = any_value(rng, document.replace(b"commission", b"omission", 1))
        if rng.random() < 0.5:
            sha256 = hashlib.sha256(forged if isinstance(forged, bytes) else b"").digest()
        connection.execute("INSERT OR REPLACE INTO games VALUES (?, ?)", (sha256, forged))
        if rng.random() < 0.5:
            connection.execute("DELETE FROM games WHERE document = ?", (document,))


def forged_receipt(path: Path, rng: random.Random) -> None:
    """A receipt of a key made on the spot, or a good one in another place."""
    with opened(path) as connection:
        unit, name = a_row(connection, "units", rng)
        _, number, good = a_row(connection, "receipts", rng)
        number = rng.choice((number, number + 1, 1, any_value(rng, number)))
        mac = rng.choice((bytes(16), a_row(connection, "records", rng)[4]))
        forged = receipt.make(
            Ed25519PrivateKey.generate(), unit=name, number=5, mac=mac, records=5, unix_ms=5,
            checked=receipt.CHAIN,
        )  # fmt: skip
        row = (unit, number, rng.choice((good, forged, any_value(rng, forged))))
        connection.execute("INSERT OR REPLACE INTO receipts VALUES (?, ?, ?)", row)


def everything_of_a_kind(path: Path, rng: random.Random) -> None:
    """All of it, with what names it in the same place: a unit, the desk, the games, receipts,
    seams, presence, what the log notes of itself."""
    desk = ("desk", "desk_key", "users", "sessions")
    with opened(path) as connection:
        what = rng.choice(("unit", "desk", "games", "receipts", "seams", "presence", "about"))
        if what == "unit":
            unit, name = a_row(connection, "units", rng)
            for table in ("records", "events", "tombstones", "receipts"):
                connection.execute(f"DELETE FROM {table} WHERE unit = ?", (unit,))
            connection.execute("DELETE FROM units WHERE id = ?", (unit,))
            connection.execute("DELETE FROM presence WHERE unit = ?", (name,))
            connection.execute("DELETE FROM about WHERE name = ?", (f"flow {name}",))
        elif what == "about":
            connection.execute("DELETE FROM about WHERE name NOT IN ('format', 'version')")
        else:
            for table in desk if what == "desk" else (what,):
                connection.execute(f"DELETE FROM {table}")


def lowered_version(path: Path, rng: random.Random) -> None:
    """A log of an older version, without the tables that came later."""
    version = rng.randrange(2, 6)
    later = {
        3: ("games", "presence"),
        4: ("desk", "desk_key", "users", "sessions"),
        5: ("receipts",),
        6: ("seams",),
    }
    with opened(path) as connection:
        for since, tables in later.items():
            for table in tables if since > version else ():
                connection.execute(f"DROP TABLE {table}")
        connection.execute("UPDATE about SET value = ? WHERE name = 'version'", (str(version),))


def forged_presence(path: Path, rng: random.Random) -> None:
    """Notes of sessions that there never were, also of units that the log does not name."""
    with opened(path) as connection:
        _, name = a_row(connection, "units", rng)
        for _ in range(rng.choice((1, 2, 50))):
            begin = rng.choice((0, 1_700_000_000_000, 253_402_300_799_999, -1, 1 << 62))
            begin += rng.randrange(1 << 40)
            row = (
                rng.choice((name, name, "OTHER", any_value(rng, name))),
                rng.choice(("attached", "waiting", any_value(rng, "waiting"))),
                rng.choice((begin, begin, any_value(rng, begin))),
                begin + rng.choice((0, 3000, 1 << 40, -1)),
            )
            connection.execute("INSERT OR REPLACE INTO presence VALUES (?, ?, ?, ?)", row)


def facts(path: Path, rng: random.Random) -> None:
    """What the log says about itself."""
    name = rng.choice(
        (
            "format",
            "version",
            "retention",
            "retention",
            "more",
            "Format",
            "version ",
            "before_games",
            "alerts_up_to",
            "forwarded_to",
            "set_back",
            "flow SHOE-1",
            "flow SHOE-9",
        )
    )
    value = rng.choice(
        (
            "sabot-log", "2", "3", "1", "", "[]", "[" * 3000, "null", '[{"days": 1}]', "NaN",
            '[{"days": 30, "set_unix_ms": 5}]', '[{"days": -1, "set_unix_ms": 5}]', b"2", 2, 2.0,
            '{"newest_stored": 5}', '{"newest_stored": 99999, "newest_on_shoe": 99999}',
            '{"SHOE-9": 9}',
            '{"SHOE-1": 99}', '{"SHOE-1": -1}', '{"SHOE-1": "x"}', '{"SHOE-1": 1e999}', "9" * 5000,
            '[{"days": 1e400, "set_unix_ms": 0}]', f'[{{"days": {"9" * 400}, "set_unix_ms": 0}}]',
        )
    )  # fmt: skip
    with opened(path) as connection:
        connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))
