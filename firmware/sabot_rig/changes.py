"""Looks at the senses in, changes out: what of the shoe's outputs changed, and when."""

from sabot_protocol.rig import rig

LAMP_BITS = 0x1F
LOCK_BIT = 0x20
BUZZER_BIT = 0x40
SUPPLY_BIT = 0x80

LAMPS, LOCK, BEEP, SUPPLY = 0, 1, 2, 3
"""Places in `rig.WHATS`."""

MAX_WAITING = 256
"""Changes that may wait to be taken: a shoe makes some ten a card."""

_QUIET_LOOKS = 20
"""A buzzer at 2.7 kHz is low for four looks at a time; one that is low for longer is silent."""

_BLOCK = 64


class Changes:
    """`first` are the levels before the first look."""

    def __init__(self, first: int = 0) -> None:
        self.lost = 0
        """Changes that nobody took in time, since the start."""
        self.levels = first
        """As last looked at: bit n is the n-th of `rig.SENSES`."""
        self._looks = 0
        self._same = bytes([first]) * _BLOCK
        self._waiting: "list[tuple[int, int, int]]" = []
        self._beep = -1  # look at which one began
        self._fell = -1  # and at which the buzzer went low last

    def feed(self, looks: memoryview, size: int) -> None:
        """The next `size` looks, a byte each."""
        at = 0
        while at < size:
            block = min(_BLOCK, size - at)
            # Nearly always nothing has changed: one comparison tells for a whole block.
            if block < _BLOCK or looks[at : at + _BLOCK] != self._same:
                self._block(looks, at, block)
            at += block
            self._looks += block
        if self._beep >= 0 and self._fell >= 0 and self._looks - self._fell >= _QUIET_LOOKS:
            self._end_beep()

    def skip(self, looks: int) -> None:
        """So many looks were lost."""
        self._looks += looks
        self.lost += 1

    def take(self) -> "tuple[int, int, int] | None":
        """The oldest change that waits: time in us from the first look, place in `rig.WHATS`,
        value. None where there is none."""
        return self._waiting.pop(0) if self._waiting else None

    def forget(self) -> None:
        """Nobody wants the changes until now."""
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
