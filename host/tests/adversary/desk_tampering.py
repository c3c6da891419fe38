"""Tampers with the desk of a log as a person can who has the file, now and as it was earlier, and
the code, but not the first key.

Each way changes the tables of an open connection. It may use all that the file has: also the
present secret, from which the keys of notes to come can be made, and no key of an earlier note.
"""

import hashlib
import random
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cbor2

from sabot_protocol.chain import EPOCH_RECORDS, Chain

TABLES = ("desk", "desk_key", "users", "sessions")


@dataclass(frozen=True)
class Loot:
    """What the person has kept of an earlier time: the rows of each table."""

    earlier: dict[str, list[tuple[Any, ...]]]


Way = Callable[[sqlite3.Connection, random.Random, Loot], None]


def rows_of(connection: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of the desk's tables; of sessions not when they were used last."""
    rows = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}
    return rows | {"sessions": [row[:3] for row in rows["sessions"]]}


def put(connection: sqlite3.Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
    """Give a table other rows."""
    connection.execute(f"DELETE FROM {table}")
    for row in rows:
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def a_byte(connection: sqlite3.Connection, rng: random.Random, loot: Loot) -> None:
    """One bit of a record, a MAC, the secret, or a session's token."""
    table, column = rng.choice(
        (("desk", "record"), ("desk", "mac"), ("desk_key", "secret"), ("sessions", "sha256"))
    )
    key = "rowid" if table in ("desk", "desk_key") else "sha256"
    rows = connection.execute(f"SELECT {key}, {column} FROM {table}").fetchall()
    at, value = rng.choice(rows)
    changed = bytearray(value)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    connection.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (bytes(changed), at))


def rows_removed(connection: sqlite3.Connection, rng: random.Random, loot: Loot) -> None:
    """Any rows; not of sessions, of which the old ones go without a note."""
    table = rng.choice(("desk", "desk_key", "users"))
    rows = connection.execute(f"SELECT * FROM {table}").fetchall()
    gone = set(rng.sample(range(len(rows)), rng.randint(1, len(rows))))
    put(connection, table, [row for at, row in enumerate(rows) if at not in gone])


def notes_swapped(connection: sqlite3.Connection, rng: random.Random, loot: Loot) -> None:
    """Two notes, with or without their MACs."""
    rows = connection.execute("SELECT number, record, mac FROM desk").fetchall()
    one, two = rng.sample(range(len(rows)), 2)
    with_macs = rng.random() < 0.5
    for at, other in ((one, two), (two, one)):
        mac = rows[other][2] if with_macs else rows[at][2]
        row = (rows[other][1], mac, rows[at][0])
        connection.execute("UPDATE desk SET record = ?, mac = ? WHERE number = ?", row)


def tail_removed(connection: sqlite3.Connection, rng: random.Random, loot: Loot) -> None:
    """The newest notes, and the secret set back to anything that can be thought of."""
    ((last, secret),) = connection.execute("SELECT number, secret FROM desk_key")
    count = rng.randint(1, last - 1)
    connection.execute("DELETE FROM desk WHERE number >= ?", (last - count,))
    old = loot.earlier["desk_key"][0][1]
    secrets = [secret, old, hashlib.sha256(secret).digest(), bytes(32), rng.randbytes(32)]
    row = (last - rng.choice((0, count)), rng.choice(secrets))
    connection.execute("UPDATE desk_key SET number = ?, secret = ?", row)


def rewritten(connection: sqlite3.Connection, rng: random.Random, loot: Loot) -> None:
    """A note is removed or changed, and all after it get new MACs, with the secrets that the file
    has or had: not with one that was present before that note, which can make all after it."""
    notes = connection.execute("SELECT record, mac FROM desk ORDER BY number").fetchall()
    ((last, secret),) = connection.execute("SELECT number, secret FROM desk_key")
    at = rng.randrange(1, len(notes))
    kept = [cbor2.loads(record) for record, _ in notes[at:]]
    if rng.random() < 0.5:
        kept[0][2] = "eve"
    else:
        del kept[0]
    old = loot.earlier["desk_key"][0]
    known = [(last, secret), (at + 1, secret)]
    if at + 1 < old[0]:
        known += [old, (at + 1, old[1])]
    number, present = rng.choice(known)
    chain = Chain(min(number, at + 1), present, notes[at - 1][1])
    connection.execute("DELETE FROM desk WHERE number > ?", (at,))
    for number, note in enumerate(kept, at + 1):
        record = cbor2.dumps([number, *note[1:]], canonical=True)
        chain.move_on(number * EPOCH_RECORDS)
        chain.add(record)
        connection.execute("INSERT INTO desk VALUES (?, ?, ?)", (number, record, bytes(chain.mac)))
    number = at + 1 + len(kept)
    chain.move_on(number * EPOCH_RECORDS)
    row = rng.choice(((number, bytes(chain.secret)), (number, secret), (last, secret)))
    connection.execute("UPDATE desk_key SET number = ?, secret = ?", row)


def role_raised(connection: sqlite3.Connection, rng: random.Random, loot: Loot) -> None:
    roles = ("administrator", "surveillance", "king", "")
    name = _a_name(connection, rng)
    connection.execute("UPDATE users SET role = ? WHERE name = ?", (rng.choice(roles), name))


def hash_replaced(connection: sqlite3.Connection, rng: random.Random, loot: Loot) -> None:
    """By that of another user, of an earlier time, or of a known password."""
    hashes = [row[2] for row in connection.execute("SELECT * FROM users")]
    hashes += [row[2] for row in loot.earlier["users"]] + ["$argon2id$v=19$m=8,t=1,p=1$YQ$YQ"]
    name = _a_name(connection, rng)
    connection.execute("UPDATE users SET hash = ? WHERE name = ?", (rng.choice(hashes), name))


def user_opened(connection: sqlite3.Connection, rng: random.Random, loot: Loot) -> None:
    connection.execute("UPDATE users SET closed = NOT closed WHERE name = ?", (
        _a_name(connection, rng),
    ))  # fmt: skip


def user_made(connection: sqlite3.Connection, rng: random.Random, loot: Loot) -> None:
    connection.execute(
        "INSERT INTO users SELECT 'eve', 'administrator', hash, 0, made_unix_ms FROM users"
        " WHERE name = ?", (_a_name(connection, rng),),
    )  # fmt: skip


def session_forged(connection: sqlite3.Connection, rng: random.Random, loot: Loot) -> None:
    """With a token of one's own, for any user, at any time at which a session began."""
    begun = rng.choice([row[2] for row in loot.earlier["sessions"]] + [5, 1 << 60])
    row = (rng.randbytes(32), rng.choice((_a_name(connection, rng), "eve")), begun, begun)
    connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", row)


def session_taken(connection: sqlite3.Connection, rng: random.Random, loot: Loot) -> None:
    """A session becomes that of another user, or begins later."""
    change = rng.choice(("name = 'ada'", "name = 'bob'", "begun_unix_ms = begun_unix_ms + 1"))
    connection.execute(f"UPDATE sessions SET {change}")


def table_put_back(connection: sqlite3.Connection, rng: random.Random, loot: Loot) -> None:
    """Some tables as they were earlier; not all of notes and secret, which no one without a
    checkpoint can find."""
    tables = rng.sample(TABLES, rng.randint(1, 3))
    if {"desk", "desk_key"} <= set(tables):
        tables.remove(rng.choice(("desk", "desk_key")))
    for table in tables:
        rows = loot.earlier[table]
        if table == "sessions":
            rows = [(*row, row[2]) for row in rows]
        put(connection, table, rows)


def _a_name(connection: sqlite3.Connection, rng: random.Random) -> str:
    names = [name for (name,) in connection.execute("SELECT name FROM users")]
    return str(rng.choice(names))


WAYS: tuple[Way, ...] = (
    a_byte, rows_removed, notes_swapped, tail_removed, rewritten, role_raised, hash_replaced,
    user_opened, user_made, session_forged, session_taken, table_put_back,
)  # fmt: skip
