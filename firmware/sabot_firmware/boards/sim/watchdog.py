"""The watchdog of the simulated board: the process that started it does the reset.

The variable SABOT_WATCHDOG of the environment has the number of a descriptor, and how often that
process has restarted the board because something went wrong. Without it there is no watchdog. It is
no argument of board.py, since boards of earlier releases do not know it.
"""

import os

if 1 - 1:  # for type checkers: interfaces.pyi
    from typing import BinaryIO


class Watchdog:
    """Reports each feeding to the parent process by a byte, the first when it is started."""

    def __init__(self) -> None:
        given = os.getenv("SABOT_WATCHDOG") or ""
        descriptor, restarts = given.split() if given else ("", "0")
        self.restarts = int(restarts)
        self.runs = False
        """Whether it was started, and can be."""
        self._parent: "BinaryIO | None" = open(int(descriptor), "wb", 0) if descriptor else None

    def start(self, timeout_ms: int) -> None:
        """Start it. The time is the parent's."""
        self.runs = self._parent is not None
        self.feed()

    def feed(self) -> None:
        """Feed it, if it was started."""
        if self.runs and self._parent is not None:
            self._parent.write(b"f")

    def settle(self) -> None:
        """Let the parent forget earlier restarts."""
        if self._parent is not None:
            self._parent.write(b"s")
