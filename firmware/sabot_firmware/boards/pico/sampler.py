"""The sensor head's samples on an RP2040, taken without the processor.

A PIO program of one instruction makes words of eight samples, the oldest in the lowest nibble, as
in a recording. They wait in a ring (dma_ring.py).
"""

import time

import machine
import rp2

from sabot_firmware.boards.pico.dma_ring import DmaRing, ring_memory
from sabot_firmware.cards.reader import SAMPLE_RATE_HZ
from sabot_firmware.native import const

RING_WORDS = const(2048)
"""Room for words of 8 samples that wait to be read: 0.82 s. A power of two."""

_A_FEW_WORDS_MS = const(2)
_STATE_MACHINE = const(0)

_memory = ring_memory(RING_WORDS)  # when this is loaded, before the heap is full


@rp2.asm_pio(
    in_shiftdir=rp2.PIO.SHIFT_RIGHT,  # so the oldest sample ends up in the lowest nibble
    autopush=True,
    push_thresh=32,
    fifo_join=rp2.PIO.JOIN_RX,  # 8 words, 3.2 ms, for times when the bus is busy
)
def _program() -> None:
    # One cycle per sample; a push takes no cycle. So the rate is exact.
    in_(pins, 4)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


class Sampler:
    """Samples of four neighbouring pins from `start` on; `first` is the lowest pin."""

    def __init__(self, first: machine.Pin) -> None:
        if machine.freq() % SAMPLE_RATE_HZ:
            raise ValueError("no exact sample rate from this clock")
        self.ring = DmaRing(RING_WORDS, _memory, _STATE_MACHINE)
        """The words that wait to be read."""
        self._machine = rp2.StateMachine(
            _STATE_MACHINE, _program, freq=SAMPLE_RATE_HZ, in_base=first
        )

    def start(self) -> None:
        """Start to sample."""
        self.ring.start(self._machine)
        self._machine.active(1)

    def comes(self) -> bool:
        """Whether samples arrive. Takes 2 ms."""
        before = self.ring.waiting()
        time.sleep_ms(_A_FEW_WORDS_MS)
        return self.ring.waiting() != before

    def read_after_overrun(self, buf: bytearray) -> int:
        """Do the same as `ring.copy_to`, with the newer half of the ring."""
        ring = self.ring
        ring.take(ring.waiting() - RING_WORDS // 2)
        return ring.copy_to(buf)
