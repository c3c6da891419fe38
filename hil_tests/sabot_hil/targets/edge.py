"""Where a rig's target ends, real or emulated: time, ports, and what goes on beside the test."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sabot.link.client import Line
from sabot.link.ports import Port, resolve


class OpenLine(Line, Protocol):
    """An open port, as `sabot.link.ports.Port`."""

    def close(self) -> None:
        """Give it back."""


class Condition(AbstractContextManager[Any], Protocol):
    """The part of `threading.Condition` that is used here."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for `notify_all`, so many seconds at most."""

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        """Wait until the predicate holds, so many seconds at most; what it says."""

    def notify_all(self) -> None:
        """Wake those who wait."""


class Edge(Protocol):
    """Where this program ends: time, ports, and what goes on beside the test."""

    @property
    def emulated(self) -> bool:
        """As `sabot_hil.capabilities.Clock.emulated`."""

    def now_s(self) -> float:
        """Seconds since any moment."""

    def pass_s(self, seconds: float) -> None:
        """Let so much time pass."""

    def condition(self) -> Condition:
        """A new condition, by that time."""

    def open_bench(self, name: str) -> OpenLine:
        """The line to a bench board. Raises SabotError."""

    def open_shoe(self, unit: str) -> OpenLine:
        """The line to a shoe. Raises SabotError."""

    def port(self, unit: str) -> str:
        """A port of a shoe that any program may open. Raises SabotError, Unable."""

    def beside(self, step: Callable[[], bool]) -> Callable[[], None]:
        """Have `step` called again and again beside the test, until it is false; what waits for
        the end of that."""


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
