"""The log database keeps stored events if the disk is full or the process is killed."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from host.tests.support.helpers import event_bytes
from host.tests.support.killed_logger import Kills
from host.tests.support.naive_shoe import recorded
from sabot.log.sqlite import log_file
from sabot.log.sqlite.log_file import LogConnection
from sabot.log.store import open_store

pytestmark = pytest.mark.slow

_APPEND = """
import resource, signal, sys
from pathlib import Path
from sabot.errors import DiskFull
from sabot.log.sqlite.log_file import LogConnection
from sabot.log.store import open_store
from host.tests.support.helpers import event_bytes
from host.tests.support.naive_shoe import recorded

path, most_bytes = Path(sys.argv[1]), int(sys.argv[2])
if most_bytes:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
try:
    with open_store(path, create=True) as store:
        number = store.last_number("U1")
        while number < 100_000:
            batch = [event_bytes("identified", number + i) for i in (1, 2, 3)]
            store.append("U1", [recorded(data) for data in batch])
            number += 3
            print(number, flush=True)
except DiskFull as error:
    print("DiskFull:", error, flush=True)
"""
_TESTS = Path(__file__).resolve().parents[3]


def appending(path: Path, most_bytes: int = 0) -> subprocess.Popen[str]:
    """Start a process that appends three events at a time and prints each durable number."""
    return subprocess.Popen(
        [sys.executable, "-c", _APPEND, str(path), str(most_bytes)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(_TESTS)},
    )


def assert_holds(path: Path, last: int) -> int:
    """Check that a sound database holds whole batches, at least to event `last`; return the number
    of its events."""
    with open_store(path) as store:
        rows = list(store.rows())
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    wanted = [recorded(event_bytes("identified", row.number)) for row in rows]
    assert [(row.data, row.mac) for row in rows] == [(each.data, each.mac) for each in wanted]
    assert len(rows) >= last and len(rows) % 3 == 0
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return len(rows)


@pytest.mark.parametrize("most_bytes", [20_000, 100_000])
def test_a_full_disk_is_an_error_and_earlier_events_are_kept(
    tmp_path: Path, most_bytes: int
) -> None:
    path = tmp_path / "log.sqlite"
    open_store(path, create=True).close()
    output, problems = appending(path, most_bytes).communicate(timeout=200)
    assert problems == ""
    *durable, last = output.splitlines()
    assert last.startswith(f"DiskFull: {path}: the disk is full")
    assert "make room" in last and "still on the shoe" in last
    kept = assert_holds(path, int(durable[-1]) if durable else 0)
    with open_store(path, create=True) as store:  # room has been made
        first = store.last_number("U1") + 1
        store.append("U1", [recorded(event_bytes("identified", first + i)) for i in range(3)])
    assert assert_holds(path, kept + 3) == kept + 3


def test_a_disk_too_full_for_a_new_database(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    output, problems = appending(path, 2000).communicate(timeout=200)
    assert problems == ""
    assert output.startswith(f"DiskFull: {path}: the disk is full") and output.count("\n") == 1


def test_events_that_a_killed_process_reported_as_durable_are_there(
    tmp_path: Path, rng: random.Random
) -> None:
    path = tmp_path / "log.sqlite"
    held = 0
    for _ in range(3):
        child = appending(path)
        assert child.stdout is not None
        output = [child.stdout.readline() for _ in range(rng.randrange(1, 40))]
        time.sleep(rng.random() / 20)
        child.send_signal(signal.SIGKILL)
        output += child.communicate(timeout=200)[0].splitlines()
        durable = max(int(line) for line in output if line)
        assert durable > held
        held = assert_holds(path, durable)


def test_loggers_killed_at_any_moment_lose_and_repeat_nothing(
    tmp_path: Path, rng: random.Random
) -> None:
    """This kills 40; `python -m host.tests.support.killed_logger` kills hundreds."""
    with Kills(tmp_path, rng) as kills:
        for _ in range(40):
            kills.kill()
        kills.end()


class _Repaired(LogConnection):
    """A connection to a log whose write-ahead log is being repaired for two more looks."""

    looks = 2

    def execute(self, *given: Any) -> sqlite3.Cursor:
        if _Repaired.looks:
            _Repaired.looks -= 1
            error = sqlite3.OperationalError("attempt to write a readonly database")
            error.sqlite_errorname = "SQLITE_READONLY_RECOVERY"
            raise error
        return super().execute(*given)


def test_a_reader_waits_while_the_log_of_a_killed_process_is_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        store.append("U1", [recorded(event_bytes("identified", 1))])
    connected = sqlite3.connect

    def connect(*given: Any, **named: Any) -> sqlite3.Connection:
        return connected(*given, **named | {"factory": _Repaired})

    monkeypatch.setattr(log_file.sqlite3, "connect", connect)
    with open_store(path) as store:
        assert [row.number for row in store.rows()] == [1]
    assert _Repaired.looks == 0


def test_two_processes_that_store_the_same_events_store_each_once(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    open_store(path, create=True).close()
    children = [appending(path) for _ in range(2)]
    output = []
    for child in children:
        assert child.stdout is not None
        output += [int(child.stdout.readline()) for _ in range(15)]
    for child in children:
        child.kill()
        output += [int(line) for line in child.communicate(timeout=200)[0].splitlines() if line]
    assert_holds(path, max(output))
