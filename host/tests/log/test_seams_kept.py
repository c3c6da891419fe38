"""Seams in a log: no record gets under the name of another board, in a file and in PostgreSQL."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from host.tests.support.boards import Board, row, sealed
from host.tests.support.naive_shoe import naive_event, recorded
from host.tests.support.postgres import Database
from host.tests.support.stored import sql_in
from sabot.errors import DatabaseUnusable, HistoryDiffers
from sabot.link.session import Record
from sabot.log.place import Place
from sabot.log.sqlite import schema
from sabot.log.store import SeamRow, Store, open_store


def events(first: int, last: int) -> list[Record]:
    return [recorded(naive_event(number)) for number in range(first, last + 1)]


def second(first: int, last: int) -> list[Record]:
    """Events of the second board."""
    return [recorded(Board(2).event(number)) for number in range(first, last + 1)]


@pytest.fixture
def store(log_place: Place) -> Iterator[Store]:
    """A log that has ten events of U1, and some of other units."""
    with open_store(log_place, create=True) as opened:
        opened.append("U1", events(1, 10))
        opened.append("U10", events(1, 3))
        yield opened


def test_a_seam_is_read_as_it_was_kept_and_the_same_one_twice_is_one(store: Store) -> None:
    assert store.seam_rows() == [] and store.seams() == []
    for _ in range(2):
        store.keep_seam(row())
    assert store.seam_rows() == [row()]
    assert [seam.name for seam in store.seams()] == ["U1~2"]
    assert store.units() == ["U1", "U10"]
    assert store.boards("U1") == ["U1", "U1~2"] and store.boards("U2") == []
    assert store.faults() == []


def test_a_board_has_its_own_events_after_its_seam(store: Store) -> None:
    store.keep_seam(row())
    store.append("U1~2", second(1, 5))
    store.append("U1~2", second(4, 7))
    assert store.last_number("U1") == 10 and store.last_number("U1~2") == 7
    assert store.units() == ["U1", "U1~2", "U10"]
    assert [each.unit for each in store.rows()] == ["U1"] * 10 + ["U1~2"] * 7 + ["U10"] * 3
    assert store.faults() == []


def test_no_board_has_events_without_a_seam_or_after_its_seam_was_removed(store: Store) -> None:
    for _ in range(2):
        with pytest.raises(HistoryDiffers, match=r"U1~2: .* has no seam of it any more"):
            store.append("U1~2", second(1, 5))
        assert store.units() == ["U1", "U10"] and store.last_number("U1~2") == 0
        store.keep_seam(row())
        store.remove_seam("U1~2")
    assert store.seam_rows() == [] and store.faults() == []


def test_no_event_of_a_board_is_stored_after_another_has_taken_its_place(store: Store) -> None:
    store.keep_seam(row())
    store.append("U1", events(8, 10))  # which it has
    for some in (events(11, 11), events(9, 12), events(15, 15)):
        with pytest.raises(HistoryDiffers, match=r"U1: U1~2 has taken the place .* event 10"):
            store.append("U1", some)
    assert store.last_number("U1") == 10
    store.remove_seam("U1~2")  # it was a mistake
    store.append("U1", events(11, 12))
    assert store.last_number("U1") == 12


def test_another_seam_of_a_board_is_refused(store: Store) -> None:
    store.keep_seam(row())
    for other in (row(chain=bytes([3]) * 16), row(by="eve")):
        with pytest.raises(DatabaseUnusable, match="has another seam of U1~2 already"):
            store.keep_seam(other)
    assert store.seam_rows() == [row()]


def test_a_seam_that_is_before_the_end_of_the_old_board_or_of_none_is_refused(
    store: Store,
) -> None:
    with pytest.raises(HistoryDiffers, match="has events of U1 up to 10"):
        store.keep_seam(row(last=9))
    for name in ("U2~2", "U1~3"):
        with pytest.raises(DatabaseUnusable, match=r"has no unit (U2|U1~2);"):
            store.keep_seam(row(name))
    assert store.seam_rows() == []


def test_a_seam_stays_as_soon_as_an_event_of_its_board_is_stored(store: Store) -> None:
    store.keep_seam(row())
    store.append("U1~2", second(1, 1))
    with pytest.raises(DatabaseUnusable, match=r"has events of U1~2, .* cannot be undone any more"):
        store.remove_seam("U1~2")
    assert store.seam_rows() == [row()]
    store.append("U1~2", second(2, 2))
    with pytest.raises(DatabaseUnusable, match="has no seam of U10~2"):
        store.remove_seam("U10~2")


def test_boards_follow_each_other(store: Store) -> None:
    store.keep_seam(row())
    store.append("U1~2", second(1, 4))
    store.keep_seam(row("U1~3", last=4))
    assert [each.name for each in store.seam_rows()] == ["U1~2", "U1~3"]
    with pytest.raises(HistoryDiffers, match=r"U1~2: U1~3 has taken the place .* event 4"):
        store.append("U1~2", second(5, 5))
    store.append("U1~3", events(1, 2))
    assert store.units() == ["U1", "U1~2", "U1~3", "U10"]
    assert store.boards("U1") == ["U1", "U1~2", "U1~3"] and store.boards("U1~2") == ["U1~2"]


def test_a_seam_in_the_row_of_another_board_is_no_seam_of_it(log_place: Place) -> None:
    with open_store(log_place, create=True) as store:
        store.append("U1", events(1, 10))
        store.keep_seam(SeamRow("U1~2", 10, sealed("U1~3")))
        assert store.seams() == [] and len(store.seam_rows()) == 1


def test_a_copy_has_the_seams(store: Store, tmp_path: Path) -> None:
    store.keep_seam(row())
    store.append("U1~2", second(1, 3))
    store.keep_seam(row("U1~3", last=3))
    store.copy(tmp_path / "copy")
    with open_store(tmp_path / "copy") as copied:
        assert copied.seam_rows() == store.seam_rows()
        assert copied.units() == store.units() and copied.faults() == []


def test_a_first_event_and_the_removal_of_its_seam_at_once_never_both_happen(
    log_place: Place,
) -> None:
    with open_store(log_place, create=True) as store, open_store(log_place) as other:
        store.append("U1", events(1, 10))
        for _ in range(20):
            store.keep_seam(row())
            begin = threading.Barrier(2)
            failed: list[Exception] = []

            def remove(begin: threading.Barrier = begin, failed: list[Exception] = failed) -> None:
                begin.wait()
                try:
                    other.remove_seam("U1~2")
                except DatabaseUnusable as error:
                    failed.append(error)

            removing = threading.Thread(target=remove)
            removing.start()
            begin.wait()
            try:
                store.append("U1~2", second(1, 3))
            except HistoryDiffers as error:
                failed.append(error)
            removing.join()
            assert len(failed) == 1
            assert bool(store.seam_rows()) == (store.last_number("U1~2") > 0)
            if store.seam_rows():
                return


# In a file.


def _older(path: Path) -> None:
    sql_in(path, "DROP TABLE seams")
    sql_in(path, "UPDATE about SET value = '5' WHERE name = 'version'")


def test_a_log_of_version_5_is_read_as_it_is_and_converted_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with open_store(path, create=True) as store:
        store.append("U1", events(1, 10))
    _older(path)
    before = path.read_bytes()
    with open_store(path) as store:
        assert store.seam_rows() == [] and store.boards("U1") == ["U1"] and store.faults() == []
    assert path.read_bytes() == before
    with open_store(path) as store:
        store.keep_seam(row())
        assert store.fact("version") == str(schema.VERSION) and store.faults() == []
        assert store.seam_rows() == [row()]


@pytest.mark.parametrize(
    "given", ["'U1~2', 'x', x'00'", "'U1~2', 5, 'text'", "'U1~2', 0, x'00'", "x'00', 1, x'00'",
              "'U1~2', 5, zeroblob(5000)"],
)  # fmt: skip
def test_a_row_that_is_none_is_a_fault_of_the_file(tmp_path: Path, given: str) -> None:
    path = tmp_path / "log"
    with open_store(path, create=True) as store:
        store.append("U1", events(1, 10))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"INSERT INTO seams VALUES ({given})")
    with open_store(path) as store:
        assert store.faults() == ["1 row of seams with values that no log has"]
        assert len(store.seam_rows()) == 1 and store.seams() == []


# In PostgreSQL.


def test_a_site_keeps_seams_of_its_own_units_only_and_removes_none(database: Database) -> None:
    with open_store(database.place(), create=True) as store:
        store.append("U1", events(1, 10))
    database.allow("site_1", "U1")
    with database.connect("site_2") as session:
        with pytest.raises(psycopg.Error, match="not one that site_2 may write"):
            session.execute("SELECT sabot.keep_seam('U1~2', 10, %s)", (row().seam,))
    with database.connect("site_1") as session:
        session.execute("SELECT sabot.keep_seam('U1~2', 10, %s)", (row().seam,))
        with pytest.raises(psycopg.Error, match="permission denied"):
            session.execute("SELECT sabot.remove_seam('U1~2')")
    with open_store(database.place("logger"), create=True) as store:
        store.append("U1~2", second(1, 2))


def test_down_and_up_again_keeps_the_seams(database: Database) -> None:
    from sabot.log.postgres import migrations

    with open_store(database.place(), create=True) as store:
        store.append("U1", events(1, 10))
        store.keep_seam(row())
        store.append("U1~2", second(1, 2))
    with database.connect("postgres") as session:
        assert list(migrations.migrate(session, 3))[-1] == 3
        assert list(migrations.migrate(session))[-1] == migrations.VERSION
    with open_store(database.place()) as store:
        assert store.seam_rows() == [row()] and store.faults() == []


def test_a_trigger_that_is_switched_off_is_named(database: Database) -> None:
    with database.connect("postgres") as session:
        session.execute("ALTER TABLE sabot.units DISABLE TRIGGER check_seams")
    with pytest.raises(DatabaseUnusable, match="trigger of units: check_seams"):
        open_store(database.place())
