"""Looks at the shoe's outputs 20,000 times a second, without the processor.

As in firmware/boards/sampler.py a PIO program makes words and DMA puts them into a ring: nothing
is lost while Python takes its time. Here a look is a byte, of eight neighbouring pins.
"""

from array import array

import machine
import rp2
import uctypes

from firmware.bench.changes import Changes
from firmware.bench.starter import CYCLE_HZ, Starter

STATE_MACHINE = 1

RING_WORDS = 4096
"""Words of 4 looks that wait to be read: 0.82 s of them. A power of two."""

MARGIN_WORDS = 512
"""Words kept free between what is read and what is written: 0.1 s, for they are read in place."""

RUN_WORDS = 1 << 27
"""Words of one run of the DMA, 7.4 hours; then it starts itself again. See sampler.py."""

_WORD_BYTES = 4
_RING_BYTES = RING_WORDS * _WORD_BYTES
_RING_BITS = 14
_PIECE_WORDS = 256
_DREQ_PIO0_RX1 = 5  # "state machine 1 has a word", RP2040 data sheet 2.5.3
_COUNT_TRIGGER = 7  # a DMA channel's register: sets the transfer count and starts the channel


@rp2.asm_pio(
    in_shiftdir=rp2.PIO.SHIFT_RIGHT,  # so the oldest look ends up in the lowest byte
    autopush=True,
    push_thresh=32,
    fifo_join=rp2.PIO.JOIN_RX,
)
def _program():
    # 50 cycles of a microsecond. At 20 kHz without the delays nobody could say which part of the
    # first 50 us its clock begins with.
    in_(pins, 8)[31]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    nop()[17]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


class Watcher:
    """Watches eight neighbouring pins, `first` the lowest, for ever from `start` on."""

    def __init__(self, first: machine.Pin) -> None:
        if machine.freq() % CYCLE_HZ:
            raise ValueError("no exact microsecond from this clock")
        self.changes = Changes()
        self._memory = bytearray(2 * _RING_BYTES)
        address = uctypes.addressof(self._memory)
        self._base = (address + _RING_BYTES - 1) & -_RING_BYTES
        offset = self._base - address
        self._ring = memoryview(self._memory)[offset : offset + _RING_BYTES]
        self._count = array("I", [RUN_WORDS])
        self._taken = 0  # words read, modulo RUN_WORDS
        self._machine = rp2.StateMachine(STATE_MACHINE, _program, freq=CYCLE_HZ, in_base=first)
        self._dma = rp2.DMA()
        self._again = rp2.DMA()
        self._starter = Starter(STATE_MACHINE)

    def start(self) -> int:
        """Begin to look; when the first look was, as `time.ticks_us()` counts."""
        dma, again = self._dma, self._again
        again.config(
            read=self._count,
            write=dma.registers[_COUNT_TRIGGER:],  # pyright: ignore[reportAttributeAccessIssue]
            count=1,
            ctrl=again.pack_ctrl(inc_read=False, inc_write=False),
        )
        control = dma.pack_ctrl(
            inc_read=False,
            ring_size=_RING_BITS,
            ring_sel=True,
            treq_sel=_DREQ_PIO0_RX1,
            chain_to=again.channel,  # pyright: ignore[reportAttributeAccessIssue]
        )
        dma.config(
            read=self._machine,  # pyright: ignore[reportArgumentType]
            write=self._base,
            count=RUN_WORDS,
            ctrl=control,
            trigger=True,
        )
        return self._starter.start()

    def look(self) -> None:
        """Give `changes` what has been seen since."""
        ready = self._waiting()
        if ready > RING_WORDS - MARGIN_WORDS:
            skipped = ready - RING_WORDS // 2
            self._taken = (self._taken + skipped) & (RUN_WORDS - 1)
            self.changes.skip(skipped * _WORD_BYTES)
            ready = RING_WORDS // 2
        while ready:
            at = self._taken % RING_WORDS
            count = min(ready, _PIECE_WORDS, RING_WORDS - at)
            piece = self._ring[at * _WORD_BYTES : (at + count) * _WORD_BYTES]
            self.changes.feed(piece, count * _WORD_BYTES)
            self._taken = (self._taken + count) & (RUN_WORDS - 1)
            ready -= count

    def _waiting(self) -> int:
        left = self._dma.count  # pyright: ignore[reportAttributeAccessIssue]
        return (RUN_WORDS - left - self._taken) & (RUN_WORDS - 1)
