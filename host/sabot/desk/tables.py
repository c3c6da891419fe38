"""The desk's tables in a log: notes, the secret of the next one, users and sessions.

The secret moves on with each note, in the same transaction, as a shoe's does with each epoch
(sabot_protocol/chain.py): note n has the key of epoch n. The old secret is gone then. So a person
with the file can neither change nor remove a note without `sabot verify --keys` finding it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sabot.desk.notes import Note, NoteUnusable
from sabot.errors import WHEN_DAMAGED, DatabaseUnusable
from sabot.log.place import Place
from sabot.log.sql import Connection
from sabot.log.store import Store
from sabot_protocol.chain import EPOCH_RECORDS, KEY_SIZE, Chain, chain_id

_CHUNK = 1000  # notes read at once


@dataclass(frozen=True, slots=True)
class User:
    """A person who may sign in, with one of `roles.ROLES`; not any more if `closed`."""

    name: str
    role: str
    closed: bool
    made_unix_ms: int


def is_made(store: Store) -> bool:
    """Whether the log has a desk, also one of which a part was removed."""
    with store.reading() as connection:
        return has_desk(connection)


def has_desk(connection: Connection) -> bool:
    """As `is_made`, as a transaction sees it."""
    return connection.has_table("desk_key") and any(
        connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None
        for table in ("desk", "desk_key")
    )


def begin(connection: Connection, first_key: bytes) -> bytes:
    """Begin the chain of notes with a new first key; return its id."""
    chain = Chain(0, first_key, chain_id(first_key))
    chain.move_on(EPOCH_RECORDS)
    connection.execute("INSERT INTO desk_key VALUES (1, ?)", (bytes(chain.secret),))
    return bytes(chain.mac)


def write(
    place: Place,
    connection: Connection,
    unix_ms: int,
    by: str,
    kind: str,
    fields: Mapping[str, Any],
) -> int:
    """Add a note, within a transaction; return its number. Raises NoteUnusable."""
    keys = connection.execute("SELECT number, secret FROM desk_key").fetchall()
    last = connection.execute("SELECT number, mac FROM desk ORDER BY number DESC LIMIT 1")
    last_number, mac = last.fetchone() or (0, b"")
    number, secret = keys[0] if len(keys) == 1 else (0, b"")
    usable = type(secret) is bytes and len(secret) == KEY_SIZE and type(mac) is bytes
    if number != last_number + 1 or not usable:
        raise DatabaseUnusable(
            f"{place}: notes of the desk are missing, or their secret, as `sabot verify` shows; "
            f"{WHEN_DAMAGED}"
        )
    if kind == "desk_opened":
        mac = fields["chain"]
    record = Note(number, unix_ms, by, kind, fields).encode()
    chain = Chain(number, secret, mac)
    chain.add(record)
    connection.execute("INSERT INTO desk VALUES (?, ?, ?)", (number, record, bytes(chain.mac)))
    chain.move_on((number + 1) * EPOCH_RECORDS)
    connection.execute("UPDATE desk_key SET number = ?, secret = ?", (number + 1, chain.secret))
    return number


def rows(store: Store, after: int = 0) -> Iterator[tuple[int, Note | None]]:
    """Yield number and note of each row with a higher number than `after`; None for a note that
    cannot be read."""
    while True:
        with store.reading() as connection:
            some = _some(connection, after)
        yield from some
        if len(some) < _CHUNK:
            return
        after = some[-1][0]


def notes(store: Store, after: int = 0) -> Iterator[Note]:
    """Yield the notes with a higher number than `after`, without those that cannot be read: one
    damaged note must not take the screens away, and `verify` finds it."""
    return (note for _, note in rows(store, after) if note is not None)


def newest(store: Store) -> int:
    """The number of the newest note; 0 without one."""
    with store.reading() as connection:
        if not connection.has_table("desk"):
            return 0
        return int(connection.execute("SELECT coalesce(max(number), 0) FROM desk").fetchone()[0])


def notes_in(connection: Connection, after: int) -> Iterator[Note]:
    """As `notes`, as a transaction sees them."""
    while some := _some(connection, after):
        yield from (note for _, note in some if note is not None)
        after = some[-1][0]


def _some(connection: Connection, after: int) -> list[tuple[int, Note | None]]:
    if not connection.has_table("desk"):
        return []
    query = "SELECT number, record FROM desk WHERE number > ? ORDER BY number LIMIT ?"
    return [
        (number, _note(number, record))
        for number, record in connection.execute(query, (after, _CHUNK))
    ]


def _note(number: int, record: object) -> Note | None:
    try:
        note = Note.parse(record if isinstance(record, bytes) else b"")
    except NoteUnusable:
        return None
    return note if note.number == number else None


def users(connection: Connection) -> list[User]:
    """All users, by name."""
    return [user_in(row) for row in connection.execute(f"{USERS} ORDER BY name")]


USERS = "SELECT name, role, closed, made_unix_ms FROM users"
"""The SQL of the rows that `user_in` takes."""


def user_in(row: Sequence[Any]) -> User:
    """The user in a row, in which a forger can have put anything."""
    name, role, closed, made = row[:4]
    return User(str(name), str(role), bool(closed), made if type(made) is int else 0)
