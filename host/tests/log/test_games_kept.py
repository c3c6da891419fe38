"""The game documents of a log: read from the shoe once, kept, and there after a conversion."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from host.tests.log.test_logger import logging
from host.tests.support.helpers import framed
from host.tests.support.naive_shoe import GAME, NaiveShoe, answering_shoe, naive_event, recorded
from sabot.errors import DatabaseUnusable
from sabot.link import wire
from sabot.log.found import BEFORE_GAMES
from sabot.log.presence import Span
from sabot.log.store import open_store
from sabot_protocol import enums, messages

SHA256 = hashlib.sha256(GAME).digest()

VERSION_2 = """
CREATE TABLE about (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE units (id INTEGER PRIMARY KEY, unit TEXT NOT NULL UNIQUE);
CREATE TABLE records (unit INTEGER NOT NULL, number INTEGER NOT NULL, received_unix_ms INTEGER NOT NULL, record BLOB NOT NULL, mac BLOB NOT NULL, PRIMARY KEY (unit, number)) WITHOUT ROWID;
CREATE TABLE tombstones (unit INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, tombstone BLOB NOT NULL, PRIMARY KEY (unit, first)) WITHOUT ROWID;
CREATE TABLE events (unit INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, unix_ms INTEGER, shoe INTEGER NOT NULL, round INTEGER NOT NULL, PRIMARY KEY (unit, number)) WITHOUT ROWID;
CREATE INDEX events_by_round ON events (unit, shoe, round);
CREATE INDEX events_by_time ON events (unit, unix_ms);
INSERT INTO about VALUES ('format', 'sabot-log'), ('version', '2');
INSERT INTO units VALUES (7, 'U1');
"""  # noqa: E501 - as that version wrote them


class _OtherDocument(NaiveShoe):
    """A shoe whose document is not that of the game that it states."""

    def game_part(self, id: int, offset: int) -> bytes:
        part = b"x" * min(len(GAME) - offset, messages.MAX_GAME_PART)
        return framed(messages.GAME_PART, id=id, offset=offset, part=part, size=len(GAME))


class _Endless(NaiveShoe):
    """A shoe whose document never ends."""

    def game_part(self, id: int, offset: int) -> bytes:
        return framed(messages.GAME_PART, id=id, offset=offset, part=b"x" * 400, size=2**62)


class _Empty(NaiveShoe):
    """A shoe whose parts have nothing in them."""

    def game_part(self, id: int, offset: int) -> bytes:
        return framed(messages.GAME_PART, id=id, offset=offset, part=b"", size=len(GAME))


class _Refusing(NaiveShoe):
    def answer(self, message: wire.Message) -> list[bytes]:
        if message.shape is not messages.READ_GAME:
            return super().answer(message)
        refused = enums.REFUSALS.index("updating")
        return [framed(messages.REPLY, id=message.fields["id"], refusal=refused)]


class _Counting(NaiveShoe):
    asked = 0

    def game_part(self, id: int, offset: int) -> bytes:
        self.asked += 1
        return super().game_part(id, offset)


def documents(path: Path) -> list[tuple[bytes, bytes]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT sha256, document FROM games").fetchall()


@pytest.mark.slow
def test_a_log_keeps_the_document_of_a_game_and_reads_it_once(tmp_path: Path) -> None:
    path, shoe = tmp_path / "log", _Counting(1)
    for last in (5, 10):
        shoe.record(5)
        with answering_shoe(shoe) as port, logging(path, port.path) as log:
            log.wait_for(last)
            assert log.warned == []
            assert log.store.game(SHA256) == GAME
            assert log.store.game(bytes(32)) is None
    assert documents(path) == [(SHA256, GAME)]
    assert shoe.asked == -(-len(GAME) // messages.MAX_GAME_PART)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shoe", "why"),
    [
        (_OtherDocument(1), "its game document is not that of the game"),
        (_Endless(1), "does not follow the part before it"),
        (_Empty(1), "does not follow the part before it"),
        (_Refusing(1), "refused read_game"),
    ],
)
def test_events_are_logged_also_without_the_document_and_that_is_reported(
    tmp_path: Path, shoe: NaiveShoe, why: str
) -> None:
    shoe.record(5)
    with answering_shoe(shoe) as port, logging(tmp_path / "log", port.path) as log:
        log.wait_for(5)
        (warning,) = log.warned
        assert why in warning
        assert warning.endswith("its events are logged, but the log does not have its game")
    assert documents(tmp_path / "log") == []


@pytest.fixture
def version_2(tmp_path: Path) -> Path:
    """A log of version 2 with three events."""
    path = tmp_path / "old"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(VERSION_2)
        for number in (1, 2, 3):
            record = recorded(naive_event(number))
            row = (7, number, 1_790_000_000_000, record.data, record.mac)
            connection.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?)", row)
    return path


def test_a_log_of_version_2_is_read_as_it_is(version_2: Path) -> None:
    before = version_2.read_bytes()
    with open_store(version_2) as store:
        assert store.count() == 3 and store.last_number("U1") == 3
        assert store.game(SHA256) is None
        assert store.presence("U1") == []
        assert store.faults() == []
    assert version_2.read_bytes() == before


def test_a_log_of_version_2_is_converted_when_it_is_opened_for_logging(version_2: Path) -> None:
    with open_store(version_2, create=True) as store:
        store.keep_game(GAME)
        store.keep_presence([Span("U1", 5, 6, "attached")])
        store.append("U1", [recorded(naive_event(4))])
    for create in (False, True):
        with open_store(version_2, create=create) as store:
            assert store.count() == 4 and store.game(SHA256) == GAME
            assert store.fact(BEFORE_GAMES) == '{"U1": 3}'
            assert store.presence("U1") == [Span("U1", 5, 6, "attached")]
            assert store.faults() == []


def test_a_log_of_version_2_with_a_table_of_version_3_is_refused(version_2: Path) -> None:
    with closing(sqlite3.connect(version_2)) as connection, connection:
        connection.execute("CREATE TABLE games (sha256 BLOB, document BLOB)")
    with pytest.raises(DatabaseUnusable, match=r"its tables were altered \(games\)"):
        open_store(version_2)


def test_other_bytes_under_a_hash_are_not_the_game_and_are_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with open_store(path, create=True) as store:
        store.keep_game(GAME)
        store.keep_game(GAME)
        store.append("U1", [recorded(naive_event(1))])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE games SET document = x'a0'")
    with open_store(path) as store:
        assert store.game(SHA256) is None
        assert store.faults() == ["a game document does not fit its SHA-256"]
