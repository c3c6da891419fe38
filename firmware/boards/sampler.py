"""The sensor head's samples on an RP2040, taken without the processor.

A PIO program of one instruction makes the words of a recording (the oldest of eight samples in
the lowest nibble) and DMA puts them into a ring in RAM: nothing is lost while Python takes its
time or an erase of the flash stops it.
"""

from array import array

import machine
import rp2
import uctypes

from firmware.reader import SAMPLE_RATE_HZ

RING_WORDS = 2048
"""Words of 8 samples that wait to be read: 0.82 s of them. A power of two."""

MARGIN_WORDS = 64
"""Words kept free between what is read and what is written: 25 ms, where a copy takes 10 us."""

RUN_WORDS = 1 << 27
"""Words of one run of the DMA: 14.9 hours. A multiple of RING_WORDS. Below 2**30 no integer
that comes of it is a heap object; below 2**28 the counter of an RP2350 would hold it too."""

_WORD_BYTES = 4
_RING_BYTES = RING_WORDS * _WORD_BYTES
_RING_BITS = 13  # the DMA wants the ring's size as a power of two
_DREQ_PIO0_RX0 = 4  # "state machine 0 has a word", RP2040 data sheet 2.5.3
_COUNT_TRIGGER = 7  # a DMA channel's register: sets the transfer count and starts the channel


@rp2.asm_pio(
    in_shiftdir=rp2.PIO.SHIFT_RIGHT,  # so the oldest sample ends up in the lowest nibble
    autopush=True,
    push_thresh=32,
    fifo_join=rp2.PIO.JOIN_RX,  # 8 words, 3.2 ms, should the bus be taken
)
def _program():
    # One cycle, at the sample rate; a push costs none. So the rate is exact.
    in_(pins, 4)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


class Sampler:
    """Samples of four neighbouring pins, `first` the lowest, for ever from `start` on.

    The DMA wraps within the ring by itself, so it can write nowhere else. After RUN_WORDS it
    starts a second channel, whose one transfer sets the count again and by that starts the next
    run; the ring goes on where it was. Where the writer is comes from the count and not from the
    write address: that also tells how often it went round, so an overrun is seen however long
    nobody read.
    """

    def __init__(self, first: machine.Pin) -> None:
        self.overruns = 0
        """How often samples were lost because nobody read them in time."""
        if machine.freq() % SAMPLE_RATE_HZ:
            raise ValueError("no exact sample rate from this clock")
        # The DMA wraps at multiples of the ring's size and no allocator can be told to begin
        # there: the other half of this memory is the price.
        self._memory = bytearray(2 * _RING_BYTES)
        self._base = (uctypes.addressof(self._memory) + _RING_BYTES - 1) & -_RING_BYTES
        self._count = array("I", [RUN_WORDS])
        self._taken = 0  # words read, modulo RUN_WORDS
        self._machine = rp2.StateMachine(0, _program, freq=SAMPLE_RATE_HZ, in_base=first)
        self._dma = rp2.DMA()
        self._again = rp2.DMA()
        self._copy = rp2.DMA()

    # The stubs of rp2.DMA 1.28.0.post4 lack its attributes: hence what pyright is to ignore.

    def start(self) -> None:
        """Begin to sample."""
        dma, again, copy = self._dma, self._again, self._copy
        copy.config(ctrl=copy.pack_ctrl(size=0, ring_size=_RING_BITS, ring_sel=False))
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
            treq_sel=_DREQ_PIO0_RX0,
            chain_to=again.channel,  # pyright: ignore[reportAttributeAccessIssue]
        )
        # A state machine is a buffer: for reading, of its FIFO.
        dma.config(
            read=self._machine,  # pyright: ignore[reportArgumentType]
            write=self._base,
            count=RUN_WORDS,
            ctrl=control,
            trigger=True,
        )
        self._machine.active(1)

    def waiting(self) -> int:
        """Words sampled and not yet read."""
        left = self._dma.count  # pyright: ignore[reportAttributeAccessIssue]
        return (RUN_WORDS - left - self._taken) & (RUN_WORDS - 1)

    def read(self, buf: bytearray) -> int:
        """Copy whole words, oldest first, to the beginning of `buf`; returns how many bytes.

        After an overrun it goes on with the newer half of the ring. Allocates nothing: a third
        DMA channel copies, because a slice of the ring would be a new object each time.
        """
        ready = self.waiting()
        if ready > RING_WORDS - MARGIN_WORDS:
            self.overruns += 1
            self._taken = (self._taken + ready - RING_WORDS // 2) & (RUN_WORDS - 1)
            ready = RING_WORDS // 2
        count = min(ready, len(buf) // _WORD_BYTES)
        if not count:
            return 0
        size = count * _WORD_BYTES
        at = self._taken % RING_WORDS * _WORD_BYTES
        self._copy.config(read=self._base + at, write=buf, count=size, trigger=True)
        while self._copy.active():
            pass
        self._taken = (self._taken + count) & (RUN_WORDS - 1)
        return size
