"""The desk: users, sessions, alerts, and a note of each."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from host.tests.support.helpers import FirmwareLog, stored
from host.tests.support.stored import IN_A_FILE
from sabot.audit.checks.findings import Summary
from sabot.audit.verify import VerifyOptions, verify
from sabot.desk import passwords
from sabot.desk.alerts import Alert, AlertLog
from sabot.desk.desk import Desk, User
from sabot.errors import DatabaseUnusable, DeskMissing, DeskRefused, TooManyTries, WrongPassword
from sabot.keys.chain_keys import Keys
from sabot.log.place import Place
from sabot.log.sqlite import schema
from sabot.log.store import Store, open_store

ADA, BOB = "Ada Byron", "bob"
PASSWORD, OTHER = "four words of hers", "another four words"
START = 1_700_000_000_000
MINUTE = 60_000
ALERT = Alert("U1/surplus_copy/7", "U1", "surplus_copy", 7, 1, 2, START, "7H came five times")


class Clock:
    """What the desk takes for the time."""

    def __init__(self) -> None:
        self.unix_ms = START
        self.s = 0.0

    def pass_s(self, seconds: float) -> None:
        self.s += seconds
        self.unix_ms += int(seconds * 1000)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(log_place: Place) -> Iterator[Store]:
    with open_store(log_place, create=True) as store:
        store.append("U1", stored(FirmwareLog().load().draw("AS", "2C", "9S", "KC").records))
        yield store


@pytest.fixture
def desk(store: Store, tmp_path: Path, clock: Clock) -> Desk:
    Desk.make(store, tmp_path / "keys", ADA, PASSWORD, lambda: clock.unix_ms)
    return Desk(store, lambda: clock.unix_ms, lambda: clock.s)


def kinds(desk: Desk, after: int = 0) -> list[str]:
    return [note.kind for note in desk.notes(after)]


def test_a_log_without_an_administrator_has_no_desk(store: Store) -> None:
    with pytest.raises(DeskMissing, match="sabot users add NAME --role administrator"):
        Desk(store)


def test_the_first_administrator_makes_the_desk_and_its_key(desk: Desk, tmp_path: Path) -> None:
    assert desk.users() == [User(ADA, "administrator", False, START)]
    assert kinds(desk) == ["desk_opened", "user_made"]
    assert next(desk.notes()).fields["chain"] == Keys.load(tmp_path / "keys").chains("@desk")[0]


def test_a_session_begins_with_the_password_and_ends_by_signing_out(desk: Desk) -> None:
    token = desk.sign_in(ADA, PASSWORD, origin="10.0.0.7")
    assert desk.user_of(token) == User(ADA, "administrator", False, START)
    desk.sign_out(token)
    desk.sign_out(token)
    assert desk.user_of(token) is None and desk.user_of("x") is None
    assert kinds(desk, 2) == ["signed_in", "signed_out"]


def test_a_session_ends_after_half_an_hour_without_use_and_twelve_hours(
    desk: Desk, clock: Clock
) -> None:
    token = desk.sign_in(ADA, PASSWORD, origin="")
    for _ in range(24):
        clock.pass_s(29 * 60)
        assert desk.user_of(token)
    clock.pass_s(29 * 60)
    assert desk.user_of(token) is None
    token = desk.sign_in(ADA, PASSWORD, origin="")
    clock.pass_s(31 * 60)
    assert desk.user_of(token) is None


@pytest.mark.parametrize("name", [ADA, BOB, "nobody", ""])
def test_a_wrong_password_and_an_unknown_or_closed_user_are_the_same_error(
    desk: Desk, name: str
) -> None:
    desk.add_user(BOB, "floor", OTHER, by=ADA)
    desk.close_user(BOB, by=ADA)
    with pytest.raises(WrongPassword, match=r"^name or password is wrong$"):
        desk.sign_in(name, OTHER, origin="10.0.0.7")
    *_, note = desk.notes()
    assert note.kind == "sign_in_refused"
    assert note.fields["name"] == (name if name in (ADA, BOB) else "")


def test_after_five_wrong_passwords_the_next_try_waits_longer_and_longer(
    desk: Desk, clock: Clock
) -> None:
    for _ in range(5):
        with pytest.raises(WrongPassword):
            desk.sign_in(ADA, OTHER, origin="10.0.0.7")
    waits = []
    for _ in range(12):
        with pytest.raises(TooManyTries) as raised:
            desk.sign_in(ADA, PASSWORD, origin="10.0.0.8")
        waits.append(raised.value.wait_s)
        clock.pass_s(raised.value.wait_s)
        with pytest.raises(WrongPassword):
            desk.sign_in(ADA, OTHER, origin="10.0.0.9")
    assert waits[:3] == [2, 4, 8] and waits[-1] == 900
    clock.pass_s(900)
    assert desk.sign_in(ADA, PASSWORD, origin="10.0.0.8")


def test_a_new_password_and_closing_a_user_end_the_sessions(desk: Desk) -> None:
    desk.add_user(BOB, "floor", OTHER, by=ADA)
    token = desk.sign_in(BOB, OTHER, origin="")
    desk.set_password(BOB, PASSWORD, by=ADA)
    assert desk.user_of(token) is None
    token = desk.sign_in(BOB, PASSWORD, origin="")
    desk.close_user(BOB, by=ADA)
    assert desk.user_of(token) is None
    with pytest.raises(DeskRefused, match="there is or was a user"):
        desk.add_user(BOB, "floor", OTHER, by=ADA)


def test_the_last_administrator_stays(desk: Desk) -> None:
    for take in (
        lambda: desk.change_role(ADA, "floor", by=ADA),
        lambda: desk.close_user(ADA, by=ADA),
    ):
        with pytest.raises(DeskRefused, match="last administrator"):
            take()
    desk.add_user(BOB, "administrator", OTHER, by=ADA)
    desk.change_role(ADA, "floor", by=BOB)
    assert [user.role for user in desk.users()] == ["floor", "administrator"]


def test_an_alert_is_raised_once_and_open_until_acknowledged(desk: Desk) -> None:
    assert desk.raise_alert(ALERT) and not desk.raise_alert(ALERT)
    log = AlertLog()
    for note in desk.notes():
        log.add(note)
    assert [each.alert for each in log.open] == [ALERT]
    desk.acknowledge(ALERT.id, "looked at the video", by=BOB)
    desk.acknowledge(ALERT.id, "and at the cards", by=ADA)
    for note in desk.notes(3):
        log.add(note)
    assert log.open == [] and not desk.raise_alert(ALERT)
    raised = log.of(ALERT.id)
    assert raised is not None
    assert [(each.by, each.remark) for each in raised.acknowledgements] == [
        (BOB, "looked at the video"),
        (ADA, "and at the cards"),
    ]


def test_all_open_alerts_of_a_kind_that_a_user_saw_are_acknowledged_one_by_one(desk: Desk) -> None:
    def raised(unit: str, kind: str) -> str:
        alert = replace(ALERT, id=f"{unit}/{kind}/7", unit=unit, kind=kind)
        assert desk.raise_alert(alert)
        return alert.id

    wanted = {raised("U1", "silent"), raised("U2", "silent")}
    others = {raised("U3", "error")}
    done = raised("U4", "silent")
    desk.acknowledge(done, "seen before", by=BOB)
    newest = desk.newest_note()
    others.add(raised("U5", "silent"))  # the user did not see this one
    assert desk.acknowledge_kind("silent", newest, "the server was off", by=ADA) in wanted
    log = AlertLog()
    for note in desk.notes():
        log.add(note)
    assert {each.alert.id for each in log.open} == others
    for id_ in wanted:
        (made,) = log.of(id_).acknowledgements  # type: ignore[union-attr]
        assert (made.by, made.remark) == (ADA, "the server was off")
    for kind, remark, why in (
        ("silent", "seen", "no such alert"),
        ("lid", "seen", "no such alert"),
        ("error", " ", "remark"),
    ):
        with pytest.raises(DeskRefused, match=why):
            desk.acknowledge_kind(kind, newest, remark, by=ADA)


@pytest.mark.parametrize("remark", ["", "  ", "x" * 501, "two\nlines", "\x1b[2J"])
def test_a_remark_is_one_line_of_text(desk: Desk, remark: str) -> None:
    desk.raise_alert(ALERT)
    with pytest.raises(DeskRefused, match="remark"):
        desk.acknowledge(ALERT.id, remark, by=ADA)
    with pytest.raises(DeskRefused, match="no such alert"):
        desk.acknowledge("U1/lid/9", "seen", by=ADA)


def test_many_wrong_passwords_are_counted_and_do_not_fill_the_log(desk: Desk, clock: Clock) -> None:
    for at in range(100):
        with pytest.raises((WrongPassword, TooManyTries)):
            desk.sign_in(f"user {at}", OTHER, origin=f"10.0.0.{at}")
    clock.pass_s(61)
    with pytest.raises(WrongPassword):
        desk.sign_in(ADA, OTHER, origin="10.0.1.1")
    refused = [note.fields for note in desk.notes() if note.kind == "sign_in_refused"]
    assert len(refused) == 11 and sum(each["more"] for each in refused) + len(refused) == 101
    assert refused[-1] == {"name": ADA, "origin": "10.0.1.1", "more": 90}


@IN_A_FILE
def test_a_desk_of_a_file_that_was_replaced_writes_nothing(
    desk: Desk, store: Store, tmp_path: Path
) -> None:
    """Its notes would be in a file that no one finds."""
    store.copy(tmp_path / "copy")
    (tmp_path / "copy").rename(store.path)
    with pytest.raises(DatabaseUnusable, match="removed, replaced or overwritten"):
        desk.raise_alert(ALERT)


def test_a_desk_goes_on_in_a_copy_which_verify_proves(
    desk: Desk, store: Store, tmp_path: Path
) -> None:
    desk.raise_alert(ALERT)
    store.copy(tmp_path / "copy")
    with open_store(tmp_path / "copy") as copy:
        other = Desk(copy)
        token = other.sign_in(ADA, PASSWORD, origin="")
        other.acknowledge(ALERT.id, "seen", by=ADA)
        assert other.user_of(token) and kinds(other)[-2:] == ["signed_in", "acknowledged"]
        options = VerifyOptions(keys=Keys.load(tmp_path / "keys"))
        assert "@desk" not in {each.unit for each in verify(copy, Summary(), options)}


def test_pruning_and_rebuilding_a_log_leave_its_desk(desk: Desk, store: Store) -> None:
    desk.raise_alert(ALERT)
    before = list(desk.notes()), desk.users()
    with open_store(store.place) as other:
        other.prune("U1", 1, 2, b"stone")
        other.rebuild()
    assert (list(desk.notes()), desk.users()) == before


def test_a_log_of_an_older_version_gets_its_desk_with_its_administrator(tmp_path: Path) -> None:
    """Until then it stays as it is: version 3 had the tables that are not of the desk."""
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        store.append("U1", stored(FirmwareLog().load().draw("AS").records))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for table in ("desk", "desk_key", "users", "sessions", "receipts", "seams"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("UPDATE about SET value = '3' WHERE name = 'version'")
    before = path.read_bytes()
    with open_store(path) as store:
        with pytest.raises(DeskMissing):
            Desk(store)
        assert store.last_number("U1")
        assert {each.kind for each in verify(store, Summary())} == {"no_key"}
    assert path.read_bytes() == before
    with open_store(path) as store:
        desk = Desk.make(store, tmp_path / "keys", ADA, PASSWORD)
        assert kinds(desk) == ["desk_opened", "user_made"]
        assert store.fact("version") == str(schema.VERSION)
    open_store(path, create=True).close()


def test_what_two_programs_do_is_in_one_chain(desk: Desk, store: Store, tmp_path: Path) -> None:
    """`sabot users` and a server, or two servers."""
    with open_store(store.place) as other_store:
        other = Desk(other_store)
        for at in range(20):
            (desk, other)[at % 2].opened_round("U1", 1, at, by=ADA)
        assert desk.raise_alert(ALERT) and not other.raise_alert(ALERT)
        other.acknowledge(ALERT.id, "seen", by=ADA)
        options = VerifyOptions(keys=Keys.load(tmp_path / "keys"))
        found = {each.unit for each in verify(store, Summary(), options)}
    assert "@desk" not in found and [note.number for note in desk.notes()] == list(range(1, 25))


@IN_A_FILE
@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM desk WHERE number = 2",
        "DELETE FROM desk",
        "UPDATE desk_key SET number = 2",
        "UPDATE desk_key SET number = 'x'",
        "UPDATE desk_key SET secret = 1 << 60",
        "UPDATE desk_key SET secret = x'00'",
        "INSERT INTO desk_key SELECT * FROM desk_key",
        "UPDATE desk SET mac = 7",
    ],
)
def test_a_desk_that_lacks_its_newest_note_or_its_secret_writes_no_other(
    desk: Desk, store: Store, change: str
) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute(change)
    with pytest.raises(DatabaseUnusable, match="notes of the desk are missing"):
        desk.raise_alert(ALERT)


@pytest.mark.parametrize("change", ["password", "closed"])
def test_a_user_who_is_changed_during_a_sign_in_gets_no_session(
    desk: Desk, store: Store, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    desk.add_user(BOB, "floor", OTHER, by=ADA)
    fits = passwords.fits

    def slow(stored_hash: str, password: str) -> bool:
        if change == "password":
            desk.set_password(BOB, PASSWORD, by=ADA)
        else:
            desk.close_user(BOB, by=ADA)
        return fits(stored_hash, password)

    monkeypatch.setattr(passwords, "fits", slow)
    with pytest.raises(WrongPassword):
        desk.sign_in(BOB, OTHER, origin="")
    with store.reading() as connection:
        assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (0,)


def test_a_clock_that_was_set_back_ends_sessions_and_lengthens_none(
    desk: Desk, clock: Clock
) -> None:
    token = desk.sign_in(ADA, PASSWORD, origin="")
    clock.unix_ms -= 30_000
    assert desk.user_of(token)
    clock.unix_ms -= 3_600_000
    assert desk.user_of(token) is None


@IN_A_FILE
def test_what_a_forger_puts_into_the_tables_is_no_fault_of_the_desk(
    desk: Desk, store: Store, clock: Clock
) -> None:
    """`verify` finds it; the screens list what they can."""
    token = desk.sign_in(ADA, PASSWORD, origin="")
    desk.raise_alert(ALERT)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO users VALUES (x'ff', x'00', x'00', 'x', 'x')")
        connection.execute("INSERT INTO users VALUES ('eve', 'king', 'x', 0, 'x')")
        connection.execute("UPDATE desk SET record = x'ff' WHERE number IN (1, 2)")
        connection.execute("INSERT INTO sessions VALUES (x'00', 'eve', 'x', 'x')")
    assert {user.name for user in desk.users()} >= {ADA, "eve"} and desk.user_of(token)
    with pytest.raises(WrongPassword):
        desk.sign_in("eve", PASSWORD, origin="")
    assert kinds(desk) == ["signed_in", "alert", "sign_in_refused"]
    desk.acknowledge(ALERT.id, "seen", by=ADA)
    clock.pass_s(60)
    assert desk.sign_in(ADA, PASSWORD, origin="")


@IN_A_FILE
def test_a_desk_without_its_secret_is_listed_and_makes_no_second_one(
    desk: Desk, store: Store, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM desk_key")
    again = Desk(store)
    assert [user.name for user in again.users()] == [ADA]
    assert kinds(again) == ["desk_opened", "user_made"]
    with pytest.raises(DatabaseUnusable, match="notes of the desk are missing"):
        again.sign_in(ADA, PASSWORD, origin="")
    with pytest.raises(DeskRefused, match="has a desk already"):
        Desk.make(store, tmp_path / "keys", BOB, PASSWORD)


@pytest.mark.parametrize("text", ["\x1b[2J" * 90, "\ud800", "\u202e" * 999, "x" * 9999, "♥" * 999])
def test_an_alert_of_a_hostile_unit_is_raised_once_as_far_as_it_can_be_written(
    desk: Desk, text: str
) -> None:
    """Its log may be forged: a unit can have any name there, and an event any number."""
    alert = Alert(text, text, text, 1 << 64, -1, 1 << 70, -5, text)
    assert desk.raise_alert(alert) and not desk.raise_alert(alert)
    desk.opened_round(text, 1 << 64, -1, by=ADA)
    desk.exported(text, 1 << 64, -1, what="bundle", sha256=bytes(32), by=ADA)
    raised, *_ = list(desk.notes(2))
    assert raised.fields["detail"].isprintable() and raised.fields["event"] == (1 << 63) - 1
    desk.acknowledge(raised.fields["id"], "seen", by=ADA)
    assert kinds(desk, 2) == ["alert", "round_opened", "exported", "acknowledged"]
