"""The lock of an RP2040, which shuts by itself while the shoe cannot look at its cards.

Python's collection of garbage takes longer than a fast card from its edge to its last mark. So a
timer's interrupt, which comes through it, shuts the lock on a card that nobody looks at.
"""

import time

import machine

from sabot_firmware.native import const

LOOK_MS = const(2)
UNSEEN_MS = const(16)
"""A card at 3 m/s shows its last mark 20 ms after its edge, and the lock has 5 ms from then on; to
go through what has waited meanwhile takes up to 8."""

_CLEAR_MS = (
    3  # a card's last mark is through 0.8 ms and more before its end is past the first sensor
)


class Lock:
    """The lock on its pin, which is high while the lock is released."""

    def __init__(self, pin: machine.Pin) -> None:
        self.held = False
        """Whether it is shut because nobody looks."""
        self._pin = pin
        self._released = False
        self._looking_ms = 0
        self._seen_ms = 0
        self._clear = False  # the first sensor, when the samples were looked at
        self._clear_ms = 0  # since when

    def set(self, released: bool) -> None:
        """Have it so, as soon as somebody looks."""
        self._released = released
        if not (released and self.held):
            self._pin.value(1 if released else 0)

    def watch(self, edge: machine.Pin) -> None:
        """Shut it from now on while nobody looks and a card covers the first sensor, which has
        `edge` high."""
        self._edge = edge
        self._looking_ms = self._seen_ms = time.ticks_ms()
        # The stubs of machine.Timer 1.28 lack `hard` here.
        self._timer = machine.Timer(  # pyright: ignore[reportCallIssue]
            period=LOOK_MS, callback=self._look, hard=True
        )

    def looking(self) -> None:
        """The samples up to now are being looked at: to go through many takes time too."""
        self._looking_ms = time.ticks_ms()
        was_clear, self._clear = self._clear, not self._edge.value()
        if not was_clear:
            self._clear_ms = self._looking_ms

    def done(self) -> None:
        """They were, and what they ask for is done. What was held is as it should be again once all
        marks of that card were among them."""
        self._seen_ms = self._looking_ms
        clear_ms = time.ticks_diff(self._looking_ms, self._clear_ms)
        if self.held and self._clear and clear_ms >= _CLEAR_MS and not self._edge.value():
            self.held = False
            self._pin.value(1 if self._released else 0)

    def _unseen_ms(self) -> int:
        return time.ticks_diff(time.ticks_ms(), self._seen_ms)

    def _look(self, timer: machine.Timer) -> None:
        """In an interrupt, and within a collection: makes no object."""
        if self._released and self._unseen_ms() >= UNSEEN_MS and self._edge.value():
            self.held = True
            self._pin.value(0)
