"""Feeds the board's watchdog as long as the work of the shoe goes on.

`_deal` calls `look` once in a while, and only after it has judged samples. Each of the other tasks
says in `turns` that it has come to a turn, or that it waits for something from outside. If a task
has done neither for too long, or the journal does not write what waits, `look` raises Stopped, and
main.py restarts the shoe. If `_deal` itself stops, nothing feeds the watchdog, which then does it.
"""

from sabot_firmware.native import const

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board
    from sabot_firmware.journal.journal import Journal

START_MS = const(8000)
"""The watchdog's time while a shoe starts, and in the updater: about the longest that an RP2040
allows."""

SERVICE_MS = const(2500)
"""Its time in service. The longest turn, with erases of a Pico's own flash that take 400 ms, must
be shorter."""

MOST_RESTARTS = const(3)
"""After this many restarts one soon after the other the shoe stays out of service."""

LISTEN, TALK, TICK = const(0), const(1), const(2)
"""The tasks besides `_deal`: places in `turns`."""

HAD_TURN, WAITS = const(1), const(2)

_JOURNAL = const(3)
_NAMES = "listen talk tick journal"
_STOPPED_MS = const(2500)
# One look counts for at most this much: a processor that stood still has let no task run.
_MOST_MS = const(500)
_SETTLED_MS = const(60000)


class Stopped(Exception):
    """A part of the shoe's work has stopped, although the rest goes on."""


class Watching:
    """Watches the tasks of a shoe, its `journal`, and the lock of its `board`."""

    def __init__(self, board: "Board", journal: "Journal") -> None:
        self.turns = bytearray((HAD_TURN, HAD_TURN, HAD_TURN))
        """What each task has done since the last look: HAD_TURN, WAITS for something from outside
        until it says otherwise, or 0."""
        self._board = board
        self._journal = journal
        self._steps = 0  # of the journal, at the last look
        self._idle_ms = [0, 0, 0, 0]  # for how long nothing was seen of tasks and journal
        self._looked_ms = board.ticks_ms()

    def look(self) -> None:
        """Feed the watchdog if all work goes on. Raises Stopped if a part has stopped."""
        board, journal, turns, idle_ms = self._board, self._journal, self.turns, self._idle_ms
        now_ms = board.ticks_ms()
        since_ms = min(now_ms - self._looked_ms, _MOST_MS)
        self._looked_ms = now_ms
        for i in range(len(idle_ms)):
            idle_ms[i] += since_ms
        for task in range(len(turns)):
            if turns[task]:
                idle_ms[task] = 0
                if turns[task] == HAD_TURN:
                    turns[task] = 0
        if not journal.unwritten() or journal.steps != self._steps:
            self._steps = journal.steps
            idle_ms[_JOURNAL] = 0
        for i in range(len(idle_ms)):
            if idle_ms[i] >= _STOPPED_MS:
                raise Stopped("stopped: " + _NAMES.split()[i])
        if not board.lock_obeys():
            raise Stopped("stopped: lock is open")
        watchdog = board.watchdog
        watchdog.feed()
        if watchdog.restarts and now_ms > _SETTLED_MS:
            watchdog.settle()
