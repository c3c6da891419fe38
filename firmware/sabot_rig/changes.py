"""Turns looks at the senses into changes: which of the shoe's outputs changed, and when."""

from sabot_protocol.rig import rig

LAMP_BITS = 0x1F
LOCK_BIT = 0x20
BUZZER_BIT = 0x40
SUPPLY_BIT = 0x80

LAMPS, LOCK, BEEP, SUPPLY = 0, 1, 2, 3
"""Places in `rig.CHANGE_KINDS`."""

MAX_WAITING = 256
"""The most changes that may wait to be taken; a shoe makes about ten for each card."""

_QUIET_LOOKS = 20
"""A buzzer that is low for this many looks is silent; at 2.7 kHz it is low for four at a time."""

_BLOCK = 64


class Changes:
    """The changes of the senses; `first` is their levels before the first look."""

    def __init__(self, first: int = 0) -> None:
        self.lost = 0
        """Number of losses of changes since the start, because they were not taken in time."""
        self.levels = first
        """The levels at the last look; bit n is the n-th of `rig.SENSES`."""
        self._looks = 0
        self._same = bytes([first]) * _BLOCK
        self._waiting: "list[tuple[int, int, int]]" = []
        self._beep = -1  # the look at which a beep began
        self._fell = -1  # the look at which the buzzer last went low

    def feed(self, looks: memoryview, size: int) -> None:
        """Take the next `size` looks, a byte each."""
        at = 0
        while at < size:
            block = min(_BLOCK, size - at)
            # Nearly always nothing has changed, and one comparison shows that for a whole block.
            if block < _BLOCK or looks[at : at + _BLOCK] != self._same:
                self._block(looks, at, block)
            at += block
            self._looks += block
        if self._beep >= 0 and self._fell >= 0 and self._looks - self._fell >= _QUIET_LOOKS:
            self._end_beep()

    def skip(self, looks: int) -> None:
        """Note that this many looks were lost."""
        self._looks += looks
        self.lost += 1

    def take(self) -> "tuple[int, int, int] | None":
        """Return the oldest change that waits: time in us since the first look, place in
        `rig.CHANGE_KINDS`, value. None if there is none."""
        return self._waiting.pop(0) if self._waiting else None

    def forget(self) -> None:
        """Drop the changes that wait."""
        self._waiting.clear()

    def _block(self, looks: memoryview, at: int, size: int) -> None:
        levels = self.levels
        for i in range(size):
            now = looks[at + i]
            if now != levels:
                self._change(self._looks + i, levels ^ now, now)
                levels = now
        if levels != self.levels:
            self.levels = levels
            self._same = bytes([levels]) * _BLOCK

    def _change(self, look: int, changed: int, now: int) -> None:
        if changed & LAMP_BITS:
            self._add(look, LAMPS, now & LAMP_BITS)
        if changed & LOCK_BIT:
            self._add(look, LOCK, 1 if now & LOCK_BIT else 0)
        if changed & SUPPLY_BIT:
            self._add(look, SUPPLY, 1 if now & SUPPLY_BIT else 0)
        if changed & BUZZER_BIT:
            if not now & BUZZER_BIT:
                self._fell = look
                return
            if self._beep >= 0 and look - self._fell >= _QUIET_LOOKS:
                self._end_beep()
            if self._beep < 0:
                self._beep = look
            self._fell = -1

    def _end_beep(self) -> None:
        self._add(self._beep, BEEP, (self._fell - self._beep) * rig.WATCH_US)
        self._beep = self._fell = -1

    def _add(self, look: int, what: int, value: int) -> None:
        if len(self._waiting) >= MAX_WAITING:
            self.lost += 1
            return
        self._waiting.append((look * rig.WATCH_US, what, value))
