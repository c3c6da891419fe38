"""Looks at the shoe's outputs 20,000 times a second, without the processor.

As in boards/pico/sampler.py of the shoe a PIO program makes words, and they wait in a ring. A look
here is a byte, the levels of eight neighbouring pins.
"""

import machine
import rp2

from sabot_firmware.boards.pico.dma_ring import WORD_BYTES, DmaRing
from sabot_rig.changes import Changes
from sabot_rig.starter import CYCLE_HZ, Starter

STATE_MACHINE = 1

RING_WORDS = 4096
"""Room for words of 4 looks that wait to be read: 0.82 s. A power of two."""

MARGIN_WORDS = 512
"""Words kept free between reader and writer: 0.1 s, because the words are read in place."""

_PIECE_WORDS = 256


@rp2.asm_pio(
    in_shiftdir=rp2.PIO.SHIFT_RIGHT,  # so the oldest look ends up in the lowest byte
    autopush=True,
    push_thresh=32,
    fifo_join=rp2.PIO.JOIN_RX,
)
def _program() -> None:
    # 50 cycles of a microsecond. With a clock of 20 kHz and no delays, the time of the first look
    # would be uncertain by up to 50 us.
    in_(pins, 8)[31]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    nop()[17]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


class OutputWatcher:
    """Watches eight neighbouring pins from `start` on; `first` is the lowest pin."""

    def __init__(self, first: machine.Pin) -> None:
        if machine.freq() % CYCLE_HZ:
            raise ValueError("no exact microsecond from this clock")
        self.changes = Changes()
        # Twice its size: so there is a ring in it wherever it lies. A bench board has the memory.
        memory = bytearray(2 * RING_WORDS * WORD_BYTES)
        self._ring = DmaRing(RING_WORDS, memory, STATE_MACHINE)
        self._words = self._ring.view()
        self._machine = rp2.StateMachine(STATE_MACHINE, _program, freq=CYCLE_HZ, in_base=first)
        self._starter = Starter(STATE_MACHINE)

    def start(self) -> int:
        """Start to look; return when the first look was, as `time.ticks_us()` counts."""
        self._ring.start(self._machine)
        return self._starter.start()

    def look(self) -> None:
        """Pass the looks since the last call to `changes`."""
        ring = self._ring
        ready = ring.waiting()
        if ready > RING_WORDS - MARGIN_WORDS:
            skipped = ready - RING_WORDS // 2
            ring.take(skipped)
            self.changes.skip(skipped * WORD_BYTES)
            ready = RING_WORDS // 2
        while ready:
            at = ring.place()
            count = min(ready, _PIECE_WORDS, RING_WORDS - at)
            piece = self._words[at * WORD_BYTES : (at + count) * WORD_BYTES]
            self.changes.feed(piece, count * WORD_BYTES)
            ring.take(count)
            ready -= count
