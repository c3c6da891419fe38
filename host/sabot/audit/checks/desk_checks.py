"""Checks the desk of a log: its notes, and that its users and sessions are those of the notes.

It shares with the writer (sabot/desk) the names of tables and fields. It reads the tables, decodes
the notes and computes the MACs by itself. Note n has the key of epoch n of the chain, and the
secret in the table `desk_key` is that of the note to come: without it a person who removed the
last notes could not be found.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import cbor2

from sabot import numbers
from sabot.audit import chain
from sabot.audit.chain import Ratchet
from sabot.audit.checks.findings import FoundInUnit
from sabot.desk.notes import MOST_BYTES, UNIT
from sabot.keys.chain_keys import Keys
from sabot.log.sql import Connection
from sabot.text import counted, printable, shortened
from sabot_protocol.chain import KEY_SIZE, MAC_LABEL
from sabot_protocol.events import MAC_SIZE

TABLES = ("desk", "desk_key", "users", "sessions")
_PROBED = 64  # the first notes, which are tried to find out which key made them
_FARTHEST = 1_000_000  # most notes that can be missing
_MOST_NOTES = chain.epoch_of(chain.MOST_EVENTS)  # a desk has an epoch for each note
_SHOWN = 60  # characters of a name
_LONGEST = 200  # characters or bytes of a value in the tables of users and sessions
_IN_ORDER = "ORDER BY number"

_Row = tuple[int, bytes, bytes]


@dataclass(slots=True)
class _State:
    """What the notes so far say of users and sessions."""

    users: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """By name: role, SHA-256 of the hash, whether closed, when made."""
    sessions: dict[bytes, tuple[str, int]] = field(default_factory=dict)
    """By the SHA-256 of the token: of whom, and since when."""
    named: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """By the name of a unit: the last event, and the last shoe of cards with its last round, which
    notes are about; 0 for none."""

    def take(self, unix_ms: int, by: str, kind: str, fields: dict[str, Any]) -> None:
        """Take a note. Raises KeyError if it lacks a field, or changes a user who is not there."""
        if kind == "user_made":
            self.users[fields["name"]] = (fields["role"], fields["password"], 0, unix_ms)
        elif kind == "role_changed":
            _, *others = self.users[fields["name"]]
            self.users[fields["name"]] = (fields["role"], *others)
        elif kind == "password_set":
            role, _, *others = self.users[fields["name"]]
            self.users[fields["name"]] = (role, fields["password"], *others)
            self._end_sessions(fields["name"])
        elif kind == "user_closed":
            role, password, _, made = self.users[fields["name"]]
            self.users[fields["name"]] = (role, password, 1, made)
            self._end_sessions(fields["name"])
        elif kind == "signed_in":
            self.sessions[fields["session"]] = (by, unix_ms)
        elif kind == "signed_out":
            self.sessions.pop(fields["session"], None)
        elif kind == "alert":
            self._name(fields["unit"], fields["event"] or 0, 0, 0)
        elif kind in ("round_opened", "exported"):
            self._name(fields["unit"], 0, fields["shoe"], fields["round"])

    def _name(self, unit: str, event: int, shoe: int, round_: int) -> None:
        if not all(map(isinstance, (unit, event, shoe, round_), (str, int, int, int))):
            raise TypeError("a place of another type")
        before, *place = self.named.get(unit, (0, 0, 0))
        self.named[unit] = (max(before, event), *max((place[0], place[1]), (shoe, round_)))

    def _end_sessions(self, name: str) -> None:
        self.sessions = {key: each for key, each in self.sessions.items() if each[0] != name}


def exists(connection: Connection) -> bool:
    """Whether the log has anything of a desk."""
    return any(
        connection.has_table(table)
        and connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None
        for table in TABLES
    )


def check(
    connection: Connection, keys: Keys | None, found: FoundInUnit
) -> Mapping[str, tuple[int, int, int]]:
    """Report to `found` everything that is wrong with the desk, by number of the note. Who may not
    read its secrets checks its notes only.

    Return which units the notes are about, by name: the last event, and the last shoe of cards with
    its last round; 0 for none."""
    ratchet = _ratchet(keys, islice(_rows(connection, _IN_ORDER), _PROBED))
    if ratchet is None:
        found.add(0, "no_key", f"there is no key of {UNIT}: its notes were not checked")
    state = _State()
    due = _check_notes(_rows(connection, _IN_ORDER), ratchet, state, found)
    if connection.reads_secrets():
        _check_key(connection, due, ratchet, found)
        _check_users(connection, state, found)
        _check_sessions(connection, state, found)
    return state.named


def _check_notes(
    rows: Iterable[_Row], ratchet: Ratchet | None, state: _State, found: FoundInUnit
) -> int:
    """Check the chain, and take what its notes say. Return the number of the next note."""
    due, before = 1, None if ratchet is None else ratchet.chain
    for number, record, mac in rows:
        if not due <= number <= min(due + _FARTHEST, _MOST_NOTES):
            found.add(due, "changed", f"a row {number}, which no desk can have written")
            continue
        if number > due:
            missing = counted(number - due, "note")
            found.add(due, "missing", f"{missing} to number {number - 1} not in the log")
            before = None
        if ratchet is not None and before is not None:
            if chain.mac(ratchet.mac_key(number), before, record) != mac:
                found.add(number, "changed", "record or MAC is not as the desk wrote it")
        due, before = number + 1, mac
        try:
            own, unix_ms, by, kind, fields = _decoded(record)
            state.take(unix_ms, by, kind, fields)
        except ValueError as error:
            found.add(number, "damaged", f"note cannot be read: {error}")
            continue
        except (KeyError, TypeError):
            found.add(number, "damaged", "note is about a user who is not there, or lacks a field")
            continue
        if own != number:
            found.add(number, "changed", f"the note in its place says that it is note {own}")
    return due


def _check_key(
    connection: Connection, due: int, ratchet: Ratchet | None, found: FoundInUnit
) -> None:
    columns = _columns(connection, number="integer", secret="blob")
    rows = connection.execute(f"SELECT {columns} FROM desk_key LIMIT 2").fetchall()
    if len(rows) != 1:
        detail = f"there are {len(rows) or 'no'} secrets of the next note instead of one"
        found.add(due, "truncated", f"{detail}: whether these are all notes is not known")
        return
    number, secret = rows[0]
    if number != due:
        detail = f"the secret is that of note {shortened(repr(number), _SHOWN)}"
        found.add(due, "truncated", f"{detail}, but the log ends with note {due - 1}")
    elif not isinstance(secret, bytes) or len(secret) != KEY_SIZE:
        found.add(due, "truncated", "the secret of the next note is not a secret")
    elif ratchet is not None and due <= _MOST_NOTES:
        if hashlib.sha256(MAC_LABEL + secret).digest() != ratchet.mac_key(due):
            detail = "the secret is not that of the next note: notes were removed at the end"
            found.add(due, "truncated", detail)


def _check_users(connection: Connection, state: _State, found: FoundInUnit) -> None:
    wanted = dict(state.users)
    columns = _columns(
        connection, name="text", role="text", hash="text", closed="integer", made_unix_ms="integer"
    )
    query = f"SELECT {columns} FROM users ORDER BY name"
    for name, role, hash_, closed, made in connection.execute(query):
        noted = wanted.pop(name, None) if isinstance(name, str) else None
        if noted is None:
            found.add(0, "users", f"user {_named(name)} is in no note")
            continue
        stored = (role, hashlib.sha256(str(hash_).encode()).digest(), closed, made)
        whats = ("role", "password", "closing", "beginning")
        for what, is_, was in zip(whats, stored, noted, strict=True):
            if is_ != was:
                found.add(0, "users", f"the {what} of user {_named(name)} is in no note")
    for name in wanted:
        found.add(0, "users", f"user {_named(name)} is in the notes, but not in the table")


def _check_sessions(connection: Connection, state: _State, found: FoundInUnit) -> None:
    columns = _columns(
        connection, sha256="blob", name="text", begun_unix_ms="integer", used_unix_ms="integer"
    )
    query = f"SELECT {columns} FROM sessions ORDER BY name"
    for sha256, name, begun, used in connection.execute(query):
        if state.sessions.get(sha256) != (name, begun) or not (
            isinstance(used, int) and used >= begun
        ):
            found.add(0, "users", f"a session of user {_named(name)} is in no note, or has ended")


def _ratchet(keys: Keys | None, rows: Iterable[_Row]) -> Ratchet | None:
    """The keys of the desk's chain. Of the keys of several, those that made its first notes."""
    chains = [] if keys is None else keys.chains(UNIT)
    if keys is None or not chains:
        return None
    ratchets = [Ratchet(key) for each in chains if (key := keys.first_key(UNIT, each)) is not None]
    first = list(rows)
    for ratchet in ratchets:
        due, before = 1, ratchet.chain or b""
        for number, record, mac in first:
            if number == due <= _MOST_NOTES:
                if chain.mac(ratchet.mac_key(number), before, record) == mac:
                    return ratchet
            due, before = number + 1, mac
    return ratchets[-1]


def _decoded(record: bytes) -> tuple[int, int, str, str, dict[str, Any]]:
    """Number, time, by whom, kind and fields. Raises ValueError."""
    try:
        note = cbor2.loads(record)
        shortest = cbor2.dumps(note, canonical=True)
    except (cbor2.CBORError, RecursionError, OverflowError, ValueError, TypeError):
        raise ValueError("it is not CBOR") from None
    if not numbers.fit(note):
        raise ValueError("it has a number of over 64 bits")
    if not isinstance(note, list) or [type(each) for each in note] != [int, int, str, str, dict]:
        raise ValueError("it has other items than a note")
    if shortest != record:
        raise ValueError("it is not in the deterministic form")
    number, unix_ms, by, kind, fields = note
    return number, unix_ms, by, kind, fields


def _columns(connection: Connection, **kinds: str) -> str:
    """The SQL for values that are not larger than any that a desk writes."""
    return ", ".join(connection.bounded(name, kind, _LONGEST) for name, kind in kinds.items())


def _rows(connection: Connection, also: str = "", *parameters: int) -> Iterator[_Row]:
    """The notes, by number: number, record and MAC. A forger can put anything there."""
    number = connection.bounded("number", "integer")
    record = connection.bounded("record", "blob", MOST_BYTES)
    mac = connection.bounded("mac", "blob", MAC_SIZE)
    query = f"SELECT number, {record}, {mac} FROM desk WHERE {number} IS NOT NULL {also}"
    for found, note, its_mac in connection.execute(query, parameters):
        yield found, note or b"", its_mac if its_mac and len(its_mac) == MAC_SIZE else b""


def _named(name: object) -> str:
    return printable(shortened(name if isinstance(name, str) else repr(name), _SHOWN))


def newest(connection: Connection) -> tuple[int, bytes, int | None] | None:
    """Number, MAC and time of the newest note; None if there is none."""
    if not connection.has_table("desk"):
        return None
    found = next(_rows(connection, "ORDER BY number DESC LIMIT 1"), None)
    if found is None:
        return None
    number, record, mac = found
    try:
        unix_ms = _decoded(record)[1]
    except ValueError:
        return number, mac, None
    return number, mac, unix_ms


def macs_of(connection: Connection, number: int) -> list[bytes]:
    """The MAC of a note; empty if it is not in the log."""
    if not connection.has_table("desk"):
        return []
    return [mac for _, _, mac in _rows(connection, "AND number = ?", number)]
