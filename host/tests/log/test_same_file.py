"""A log whose file is removed, replaced or overwritten while it is open for writing."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from host.tests.support.helpers import FirmwareLog, stored
from sabot.errors import DatabaseUnusable
from sabot.log.store import open_store
from sabot_protocol import baccarat

RECORDS = stored(FirmwareLog().load().draw("AS", "2C", "9S", "KC", "7D", "6H").records)
HALF = len(RECORDS) // 2


def removed(path: Path, other: Path) -> None:
    path.unlink()


def renamed(path: Path, other: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def replaced(path: Path, other: Path) -> None:
    shutil.copyfile(other, path.with_name("new"))
    path.with_name("new").rename(path)


def overwritten(path: Path, other: Path) -> None:
    shutil.copyfile(other, path)


def emptied(path: Path, other: Path) -> None:
    os.truncate(path, 0)


def cut_off(path: Path, other: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def without_its_wal(path: Path, other: Path) -> None:
    path.with_name(path.name + "-wal").unlink()


def all_removed(path: Path, other: Path) -> None:
    for each in path.parent.glob(path.name + "*"):
        each.unlink()


@pytest.mark.parametrize("checkpoint", [True, False])
@pytest.mark.parametrize("older", [True, False])
@pytest.mark.parametrize(
    "how",
    [removed, renamed, replaced, overwritten, emptied, cut_off, without_its_wal, all_removed],
)
def test_nothing_is_stored_in_a_file_that_is_no_longer_the_log(
    tmp_path: Path, how: Callable[[Path, Path], None], older: bool, checkpoint: bool
) -> None:
    """The other file is an older copy of this log, or the log of another unit. If all pages that
    differ are still in the write-ahead log, overwriting takes nothing away, and the log goes on.
    """
    path, other = tmp_path / "log.sqlite", tmp_path / "other.sqlite"
    with open_store(other, create=True) as store:
        store.append("U1" if older else "U2", RECORDS[: HALF // 2])
    with open_store(path, create=True) as store:
        store.append("U1", RECORDS[:HALF])
        if checkpoint:
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            store.append("U1", RECORDS[HALF : HALF + 1])
        how(path, other)
        try:
            store.append("U1", RECORDS[HALF + (1 if checkpoint else 0) :])
        except DatabaseUnusable as error:
            assert str(error).startswith(f"{path}: ") and "\n" not in str(error)
            return
    assert how is overwritten
    with open_store(path) as store:
        wanted = [(record.event.number, record.data, record.mac) for record in RECORDS]
        assert list(store.raw("U1")) == wanted and store.faults() == []


def _filled_with_garbage(path: Path, other: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"x" * path.stat().st_size)


@pytest.mark.parametrize("how", [overwritten, emptied, cut_off, _filled_with_garbage])
@pytest.mark.parametrize("own", ["derive", "keep_game", "both"])
def test_what_the_log_writes_itself_does_not_hide_that_it_was_overwritten(
    tmp_path: Path, how: Callable[[Path, Path], None], own: str
) -> None:
    """While no event comes, it derives rows, makes checkpoints and keeps games."""
    path, other = tmp_path / "log.sqlite", tmp_path / "other.sqlite"
    with open_store(other, create=True) as store:
        store.append("U2", RECORDS[: HALF // 2])
    with open_store(path, create=True) as store:
        store.append("U1", RECORDS[: HALF - 1])
        store.derive()
        store.derive()  # a checkpoint: the write-ahead log has nothing that the file lacks
        store.append("U1", RECORDS[HALF - 1 : HALF])
        how(path, other)
        with suppress(DatabaseUnusable):
            if own in ("keep_game", "both"):
                store.keep_game(baccarat.document_of(baccarat.MINI_NAME))
            if own in ("derive", "both"):
                store.derive()
                store.derive()
        for at in (HALF, HALF + 1):
            with pytest.raises(DatabaseUnusable):
                store.append("U1", RECORDS[at : at + 1])


def test_a_log_goes_on_while_other_programs_read_prune_and_checkpoint_it(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        for at, record in enumerate(RECORDS):
            store.append("U1", [record])
            with open_store(path) as other:
                if at == 3:
                    other.prune("U1", 1, 1, b"stone")
                if at == 5:
                    other.rebuild()
                assert other.last_number("U1") == record.event.number
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open_store(path) as store:
        assert [number for number, *_ in store.raw("U1")] == list(range(2, len(RECORDS) + 1))
