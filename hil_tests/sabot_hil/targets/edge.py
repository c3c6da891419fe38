"""The edge of a rig's target, real or emulated: time, ports, and work in parallel with the test."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sabot.link.client import SerialLine
from sabot.link.ports import Port, resolve


class OpenLine(SerialLine, Protocol):
    """An open port, as `sabot.link.ports.Port`."""

    def close(self) -> None:
        """Close the port."""


class Condition(AbstractContextManager[Any], Protocol):
    """The part of `threading.Condition` that is used here."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for `notify_all`, at most `timeout` seconds."""

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        """Wait until the predicate is true, at most `timeout` seconds; returns its last value."""

    def notify_all(self) -> None:
        """Wake all waiting callers."""


class Edge(Protocol):
    """What the target needs from outside: time, ports, and work in parallel with the test."""

    @property
    def emulated(self) -> bool:
        """As `sabot_hil.capabilities.Clock.emulated`."""

    def now_s(self) -> float:
        """Seconds since an arbitrary moment."""

    def pass_s(self, seconds: float) -> None:
        """Let `seconds` pass."""

    def condition(self) -> Condition:
        """Return a new condition that uses this time."""

    def open_bench(self, name: str) -> OpenLine:
        """Open the line to a bench board. Raises SabotError."""

    def open_shoe(self, unit: str) -> OpenLine:
        """Open the line to a shoe. Raises SabotError."""

    def port(self, unit: str) -> str:
        """A port of a shoe that any program may open. Raises SabotError, Unable."""

    def beside(self, step: Callable[[], bool]) -> Callable[[], None]:
        """Call `step` again and again in parallel with the test, until it returns false. Return a
        function that waits for the end of that."""


class RealEdge:
    """This machine's time and ports."""

    emulated = False

    def now_s(self) -> float:
        return time.monotonic()

    def pass_s(self, seconds: float) -> None:
        time.sleep(seconds)

    def condition(self) -> Condition:
        return threading.Condition()

    def open_bench(self, name: str) -> Port:
        return Port(name)

    def open_shoe(self, unit: str) -> Port:
        return Port(unit)

    def port(self, unit: str) -> str:
        return resolve(unit)

    def beside(self, step: Callable[[], bool]) -> Callable[[], None]:
        def run() -> None:
            while step():
                pass

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread.join
