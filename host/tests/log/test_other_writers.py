"""A log that is open for logging while another program, such as a server, writes to it too."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from host.tests.support.helpers import FirmwareLog, shuffled_names, stored
from sabot.errors import DatabaseUnusable
from sabot.log.store import Store, open_store

RECORDS = stored(FirmwareLog().deal_shoe(shuffled_names(3)[:120]).records)
OLD, NEW = b"a content that was replaced" * 8, b"another content of the row." * 8
_LIMIT = 1000  # pages in the write-ahead log at which SQLite itself moves them


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


@pytest.fixture
def log(path: Path) -> Iterator[Store]:
    with open_store(path, create=True) as store:
        store.append("U1", RECORDS[:1])
        yield store


@pytest.fixture
def checks(log: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A word for each time that the whole file was gone through."""
    found: list[str] = []
    check = log._check_contents

    def counting() -> None:
        found.append("checked")
        check()

    monkeypatch.setattr(log, "_check_contents", counting)
    return found


def write(store: Store, content: bytes) -> None:
    with store.writer as connection:
        connection.execute("INSERT OR REPLACE INTO desk VALUES (1, ?, ?)", (content, bytes(16)))
    store.writer.scrub()


def in_files(path: Path, content: bytes) -> set[str]:
    """The files of the log that have the content in any place."""
    found = path.parent.glob(path.name + "*")
    return {each.name for each in found if content in each.read_bytes()}


@pytest.mark.slow
def test_what_a_server_writes_never_lets_a_log_go_through_the_whole_file(
    path: Path, log: Store, checks: list[str]
) -> None:
    """Far more pages than those at which SQLite moves them to the file by itself."""
    with open_store(path) as server:
        for at, record in enumerate(RECORDS[1:]):
            for byte in range(20):
                write(server, bytes([byte]) * 3000)
            log.append("U1", [record])
            if at % 10 == 0:
                log.derive()
                log.derive()
    assert 20 * 3 * len(RECORDS) > 5 * _LIMIT and checks == []


def test_that_the_file_was_overwritten_is_still_found(
    path: Path, log: Store, checks: list[str], tmp_path: Path
) -> None:
    with open_store(tmp_path / "other", create=True) as other:
        other.append("U2", RECORDS[:50])
    with open_store(path) as server:
        write(server, OLD)
        log.derive()
        log.derive()
        path.write_bytes((tmp_path / "other").read_bytes())
        with pytest.raises(DatabaseUnusable):
            log.append("U1", RECORDS[1:2])
    assert checks == ["checked"]


def test_replaced_content_is_in_no_file_once_the_log_has_nothing_else_to_do(
    path: Path, log: Store
) -> None:
    with open_store(path) as server:
        write(server, OLD)
        write(server, NEW)
        assert in_files(path, OLD) == {"log.sqlite-wal"}
        log.append("U1", RECORDS[1:20])
        log.derive()
        log.derive()
        assert in_files(path, OLD) == set() and in_files(path, NEW) == {"log.sqlite"}


def test_what_the_program_that_logs_replaces_itself_is_in_no_file_either(
    path: Path, log: Store
) -> None:
    log.derive()
    log.derive()
    write(log, OLD)
    write(log, NEW)
    log.derive()
    assert in_files(path, OLD) == set()


def test_without_a_program_that_logs_replaced_content_is_gone_at_once(
    path: Path, log: Store
) -> None:
    with open_store(path) as server:
        write(server, OLD)
        log.close()
        write(server, NEW)
        assert in_files(path, OLD) == set() and in_files(path, NEW) == {"log.sqlite"}


def test_no_one_waits_for_a_reader_and_the_content_goes_after_it(path: Path, log: Store) -> None:
    log.close()
    with open_store(path) as server, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        write(server, OLD)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM desk").fetchone()
        write(server, NEW)
        write(server, NEW[::-1])
        assert in_files(path, OLD) and reader.execute("SELECT record FROM desk").fetchone() == (
            OLD,
        )
        reader.execute("COMMIT")
        write(server, NEW)
        assert in_files(path, OLD) == set()
