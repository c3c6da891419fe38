"""Logs, and what has a whole log, are made for their user alone; one that others may read is
said."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.tests.log.test_store import some
from host.tests.support.commands import run_here
from sabot.feeds.outbox import Outbox
from sabot.log.sqlite.converting import convert
from sabot.log.store import open_store


@pytest.fixture(params=[0, 0o022, 0o277], ids=["all", "usual", "none"])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def _modes(folder: Path) -> dict[str, int]:
    return {each.name: each.stat().st_mode & 0o777 for each in folder.iterdir() if each.is_file()}


@pytest.mark.usefixtures("umask")
def test_a_log_its_copies_and_an_outbox_are_made_for_their_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        store.append("U1", some(1, 3))
        store.copy(tmp_path / "copy.sqlite")
        outbox = Outbox(tmp_path / "outbox")
        outbox.spans()
        modes = _modes(tmp_path)
        assert modes.keys() >= {"log.sqlite-wal", "log.sqlite-shm", "copy.sqlite", "outbox"}
        assert set(modes.values()) == {0o600}, modes
        outbox.close()
    path.chmod(0o644)
    convert(path, 5)
    made = _modes(tmp_path)
    del made["log.sqlite"]
    assert "log.version-6.sqlite" in made and set(made.values()) == {0o600}, made


def test_a_journal_beside_a_copy_is_private_too(tmp_path: Path) -> None:
    with open_store(tmp_path / "log.sqlite", create=True) as store:
        store.append("U1", some(1, 3))
        store.copy(tmp_path / "copy.sqlite")
    connection = sqlite3.connect(tmp_path / "copy.sqlite", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM records")
    assert set(_modes(tmp_path).values()) == {0o600}
    assert (tmp_path / "copy.sqlite-journal").exists()
    connection.close()


@pytest.mark.parametrize("command", [["rounds"], ["units"], ["verify"], ["checkpoints"]])
def test_a_log_that_others_may_read_is_said_once_and_fails_no_command(
    tmp_path: Path, command: list[str]
) -> None:
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        store.append("U1", some(1, 3))
    out, problems, code = run_here(tmp_path, *command, "--db", str(path))
    assert "other users" not in problems
    path = path.rename(tmp_path / "shared.sqlite")
    path.chmod(0o640)
    said = run_here(tmp_path, *command, "--db", str(path))
    line = f"{path}: other users may read or change this log; chmod 600 {path}\n"
    assert said[1].count(line) == 1
    assert (said[0].replace("shared", "log"), said[2]) == (out, code)
