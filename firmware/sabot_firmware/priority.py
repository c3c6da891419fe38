"""Whose turn it is: the lock must follow a card's last mark within 5 ms, whatever else is to do.

Four tasks share the processor, and none can be interrupted. So those that may take long stand aside
while a card is near its decision.
"""

import asyncio

from sabot_firmware.cards.reader import NO_CARD
from sabot_firmware.native import const

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_firmware.cards.reader import Reader
    from sabot_firmware.journal.journal import Journal

WRITING_MS = const(1)
"""How often the journal's chip is asked whether it is ready for more."""

_IDLE_MS = const(8)  # a card at 3 m/s shows its last mark 20 ms after its edge
_PASSING_MS = const(2)
_DECISION_MS = const(0)
_ASIDE_MS = const(25)  # to ask more often whether the card is through takes the time it needs
_MANY_MARKS = const(10)
_NEAR_MOST_MS = const(800)  # four marks at 50 mm/s take 280 ms
_FAST_PASS = const(
    10000
)  # samples: all of a card at 180 mm/s; four marks of a slower one take 80 ms


class Turns:
    """Follows what `reader` sees, and whether `journal` has something to write. `ticks_ms` gives
    milliseconds since the start."""

    def __init__(self, reader: "Reader", journal: "Journal", ticks_ms: "Callable[[], int]") -> None:
        self.decision_near = False
        """Whether the last marks pass, or those of a fast card may before a long turn is over. Not
        for long: a card may be held there."""
        self.last_marks = False
        """Whether they do pass: then not even the journal has a turn."""
        self.behind = False
        """Whether so many samples had waited that more have come while they were gone through."""
        self._reader = reader
        self._journal = journal
        self._ticks_ms = ticks_ms
        self._near_since_ms = -1

    def look(self) -> None:
        """Samples have been read: see who may go on."""
        scanner = self._reader.scanner
        self.decision_near = self.last_marks = False
        if not scanner.in_pass or self._reader.known != NO_CARD:
            self._near_since_ms = -1
            return
        many = scanner.marks_gone >= _MANY_MARKS
        if not many and scanner.passing_samples >= _FAST_PASS:
            self._near_since_ms = -1
            return
        now_ms = self._ticks_ms()
        if self._near_since_ms < 0:
            self._near_since_ms = now_ms
        self.decision_near = now_ms - self._near_since_ms < _NEAR_MOST_MS
        self.last_marks = self.decision_near and many

    def within_ms(self) -> int:
        """How soon samples must be looked at."""
        if self.last_marks or (self.behind and self._reader.scanner.in_pass):
            return _DECISION_MS
        if self._reader.scanner.in_pass:
            return _PASSING_MS
        return WRITING_MS if self._journal.unwritten() else _IDLE_MS

    async def cards_first(self) -> None:
        """Stand aside until no card is near its decision."""
        while self.decision_near:
            await asyncio.sleep_ms(_ASIDE_MS)  # type: ignore[attr-defined]
            self.look()
