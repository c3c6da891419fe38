"""Gives cards priority over the other tasks: the lock must follow a card's last mark within 5 ms.

Four tasks share the processor, and none can be interrupted. So tasks that may take long wait while
a card is near its decision.
"""

import asyncio

from sabot_firmware.cards.reader import NO_CARD
from sabot_firmware.native import const

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_firmware.cards.reader import Reader

WRITING_MS = const(1)
"""How often the journal's chip is asked whether it is ready for more."""

_IDLE_MS = const(8)  # a card at 3 m/s shows its last mark 20 ms after its edge
_EARLY_MS = const(5)
_PASSING_MS = const(2)
_DECISION_MS = const(0)
_ASIDE_MS = const(25)  # polling more often would take processor time from the card
_FEW_MARKS = const(5)  # so five or more must come before there are many: 5.8 ms at 3 m/s
_MANY_MARKS = const(10)
_ALL_BUT_TWO = const(12)
_NEAR_MOST_MS = const(800)  # four marks at 50 mm/s take 280 ms
# In samples: all of a card at 180 mm/s; four marks of a slower one take 80 ms.
_FAST_PASS = const(10000)


class CardPriority:
    """Decides which task may run, from the state of `reader`. `ticks_ms` returns milliseconds since
    the start."""

    def __init__(self, reader: "Reader", ticks_ms: "Callable[[], int]") -> None:
        self.decision_near = False
        """Whether the last marks pass now, or may pass before a long turn is over (a fast card). It
        is limited in time, because a card may be held in the head."""
        self.last_marks = False
        """Whether the last marks pass now: then nothing else is done."""
        self.may_write = True
        """Whether the journal may be written, which takes up to 5 ms."""
        self.late = False
        """Whether reading the samples took so long that more arrived meanwhile."""
        self._reader = reader
        self._ticks_ms = ticks_ms
        self._near_since_ms = -1

    def update(self) -> None:
        """Decide again which task may run. Call it after samples were read."""
        scanner = self._reader.scanner
        self.decision_near = self.last_marks = False
        self.may_write = True
        if not scanner.in_pass or self._reader.known != NO_CARD:
            self._near_since_ms = -1
            return
        gone = scanner.marks_gone
        if gone < _MANY_MARKS and scanner.passing_samples >= _FAST_PASS:
            self._near_since_ms = -1
            return
        now_ms = self._ticks_ms()
        if self._near_since_ms < 0:
            self._near_since_ms = now_ms
        if now_ms - self._near_since_ms < _NEAR_MOST_MS:
            self.decision_near = True
            self.last_marks = gone >= _MANY_MARKS
            self.may_write = gone < _FEW_MARKS

    def within_ms(self, writing: bool) -> int:
        """Return how soon samples must be read, in milliseconds. `writing` says whether the journal
        is being written, or was just now."""
        scanner = self._reader.scanner
        if scanner.in_pass and self._reader.known == NO_CARD:
            if scanner.marks_gone < _FEW_MARKS:
                return _PASSING_MS if writing or self.late else _EARLY_MS
            return _DECISION_MS if self.last_marks or self.late else _PASSING_MS
        return WRITING_MS if writing else _IDLE_MS

    def pause_ms(self) -> int:
        """Return how long the processor may sleep while the last marks pass: the last one cannot be
        over by then. Marks come 1.17 ms apart or more (3 m/s), and samples are up to 1 ms old."""
        return _ALL_BUT_TWO - self._reader.scanner.marks_gone

    async def cards_first(self) -> None:
        """Wait until no card is near its decision."""
        while self.decision_near:
            await asyncio.sleep_ms(_ASIDE_MS)  # type: ignore[attr-defined]
            self.update()
