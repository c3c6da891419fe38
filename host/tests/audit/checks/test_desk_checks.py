"""What `verify` finds in the desk of a log, each kind of change by itself.

The tables are altered with SQL, without code of the project.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import cbor2
import pytest

from host.tests.support.helpers import TEST_KEY, FirmwareLog, new_log, stored
from sabot.audit.absence.elsewhere import Elsewhere
from sabot.audit.checkpoints import Checkpoint, checkpoints_of, contradictions
from sabot.audit.checks.findings import Summary
from sabot.audit.verify import VerifyOptions, verify, verify_log
from sabot.desk.alerts import Alert
from sabot.desk.desk import Desk
from sabot.keys import chain_keys
from sabot.keys.chain_keys import Keys
from sabot.log.store import open_store
from sabot_protocol.chain import chain_id

PASSWORD, OTHER = "four words of hers", "four other words"
ALERT = Alert("U1/lid/7", "U1", "lid", 7, 1, 2, 5, "the lid was opened")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log with a desk of two users, one of them signed in, and an acknowledged alert."""
    path = tmp_path / "log"
    with new_log(path) as store:
        store.append("U1", stored(FirmwareLog().load().draw("AS", "2C", "9S", "KC").records))
        desk = Desk.make(store, tmp_path / "keys", "ada", PASSWORD)
        desk.add_user("bob", "floor", OTHER, by="ada")
        desk.sign_out(desk.sign_in("bob", OTHER, origin="10.0.0.7"))
        desk.sign_in("ada", PASSWORD, origin="10.0.0.8")
        desk.raise_alert(ALERT)
        desk.acknowledge(ALERT.id, "seen on the video", by="bob")
        desk.opened_round("U1", 1, 1, by="bob")
    chain_keys.add(tmp_path / "keys", "U1", TEST_KEY)
    return path


def kinds(path: Path, *, keys: bool = True, kept: tuple[Checkpoint, ...] = ()) -> list[str]:
    """Kind and note of each finding about the desk; those of the two ways to verify are the
    same."""
    loaded = Keys.load(path.with_name("keys")) if keys else None
    options = VerifyOptions(keys=loaded, kept=kept)
    with open_store(path) as store:
        found = list(verify(store, Summary(), options))
    assert verify_log(path, options)[0] == found
    return [f"{each.kind} {each.event}" for each in found if each.unit == "@desk"]


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_good_desk_has_no_findings_and_without_its_key_one(path: Path) -> None:
    assert kinds(path) == []
    assert kinds(path, keys=False) == ["no_key 0"]


def test_a_whole_desk_that_was_deleted_is_absent_unless_it_is_known_to_be_elsewhere(
    path: Path,
) -> None:
    sql(path, *(f"DELETE FROM {table}" for table in ("desk", "desk_key", "users", "sessions")))
    assert kinds(path) == ["absent 0"]
    assert kinds(path, keys=False) == []
    sql(path, """INSERT INTO about VALUES ('alerts_up_to', '{"U1": 7}')""")
    assert kinds(path, keys=False) == ["absent 0"]  # the log itself says that it had one
    options = VerifyOptions(elsewhere=Elsewhere(["@desk"]))
    findings, summary = verify_log(path, options)
    assert not [each for each in findings if each.unit == "@desk"]
    assert [each.kind for each in summary.notes if each.unit == "@desk"] == ["known_elsewhere"]


def test_what_the_notes_of_the_desk_are_about_must_be_in_the_log(path: Path) -> None:
    """The alert is of event 7 of U1, and a round of its first shoe of cards was opened."""
    with open_store(path) as store:
        last = store.last_number("U1")
        Desk(store).opened_round("U1", 2, 1, by="bob")
        Desk(store).raise_alert(replace(ALERT, id="U1/lid/99", event=last + 1))
        Desk(store).opened_round("U2", 1, 1, by="bob")
        found = list(verify(store, Summary(), VerifyOptions(keys=Keys.load(path.parent / "keys"))))
    assert [(each.unit, each.event, each.kind) for each in found if each.kind != "game"] == [
        ("U2", 0, "absent"),
        ("U1", last + 1, "truncated"),
    ]


CHANGES = {
    "one note": ("DELETE FROM desk WHERE number = 8", "missing 8"),
    "the first note": ("DELETE FROM desk WHERE number = 1", "missing 1"),
    "several notes": ("DELETE FROM desk WHERE number IN (4, 5)", "missing 4"),
    "the last note": ("DELETE FROM desk WHERE number = 9", "truncated 9"),
    "all notes": ("DELETE FROM desk", "truncated 1"),
    "the secret": ("DELETE FROM desk_key", "truncated 10"),
    "two secrets": ("INSERT INTO desk_key SELECT * FROM desk_key", "truncated 10"),
    "another secret": ("UPDATE desk_key SET secret = zeroblob(32)", "truncated 10"),
    "a longer secret": (
        "UPDATE desk_key SET secret = CAST(secret || x'00' AS BLOB)",
        "truncated 10",
    ),
    "a text for a secret": ("UPDATE desk_key SET secret = 'x'", "truncated 10"),
    "a MAC": ("UPDATE desk SET mac = zeroblob(16) WHERE number = 8", "changed 8"),
    "a longer MAC": (
        "UPDATE desk SET mac = CAST(mac || x'00' AS BLOB) WHERE number = 8",
        "changed 8",
    ),
    "no record": ("UPDATE desk SET record = x'' WHERE number = 8", "damaged 8"),
    "a text for a record": ("UPDATE desk SET record = 'x' WHERE number = 8", "damaged 8"),
    "a note below": ("INSERT INTO desk VALUES (-5, x'00', zeroblob(16))", "changed 1"),
    "a note above": ("INSERT INTO desk VALUES (1 << 60, x'00', zeroblob(16))", "changed 10"),
    "a next note": ("INSERT INTO desk VALUES (10, x'00', zeroblob(16))", "changed 10"),
    "a role": ("UPDATE users SET role = 'administrator' WHERE name = 'bob'", "users 0"),
    "a hash": ("UPDATE users SET hash = (SELECT hash FROM users WHERE name = 'bob')", "users 0"),
    "a closed user": ("UPDATE users SET closed = 1 WHERE name = 'bob'", "users 0"),
    "a beginning": ("UPDATE users SET made_unix_ms = 5 WHERE name = 'bob'", "users 0"),
    "a user less": ("DELETE FROM users WHERE name = 'bob'", "users 0"),
    "a user more": ("INSERT INTO users SELECT 'eve', role, hash, 0, 5 FROM users", "users 0"),
    "another name": ("UPDATE users SET name = 'eve' WHERE name = 'bob'", "users 0"),
    "bytes for a name": ("UPDATE users SET name = x'00' WHERE name = 'bob'", "users 0"),
    "a session": ("INSERT INTO sessions VALUES (zeroblob(32), 'ada', 5, 5)", "users 0"),
    "the session of another": ("UPDATE sessions SET name = 'bob'", "users 0"),
    "a session that began later": ("UPDATE sessions SET begun_unix_ms = 1 << 60", "users 0"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_found(path: Path, what: str) -> None:
    statement, finding = CHANGES[what]
    if what == "a user more":
        statement = statement.replace("FROM users", "FROM users WHERE name = 'bob'")
    sql(path, statement)
    assert finding in kinds(path)


def test_a_session_that_was_ended_cannot_be_put_back(path: Path, tmp_path: Path) -> None:
    with open_store(path) as store:
        desk = Desk(store)
        token = desk.sign_in("bob", OTHER, origin="")
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute("SELECT * FROM sessions WHERE name = 'bob'").fetchall()
        desk.set_password("bob", PASSWORD, by="ada")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.executemany("INSERT INTO sessions VALUES (?, ?, ?, ?)", rows)
        assert desk.user_of(token) is not None
    assert kinds(path) == ["users 0"]


def test_two_notes_that_were_swapped_are_found(path: Path) -> None:
    sql(path, "UPDATE desk SET number = -8 WHERE number = 8", "UPDATE desk SET number = 8 WHERE"
        " number = 5", "UPDATE desk SET number = 5 WHERE number = -8")  # fmt: skip
    assert {"changed 5", "changed 8"} <= set(kinds(path))


def test_the_notes_of_a_desk_of_another_key_are_found(path: Path, tmp_path: Path) -> None:
    """A person without the first key makes a whole desk."""
    sql(path, *(f"DELETE FROM {table}" for table in ("desk", "desk_key", "users", "sessions")))
    with open_store(path) as store:
        Desk.make(store, tmp_path / "others", "ada", PASSWORD)
    assert {"changed 1", "truncated 3"} <= set(kinds(path))


def test_the_right_key_of_several_is_chosen(path: Path, tmp_path: Path) -> None:
    for first_key in (bytes(32), bytes(range(32))):
        chain_keys.add(tmp_path / "keys", "@desk", first_key)
    assert kinds(path) == []
    sql(path, "UPDATE desk SET record = x'' WHERE number = 1")
    assert kinds(path) == ["changed 1", "damaged 1"]


@pytest.mark.slow
def test_checkpoints_show_that_an_older_desk_was_put_back(path: Path, tmp_path: Path) -> None:
    """Whole and with its own secret, so that the chain alone cannot show it; or removed."""
    with open_store(path) as store:
        store.copy(tmp_path / "older")
        Desk(store).acknowledge(ALERT.id, "and again", by="ada")
        kept = tuple(checkpoints_of(store))
    assert [(each.unit, each.records) for each in kept][-1] == ("@desk", 10)
    assert kinds(path, kept=kept) == []
    tables = ("desk", "desk_key", "users", "sessions")
    sql(path, f"ATTACH '{tmp_path / 'older'}' AS older",
        *(f"DELETE FROM main.{table}" for table in tables),
        *(f"INSERT INTO main.{table} SELECT * FROM older.{table}" for table in tables))  # fmt: skip
    assert kinds(path) == []
    assert kinds(path, kept=kept) == ["truncated 10"]
    with open_store(path) as store:
        assert [each.kind for each in contradictions(store, kept)] == ["truncated"]
        Desk(store).acknowledge(ALERT.id, "another", by="ada")
        assert [each.kind for each in contradictions(store, kept)] == ["rewritten"]
    assert kinds(path, kept=kept) == ["rewritten 10"]
    sql(path, *(f"DELETE FROM {table}" for table in tables))
    assert kinds(path, kept=kept) == ["truncated 1", "absent 0"]


NOTES = [
    [], [10], [10, 5, "ada", "signed_out"], "x", 7,
    [10, 5, "ada", "user_made", {}],
    [10, 5, "ada", "role_changed", {"name": "eve", "role": "floor"}],
    [10, 5, "ada", "role_changed", {"name": ["bob"], "role": "floor"}],
    [10, 5, "ada", "signed_in", {"session": ["bob"]}],
    [10, 5, "ada", "signed_in", 7],
    [10, 5.5, "ada", "signed_out", {}],
    [10, 5, None, "signed_out", {}],
]  # fmt: skip


@pytest.mark.parametrize("note", [*map(cbor2.dumps, NOTES), b"\xff", b"\x9f\xff", b"\x81" * 4000])
def test_a_note_that_no_desk_writes_is_damaged(path: Path, note: bytes) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO desk VALUES (10, ?, zeroblob(16))", (note,))
    assert "damaged 10" in kinds(path)


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Leaves out a part of the check, by its name in the module."""
    name = "sabot.audit.checks.desk_checks."
    yield lambda part: monkeypatch.setattr(name + part, lambda *_: None)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["_check_key", "_check_users", "_check_sessions"])
def test_these_tests_find_a_check_that_is_left_out(
    path: Path, planted: Callable[[str], None], part: str
) -> None:
    planted(part)
    missed = []
    for what in CHANGES:
        copy = path.with_name("copy")
        with open_store(path) as store:
            store.copy(copy)
        sql(copy, CHANGES[what][0].replace("5 FROM users", "5 FROM users WHERE name = 'bob'"))
        with open_store(copy) as store:
            options = VerifyOptions(keys=Keys.load(path.with_name("keys")))
            found = [each for each in verify(store, Summary(), options) if each.unit != "U1"]
        missed += [] if found else [what]
        copy.unlink()
    assert missed, f"without {part} everything is found: it checks nothing"


def test_the_chain_is_that_of_the_key_file(path: Path) -> None:
    keys = Keys.load(path.with_name("keys"))
    (chain,) = keys.chains("@desk")
    assert chain == chain_id(keys.first_key("@desk", chain) or b"")
