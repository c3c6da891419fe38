"""The watchdog of the simulated board: the process that started it does the reset.

The variable SABOT_WATCHDOG of the environment has the number of a descriptor, and how often that
process has restarted the board because something went wrong. Without it there is no watchdog.
SABOT_LID is `unwatched` if the board has said so of its lid, and not the contrary since. Neither is
an argument of board.py, since boards of earlier releases do not know them.
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
        self.lid_watched = os.getenv("SABOT_LID") != "unwatched"
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
        self._say(b"s")

    def say_watched(self, watched: bool) -> None:
        """Let the parent keep whether the lid is watched."""
        self._say(b"w" if watched else b"u")

    def _say(self, octet: bytes) -> None:
        if self._parent is not None:
            self._parent.write(octet)
