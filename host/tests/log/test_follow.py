"""A follower of a log knows which units have other events than before."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from host.tests.support.helpers import FirmwareLog, new_log, stored
from host.tests.support.stored import IN_A_FILE, sql_in
from sabot.errors import DatabaseUnusable
from sabot.log.place import Place
from sabot.log.presence import ATTACHED, WAITING, Span
from sabot.log.sqlite.follow import SqliteFollower
from sabot.log.store import Store, open_store

_NOW = 1_795_000_000_000


@pytest.fixture
def store(log_place: Place) -> Iterator[Store]:
    with new_log(log_place) as store:
        yield store


def test_a_unit_is_returned_when_it_has_new_events_and_only_then(store: Store) -> None:
    records = stored(FirmwareLog().load().draw("AC", "2H", "next", "9C").records)
    follower = store.follower()
    assert follower.poll() == {}
    store.append("U1", records[:3])
    store.append("U2", records[:1])
    assert follower.poll() == {"U1": 3, "U2": 1}
    assert follower.poll() == {}
    store.append("U1", records[3:])
    assert follower.poll() == {"U1": len(records)}
    store.derive()
    assert follower.poll() == {}


def test_records_are_those_after_an_event_up_to_another(store: Store) -> None:
    log = FirmwareLog()
    while log.last_number < 2500:  # more than are read at once
        log.load()
    store.append("U1", stored(log.records))
    follower = store.follower()
    follower.poll()
    whole = list(store.raw("U1"))
    assert list(follower.records("U1", 0)) == whole
    assert list(follower.records("U1", 10)) == whole[10:]
    assert list(follower.records("U1", 10, 20)) == whole[10:20]
    assert list(follower.records("U1", len(whole))) == []
    assert list(follower.records("U9", 0)) == []


@IN_A_FILE
def test_a_record_that_another_one_took_the_place_of_is_a_change(store: Store) -> None:
    store.append("U1", stored(FirmwareLog().records))
    follower = store.follower()
    (unit,) = follower.poll()
    with closing(sqlite3.connect(store.path)) as forger:
        forger.execute("UPDATE records SET mac = zeroblob(16) WHERE number = 2")
        forger.commit()
    assert follower.poll() == {unit: 2}


@IN_A_FILE
def test_a_unit_that_is_gone_has_no_newest_event(store: Store) -> None:
    store.append("U1", stored(FirmwareLog().records))
    follower = store.follower()
    follower.poll()
    with closing(sqlite3.connect(store.path)) as forger:
        forger.execute("DELETE FROM records")
        forger.commit()
    assert follower.poll() == {"U1": 0}


@pytest.mark.slow
@IN_A_FILE
def test_values_of_a_forger_are_no_events_and_no_errors(store: Store) -> None:
    store.append("U1", stored(FirmwareLog().records))
    with closing(sqlite3.connect(store.path)) as forger:
        forger.execute("INSERT INTO records VALUES (1, 'x', 0, 7, 'y')")
        forger.execute("INSERT INTO records VALUES (1, 9, 'z', zeroblob(9000000), 1.5)")
        forger.commit()
    follower = store.follower()
    assert follower.poll() == {"U1": 9}
    assert [number for number, *_ in follower.records("U1", 0)] == [1, 2, 9]


@IN_A_FILE
def test_tables_that_were_altered_are_an_error(store: Store) -> None:
    store.append("U1", stored(FirmwareLog().records))
    follower = store.follower()
    follower.poll()
    with closing(sqlite3.connect(store.path)) as forger:
        forger.execute("CREATE TRIGGER hide AFTER INSERT ON records BEGIN SELECT 1; END")
        forger.commit()
    with pytest.raises(DatabaseUnusable, match="its tables were altered"):
        follower.poll()


def test_lists_that_are_made_again_are_no_change(store: Store) -> None:
    store.append("U1", stored(FirmwareLog().records))
    follower = store.follower()
    follower.poll()
    with open_store(store.place) as other:
        other.rebuild()
    assert follower.poll() == {}
    store.append("U1", stored(FirmwareLog().load().records))
    assert list(follower.poll()) == ["U1"]


def test_each_note_that_a_log_has_a_shoe_shows(store: Store) -> None:
    follower = store.follower()
    assert follower.noted() == {}
    seen = []
    for begin, end in ((_NOW, _NOW), (_NOW, _NOW + 5000), (_NOW - 9000, _NOW - 9000)):
        store.keep_presence([Span("U1", begin, end, ATTACHED)])
        seen.append(follower.noted()["U1"])
    store.keep_presence([Span("U1", _NOW, _NOW + 90_000, WAITING)])
    assert follower.noted()["U1"] == seen[-1]
    assert [end for end, _ in seen] == [_NOW, _NOW + 5000, _NOW + 5000]
    assert len({mark for _, mark in seen}) == 3


def test_how_far_a_log_had_come_at_a_time(store: Store) -> None:
    records = stored(FirmwareLog().load().records)
    store.append("U1", records)
    sql_in(store.place, "UPDATE records SET received_unix_ms = 1000 * number")
    if not isinstance(store.place, Path):  # the day of a record is that of its time
        sql_in(store.place, "UPDATE days SET day = '1970-01-01'")
        sql_in(store.place, "SELECT make_partition('1970-01-01')")
        sql_in(store.place, "UPDATE records SET day = '1970-01-01'")
    follower = store.follower()
    follower.poll()
    assert follower.received_before("U1", 3001) == 3
    assert follower.received_before("U1", 0) == 0
    assert follower.received_before("U1", _NOW) == len(records)


def test_a_log_in_a_folder_that_no_one_may_write_to_can_be_followed(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    with new_log(folder / "log.sqlite") as store:
        store.append("U1", stored(FirmwareLog().records))
        store.derive()
        store.derive()
    folder.chmod(0o500)
    try:
        assert SqliteFollower(folder / "log.sqlite").poll() == {"U1": 2}
    finally:
        folder.chmod(0o700)


def test_a_file_that_is_no_log_is_an_error_until_it_is_one(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    follower = SqliteFollower(path)
    with pytest.raises(DatabaseUnusable, match="put the file back"):
        follower.poll()
    path.write_text("words")
    with pytest.raises(DatabaseUnusable, match="not a Sabot log"):
        follower.poll()
    path.unlink()
    with new_log(path) as store:
        store.append("U1", stored(FirmwareLog().records))
        assert follower.poll() == {"U1": 2}
