"""Logs of older versions are led over to this one and back, whole or not at all."""

import fcntl
import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from host.tests.support import older_logs
from host.tests.support.boards import row
from host.tests.support.chained import FIRST_KEY, ChainedLog
from host.tests.support.commands import error_line_here, run_here
from host.tests.support.stored import sql_in
from sabot.errors import DatabaseLocked, DatabaseUnusable, LogConverted
from sabot.keys import chain_keys
from sabot.log.found import BEFORE_GAMES, numbers_by_unit
from sabot.log.presence import Span
from sabot.log.sqlite import schema
from sabot.log.sqlite.converting import convert
from sabot.log.sqlite.log_file import Writer
from sabot.log.store import open_store
from sabot_protocol import baccarat

EVENTS = ChainedLog().power_on().load_game().deal().deal().stored()
LOGGED = 40
"""So many of them are in the log before it is converted."""
_ROOT = Path(__file__).resolve().parents[3]
_EACH = pytest.mark.parametrize("version", older_logs.VERSIONS)


def older(path: Path, version: int, events: int = LOGGED) -> Path:
    """A log of an older version with the first events of U1."""
    older_logs.make(path, version)
    rows = [(1, each.event.number, 5, each.data, each.mac) for each in EVENTS[:events]]
    document = baccarat.document_of(baccarat.MINI_NAME)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO units VALUES (1, 'U1')")
        connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", rows)
        if version > 2:
            game = hashlib.sha256(document).digest(), document
            connection.execute("INSERT INTO games VALUES (?, ?)", game)
    return path


def content(path: Path) -> list[str]:
    """All that is in a log."""
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def records(path: Path) -> list[tuple[object, ...]]:
    return sql_in(path, "SELECT * FROM records ORDER BY unit, number")


def sound(path: Path) -> None:
    """Check that `verify` has nothing to find fault with."""
    keys = path.with_name("keys")
    if not keys.exists():
        chain_keys.add(keys, "U1", FIRST_KEY)
    game = hashlib.sha256(baccarat.document_of(baccarat.MINI_NAME)).hexdigest()  # none in version 2
    given = "--db", path.name, "--keys", keys.name, "--elsewhere", game
    out, problems, code = run_here(path.parent, "verify", *given)
    assert code == 0, out + problems


def said(path: Path, *more: str) -> str:
    """Run `sabot convert`; return its line."""
    out, problems, code = run_here(path.parent, "convert", "--db", path.name, *more)
    assert (problems, code) == ("", 0)
    (line,) = out.splitlines()
    return line


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "evening.sqlite"


@pytest.mark.slow
@_EACH
def test_a_log_is_led_over_logged_into_and_led_back(path: Path, version: int) -> None:
    older(path, version)
    tables, before, stored = older_logs.tables_of(path), content(path), records(path)
    copy = path.with_name(f"evening.version-{version}.sqlite")
    assert said(path) == (
        f"evening.sqlite: led from version {version} to 6; {copy.name} is the log as it was; "
        f"`sabot convert --db evening.sqlite --to {version}` leads it back"
    )
    assert content(copy) == before and records(path) == stored
    sound(path)
    with open_store(path, create=True) as store:
        store.append("U1", EVENTS)
    sound(path)
    logged = records(path)
    assert logged[:LOGGED] == stored and len(logged) == len(EVENTS)
    assert said(path, "--to", str(version)).startswith(
        f"evening.sqlite: led from version 6 to {version}"
    )
    assert older_logs.tables_of(path) == tables and records(path) == logged
    assert sql_in(path, "SELECT name FROM about ORDER BY name") == [("format",), ("version",)]
    assert records(path.with_name("evening.version-6.sqlite")) == logged
    sound(path)
    assert said(path, "--to", str(version)) == f"evening.sqlite: is of version {version} already"
    assert len(list(path.parent.glob("evening.version*"))) == 2
    assert "evening.version-" + f"{version}-2.sqlite is" in said(path)
    sound(path)


def test_from_when_on_a_log_of_version_2_must_have_games_is_noted_each_time(path: Path) -> None:
    older(path, 2)
    for last, to in ((LOGGED, 3), (LOGGED + 5, 6)):
        convert(path, to)
        with open_store(path) as store:
            assert numbers_by_unit(store.fact(BEFORE_GAMES)) == {"U1": last}
        convert(path, 6)
        with open_store(path, create=True) as store:
            store.append("U1", EVENTS[: LOGGED + 5])
        convert(path, 2)


def _fill(path: Path) -> None:
    """Put one row into every table of a log of this version."""
    with open_store(path) as store:
        store.keep_receipts("U1", [(3, b"third"), (4, b"fourth")])
        store.keep_seam(row()._replace(last=LOGGED))
        store.keep_presence([Span("U1", 5, 6, "attached")])
    for statement in (
        "INSERT INTO desk VALUES (1, x'00', x'00')",
        "INSERT INTO desk_key VALUES (1, x'00')",
        "INSERT INTO users VALUES ('ada', 'floor', 'x', 0, 1)",
        "INSERT INTO sessions VALUES (x'00', 'ada', 1, 1)",
    ):
        sql_in(path, statement)


@pytest.mark.parametrize(
    ("to", "lost"),
    [
        (5, "1 seam"),
        (4, "2 receipts, 1 seam"),
        (3, "1 desk note, 1 desk secret, 1 user, 2 receipts, 1 seam"),
        (2, "1 game document, 1 presence note, 1 desk note, 1 desk secret, 1 user, 2 receipts, "
         "1 seam"),
    ],
)  # fmt: skip
def test_nothing_is_lost_on_the_way_back(path: Path, to: int, lost: str) -> None:
    convert(older(path, 5), 6)
    _fill(path)
    before, files = content(path), sorted(path.parent.iterdir())
    line = error_line_here(path.parent, "convert", "--db", path.name, "--to", str(to), code=8)
    assert line == (
        f"evening.sqlite: cannot be led from version 6 to {to}: {lost} would be lost; take the "
        "copy from before it was converted instead: the shoes send what they still hold"
    )
    assert content(path) == before and sorted(path.parent.iterdir()) == files


def test_sessions_are_no_loss(path: Path) -> None:
    convert(older(path, 5), 6)
    sql_in(path, "INSERT INTO sessions VALUES (x'00', 'ada', 1, 1)")
    convert(path, 3)
    assert not any(name == "sessions" for _, name, *_ in older_logs.tables_of(path))


# While others have the log.


@contextmanager
def logged_by_another(path: Path) -> Iterator[None]:
    """As a log of another version has it, in another process: with a lock on its second file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("SELECT * FROM units").fetchall()
        lock = os.open(path.with_name(path.name + "-wal"), os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield
        finally:
            os.close(lock)


def test_no_program_leads_a_log_over_that_another_one_logs_to(path: Path) -> None:
    before = content(older(path, 5))
    with logged_by_another(path):
        for arguments in (["convert"], ["log", "SHOE-99"], ["convert", "--to", "4"]):
            line = error_line_here(path.parent, *arguments, "--db", path.name, code=8)
            assert line == (
                "evening.sqlite: cannot be led to another version while a program logs to it; "
                "end that first: the shoes keep their events meanwhile"
            )
        assert said(path, "--to", "5").endswith("is of version 5 already")
        with open_store(path) as store, pytest.raises(DatabaseLocked):
            store.convert()
        assert content(path) == before
    assert list(path.parent.glob("*version*")) == []
    said(path)


def test_a_log_is_not_led_back_while_this_sabot_logs_to_it(path: Path) -> None:
    convert(older(path, 5), 6)
    with open_store(path, create=True) as store:
        with pytest.raises(DatabaseLocked, match="end that first"):
            convert(path, 5)
        store.append("U1", EVENTS)
    convert(path, 5)


def test_a_log_that_was_led_back_just_before_it_is_logged_to_is_led_over_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older(path, 5)
    write_ahead = Writer.write_ahead

    def later(writer: Writer) -> None:
        convert(path, 5)
        write_ahead(writer)

    monkeypatch.setattr(Writer, "write_ahead", later)
    with open_store(path, create=True) as store:
        assert store.fact("version") == "6"
        store.append("U1", EVENTS)
        with pytest.raises(DatabaseLocked):  # it still shows that it logs
            convert(path, 5)
        with path.with_name(path.name + "-wal").open("rb") as another:  # so can another program
            fcntl.flock(another, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_what_opens_an_older_log_to_write_to_it_says_how_to_go_back(path: Path) -> None:
    older(path, 4)
    out, problems, code = run_here(path.parent, "log", "SHOE-99", "--db", path.name)
    line, error = problems.splitlines()
    assert line == (
        "evening.sqlite: was a log of version 4, now it is of version 6, which an older sabot "
        "refuses; `sabot convert --db evening.sqlite --to 4` leads it back while it has nothing "
        "that is only in newer ones"
    )
    assert (out, code) == ("", 3) and error.startswith("sabot: SHOE-99")
    _, problems, _ = run_here(path.parent, "log", "SHOE-99", "--db", path.name)
    assert problems.splitlines() == [error]
    convert(path, 4)
    with pytest.warns(LogConverted, match="--to 4"), open_store(path) as store:
        store.convert()


# Whole or not at all.


@pytest.mark.parametrize("to", [6, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), sqlite3.OperationalError("disk is full")])
def test_an_error_on_the_way_leaves_the_log_and_a_whole_copy(
    path: Path, monkeypatch: pytest.MonkeyPatch, to: int, error: BaseException
) -> None:
    before = content(older(path, 3 if to == 6 else 2))
    version = 3
    if to == 2:
        convert(path, version := 4)
        before = content(path)
    lead = schema.lead

    def fails(*given: object) -> None:
        lead(*given)  # type: ignore[arg-type]
        raise error

    monkeypatch.setattr(schema, "lead", fails)
    with pytest.raises((KeyboardInterrupt, DatabaseUnusable)):
        convert(path, to)
    assert content(path) == content(path.with_name(f"evening.version-{version}.sqlite")) == before


_CONVERT = """
import resource, signal, sys
from itertools import count
from pathlib import Path
from sabot.errors import DiskFull
from sabot.log.sqlite.converting import convert
path, most_bytes = Path(sys.argv[1]), int(sys.argv[2])
if most_bytes:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
print("begun", flush=True)
try:
    for number in count():
        convert(path, (6, 5)[number % 2])
except DiskFull as error:
    print(error)
"""


def converting(path: Path, most_bytes: int = 0) -> "subprocess.Popen[str]":
    """Start a process that converts a log again and again."""
    command = [sys.executable, "-c", _CONVERT, str(path), str(most_bytes)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT)


def whole_copies(path: Path, stored: list[tuple[object, ...]]) -> int:
    """Check the copies of a log; return how many there are."""
    copies = list(path.parent.glob("evening.version-*.sqlite"))
    for copy in copies:
        with open_store(copy) as store:
            assert store.faults() == []
        assert records(copy) == stored
        copy.unlink()
    return len(copies)


@pytest.mark.slow
def test_a_killed_process_leaves_the_old_or_the_new_log_and_whole_copies(
    path: Path, rng: random.Random
) -> None:
    stored = records(older(path, 5, len(EVENTS)))
    copies, versions = 0, set()
    for _ in range(12):
        child = converting(path)
        assert child.stdout is not None and child.stdout.readline() == "begun\n"
        time.sleep(rng.random() / 10)
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=200)
        with open_store(path) as store:
            assert store.faults() == []
            versions.add(store.fact("version"))
        assert records(path) == stored
        copies += whole_copies(path, stored)
    assert copies and versions <= {"5", "6"}


@pytest.mark.slow
def test_a_full_disk_leaves_the_log_and_no_copy(path: Path) -> None:
    before = content(older(path, 5, len(EVENTS)))
    stored = records(path)
    printed, _ = converting(path, path.stat().st_size // 2).communicate(timeout=200)
    assert "the disk is full" in printed
    assert content(path) == before and whole_copies(path, stored) == 0
    assert [each.name for each in path.parent.iterdir() if each.name.startswith(".")] == []


def test_a_copy_is_as_private_as_the_log(path: Path) -> None:
    older(path, 5).chmod(0o600)
    copy = convert(path, 6).copy
    assert copy is not None and copy.stat().st_mode & 0o777 == 0o600


# What cannot be led over.


@pytest.mark.parametrize(
    ("version", "why"),
    [("1", "read it with the sabot that wrote it"), ("7", "update sabot, or name another file")],
)
def test_a_log_that_is_too_old_or_newer_is_refused(path: Path, version: str, why: str) -> None:
    sql_in(older(path, 5), "UPDATE about SET value = ? WHERE name = 'version'", version)
    assert why in error_line_here(path.parent, "convert", "--db", path.name, code=8)
    assert list(path.parent.glob("*version*")) == list(path.parent.glob(".sabot*")) == []


@pytest.mark.parametrize("given", [("--to", "1"), ("--to", "7"), ("--db", "postgresql://a@b/c")])
def test_wrong_usage(path: Path, given: tuple[str, str]) -> None:
    *_, problems, code = run_here(path.parent, "convert", *given)
    assert code == 2, problems
