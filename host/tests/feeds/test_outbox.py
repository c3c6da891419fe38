"""The outbox on disk: what it has after a kill, a full disk, damage, another program."""

import random
import resource
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from host.tests.feeds.conftest import made
from sabot.errors import DatabaseLocked, DatabaseUnusable, DiskFull
from sabot.feeds.message import Position
from sabot.feeds.outbox import Outbox, Span


def _filled(path: Path, count: int = 10) -> Outbox:
    outbox = Outbox(path)
    outbox.put({"U": Span(0, count, b"m")}, [made("U", n) for n in range(1, count + 1)])
    return outbox


def test_messages_come_back_as_they_were_in_the_order_of_their_unit(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "feeds.sqlite")
    messages = [made("U", 5), made("U", 5, 1), made("U", 7), made("V", 6)]
    outbox.put({"U": Span(4, 7, b"m"), "V": Span(0, 6, b"n")}, reversed(messages))
    outbox.close()
    outbox = Outbox(tmp_path / "feeds.sqlite")
    assert outbox.after("U", Position(0, 0), 9) == messages[:3]
    assert outbox.after("U", Position(5, 0), 9) == messages[1:3]
    assert outbox.after("U", Position(5, 0), 1) == messages[1:2]
    assert outbox.spans() == {"U": Span(4, 7, b"m"), "V": Span(0, 6, b"n")}
    assert outbox.span("W") is None
    outbox.close()


def test_cursors_are_of_their_feed_and_unit_and_last(tmp_path: Path) -> None:
    outbox = _filled(tmp_path / "feeds.sqlite")
    outbox.advance("a", {"U": Position(3, 0), "V": Position(1, 2)})
    outbox.advance("a", {"U": Position(4, 1)})
    outbox.advance("b", {"U": Position(9, 0)})
    outbox.close()
    outbox = Outbox(tmp_path / "feeds.sqlite")
    assert outbox.cursors("a") == {"U": Position(4, 1), "V": Position(1, 2)}
    assert outbox.cursors("b") == {"U": Position(9, 0)} and outbox.cursors("c") == {}
    outbox.close()


def test_what_is_removed_is_no_longer_in_its_span(tmp_path: Path) -> None:
    outbox = _filled(tmp_path / "feeds.sqlite")
    assert outbox.trim({"U": 4, "V": 1}) == 3
    assert outbox.span("U") == Span(3, 10, b"m")
    outbox.put({"U": Span(99, 11, b"x")}, [made("U", 11)])  # a span begins where it began
    assert outbox.span("U") == Span(3, 11, b"x")
    assert outbox.trim({}, most=2) == 6
    assert outbox.span("U") == Span(9, 11, b"x")
    assert [each.position.event for each in outbox.after("U", Position(0, 0), 99)] == [10, 11]
    outbox.close()


def test_a_second_program_cannot_have_it(tmp_path: Path) -> None:
    path = tmp_path / "feeds.sqlite"
    outbox = _filled(path)
    code = f"from sabot.feeds.outbox import *; Outbox(Path({str(path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"{DatabaseLocked.__name__}: {path}: another program has it" in done.stderr
    outbox.close()


@pytest.mark.slow
def test_one_that_was_killed_has_all_or_nothing_of_each_transaction(tmp_path: Path) -> None:
    path = tmp_path / "feeds.sqlite"
    code = f"""
import os
from pathlib import Path
from host.tests.feeds.conftest import made
from sabot.feeds.message import Position
from sabot.feeds.outbox import Outbox, Span
outbox = Outbox(Path({str(path)!r}))
print("begun", flush=True)
for n in range(1, 10**9):
    outbox.put({{"U": Span(0, n, b"m")}}, [made("U", n), made("U", n, 1)])
    outbox.advance("f", {{"U": Position(n, 1)}})
    if n == 300:
        os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    outbox = Outbox(path)
    span, cursor = outbox.span("U"), outbox.cursors("f")["U"]
    assert span is not None and span.up_to == 300 and cursor == Position(300, 1)
    assert len(outbox.after("U", Position(0, 0), 10**6)) == 600
    outbox.close()


def test_a_damaged_one_is_put_aside_and_begun_again(tmp_path: Path, rng: random.Random) -> None:
    path = tmp_path / "feeds.sqlite"
    _filled(path, 500).close()
    for damage in ("header", "page", "text", "empty"):
        if damage == "text":
            path.write_text("not a database, whatever it says\n" * 99)
        elif damage == "empty":
            path.write_bytes(b"")
        else:
            begin = (
                0 if damage == "header" else 4096 * rng.randrange(1, path.stat().st_size // 4096)
            )
            with path.open("r+b") as file:
                file.seek(begin)
                file.write(rng.randbytes(90))
        reported: list[str] = []
        outbox = Outbox(path, reported.append)
        if damage != "empty":
            (line,) = reported
            assert "damaged" in line and "\n" not in line
        assert outbox.spans() == {}
        outbox.close()
        _filled(path, 500).close()
    assert len([*tmp_path.glob("feeds.sqlite.damaged-*")]) >= 1


def test_a_database_of_another_program_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "feeds.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (a)")
    before = path.read_bytes()
    with pytest.raises(DatabaseUnusable, match="another program's"):
        Outbox(path)
    assert path.read_bytes() == before


def test_a_full_disk_is_said_and_loses_nothing_of_before(tmp_path: Path) -> None:
    outbox = _filled(tmp_path / "feeds.sqlite")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (32768, before[1]))
    try:
        with pytest.raises((DiskFull, DatabaseUnusable)):
            outbox.put({"U": Span(0, 999, b"m")}, [made("U", n) for n in range(11, 1000)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)
    assert outbox.span("U") == Span(0, 10, b"m")
    outbox.put({"U": Span(0, 11, b"m")}, [made("U", 11)])
    assert len(outbox.after("U", Position(0, 0), 99)) == 11
    outbox.close()


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnusable):
        Outbox(tmp_path / "nowhere" / "feeds.sqlite")
