"""The log database: every event is stored exactly once, and other files are not touched.

The tests read and change the file with SQL, without code of the project.
"""

import itertools
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from host.tests.support.helpers import event_bytes
from host.tests.support.naive_shoe import naive_event, recorded
from host.tests.support.stored import contents_in
from sabot.errors import DatabaseUnusable, HistoryDiffers, SabotError
from sabot.link.session import Record
from sabot.log.place import Place
from sabot.log.sqlite import log_file
from sabot.log.store import DatabaseLocked, Filter, Row, Store, open_store

NOBODY = 65534
LEAF = 10  # first byte of a leaf page in an index B-tree


@pytest.fixture
def good_store(tmp_path: Path) -> Iterator[Store]:
    """A log database with some hundred events of unit U1."""
    with open_store(tmp_path / "good.sqlite", create=True) as store:
        store.append("U1", varied(500))
        yield store


def some(first: int, last: int, **given: int) -> list[Record]:
    return [recorded(event_bytes("identified", n, **given)) for n in range(first, last + 1)]


def varied(last: int) -> list[Record]:
    """Events of several kinds, shoes and rounds, some of them without a time."""
    kinds = ("betting_open", "card", "decision", "lock", "lid")
    return [
        recorded(
            event_bytes(
                kinds[n % len(kinds)],
                n,
                shoe=n // 200,
                round=n // 20 % 10,
                unix_ms=None if n % 7 == 0 else 1_795_000_000_000 + 10 * n,
            )
        )
        for n in range(1, last + 1)
    ]


def sql(path: Path, statement: str, *given: object) -> list[tuple[object, ...]]:
    """Execute a statement on the file with the database library; return the rows."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(statement, given).fetchall()


def contents(records: list[Record]) -> list[tuple[bytes, bytes]]:
    return [(record.data, record.mac) for record in records]


def derived_in(path: Path) -> list[tuple[object, ...]]:
    """The rows of the table `events` in the file."""
    return sql(path, "SELECT * FROM events ORDER BY unit, number")


def error_of(call: Callable[[], object]) -> SabotError:
    """The error that `call` raises: one line that names the file and what to do."""
    with pytest.raises(SabotError) as raised:
        call()
    assert "\n" not in str(raised.value)
    return raised.value


def as_nobody(call: Callable[[], object]) -> str:
    """Call in a process of the user nobody, who may not write root's files; return the error."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            call()
            message = "no error"
        except BaseException as error:
            message = f"{type(error).__name__}: {error}"
        os.write(theirs, message.encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        message = pipe.read().decode()
    os.waitpid(child, 0)
    return message


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder of root that every user may read."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_appended_events_are_stored_byte_for_byte(log_place: Place) -> None:
    path, log = log_place, varied(1000)
    with open_store(path, create=True) as store:
        for at in range(0, len(log), 99):
            store.append("U1", log[at : at + 99])
        assert store.last_number("U1") == store.count() == len(log)
        assert store.units() == ["U1"]
        assert list(store.raw("U1")) == [(n, r.data, r.mac) for n, r in enumerate(log, 1)]
        assert [(row.data, row.mac) for row in store.rows()] == contents(log)
    assert contents_in(path) == contents(log)


def test_an_event_is_stored_exactly_once(log_place: Place) -> None:
    path = log_place
    with open_store(path, create=True) as store:
        store.append("U1", some(1, 10))
        first = list(store.rows())
        store.append("U1", some(1, 10))
        store.append("U1", some(5, 15))
        assert list(store.rows())[:10] == first  # its time of receipt stays as well
        store.append("U1", some(20, 20) + some(3, 3) + some(16, 16))
        store.append("U1", [])
    assert contents_in(path) == contents(some(1, 16) + some(20, 20))


def test_an_event_twice_in_one_batch_is_stored_once(log_place: Place) -> None:
    with open_store(log_place, create=True) as store:
        store.append("U1", some(1, 2) + some(2, 3))
        assert [row.number for row in store.rows()] == [1, 2, 3]


@pytest.mark.parametrize("what", ["contents", "MAC"])
def test_the_same_number_with_other_bytes_or_mac_stops_the_whole_batch(
    log_place: Place, what: str
) -> None:
    path = log_place
    (same,) = some(3, 3)
    other = some(3, 3, t_ms=999) if what == "contents" else [replace(same, mac=bytes(16))]
    with open_store(path, create=True) as store:
        store.append("U1", some(1, 5))
        batch = [*some(6, 7), *other, *some(8, 9)]
        error = error_of(lambda: store.append("U1", batch))
        assert isinstance(error, HistoryDiffers)
        assert all(word in str(error) for word in ("U1", "event 3", str(path), "another database"))
        assert f"with other {what}" in str(error)
        assert contents_in(path) == contents(some(1, 5))
        store.append("U2", other)  # another unit's event 3 is another event
        store.append("U1", some(6, 9))
        assert store.last_number("U1") == 9


def test_two_different_events_under_one_number_in_one_batch_store_nothing(log_place: Place) -> None:
    with open_store(log_place, create=True) as store:
        with pytest.raises(HistoryDiffers):
            store.append("U1", some(1, 2) + some(2, 2, t_ms=999))
        assert store.last_number("U1") == 0 and store.units() == []
        store.append("U1", some(1, 2))  # the first try had not stored the unit either
        assert store.last_number("U1") == 2


def test_a_number_too_large_for_a_column_is_an_error(log_place: Place) -> None:
    with open_store(log_place, create=True) as store:
        error = error_of(lambda: store.append("U1", some(1 << 63, 1 << 63)))
        assert isinstance(error, DatabaseUnusable) and "too large" in str(error)
        store.append("U1", some((1 << 63) - 1, (1 << 63) - 1, unix_ms=(1 << 64) - 1))
        (row,) = store.rows()
        assert (row.number, row.unix_ms) == ((1 << 63) - 1, (1 << 63) - 1)


def test_append_returns_after_a_synchronous_commit(tmp_path: Path) -> None:
    """Killing a process cannot test this, so the test checks the statements that SQLite gets."""
    statements: list[str] = []
    connect = sqlite3.connect

    def watched(*given: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*given, **options)
        connection.set_trace_callback(statements.append)
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", watched)
        with open_store(tmp_path / "log.sqlite", create=True) as store:
            assert "PRAGMA synchronous=FULL" in statements
            assert "PRAGMA journal_mode=WAL" in statements
            statements.clear()
            store.append("U1", some(1, 3))
            assert (statements[0], statements[-1]) == ("BEGIN IMMEDIATE", "COMMIT")
            assert not any("INTO events" in statement for statement in statements)
    assert not any("synchronous" in statement for statement in statements)


def test_units_do_not_mix(log_place: Place) -> None:
    with open_store(log_place, create=True) as store:
        store.append("U2", some(1, 3))
        store.append("U1", some(1, 2, t_ms=5))
        assert store.units() == ["U1", "U2"]
        assert (store.last_number("U1"), store.last_number("U2")) == (2, 3)
        assert store.last_number("U3") == 0
        assert [row.unit for row in store.rows()] == ["U1", "U1", "U2", "U2", "U2"]


_FILTERS = (
    Filter(),
    Filter(unit="U1"),
    Filter(unit="none"),
    Filter(shoe=2),
    Filter(shoe=1, round=2),
    Filter(round=0),
    Filter(kinds=("lid", "key")),
    Filter(kinds=()),
    Filter(from_unix_ms=1000),
    Filter(to_unix_ms=1000),
    Filter("U2", 2, 2, ("key",), 1000, 2000),
    Filter(first=10, last=20),
    Filter(first=54, from_unix_ms=2000),
    Filter(first=1 << 64),
    Filter(last=1 << 64, shoe=1 << 70),
)


@pytest.mark.parametrize("derived", [0, 31, 54])
def test_a_filter_selects_what_a_list_comprehension_does(log_place: Place, derived: int) -> None:
    with open_store(log_place, create=True) as store:
        kinds, times = ("lid", "key", "identified"), (None, 0, 999, 1000, 1999, 2000)
        each = itertools.product(kinds, times, ((0, 0), (1, 2), (2, 2)))
        log = [
            event_bytes(kind, number, unix_ms=unix_ms, shoe=shoe, round=round_)
            for number, (kind, unix_ms, (shoe, round_)) in enumerate(each, 1)
        ]
        for unit in ("U2", "U1"):
            store.append(unit, [recorded(data) for data in log[:derived]])
        store.derive()
        for unit in ("U1", "U2"):
            store.append(unit, [recorded(data) for data in log[derived:]])
        everything = list(store.rows())
        assert [row.data for row in everything] == log * 2
        for wanted in _FILTERS:
            rows = [row for row in everything if _selected(wanted, row)]
            assert list(store.rows(wanted)) == rows
            backward = sorted(rows, key=lambda row: (row.unit, -row.number))
            assert list(store.rows(replace(wanted, newest_first=True))) == backward
        if isinstance(log_place, Path):
            assert len(derived_in(log_place)) == 2 * derived


def _selected(wanted: Filter, row: Row) -> bool:
    """The filter, written in another way; a row without a time is in no span of time."""
    if wanted.unit not in (None, row.unit) or wanted.shoe not in (None, row.shoe):
        return False
    if wanted.round not in (None, row.round):
        return False
    if wanted.kinds is not None and row.kind not in wanted.kinds:
        return False
    if not (wanted.first or 0) <= row.number <= (wanted.last or 1 << 70):
        return False
    if wanted.from_unix_ms is None and wanted.to_unix_ms is None:
        return True
    earliest, latest = wanted.from_unix_ms or 0, wanted.to_unix_ms or 1 << 60
    return row.unix_ms is not None and row.unix_ms in range(earliest, latest)


@pytest.mark.parametrize("name", ["a b.sqlite", "a#b?c=d&mode=memory.sqlite", "a%20b", "ä'\".db"])
def test_any_file_name_can_be_used(tmp_path: Path, name: str) -> None:
    with open_store(tmp_path / name, create=True) as store:
        store.append("U1", some(1, 1))
    assert contents_in(tmp_path / name) == contents(some(1, 1))
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [name]


def _text(path: Path) -> None:
    path.write_text("Dear sir or madam,\n" * 500, encoding="utf-8")


def _other_database(path: Path) -> None:
    sql(path, "CREATE TABLE customers (name TEXT)")


def _other_database_with_an_about(path: Path) -> None:
    sql(path, "CREATE TABLE about (author TEXT)")


def _log(path: Path) -> None:
    with open_store(path, create=True) as store:
        store.append("U1", varied(2000))


def _other_format(path: Path) -> None:
    _log(path)
    sql(path, "PRAGMA journal_mode=DELETE")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE about SET value = 'wine-cellar' WHERE name = 'format'")


def _version(version: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        _log(path)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE about SET value = ? WHERE name = 'version'", (version,))

    return make


def _damaged_header(path: Path) -> None:
    _log(path)
    with path.open("r+b") as file:
        file.write(bytes(100))


def _damaged_page_size(path: Path) -> None:
    _log(path)
    with path.open("r+b") as file:
        file.seek(16)
        file.write(b"\xff\xff")


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_text, "not a Sabot log; name another file"),
        (_other_database, "a database, but not a Sabot log; name another file"),
        (_other_database_with_an_about, "a database, but not a Sabot log; name another file"),
        (_other_format, "a database, but not a Sabot log; name another file"),
        (_version("7"), "a log of version 7, this sabot reads 2 to 6; update sabot"),
        (_version("1"), "a log of version 1, this sabot reads 2 to 6; read it with the"),
        (_damaged_header, "damaged at its beginning; keep it, and log to another file"),
        (_damaged_page_size, "damaged at its beginning; keep it, and log to another file"),
        (Path.mkdir, "a folder; name a file"),
    ],
)
def test_a_file_that_is_not_a_log_is_an_error_and_not_changed(
    tmp_path: Path, make: Callable[[Path], None], message: str, create: bool
) -> None:
    path = tmp_path / "thing"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    error = error_of(lambda: open_store(path, create=create))
    assert isinstance(error, DatabaseUnusable)
    assert str(error).startswith(f"{path}: {message}")
    assert (path.read_bytes() if path.is_file() else b"") == before
    assert {each.name for each in tmp_path.iterdir()} <= {"run", "thing", "thing-wal", "thing-shm"}


def test_a_log_of_version_1_is_recognised_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE about (name TEXT NOT NULL, value TEXT NOT NULL)")
        connection.execute("CREATE TABLE events (unit TEXT, number INTEGER, record BLOB)")
        about = [("format", "sabot-log"), ("version", "1")]
        connection.executemany("INSERT INTO about VALUES (?, ?)", about)
    for create in (True, False):
        error = error_of(lambda: open_store(path, create=create))  # noqa: B023
        assert "a log of version 1" in str(error) and "another file with --db" in str(error)


def test_an_empty_file_is_not_a_log_until_one_is_made_there(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    path.touch()
    error = error_of(lambda: open_store(path))
    assert str(error) == f"{path}: an empty file, not a log; `sabot log` makes one"
    with open_store(path, create=True) as store:
        store.append("U1", some(1, 1))
    assert contents_in(path) == contents(some(1, 1))


@pytest.mark.slow
def test_a_damaged_page_is_an_error_and_the_rest_can_be_read(
    tmp_path: Path, rng: random.Random
) -> None:
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        for first in range(1, 20_000, 500):
            store.append("U1", some(first, first + 499))
    page = sql(path, "PRAGMA page_size")[0][0]
    assert isinstance(page, int)
    data = bytearray(path.read_bytes())
    begin = event_bytes("identified", 1)[:2]  # of every record
    leaves = [
        at for at in range(0, len(data), page) if data[at] == LEAF and begin in data[at : at + page]
    ]
    at = rng.choice(leaves[10:-10])
    data[at : at + page] = rng.randbytes(page)
    path.write_bytes(data)
    with open_store(path) as store:
        read = []
        with pytest.raises(DatabaseUnusable) as raised:
            for number, record, mac in store.raw("U1"):
                read.append((record, mac))
                assert number == len(read)
        message = str(raised.value)
        assert (
            message.startswith(f"{path}: damaged (")
            and "keep it" in message
            and "\n" not in message
        )
        assert read == contents(some(1, len(read))) and read
        after_it = list(store.raw("U1", len(read) + 200))
        assert after_it[-1][0] == 20_000


def test_reading_makes_no_database(tmp_path: Path) -> None:
    error = error_of(lambda: open_store(tmp_path / "none.sqlite"))
    assert isinstance(error, DatabaseUnusable)
    assert "no such database" in str(error) and "`sabot log`" in str(error)
    assert not (tmp_path / "none.sqlite").exists()


@pytest.mark.parametrize("folder", ["none/deeper", "/proc", "/sys/kernel"])
def test_a_folder_that_is_missing_or_cannot_have_files(tmp_path: Path, folder: str) -> None:
    path = tmp_path / folder / "log.sqlite"
    error = error_of(lambda: open_store(path, create=True))
    assert isinstance(error, DatabaseUnusable)
    assert str(path) in str(error) and "does the folder exist" in str(error)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_file_without_write_permission(open_folder: Path) -> None:
    path = open_folder / "log.sqlite"
    with open_store(path, create=True) as store:
        store.append("U1", some(1, 1))
    message = as_nobody(lambda: open_store(path).count())
    assert message == f"DatabaseUnusable: {path}: only its own user may read it; run the " + (
        "command as that user"
    )
    path.chmod(0o644)
    message = as_nobody(lambda: open_store(path, create=True).append("U1", some(2, 2)))
    assert message.startswith(f"DatabaseUnusable: {path}: ") and "permissions" in message
    assert as_nobody(lambda: open_store(open_folder / "new.sqlite", create=True)).startswith(
        f"DatabaseUnusable: {open_folder}/new.sqlite: cannot be opened; does the folder exist"
    )
    assert contents_in(path) == contents(some(1, 1))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_finished_log_can_be_read_without_write_permission(open_folder: Path) -> None:
    path = open_folder / "log.sqlite"
    with open_store(path, create=True) as store:
        store.append("U1", some(1, 3))
    path.chmod(0o644)

    def read() -> None:
        raise RuntimeError(len(list(open_store(path).rows())))

    assert as_nobody(read) == "RuntimeError: 3"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_an_archive_with_a_write_ahead_log_says_that_it_must_be_copied(open_folder: Path) -> None:
    path, archived = open_folder / "log.sqlite", open_folder / "archived.sqlite"
    with open_store(path, create=True) as store:
        store.append("U1", some(1, 3))
        for suffix in ("", "-wal"):  # as after a log was killed
            shutil.copyfile(f"{path}{suffix}", f"{archived}{suffix}")
    message = as_nobody(lambda: open_store(archived).count())
    assert message.startswith(f"DatabaseUnusable: {archived}: the newest events are in archived")
    assert "copy both files" in message


def test_the_database_alone_has_all_events_once_the_log_is_idle(tmp_path: Path) -> None:
    path, copied = tmp_path / "log.sqlite", tmp_path / "copied.sqlite"
    with open_store(path, create=True) as store:
        store.append("U1", some(1, 20))
        for _ in range(3):  # as often as the log has nothing to do
            store.derive(5000)
        shutil.copyfile(path, copied)
        store.append("U1", some(21, 22))
    assert contents_in(copied) == contents(some(1, 20))


def test_a_reader_cannot_write(log_place: Place) -> None:
    with open_store(log_place, create=True) as store:
        store.append("U1", some(1, 1))
    with open_store(log_place) as reader:
        error = error_of(lambda: reader.append("U9", some(1, 1)))
        assert isinstance(error, DatabaseUnusable) and "cannot be written to" in str(error)


_HOLD_THE_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def locked(good_store: Store) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the database's lock until it reads a line."""
    command = [sys.executable, "-c", _HOLD_THE_LOCK, str(good_store.path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == "held\n"
        yield child
        child.kill()


def test_a_lock_held_for_too_long_is_an_error(
    good_store: Store, locked: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "BUSY_TIMEOUT_S", 0.2)
    with open_store(good_store.path) as reader:
        assert reader.last_number("U1") > 0  # a reader does not wait
    error = error_of(lambda: open_store(good_store.path, create=True))
    assert isinstance(error, DatabaseLocked)
    assert "locked by another program" in str(error) and "stop that" in str(error)
    error = error_of(lambda: open_store(good_store.path).rebuild())
    assert isinstance(error, DatabaseLocked)


def test_the_log_does_not_wait_for_a_reader(
    log_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "BUSY_TIMEOUT_S", 0.2)
    with open_store(log_place, create=True) as writer, open_store(log_place) as reader:
        writer.append("U1", varied(500))
        rows = reader.rows()
        before = [next(rows)]
        for number in range(1, 100):
            writer.append("U9", some(number, number))
        assert {row.unit for row in [*before, *rows]} == {"U1"}  # as it was when reading began
        assert reader.last_number("U9") == 99


def test_appending_waits_for_a_lock_held_for_a_while(
    good_store: Store, locked: subprocess.Popen[str]
) -> None:
    release = threading.Timer(0.4, locked.communicate, ("\n",))
    release.start()
    good_store.append("U9", some(1, 1))
    release.join(30)
    assert good_store.last_number("U9") == 1


@pytest.mark.slow
def test_many_shoes_are_stored_at_once(log_place: Place) -> None:
    units = [f"U{n}" for n in range(24)]
    failed: list[BaseException] = []

    def append(unit: str) -> None:
        try:
            for first in range(1, 60, 6):
                store.append(unit, some(first, first + 5))
        except BaseException as error:
            failed.append(error)

    with open_store(log_place, create=True) as store:
        threads = [threading.Thread(target=append, args=(unit,)) for unit in units]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert failed == []
        assert [store.last_number(unit) for unit in units] == [60] * 24


_OPEN = """
import sys, json
from pathlib import Path
from sabot.log.store import Store, open_store
print(json.dumps("ready"), flush=True)
sys.stdin.readline()
try:
    open_store(Path(sys.argv[1]), create=True).close()
    print(json.dumps("opened"))
except BaseException as error:
    print(json.dumps(f"{type(error).__name__}: {error}"))
"""


@pytest.mark.slow
def test_several_processes_can_make_a_database_at_the_same_moment(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _OPEN, str(tmp_path / "log.sqlite")]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for child in children:
        assert child.stdout is not None and json.loads(child.stdout.readline()) == "ready"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    outcomes = [json.loads(child.communicate(timeout=200)[0]) for child in children]
    assert outcomes == ["opened"] * len(children)


def test_a_time_of_receipt_that_is_no_number_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with open_store(path, create=True) as store:
        store.append("U1", [recorded(naive_event(1))])
        assert store.last_received("U1") is not None
    sql(path, "UPDATE records SET received_unix_ms = 'yesterday'")
    with open_store(path) as store:
        assert store.last_received("U1") is None
        assert store.last_received("U2") is None
