"""A copy of a log in PostgreSQL is the same log in a file."""

import random
from pathlib import Path

import pytest

from host.tests.support.commands import output_here
from host.tests.support.families_log import evenings, keep_games
from host.tests.support.helpers import TEST_KEY, new_log, stored
from host.tests.support.postgres import Database
from sabot.audit.checks.findings import Summary
from sabot.audit.verify import VerifyOptions, verify
from sabot.desk.desk import Desk
from sabot.errors import DatabaseUnusable
from sabot.keys import chain_keys
from sabot.keys.chain_keys import Keys
from sabot.log.postgres import copying
from sabot.log.presence import ATTACHED, Span
from sabot.log.store import Store, open_store


@pytest.fixture
def filled(database: Database, tmp_path: Path, rng: random.Random) -> Database:
    """A log of all families with all that a log can have."""
    logs = evenings(rng)
    with new_log(database.place()) as store:
        keep_games(store, logs)
        for unit, log in logs.items():
            store.append(unit, stored(log.records))
        store.prune("EZ", 1, 40, b"stone")
        store.keep_presence([Span("EZ", 5, 9, ATTACHED)])
        store.keep_receipts("EZ", [(50, b"receipt")])
        store.change_fact("minimum_days", lambda _: "[]")
        Desk.make(store, tmp_path / "keys", "ada", "four words of hers")
        for unit in logs:
            chain_keys.add(tmp_path / "keys", unit, TEST_KEY)
    return database


def _has(store: Store) -> dict[str, object]:
    units = store.units()
    with store.reading() as connection:
        desk = [
            connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
            for table in ("desk", "desk_key", "users")
        ]
    return {
        "rows": list(store.rows()),
        "tombstones": [store.tombstone_rows(unit) for unit in units],
        "presence": [store.presence(unit) for unit in units],
        "receipts": [list(store.receipts(unit)) for unit in units],
        "minimum": store.fact("minimum_days"),
        "desk": desk,
    }


@pytest.mark.slow
def test_a_copy_has_all_that_the_log_has_and_verifies_as_it_does(
    filled: Database, tmp_path: Path
) -> None:
    to = tmp_path / "copy.sqlite"
    options = VerifyOptions(keys=Keys.load(tmp_path / "keys"))
    with open_store(filled.place()) as store:
        assert store.copy(to) == store.count()
        with open_store(to) as copy:
            assert _has(copy) == _has(store)
            assert copy.faults() == store.faults() == []
            assert list(verify(copy, Summary(), options)) == list(verify(store, Summary(), options))
    assert [path.name for path in tmp_path.glob("copy*")] == ["copy.sqlite"]  # it is one file


@pytest.mark.slow
def test_who_may_not_read_the_desks_secrets_verifies_the_rest(
    filled: Database, tmp_path: Path
) -> None:
    options = VerifyOptions(keys=Keys.load(tmp_path / "keys"))
    notes: dict[str, list[str]] = {}
    found = {}
    for role in ("keeper", "clerk", "reader", "logger", "notary"):
        summary = Summary()
        with open_store(filled.place(role)) as store:
            found[role] = list(verify(store, summary, options))
        notes[role] = [each.kind for each in summary.notes if each.unit == "@desk"]
    assert all(each == found["keeper"] for each in found.values())
    assert notes.pop("keeper") == notes.pop("clerk") == []
    assert set(map(tuple, notes.values())) == {("unread",)}
    with filled.connect("postgres") as session:
        session.execute("UPDATE sabot.desk SET record = 'x' WHERE number = 2")
    with open_store(filled.place("reader")) as store:
        kinds = [each.kind for each in verify(store, Summary(), options) if each.unit == "@desk"]
    assert kinds == ["changed", "damaged"]


def test_a_copy_that_cannot_be_made_leaves_no_file(
    filled: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "there"
    there.write_text("mine")
    with open_store(filled.place()) as store:
        with pytest.raises(DatabaseUnusable, match="name another file with -o"):
            store.copy(there)
        assert there.read_text() == "mine"

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(copying, "_insert", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.copy(tmp_path / "copy")
    with open_store(filled.place("reader")) as reader:
        monkeypatch.undo()
        with pytest.raises(DatabaseUnusable, match="may not do this"):
            reader.copy(tmp_path / "copy")
    assert list(tmp_path.glob("copy*")) == []


@pytest.mark.slow
def test_the_command_copies(filled: Database, tmp_path: Path) -> None:
    place = str(filled.place())
    shown = output_here(tmp_path, "copy", "--db", place, "-o", "copy.sqlite")
    assert shown.startswith("copy.sqlite: ") and shown.endswith(" events\n\n\n0")
