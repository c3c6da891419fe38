"""The log database: what is stored, exactly once, and every file that it must not touch."""

import itertools
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sabot import store as store_module
from sabot.errors import DatabaseUnusable, HistoryDiffers, SabotError
from sabot.session import Record
from sabot.store import Filter, Store
from tests.helpers import event_bytes, stored

NOBODY = 65534


def some(first: int, last: int, **given: int) -> list[Record]:
    return stored(event_bytes("identified", number, **given) for number in range(first, last + 1))


def bytes_in(path: Path, unit: str = "U1") -> list[bytes]:
    """The records of a unit, read without any of our code."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        query = "SELECT record FROM events WHERE unit = ? ORDER BY number"
        return [row[0] for row in connection.execute(query, (unit,))]


def error_of(call: Callable[[], object]) -> SabotError:
    """The error that `call` raises: one line that names the file and what to do."""
    with pytest.raises(SabotError) as raised:
        call()
    assert "\n" not in str(raised.value)
    return raised.value


def as_nobody(call: Callable[[], object]) -> str:
    """What `call` comes to in a process that may not write what root wrote."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            call()
            said = "no error"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(theirs, said.encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder of root's into which everybody may look."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_what_was_appended_is_there_byte_for_byte(tmp_path: Path, good_log: list[bytes]) -> None:
    path = tmp_path / "log.sqlite"
    with Store(path, create=True) as store:
        for at in range(0, len(good_log), 100):
            store.append("U1", stored(good_log[at : at + 100]))
        assert store.last_number("U1") == len(good_log)
        assert store.units() == ["U1"]
    assert bytes_in(path) == good_log


def test_an_event_is_stored_exactly_once(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with Store(path, create=True) as store:
        store.append("U1", some(1, 10))
        first = list(store.rows())
        store.append("U1", some(1, 10))
        store.append("U1", some(5, 15))
        assert list(store.rows())[:10] == first  # its time of receipt stays as well
        store.append("U1", some(20, 20) + some(3, 3) + some(16, 16))
    expected = [record.data for record in some(1, 16) + some(20, 20)]
    assert bytes_in(path) == expected


def test_an_event_twice_in_one_batch_is_stored_once(tmp_path: Path) -> None:
    with Store(tmp_path / "log.sqlite", create=True) as store:
        store.append("U1", some(1, 2) + some(2, 3))
        assert [row.number for row in store.rows()] == [1, 2, 3]


def test_the_same_number_with_other_bytes_stops_the_whole_batch(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with Store(path, create=True) as store:
        store.append("U1", some(1, 5))
        other = some(3, 3, t_ms=999)
        batch = [*some(6, 7), *other, *some(8, 9)]
        error = error_of(lambda: store.append("U1", batch))
        assert isinstance(error, HistoryDiffers)
        assert all(word in str(error) for word in ("U1", "event 3", str(path), "another database"))
        assert bytes_in(path) == [record.data for record in some(1, 5)]
        store.append("U2", other)  # another unit's event 3 is another event
        store.append("U1", some(6, 9))
        assert store.last_number("U1") == 9


def test_two_different_events_under_one_number_in_one_batch_store_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "log.sqlite", create=True) as store:
        with pytest.raises(HistoryDiffers):
            store.append("U1", some(1, 2) + some(2, 2, t_ms=999))
        assert store.last_number("U1") == 0


def test_units_do_not_mix(tmp_path: Path) -> None:
    with Store(tmp_path / "log.sqlite", create=True) as store:
        store.append("U2", some(1, 3))
        store.append("U1", some(1, 2, t_ms=5))
        assert store.units() == ["U1", "U2"]
        assert (store.last_number("U1"), store.last_number("U2")) == (2, 3)
        assert store.last_number("U3") == 0
        assert [row.unit for row in store.rows()] == ["U1", "U1", "U2", "U2", "U2"]


@pytest.mark.parametrize(
    "wanted",
    [
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
    ],
)
def test_a_filter_lets_through_what_a_list_comprehension_does(
    tmp_path: Path, wanted: Filter
) -> None:
    with Store(tmp_path / "log.sqlite", create=True) as store:
        kinds, times = ("lid", "key", "identified"), (None, 0, 999, 1000, 1999, 2000)
        each = itertools.product(kinds, times, ((0, 0), (1, 2), (2, 2)))
        log = [
            event_bytes(kind, number, unix_ms=unix_ms, shoe=shoe, round=round_)
            for number, (kind, unix_ms, (shoe, round_)) in enumerate(each, 1)
        ]
        for unit in ("U2", "U1"):
            store.append(unit, stored(log))
        rows = [row for row in store.rows() if _let_through(wanted, row)]
        assert list(store.rows(wanted)) == rows
        assert len(rows) in (108, 54, 0, 36, 18, 1) or wanted.kinds or wanted.to_unix_ms


def _let_through(wanted: Filter, row: store_module.Row) -> bool:
    """The filter, in other words; a row without a time is in no span of time."""
    if wanted.unit not in (None, row.unit) or wanted.shoe not in (None, row.shoe):
        return False
    if wanted.round not in (None, row.round):
        return False
    if wanted.kinds is not None and row.kind not in wanted.kinds:
        return False
    if wanted.from_unix_ms is None and wanted.to_unix_ms is None:
        return True
    earliest, latest = wanted.from_unix_ms or 0, wanted.to_unix_ms or 1 << 60
    return row.unix_ms is not None and row.unix_ms in range(earliest, latest)


@pytest.mark.parametrize("name", ["a b.sqlite", "a#b?c=d&mode=memory.sqlite", "a%20b", "ä'\".db"])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    with Store(tmp_path / name, create=True) as store:
        store.append("U1", some(1, 1))
    assert bytes_in(tmp_path / name) == [some(1, 1)[0].data]
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [name]


def _text(path: Path) -> None:
    path.write_text("Dear sir or madam,\n" * 500, encoding="utf-8")


def _other_database(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")


def _other_database_with_an_about(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE about (author TEXT)")


def _other_format(path: Path) -> None:
    Store(path, create=True).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE about SET value = 'wine-cellar' WHERE name = 'format'")


def _newer(path: Path) -> None:
    Store(path, create=True).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE about SET value = '2' WHERE name = 'version'")


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_text, "not a Sabot log"),
        (_other_database, "not a Sabot log"),
        (_other_database_with_an_about, "not a Sabot log"),
        (_other_format, "not a Sabot log"),
        (_newer, "version 2, this sabot knows 1"),
        (Path.mkdir, "cannot be"),
    ],
)
def test_what_is_not_ours_is_named_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], said: str, create: bool
) -> None:
    path = tmp_path / "thing"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    error = error_of(lambda: Store(path, create=create))
    assert isinstance(error, DatabaseUnusable)
    assert str(error).startswith(f"{path}: ") and said in str(error)
    assert (path.read_bytes() if path.is_file() else b"") == before
    assert {each.name for each in tmp_path.iterdir()} <= {"run", "thing", "thing-wal", "thing-shm"}


def test_reading_makes_no_database(tmp_path: Path) -> None:
    error = error_of(lambda: Store(tmp_path / "none.sqlite"))
    assert isinstance(error, DatabaseUnusable)
    assert "no such database" in str(error) and "`sabot log`" in str(error)
    assert not (tmp_path / "none.sqlite").exists()


@pytest.mark.parametrize("folder", ["none/deeper", "/proc", "/sys/kernel"])
def test_a_folder_that_is_missing_or_takes_no_files(tmp_path: Path, folder: str) -> None:
    path = tmp_path / folder / "log.sqlite"
    error = error_of(lambda: Store(path, create=True))
    assert isinstance(error, DatabaseUnusable)
    assert str(path) in str(error) and "does the folder exist" in str(error)


@pytest.mark.skipif(os.getuid() != 0, reason="root alone can become somebody else")
def test_a_file_that_may_not_be_written(open_folder: Path) -> None:
    path = open_folder / "log.sqlite"
    with Store(path, create=True) as store:
        store.append("U1", some(1, 1))
    said = as_nobody(lambda: Store(path, create=True).append("U1", some(2, 2)))
    assert said.startswith(f"DatabaseUnusable: {path}: ") and "permissions" in said
    assert as_nobody(lambda: Store(open_folder / "new.sqlite", create=True)).startswith(
        f"DatabaseUnusable: {open_folder}/new.sqlite: cannot be opened; does the folder exist"
    )
    assert bytes_in(path) == [some(1, 1)[0].data]


@pytest.mark.skipif(os.getuid() != 0, reason="root alone can become somebody else")
def test_a_finished_log_can_be_read_by_whoever_may_not_write_it(open_folder: Path) -> None:
    path = open_folder / "log.sqlite"
    with Store(path, create=True) as store:
        store.append("U1", some(1, 3))

    def read() -> None:
        raise RuntimeError(len(list(Store(path).rows())))

    assert as_nobody(read) == "RuntimeError: 3"


def test_a_reader_cannot_write(good_store: Store) -> None:
    with Store(good_store.path) as reader:
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
    monkeypatch.setattr(store_module, "_BUSY_TIMEOUT_S", 0.2)
    with Store(good_store.path) as reader:
        assert reader.last_number("U1") > 0  # a reader is not held up
    error = error_of(lambda: Store(good_store.path, create=True))
    assert isinstance(error, DatabaseUnusable)
    assert "locked by another program" in str(error) and "stop that" in str(error)


def test_whoever_reads_does_not_hold_up_the_log(
    good_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_BUSY_TIMEOUT_S", 0.2)
    with Store(good_store.path) as reader, Store(good_store.path, create=True) as writer:
        rows = reader.rows()
        before = [next(rows)]
        for number in range(1, 100):
            writer.append("U9", some(number, number))
        assert {row.unit for row in [*before, *rows]} == {"U1"}  # as it was when reading began
        assert reader.last_number("U9") == 99


def test_a_lock_held_for_a_while_is_waited_for(
    good_store: Store, locked: subprocess.Popen[str]
) -> None:
    release = threading.Timer(0.4, locked.communicate, ("\n",))
    release.start()
    good_store.append("U9", some(1, 1))
    release.join(30)
    assert good_store.last_number("U9") == 1


def test_many_shoes_are_stored_at_once(tmp_path: Path) -> None:
    units = [f"U{n}" for n in range(24)]
    failed: list[BaseException] = []

    def append(unit: str) -> None:
        try:
            for first in range(1, 60, 6):
                store.append(unit, some(first, first + 5))
        except BaseException as error:
            failed.append(error)

    with Store(tmp_path / "log.sqlite", create=True) as store:
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
from sabot.store import Store
print(json.dumps("ready"), flush=True)
sys.stdin.readline()
try:
    Store(Path(sys.argv[1]), create=True).close()
    print(json.dumps("opened"))
except BaseException as error:
    print(json.dumps(f"{type(error).__name__}: {error}"))
"""


def test_processes_that_make_a_database_at_the_same_moment_all_have_it(tmp_path: Path) -> None:
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
    said = [json.loads(child.communicate(timeout=30)[0]) for child in children]
    assert said == ["opened"] * len(children)
