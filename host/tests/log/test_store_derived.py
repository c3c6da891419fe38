"""The table derived from the records: it hides no event, and it can be rebuilt."""

import os
import random
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from host.tests.support.helpers import event_bytes
from host.tests.support.naive_shoe import recorded
from sabot.cli import app
from sabot.errors import DatabaseUnusable, HistoryDiffers, SabotError
from sabot.link.session import Record
from sabot.link.wire import WireError, parse_event
from sabot.log.place import Place
from sabot.log.sqlite import store as store_module
from sabot.log.store import DAMAGED, Filter, Store, open_store

KINDS = ("betting_open", "card", "decision", "lock", "lid")


def varied(first: int, last: int) -> list[Record]:
    """Events of several kinds, shoes and rounds, some of them without a time."""
    return [
        recorded(
            event_bytes(
                KINDS[n % len(KINDS)],
                n,
                shoe=n // 200,
                round=n // 20 % 10,
                unix_ms=None if n % 7 == 0 else 1_795_000_000_000 + 10 * n,
            )
        )
        for n in range(first, last + 1)
    ]


def sql(path: Path, statement: str, *given: object) -> list[tuple[object, ...]]:
    """Execute a statement on the file with the database library and commit; return the rows."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, given).fetchall()


def derived_in(path: Path) -> list[tuple[object, ...]]:
    """The rows of the table `events` in the file."""
    return sql(path, "SELECT * FROM events ORDER BY unit, number")


def wanted_of(unit: int, records: list[Record]) -> list[tuple[object, ...]]:
    """The rows that are derived from good records."""
    events = [record.event for record in records]
    return [(unit, e.number, e.kind, e.unix_ms, e.shoe, e.round) for e in events]


def append_and_die(place: Place, unit: str, records: list[Record]) -> None:
    """Append in a process that ends directly after it, before anything is derived."""
    child = os.fork()
    if not child:
        try:
            open_store(place, create=True).append(unit, records)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


def test_appending_derives_nothing_and_closing_derives_all(path: Path) -> None:
    log = varied(1, 2500)
    with open_store(path, create=True) as store:
        store.append("U1", log)
        assert derived_in(path) == []
        store.derive(most=1)  # at least one chunk
        assert derived_in(path) == wanted_of(1, log[: store_module._CHUNK])
        store.derive()
        assert derived_in(path) == wanted_of(1, log)
        store.append("U2", log[:10])
    assert derived_in(path) == wanted_of(1, log) + wanted_of(2, log[:10])


@pytest.mark.slow
def test_closing_derives_only_a_limited_number(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_CLOSING_DERIVES", 3000)
    with open_store(path, create=True) as store:
        store.append("U1", varied(1, 8000))
    assert len(derived_in(path)) == 3000
    with open_store(path, create=True) as store:
        assert len(list(store.rows())) == 8000
        store.derive()
    assert len(derived_in(path)) == 8000


def test_a_log_that_another_program_has_locked_is_closed_at_once(path: Path) -> None:
    store = open_store(path, create=True)
    store.append("U1", varied(1, 10))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        closing_thread = threading.Thread(target=store.close)
        closing_thread.start()
        closing_thread.join(20)  # far less than an append waits
        assert not closing_thread.is_alive()
    assert derived_in(path) == []


def test_readers_find_events_that_a_killed_log_did_not_derive(path: Path) -> None:
    first, second = varied(1, 300), varied(301, 450)
    with open_store(path, create=True) as store:
        store.append("U2", first)
    append_and_die(path, "U2", second)
    append_and_die(path, "U1", first)
    assert len(derived_in(path)) == 300
    with open_store(path) as reader:
        assert [(row.unit, row.number) for row in reader.rows()] == [
            *(("U1", n) for n in range(1, 301)), *(("U2", n) for n in range(1, 451)),
        ]  # fmt: skip
        found = [row.number for row in reader.rows(Filter("U2", shoe=2, round=1, kinds=("card",)))]
        expected = [
            r.event.number for r in first + second
            if (r.event.shoe, r.event.round, r.event.kind) == (2, 1, "card")
        ]  # fmt: skip
        assert found == expected != []
    assert len(derived_in(path)) == 300, "a reader writes nothing"
    with open_store(path, create=True) as store:
        store.derive()
    assert derived_in(path) == wanted_of(1, first + second) + wanted_of(2, first)


def test_a_row_is_the_same_before_it_is_derived_and_after(path: Path) -> None:
    with open_store(path, create=True) as store:
        store.append("U1", varied(1, 700))
        before = list(store.rows())
        store.derive()
        assert list(store.rows()) == before
        for row in before:
            event = row.event()
            assert (row.number, row.kind, row.unix_ms, row.shoe, row.round) == (
                event.number, event.kind, event.unix_ms, event.shoe, event.round,
            )  # fmt: skip


def test_events_appended_before_derived_ones_are_found(path: Path, rng: random.Random) -> None:
    log = varied(1, 400)
    order = list(range(0, 400, 20))
    rng.shuffle(order)
    with open_store(path, create=True) as store:
        appended: list[Record] = []
        for at in order:
            store.append("U1", log[at : at + 20])
            appended = sorted(appended + log[at : at + 20], key=lambda record: record.event.number)
            if rng.random() < 0.5:
                store.derive()
            assert [row.data for row in store.rows()] == [record.data for record in appended]
    assert derived_in(path) == wanted_of(1, log)


@pytest.mark.slow
def test_derived_and_appended_by_many_threads_at_once(path: Path) -> None:
    units = [f"U{n}" for n in range(8)]
    failed: list[BaseException] = []

    def log(unit: str) -> None:
        try:
            for first in range(1, 200, 5):
                store.append(unit, varied(first, first + 4))
                store.derive(most=1)
                assert sum(1 for _ in store.rows(Filter(unit))) == first + 4
        except BaseException as error:
            failed.append(error)

    with open_store(path, create=True) as store:
        threads = [threading.Thread(target=log, args=(unit,)) for unit in units]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert failed == []
    assert len(derived_in(path)) == 8 * 200


def damage(path: Path, number: int, data: bytes = b"\x00") -> None:
    """Change a record in the file."""
    with pytest.raises(WireError):
        parse_event(data)
    sql(path, "UPDATE records SET record = ? WHERE number = ?", data, number)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff" * 60, event_bytes("lid", 9)[:-1]])
def test_a_record_that_cannot_be_read_is_found_in_its_place(path: Path, data: bytes) -> None:
    log = varied(1, 100)
    append_and_die(path, "U1", log)
    damage(path, 50, data)
    with open_store(path, create=True) as store:
        for _ in ("not derived", "derived"):
            rows = list(store.rows())
            assert [row.number for row in rows] == list(range(1, 101))
            bad = rows[49]
            assert (bad.kind, bad.unix_ms, bad.data, bad.mac) == (DAMAGED, None, data, log[49].mac)
            assert (bad.shoe, bad.round) == (log[48].event.shoe, log[48].event.round)
            (found,) = store.rows(Filter(shoe=bad.shoe, round=bad.round, kinds=(DAMAGED, "boot")))
            assert found == bad
            with pytest.raises(WireError):
                bad.event()
            assert [number for number, *_ in store.raw("U1")] == list(range(1, 101))
            store.derive()
        before = derived_in(path)
        assert len(before) == 100
        assert store.rebuild() == 100
        assert derived_in(path) == before


def test_a_first_record_that_cannot_be_read_belongs_to_no_shoe(path: Path) -> None:
    append_and_die(path, "U1", varied(1, 3))
    damage(path, 1)
    with open_store(path, create=True) as store:
        store.derive()
        row = next(store.rows())
        assert (row.number, row.kind, row.shoe, row.round) == (1, DAMAGED, 0, 0)


@pytest.mark.slow
def test_rebuilding_gives_the_same_rows_after_any_damage(path: Path, rng: random.Random) -> None:
    with open_store(path, create=True) as store:
        for unit in ("U2", "U1"):
            at = 1
            while at < 3000:
                size = rng.randrange(1, 400)
                store.append(unit, varied(at, at + size - 1))
                at += size
                if rng.random() < 0.3:
                    store.derive(most=1)
        raw = {unit: list(store.raw(unit)) for unit in store.units()}
    damage(path, 77)
    with open_store(path) as store:
        assert store.rebuild() == store.count()
        good, rows = derived_in(path), list(store.rows())
    for statement in (
        "UPDATE events SET kind = 'lid', shoe = shoe + 1",
        "DELETE FROM events WHERE number % 3 = 0",
        "DELETE FROM events",
        "DROP TABLE events",
    ):
        sql(path, statement)
        with open_store(path) as store:
            progress: list[int] = []
            assert store.rebuild(progress.append) == store.count() == len(rows)
            assert progress == sorted(set(progress)) and progress[-1] == len(rows)
            assert list(store.rows()) == rows
        assert derived_in(path) == good
    damaged = {unit: [row for row in records if row[0] != 77] for unit, records in raw.items()}
    with open_store(path) as store:
        for unit, records in damaged.items():
            assert [row for row in store.raw(unit) if row[0] != 77] == records
    names = {name for (name,) in sql(path, "SELECT name FROM sqlite_master WHERE type = 'index'")}
    assert {"events_by_round", "events_by_time"} <= names


def test_the_error_for_a_missing_index_names_the_command_that_rebuilds_it(path: Path) -> None:
    with open_store(path, create=True) as store:
        store.append("U1", varied(1, 10))
        sql(path, "DROP TABLE events")
        for use in (lambda: store.append("U1", varied(11, 12)), lambda: list(store.rows())):
            with pytest.raises(DatabaseUnusable, match=r"missing .*`sabot rebuild`"):
                use()
        assert len(list(store.raw("U1"))) == 10
        assert store.rebuild() == 10
        store.append("U1", varied(11, 12))
    assert derived_in(path) == wanted_of(1, varied(1, 12))


@pytest.mark.slow
def test_an_interrupted_rebuild_changes_nothing(path: Path) -> None:
    with open_store(path, create=True) as store:
        store.append("U1", varied(1, 5000))
        store.derive()
        sql(path, "UPDATE events SET kind = 'lid' WHERE number = 7")
        before = derived_in(path)

        def interrupt(done: int) -> None:
            if done > 2000:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store.rebuild(interrupt)
        assert derived_in(path) == before
        store.append("U1", varied(5001, 5001))  # and the log goes on
        assert store.rebuild() == 5001
    assert derived_in(path) == wanted_of(1, varied(1, 5001))


def test_the_command_rebuilds_and_reports_damaged_records(path: Path) -> None:
    append_and_die(path, "U1", varied(1, 50))
    sql(path, "DROP TABLE events")
    done = CliRunner().invoke(app(), ["rebuild", "--db", str(path)])
    assert done.exit_code == 0
    assert done.stdout == f"{path}: 50 events, 0 of them damaged\n"
    assert derived_in(path) == wanted_of(1, varied(1, 50))
    damage(path, 5)
    done = CliRunner().invoke(app(), ["rebuild", "--db", str(path)])
    assert done.stdout == f"{path}: 50 events, 1 of them damaged\n"
    assert "`sabot verify`" in done.stderr


def test_the_command_makes_no_database(path: Path) -> None:
    done = CliRunner().invoke(app(), ["rebuild", "--db", str(path)])
    assert isinstance(done.exception, DatabaseUnusable)
    assert not path.exists()


def test_rounds_with_a_damaged_record_are_an_error(path: Path) -> None:
    append_and_die(path, "U1", varied(1, 50))
    damage(path, 30)
    for wanted in ((), ("--shoe", "0"), ("--unit", "U1")):
        done = CliRunner().invoke(app(), ["rounds", "--db", str(path), *wanted])
        assert isinstance(done.exception, DatabaseUnusable)
        assert str(done.exception).startswith("event 30 of U1 is damaged")


def test_only_the_raw_reader_returns_numbers_that_are_text(path: Path) -> None:
    """SQLite allows text in a column of integers."""
    with open_store(path, create=True) as store:
        store.append("U1", varied(1, 5))
        sql(path, "INSERT INTO records VALUES (1, 'six', 0, x'00', x'00')")
        assert store.last_number("U1") == 5
        store.append("U1", varied(6, 7))
        store.derive()
        assert [row.number for row in store.rows()] == [1, 2, 3, 4, 5, 6, 7]
        assert [number for number, *_ in store.raw("U1")] == [1, 2, 3, 4, 5, 6, 7, "six"]
        assert store.rebuild() == 7


def pruned(place: Place, first: int, last: int) -> Store:
    """Return a log with events 1 to 100, of which `first` to `last` are pruned."""
    with open_store(place, create=True) as store:
        store.append("U1", varied(1, 100))
        store.append("U2", varied(1, 3))
    store = open_store(place, create=True)
    store.prune("U1", first, last, b"stone")
    return store


@pytest.mark.parametrize("derived", [True, False])
@pytest.mark.parametrize(("first", "last"), [(1, 40), (41, 60), (61, 100), (1, 100)])
def test_pruned_events_are_gone_and_are_not_stored_again(
    log_place: Place, first: int, last: int, derived: bool
) -> None:
    log = varied(1, 100)
    if not derived:
        append_and_die(log_place, "U1", log)
    left = [record for record in log if not first <= record.event.number <= last]
    with pruned(log_place, first, last) as store:
        for _ in range(2):
            assert [row.data for row in store.rows(Filter("U1"))] == [r.data for r in left]
            assert [data for _, data, _ in store.raw("U1")] == [r.data for r in left]
            assert store.tombstones("U1") == [b"stone"] and store.tombstones("U2") == []
            assert store.last_number("U1") == 100 and store.units() == ["U1", "U2"]
            assert store.count() == len(left) + 3
            store.append("U1", log)  # again, and then other events with the same numbers
            others = [recorded(event_bytes("key", n)) for n in range(first, last + 1)]
            if last == 100 and not isinstance(log_place, Path):
                with pytest.raises(HistoryDiffers, match="event 100"):  # it has the newest MAC
                    store.append("U1", others)
            else:
                store.append("U1", others)
            store.derive()
        store.append("U1", varied(100, 105))
        assert store.last_number("U1") == 105
        assert len(list(store.rows(Filter("U1")))) == len(left) + 5
        before = list(store.rows())
    with open_store(log_place) as store:
        store.rebuild()
        assert list(store.rows()) == before
        for unit, its in (("U1", left + varied(101, 105)), ("U2", varied(1, 3))):
            assert list(store.derived(unit)) == [row[1:] for row in wanted_of(0, its)]


def test_tombstones_come_in_the_order_of_their_numbers(log_place: Place) -> None:
    with pruned(log_place, 41, 60) as store:
        store.prune("U1", 81, 90, b"third")
        store.prune("U1", 1, 40, b"first")
        assert store.tombstones("U1") == [b"first", b"stone", b"third"]
        assert [n for n, *_ in store.raw("U1")] == [*range(61, 81), *range(91, 101)]
        assert [n for n, *_ in store.raw("U1", 70, 95)] == [*range(70, 81), *range(91, 96)]


@pytest.mark.parametrize(("first", "last"), [(41, 60), (30, 41), (60, 70), (45, 50), (1, 100)])
def test_nothing_is_pruned_twice(log_place: Place, first: int, last: int) -> None:
    with pruned(log_place, 41, 60) as store:
        with pytest.raises(SabotError, match="pruned already"):
            store.prune("U1", first, last, b"again")
        assert store.count() == 80 + 3 and store.tombstones("U1") == [b"stone"]
        with pytest.raises(DatabaseUnusable, match="has no unit U3"):
            store.prune("U3", 1, 2, b"")


def test_a_log_opened_for_reading_can_be_pruned(log_place: Place) -> None:
    pruned(log_place, 1, 10).close()
    with open_store(log_place) as store:
        store.prune("U1", 11, 20, b"more")
        assert store.count() == 80 + 3
