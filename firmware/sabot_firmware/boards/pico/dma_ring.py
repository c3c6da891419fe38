"""The words of a state machine in a ring in RAM, on an RP2040: put there by DMA, for ever.

Nothing is lost while Python takes its time or an erase of the flash stops it.
"""

from array import array

import rp2
import uctypes

from sabot_firmware.native import const

RUN_WORDS = const(1 << 27)
"""Words of one run of the DMA: 14.9 hours at 2,500 a second. A multiple of every ring's size. Below
2**30 no integer that comes of it is a heap object; below 2**28 the counter of an RP2350 would hold
it too."""

WORD_BYTES = const(4)
_DREQ_PIO0_RX0 = const(4)  # "state machine 0 has a word", RP2040 data sheet, 2.5.3; others follow
_COUNT_TRIGGER = const(7)  # a DMA channel's register: sets the transfer count and starts it


class EndlessRing:
    """A ring of `words`, a power of two, for the words of state machine `number` of PIO 0.

    The DMA wraps within the ring by itself, so it can write nowhere else. After RUN_WORDS it
    starts a second channel, whose one transfer sets the count again and by that starts the next
    run; the ring goes on where it was. Where the writer is comes from the count and not from the
    write address: that also tells how often it went round, so an overrun is seen however long
    nobody read.
    """

    def __init__(self, words: int, number: int) -> None:
        self._words = words
        size = words * WORD_BYTES
        # The DMA wraps at multiples of the ring's size and no allocator can be told to begin
        # there: the other half of this memory is the price.
        self._memory = bytearray(2 * size)
        begin = uctypes.addressof(self._memory)
        self.address = (begin + size - 1) & -size
        """Where the ring begins."""
        self._offset = self.address - begin
        self._count = array("I", [RUN_WORDS])
        self._taken = 0  # words, modulo RUN_WORDS
        self._dreq = _DREQ_PIO0_RX0 + number
        self._dma = rp2.DMA()
        self._again = rp2.DMA()

    # The stubs of rp2.DMA 1.28.0.post4 lack its attributes: hence what pyright is to ignore.

    def start(self, machine: rp2.StateMachine) -> None:
        """Begin to take the words of `machine`."""
        dma, again = self._dma, self._again
        again.config(
            read=self._count,
            write=dma.registers[_COUNT_TRIGGER:],  # pyright: ignore[reportAttributeAccessIssue]
            count=1,
            ctrl=again.pack_ctrl(inc_read=False, inc_write=False),
        )
        ring_bits = 0
        while 1 << ring_bits < self._words * WORD_BYTES:
            ring_bits += 1
        control = dma.pack_ctrl(
            inc_read=False,
            ring_size=ring_bits,
            ring_sel=True,
            treq_sel=self._dreq,
            chain_to=again.channel,  # pyright: ignore[reportAttributeAccessIssue]
        )
        # A state machine is a buffer: for reading, of its FIFO.
        dma.config(
            read=machine,  # pyright: ignore[reportArgumentType]
            write=self.address,
            count=RUN_WORDS,
            ctrl=control,
            trigger=True,
        )

    def waiting(self) -> int:
        """Words that are there and not taken; where some were lost, more than there is room."""
        left = self._dma.count  # pyright: ignore[reportAttributeAccessIssue]
        return (RUN_WORDS - left - self._taken) & (RUN_WORDS - 1)

    def place(self) -> int:
        """Where in the ring the oldest word lies that was not taken."""
        return self._taken % self._words

    def take(self, words: int) -> None:
        """So many are done with."""
        self._taken = (self._taken + words) & (RUN_WORDS - 1)

    def view(self) -> memoryview:
        """The ring itself."""
        return memoryview(self._memory)[self._offset : self._offset + self._words * WORD_BYTES]
