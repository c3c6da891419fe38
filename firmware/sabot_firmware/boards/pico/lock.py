"""The lock on an RP2040, which shuts by itself while the shoe cannot read its cards.

MicroPython's garbage collection takes longer than a fast card from its edge to its last mark. So a
timer's interrupt, which runs also during a collection, shuts the lock if a card comes at that time.

The rule for its release: no card may be in the samples that are not judged yet. A lock that the
interrupt has shut is released only when

- all samples are judged that had arrived when the interrupt last saw the first sensor covered, and
  SURE_WORDS more,
- no card is in the head by these samples, and
- the first sensor is clear now.

So the card that shut it has been dealt or has stopped play, and `set` got what follows from that. A
card covers the first sensor for 21 ms or more, so the interrupt sees every one. The rule compares
places in the stream of samples, which the DMA counts; there is no clock in it.
"""

import machine

from sabot_firmware.boards.pico.dma_ring import RUN_WORDS
from sabot_firmware.native import const

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.boards.pico.dma_ring import DmaRing

LOOK_MS = const(2)
UNREAD_WORDS = const(36)
"""The most words of 8 samples that may wait to be judged while a card comes: 14 ms. A card at 3 m/s
shows its last mark 20 ms after its edge, and the lock has 5 ms after that."""

SURE_WORDS = const(2)
"""The word that is not complete yet and one more: the reader is sure of an edge after 3 samples."""


class Lock:
    """The lock on its pin, which is high while the lock is released."""

    def __init__(self, pin: machine.Pin) -> None:
        self.held = False
        """Whether the interrupt has shut it."""
        self._pin = pin
        self._released = False
        # Places in the stream of samples, in words since the start, modulo RUN_WORDS.
        self._judged = 0
        self._covered = 0  # when the interrupt last saw the first sensor covered

    def set(self, released: bool) -> None:
        """Release or shut the lock; a lock that the interrupt has shut is released later."""
        self._released = released
        if not (released and self.held):
            self._pin.value(1 if released else 0)

    def watch(self, edge: machine.Pin, samples: "DmaRing") -> None:
        """Start the interrupt: it shuts the lock if a card covers the first sensor, which makes
        `edge` high, while UNREAD_WORDS or more of `samples` are not judged."""
        self._edge = edge
        self._samples = samples
        # The stubs of machine.Timer 1.28 lack `hard` here.
        self._timer = machine.Timer(  # pyright: ignore[reportCallIssue]
            period=LOOK_MS, callback=self._look, hard=True
        )

    def judged(self, in_pass: bool) -> None:
        """Note that all samples read so far are judged, and whether a card is in the head by them.
        Release a lock that the interrupt has shut if the rule allows it."""
        self._judged = self._samples.taken
        if self.held and not in_pass and not self._edge.value():
            since = (self._judged - self._covered) & (RUN_WORDS - 1)
            if SURE_WORDS <= since < RUN_WORDS // 2:
                self.held = False
                self._pin.value(1 if self._released else 0)

    def obeys(self) -> bool:
        """Whether the pin is low if the lock must be shut."""
        return (self._released and not self.held) or not self._pin.value()

    def _look(self, timer: machine.Timer) -> None:
        """Runs in an interrupt, also during a collection, so it must not allocate."""
        if self._edge.value():
            self._covered = arrived = self._samples.arrived()
            if self._released and (arrived - self._judged) & (RUN_WORDS - 1) >= UNREAD_WORDS:
                self.held = True
                self._pin.value(0)
