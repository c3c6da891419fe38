"""The entry point without a shoe: what follows an error, and that no part of the firmware keeps an
error for want of memory to itself."""

import ast
import gc
from pathlib import Path
from typing import Any

import pytest

import sabot_firmware
from firmware.tests.fakes import fake_gc
from sabot_protocol import enums

_MEMORY, _ERROR = (enums.RESET_CAUSES.index(cause) for cause in ("memory", "error"))


class Reset(BaseException):
    """The board starts again."""


class Halted(BaseException):
    """The board stops for ever."""


class _Board:
    """Notes what is done to it."""

    def __init__(self, restarts: int, cause: int) -> None:
        self.restarts, self.reset_cause = restarts, cause
        self.lock_released = True
        self.shown = ""
        self.done: list[object] = []

    def watch(self, timeout_ms: int) -> None:
        pass

    def set_lock(self, released: bool) -> None:
        self.lock_released = released

    def show(self, text: str) -> None:
        self.shown = text

    def halt(self, error: BaseException, for_s: int = 0) -> None:
        self.done.append(("halt", for_s))
        if not for_s:
            raise Halted

    def reset(self, cause: int) -> None:
        self.done.append(("reset", cause))
        raise Reset


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module main.py."""
    monkeypatch.setattr(gc, "threshold", lambda size: None, raising=False)
    assert fake_gc
    from sabot_firmware import main

    return main


def _run(
    monkeypatch: pytest.MonkeyPatch, entry: Any, fails_at: str, error: Exception, board: _Board
) -> None:
    class Shoe:
        def __init__(self, *_: object) -> None:
            if fails_at == "start":
                raise error
            board.lock_released = True

        def _record_boot(self) -> None:
            pass

        async def run(self) -> None:
            raise error

    monkeypatch.setattr(entry, "Shoe", Shoe)
    monkeypatch.setattr(entry, "Board", lambda: board)
    with pytest.raises((Reset, Halted)):
        entry.main()
    assert not board.lock_released


@pytest.mark.parametrize("fails_at", ["start", "service"])
@pytest.mark.parametrize("restarts", range(6))
def test_without_memory_it_always_restarts_and_from_the_third_time_on_a_minute_later(
    monkeypatch: pytest.MonkeyPatch, entry: Any, fails_at: str, restarts: int
) -> None:
    board = _Board(restarts, _MEMORY if restarts else 0)
    _run(monkeypatch, entry, fails_at, MemoryError("allocating 1152 bytes"), board)
    waits: list[object] = [("halt", 60)] if restarts >= 2 else []
    assert board.done == [*waits, ("reset", _MEMORY)]
    assert board.shown.startswith("OUT OF MEMORY") == bool(waits)


@pytest.mark.parametrize("restarts", range(4))
def test_after_the_third_other_error_it_stays_out_of_service(
    monkeypatch: pytest.MonkeyPatch, entry: Any, restarts: int
) -> None:
    board = _Board(restarts, _ERROR if restarts else 0)
    _run(monkeypatch, entry, "service", ValueError("broken"), board)
    assert board.done == [("halt", 0) if restarts >= 2 else ("reset", _ERROR)]


_MAY_CATCH = {
    "main.py": "restarts the shoe",
    "heap.py": "the spare piece is missing",
    "link/commands.py": "a game that has no room is dealt after a restart",
    "release/boot.py": "restarts, on another release if this one is on trial",
    "release/update.py": "refuses the update",
    "boards/pico/dma_ring.py": "tries with fewer bytes",
}
"""Modules that may catch an error for want of memory, and what they do then."""


def test_only_these_modules_catch_an_error_for_want_of_memory() -> None:
    root = Path(str(sabot_firmware.__file__)).parent
    found = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler) and _catches_it(node.type):
                found.add(path.relative_to(root).as_posix())
    assert {path for path in found if not path.startswith("boards/sim/")} == set(_MAY_CATCH)


def _catches_it(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    names = {node.id for node in ast.walk(kind) if isinstance(node, ast.Name)}
    return bool(names & {"MemoryError", "Exception", "BaseException"})
