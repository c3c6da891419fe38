"""The desk of a log whose tables were tampered with: everything that differs is found.

docs/security.md says what cannot be found: notes that a person adds from now on, with the secret in
the file, and a whole desk of an earlier time, which checkpoints show. Tests show both.
"""

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from host.tests.adversary.cases import BATCHES, cases
from host.tests.adversary.desk_tampering import TABLES, WAYS, Loot, Way, put, rows_of
from host.tests.support.helpers import FirmwareLog, new_log, stored
from sabot.audit import chain
from sabot.audit.checks import desk_checks
from sabot.audit.checks.findings import FoundInUnit
from sabot.desk import tables
from sabot.desk.alerts import Alert
from sabot.desk.desk import Desk
from sabot.keys.chain_keys import Keys
from sabot.log.sqlite import soundness
from sabot.log.sqlite.log_file import LogConnection
from sabot.log.store import Store

pytestmark = pytest.mark.slow

SAMPLE = 1200
PASSWORD, OTHER = "four words of hers", "four other words"
ALERT = Alert("U1/lid/7", "U1", "lid", 7, 1, 2, 5, "the lid was opened")


@dataclass(frozen=True)
class House:
    """A log with a desk, as bytes; its keys; and what a thief kept of an earlier time."""

    data: bytes
    keys: Keys
    loot: Loot

    def opened(self) -> sqlite3.Connection:
        """The log in memory."""
        connection = sqlite3.connect(":memory:", isolation_level=None, factory=LogConnection)
        connection.deserialize(self.data)
        return connection


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    folder = tmp_path_factory.mktemp("house")
    with new_log(folder / "log") as store:
        store.append("U1", stored(FirmwareLog().load().draw("AS", "2C", "9S").records))
        desk = Desk.make(store, folder / "keys", "ada", PASSWORD)
        desk.add_user("bob", "floor", OTHER, by="ada")
        desk.add_user("cleo", "surveillance", OTHER, by="ada")
        for name, password in (("ada", PASSWORD), ("bob", OTHER), ("bob", OTHER)):
            ended = desk.sign_in(name, password, origin="10.0.0.7")
        desk.raise_alert(ALERT)
        with closing(_copied(store, folder / "earlier")) as earlier:
            loot = Loot(rows_of(earlier))
        desk.sign_out(ended)
        desk.acknowledge(ALERT.id, "seen on the video", by="bob")
        desk.change_role("bob", "technician", by="ada")
        desk.set_password("cleo", PASSWORD, by="ada")
        desk.close_user("cleo", by="ada")
        desk.acknowledge(ALERT.id, "seen again", by="ada")
        with closing(_copied(store, folder / "copy")) as copy:
            return House(copy.serialize(), Keys.load(folder / "keys"), loot)


def _copied(store: Store, path: Path) -> sqlite3.Connection:
    store.copy(path)
    return sqlite3.connect(path, factory=LogConnection)


def found_in(connection: sqlite3.Connection, keys: Keys) -> list[str]:
    """What `verify` finds in the file and in the desk."""
    found = FoundInUnit("@desk")
    desk_checks.check(connection, keys, found)
    return [*soundness.faults(connection), *(each.detail for each in found.in_order())]


def test_nothing_is_found_in_a_desk_as_it_was_written(house: House) -> None:
    with closing(house.opened()) as connection:
        assert found_in(connection, house.keys) == []


def test_every_byte_of_every_note_mac_and_secret_counts(house: House) -> None:
    missed = []
    with closing(house.opened()) as connection:
        for table, column in (("desk", "record"), ("desk", "mac"), ("desk_key", "secret")):
            rows = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
            for rowid, value in rows:
                for at in range(len(value)):
                    changed = value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
                    query = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
                    connection.execute(query, (changed, rowid))
                    found = FoundInUnit("@desk")
                    desk_checks.check(connection, house.keys, found)
                    if not found.in_order():
                        missed.append((table, column, rowid, at))
                    connection.execute(query, (value, rowid))
        assert found_in(connection, house.keys) == []
    assert missed == []


def missed_by(house: House, ways: tuple[Way, ...], seeds: Iterator[random.Random]) -> set[str]:
    """The ways whose changes were not found."""
    missed = set()
    for rng in seeds:
        way = rng.choice(ways)
        with closing(house.opened()) as connection:
            before = rows_of(connection)
            with suppress(sqlite3.IntegrityError):  # SQLite refuses it
                way(connection, rng, house.loot)
            if rows_of(connection) != before and not found_in(connection, house.keys):
                missed.add(way.__name__)
    return missed


@pytest.mark.parametrize("batch", range(BATCHES))
def test_what_was_tampered_with_is_found(house: House, batch: int) -> None:
    for seed, rng in cases(batch, SAMPLE):
        assert missed_by(house, WAYS, iter([rng])) == set(), f"seed {seed}"


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_changes_the_desk(house: House, way: Way) -> None:
    changed = 0
    for seed in range(15):
        with closing(house.opened()) as connection:
            before = rows_of(connection)
            with suppress(sqlite3.IntegrityError):
                way(connection, random.Random(seed), house.loot)
            changed += rows_of(connection) != before
    assert changed >= 3


def _no_macs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every MAC is right: the check of the chain compares what it finds with itself."""

    class Any_(bytes):
        __hash__ = bytes.__hash__

        def __eq__(self, other: object) -> bool:
            return True

        def __ne__(self, other: object) -> bool:
            return False

    monkeypatch.setattr(chain, "mac", lambda *_: Any_())


def _left_out(part: str) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda monkeypatch: monkeypatch.setattr(desk_checks, part, lambda *_: None)


GAPS = {
    "the MACs": _no_macs,
    "the secret": _left_out("_check_key"),
    "the users": _left_out("_check_users"),
    "the sessions": _left_out("_check_sessions"),
}


@pytest.mark.parametrize("gap", GAPS)
def test_a_gap_in_the_check_lets_these_tests_fail(
    house: House, monkeypatch: pytest.MonkeyPatch, gap: str
) -> None:
    GAPS[gap](monkeypatch)
    assert missed_by(house, WAYS, (random.Random(seed) for seed in range(300)))


def test_notes_that_are_added_with_the_secret_in_the_file_are_not_found(house: House) -> None:
    """As the server itself adds them: a person who writes to the file from now on can."""
    with closing(house.opened()) as connection:
        fields = {"unit": "U1", "shoe": 1, "round": 1}
        tables.write(Path("log"), connection, 5, "bob", "round_opened", fields)
        assert found_in(connection, house.keys) == []


def test_a_whole_desk_of_an_earlier_time_is_found_by_checkpoints_alone(house: House) -> None:
    """test_desk_checks.py has the checkpoints."""
    with closing(house.opened()) as connection:
        for table in TABLES:
            rows = house.loot.earlier[table]
            put(connection, table, [(*r, r[2]) for r in rows] if table == "sessions" else rows)
        assert found_in(connection, house.keys) == []
