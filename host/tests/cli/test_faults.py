"""Whatever error no one expected ends a command with exit code 15, one line, and the details in a
file; in each thread too, or its part says so and goes on."""

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sabot.cli
from host.tests.support.commands import run_here
from sabot import command, faults
from sabot.cli.faulty_thread import FaultyThread
from sabot.errors import InternalError
from sabot.feeds.delivery import Delivery
from sabot.floor.rounds.index import RoundIndex
from sabot.log.logger import Logger, LogWatcher
from sabot.log.readers import Readers
from sabot.log.store import open_store
from sabot.sim.dealer import Dealer
from sabot.web import server

_WAIT_S = 60.0


@pytest.fixture(autouse=True)
def _nothing_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "_texts", {})


def _details() -> list[str]:
    return [each.read_text() for each in sorted(faults.folder().glob("*"))]


def _wait_until(done: Callable[[], bool]) -> None:
    end_s = time.monotonic() + _WAIT_S
    while not done():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def _with_command(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> None:
    """Have any command do this."""
    monkeypatch.setattr(sabot.cli, "app", lambda: lambda **_: work())


ERRORS: list[BaseException] = [
    ZeroDivisionError("by zero"),
    ValueError("Exceeds the limit (4300 digits) for integer string conversion"),
    MemoryError(),
    RecursionError("maximum recursion depth exceeded"),
    AssertionError(),
    OSError(24, "Too many open files"),
    PermissionError(13, "Permission denied", "/some/file"),
    ConnectionResetError(104, "Connection reset by peer"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    KeyError("\x1b[2J"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda each: type(each).__name__)
def test_an_unexpected_error_is_a_line_and_exit_code_15(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail() -> None:
        raise error

    _with_command(monkeypatch, fail)
    out, problems, code = run_here(tmp_path, "rounds")
    assert (out, code) == ("", InternalError.exit_code)
    (line,) = problems.splitlines()
    assert line.startswith("sabot: a fault of Sabot itself (") and "Traceback" not in line
    assert type(error).__name__ in line and "\x1b" not in line
    (path,) = faults.folder().iterdir()
    assert line.endswith(f"details are in {path}")
    assert "Traceback" in path.read_text() and path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_full_disk_is_still_said_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError(28, "No space left on device")

    _with_command(monkeypatch, fail)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    _, problems, code = run_here(tmp_path, "rounds")
    assert code == 9 and "the output cannot be written" in problems and not _details()


def test_without_a_place_for_details_the_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    _with_command(monkeypatch, lambda: 1 // 0)
    _, problems, code = run_here(tmp_path, "rounds")
    assert code == 15 and "details could not be kept (Not a directory)" in problems


def test_details_are_few_and_short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", f"{tmp_path}/service:{tmp_path}/other")
    for number in range(30):
        faults.text_of(ValueError(f"{number} " + 100_000 * "x"))
    kept = [*(tmp_path / "service" / "faults").iterdir()]
    assert 0 < len(kept) <= 20 and all(each.stat().st_size <= 1 << 16 for each in kept)
    before = set(kept)
    assert faults.text_of(ValueError("again")) == faults.text_of(ValueError("again"))
    assert len({*(tmp_path / "service" / "faults").iterdir()} - before) == 1


def test_a_module_that_cannot_be_imported_is_no_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "sabot.cli", None)
    monkeypatch.setattr(signal, "pthread_sigmask", lambda *_: None)
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as ended:
            command.main()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.code == 15
    assert capsys.readouterr().err.startswith("sabot: cannot start (")


def test_a_thread_that_dies_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ctrl-C does, so that all else of it is ended well."""
    ended_well = []

    def work() -> int:
        try:
            threading.Thread(target=lambda: 1 // 0, name="looks").start()
            threading.Event().wait(_WAIT_S)
        except KeyboardInterrupt:
            ended_well.append(True)
        return 0

    _with_command(monkeypatch, work)
    _, problems, code = run_here(tmp_path, "serve")
    assert code == 15 and ended_well
    assert problems.startswith("sabot: a part of this command has ended: a fault of Sabot itself")
    assert "thread looks" in _details()[0]


def test_a_thread_that_dies_in_the_background_ends_the_command_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There, a shell has it ignore what Ctrl-C sends."""
    said: list[str] = []
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    monkeypatch.setattr(signal, "pthread_kill", lambda *_: None)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with FaultyThread(said.append).watched():
            thread = threading.Thread(target=lambda: 1 // 0)
            thread.start()
            thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert codes == [15] and len(said) == 1


class _NoPort:
    def __init__(self, *_: object) -> None:
        raise ZeroDivisionError("a fault")


def test_the_log_of_a_shoe_that_ends_by_a_fault_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sabot.log.logger.Port", _NoPort)
    lost: list[str] = []
    with open_store(tmp_path / "log", create=True) as store:
        watcher = LogWatcher(lost=lambda port, error: lost.append(str(error)))
        logger = Logger(store, ["one", "two"], watcher)
        logger.start()
        assert logger.wait(_WAIT_S)
        logger.stop()
    assert len(lost) == 2 and all("its log has ended" in each for each in lost)
    assert {each.exit_code for each in logger.failures.values()} == {15}


def test_a_fault_in_what_notes_presence_is_said_once_and_the_log_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sabot.log.logger.EVERY_S", 0.01)
    calls, warned = [], []

    def fail(*_: object) -> None:
        calls.append(1)
        raise ZeroDivisionError("a fault")

    with open_store(tmp_path / "log", create=True) as store:
        logger = Logger(store, ["/no/such", "/nor/this"], LogWatcher(warned=warned.append))
        monkeypatch.setattr(logger._presence, "store", fail)
        monkeypatch.setattr(threading, "excepthook", lambda *_: None)
        logger.start()
        _wait_until(lambda: len(calls) > 5)
        logger.stop()
        assert logger.wait(_WAIT_S)  # it ends, although nothing can be noted
    assert len([each for each in warned if "goes on: a fault of Sabot itself" in each]) == 1


def test_a_fault_in_answering_a_program_leaves_the_others_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    readers = Readers(["one"], report=said.append)
    monkeypatch.setattr(readers, "_reply", lambda *_: 1 // 0)
    ours, theirs = socket.socketpair()
    import selectors

    from sabot.log.readers import _Connection

    with selectors.DefaultSelector() as selector, ours, theirs:
        readers._connections[ours] = connection = _Connection(ours, 0.0)
        selector.register(ours, selectors.EVENT_READ)
        theirs.send(b"question")
        readers._serve_ready(selector, ours, None)  # type: ignore[arg-type]
        assert connection.closed and "gets no answer: a fault of Sabot itself" in said[0]


def test_an_index_that_ends_by_a_fault_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(tmp_path / "log", create=True) as store:
        index = RoundIndex(store)
        monkeypatch.setattr(index, "look", lambda: 1 // 0)
        with index:
            _wait_until(lambda: index.progress.problem != "")
        assert "the index has ended; start the server again: a fault" in index.progress.problem


def test_a_feed_whose_sender_cannot_be_made_by_a_fault_is_stopped_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    outbox: Any = None
    feed: Any = type("Feed", (), {"name": "f"})
    delivery = Delivery(feed, outbox, outbox, lambda: 1 // 0, lambda unit: 0, said.append)  # type: ignore[arg-type,return-value]
    delivery.run()
    assert delivery.state.stopped and "a fault of Sabot itself" in delivery.state.why
    assert "stopped until sabot feed is started again" in said[0]


def test_a_dealer_that_ends_by_a_fault_has_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    dealer = Dealer.__new__(Dealer)
    dealer.failure = None
    monkeypatch.setattr(dealer, "deal", lambda: 1 // 0)
    dealer._deal_guarded()
    assert isinstance(dealer.failure, InternalError)


def test_a_page_that_ends_by_a_fault_is_one_line_for_who_runs_the_server() -> None:
    said: list[str] = []
    handler = server._Log(said.append)
    try:
        1 // 0  # noqa: B018
    except ZeroDivisionError:
        record = logging.LogRecord("x", logging.ERROR, "", 1, "Exception", (), sys.exc_info())
    handler.emit(record)
    (line,) = said
    assert line.startswith("a page could not be answered: a fault of Sabot itself")
