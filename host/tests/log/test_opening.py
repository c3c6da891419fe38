"""Files of SQLite are opened in one place, which looks at what lies beside them first."""

import ast
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from host.tests.log.test_store import error_of, some
from host.tests.support.planted import journal_of, plain_database
from sabot.errors import DatabaseUnusable
from sabot.feeds.outbox import Outbox
from sabot.log.sqlite import opening
from sabot.log.sqlite.converting import convert
from sabot.log.sqlite.log_file import LogConnection, connect
from sabot.log.store import open_store

_HOST = Path(__file__).resolve().parents[2] / "sabot"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        store.append("U1", some(1, 3))
    return path


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "of-the-user"
    path.write_bytes(b"not to be lost")
    return path


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _open_outbox(path: Path) -> None:
    Outbox(path).close()


def _copy(path: Path) -> None:
    with open_store(path) as store:
        store.copy(path.with_name("copy"))


WAYS: dict[str, Callable[[Path], object]] = {
    "log": lambda path: open_store(path, create=True),
    "read": lambda path: open_store(path).count(),
    "convert": lambda path: convert(path, 5),
    "copy": _copy,
    "feed": _open_outbox,
}


def _no_pages(path: Path) -> int:
    return path.stat().st_size // 1024


def test_the_planted_journal_of_these_tests_has_sqlite_itself_remove_a_file(
    tmp_path: Path, victim: Path
) -> None:
    path = tmp_path / "plain"
    plain_database(path)
    beside(path, "-journal").write_bytes(journal_of(victim, _no_pages(path)))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (1,)
    assert not victim.exists()


@pytest.mark.parametrize("way", WAYS)
def test_no_planted_journal_removes_a_file(log: Path, victim: Path, way: str) -> None:
    content = log.read_bytes()
    planted = beside(log, "-journal")
    planted.write_bytes(journal_of(victim, _no_pages(log)))
    error = error_of(lambda: WAYS[way](log))
    assert isinstance(error, DatabaseUnusable) and str(planted) in str(error)
    assert "nothing was opened or changed" in str(error)
    assert victim.read_bytes() == b"not to be lost" and log.read_bytes() == content
    planted.unlink()
    with open_store(log) as store:
        assert store.count() == 3


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("content", [b"", b"\0", b"x" * 600], ids=["empty", "zero", "text"])
def test_no_journal_is_a_log_s_own(log: Path, content: bytes, way: str) -> None:
    beside(log, "-journal").write_bytes(content)
    error = error_of(lambda: WAYS[way](log))
    assert isinstance(error, DatabaseUnusable) and "a log has none" in str(error)
    assert beside(log, "-journal").read_bytes() == content


@pytest.mark.parametrize("way", ["log", "feed"])
def test_a_new_file_plays_no_journal_back(tmp_path: Path, victim: Path, way: str) -> None:
    path = tmp_path / "new.sqlite"
    beside(path, "-journal").write_bytes(journal_of(victim, 0))
    error = error_of(lambda: WAYS[way](path))
    assert isinstance(error, DatabaseUnusable) and "which SQLite would remove" in str(error)
    assert victim.exists() and not path.exists()


def test_a_copy_without_write_ahead_mode_plays_no_journal_back_that_names_a_file(
    log: Path, tmp_path: Path, victim: Path
) -> None:
    _copy(log)
    copy = tmp_path / "copy"
    beside(copy, "-journal").write_bytes(journal_of(victim, _no_pages(copy)))
    for way in ("read", "log", "copy"):
        assert isinstance(error_of(lambda way=way: WAYS[way](copy)), DatabaseUnusable)  # type: ignore[misc]
    assert victim.exists()


def test_what_is_no_database_gets_no_journal_played_back(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(b"Dear colleague" * 100)
    beside(path, "-journal").write_bytes(journal_of(None, 0))
    content = path.read_bytes()
    for way in ("read", "log", "feed"):
        error = error_of(lambda way=way: WAYS[way](path))  # type: ignore[misc]
        assert isinstance(error, DatabaseUnusable) and "no database" in str(error)
    assert path.read_bytes() == content


@pytest.mark.parametrize("way", ["log", "read", "feed"])
@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("how", ["link", "hard link", "folder", "pipe"])
def test_nothing_else_beside_a_log_is_written_to(
    log: Path, victim: Path, ending: str, how: str, way: str
) -> None:
    planted = beside(log, ending)
    make = {
        "link": lambda: planted.symlink_to(victim),
        "hard link": lambda: planted.hardlink_to(victim),
        "folder": planted.mkdir,
        "pipe": lambda: os.mkfifo(planted),
    }
    make[how]()
    error = error_of(lambda: WAYS[way](log))
    assert isinstance(error, DatabaseUnusable) and str(planted) in str(error)
    assert victim.read_bytes() == b"not to be lost" and planted.lstat()


def test_what_is_beside_the_file_that_a_link_leads_to_is_looked_at(
    log: Path, tmp_path: Path, victim: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.sqlite"
    link.symlink_to(log)
    beside(log, "-journal").write_bytes(journal_of(victim, _no_pages(log)))
    error = error_of(lambda: open_store(link).count())
    assert isinstance(error, DatabaseUnusable) and str(beside(log, "-journal")) in str(error)
    assert victim.exists()
    link.unlink()
    link.symlink_to(link)
    assert "links lead nowhere" in str(error_of(lambda: open_store(link, create=True)))


def test_a_log_named_by_a_link_has_its_newest_events(log: Path, tmp_path: Path) -> None:
    """Its write-ahead log is beside the file itself, not beside the link."""
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.sqlite"
    link.symlink_to(log)
    with open_store(link, create=True) as store:
        store.append("U1", some(4, 5))
        with open_store(link) as reader, open_store(log) as direct:
            assert reader.count() == direct.count() == 5


def test_a_pipe_is_no_log_and_no_one_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for way in ("read", "log", "feed"):
        error = error_of(lambda way=way: WAYS[way](path))  # type: ignore[misc]
        assert isinstance(error, DatabaseUnusable) and "not a file" in str(error)


def test_a_switch_to_write_ahead_mode_that_is_killed_leaves_no_journal(tmp_path: Path) -> None:
    """With any number of steps of SQLite before the kill, which here is an interrupt."""
    names = set()
    for steps in range(1, 16):
        path = tmp_path / f"{steps}.sqlite"
        plain_database(path)
        connection = opening.opened(path, "rw", sqlite3.Connection, 1)

        def note() -> int:
            names.update(each.name for each in tmp_path.iterdir())
            return 0

        connection.set_progress_handler(note, steps)
        opening.write_ahead(connection)
        connection.close()
        assert path.read_bytes()[18:20] == b"\2\2"
    assert not [name for name in names if name.endswith("-journal")]


def test_the_write_ahead_log_of_a_killed_program_is_read_as_before(
    log: Path, tmp_path: Path
) -> None:
    killed = tmp_path / "killed.sqlite"
    with open_store(log, create=True) as store:
        store.append("U1", some(4, 5))
        for ending in ("", "-wal"):
            beside(killed, ending).write_bytes(beside(log, ending).read_bytes())
    with open_store(killed) as store:
        assert store.count() == 5
    with open_store(killed, create=True) as store:
        store.append("U1", some(6, 6))
        assert store.count() == 6


def test_a_program_that_ends_leaves_the_write_ahead_log_of_one_that_opens_the_log_twice(
    tmp_path: Path,
) -> None:
    """Who closes a file of SQLite by other means than SQLite gives up the locks of its process."""
    path = tmp_path / "log"
    with open_store(path, create=True) as store:
        store.append("U1", some(1, 3))
        with closing(connect(path, "ro")):
            pass
        closes = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        closes += "c.execute('SELECT count(*) FROM records').fetchone(); c.close()"
        subprocess.run([sys.executable, "-c", closes, str(path)], check=True)
        assert path.with_name("log-wal").exists()
        store.append("U1", some(4, 5))
    with open_store(path) as store:
        assert len(list(store.raw("U1"))) == 5


def test_a_journal_that_goes_while_it_is_looked_at_was_of_a_program_that_makes_the_log(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = beside(log, "-journal")
    head_of = opening._head_of

    def looked_at(path: Path) -> bytes:
        journal.unlink()
        return head_of(path)

    journal.write_bytes(b"of a transaction that ends now")
    monkeypatch.setattr(opening, "_head_of", looked_at)
    with open_store(log) as store:
        assert store.count() == 3


def test_no_connection_can_have_a_second_file(log: Path) -> None:
    """So SQLite never makes a super-journal of ours."""
    with closing(connect(log, "ro")) as connection:
        assert isinstance(connection, LogConnection)
        with pytest.raises(sqlite3.OperationalError, match="too many attached"):
            connection.execute("ATTACH ':memory:' AS other")


def test_files_of_sqlite_are_opened_in_one_place() -> None:
    for path in _HOST.rglob("*.py"):
        source = path.read_bytes()
        if path == Path(opening.__file__) or b"sqlite3" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("sqlite3.connect"):
                assert ast.unparse(node.args[0]) == "':memory:'", path
    for path in _HOST.rglob("*.py"):
        assert "ATTACH " not in path.read_text().replace("ATTACH PARTITION", ""), path
