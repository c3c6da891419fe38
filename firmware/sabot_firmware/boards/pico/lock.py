"""The lock on an RP2040, which shuts by itself while the shoe cannot look at its cards.

MicroPython's garbage collection takes longer than a fast card from its edge to its last mark. So a
timer's interrupt, which runs also during a collection, shuts the lock if a card comes at that time.
"""

import time

import machine

from sabot_firmware.native import const

LOOK_MS = const(2)
UNSEEN_MS = const(16)
"""The longest time without a look at the samples. A card at 3 m/s shows its last mark 20 ms after
its edge, and the lock has 5 ms after that; to read the samples that have waited takes up to 8 ms.
"""

# The last mark of a card is read 0.8 ms or more before its end has passed the first sensor.
_CLEAR_MS = 3


class Lock:
    """The lock on its pin, which is high while the lock is released."""

    def __init__(self, pin: machine.Pin) -> None:
        self.held = False
        """Whether the interrupt has shut it."""
        self._pin = pin
        self._released = False
        self._looking_ms = 0
        self._seen_ms = 0
        self._clear = False  # the first sensor, at the last look at the samples
        self._clear_ms = 0  # since when

    def set(self, released: bool) -> None:
        """Release or shut the lock; a lock that the interrupt has shut is released later."""
        self._released = released
        if not (released and self.held):
            self._pin.value(1 if released else 0)

    def watch(self, edge: machine.Pin) -> None:
        """Start the interrupt: it shuts the lock if a card covers the first sensor, which makes
        `edge` high, and the samples have not been looked at for UNSEEN_MS."""
        self._edge = edge
        self._looking_ms = self._seen_ms = time.ticks_ms()
        # The stubs of machine.Timer 1.28 lack `hard` here.
        self._timer = machine.Timer(  # pyright: ignore[reportCallIssue]
            period=LOOK_MS, callback=self._look, hard=True
        )

    def read_begins(self) -> None:
        """Note that reading the samples up to now begins; with many of them it takes some time."""
        self._looking_ms = time.ticks_ms()
        was_clear, self._clear = self._clear, not self._edge.value()
        if not was_clear:
            self._clear_ms = self._looking_ms

    def read_done(self) -> None:
        """Note that the samples were read and acted on. Release a lock that the interrupt has shut
        once all marks of that card were among them."""
        self._seen_ms = self._looking_ms
        clear_ms = time.ticks_diff(self._looking_ms, self._clear_ms)
        if self.held and self._clear and clear_ms >= _CLEAR_MS and not self._edge.value():
            self.held = False
            self._pin.value(1 if self._released else 0)

    def _unseen_ms(self) -> int:
        return time.ticks_diff(time.ticks_ms(), self._seen_ms)

    def _look(self, timer: machine.Timer) -> None:
        """Runs in an interrupt, also during a collection, so it must not allocate."""
        if self._released and self._unseen_ms() >= UNSEEN_MS and self._edge.value():
            self.held = True
            self._pin.value(0)
