"""A ring in RAM into which the DMA of an RP2040 puts the words of a state machine, without end.

So nothing is lost while Python is busy or an erase of the flash stops it.
"""

import gc
from array import array

import rp2
import uctypes

from sabot_firmware.native import const, micropython, ptr8, ptr32

RUN_WORDS = const(1 << 27)
"""Words of one run of the DMA: 14.9 hours at 2,500 words a second. It is a multiple of every ring's
size. It is below 2**30, so no count is an object on the heap, and below 2**28, which the counter of
an RP2350 can hold too."""

WORD_BYTES = const(4)

MARGIN_WORDS = const(64)
"""Words kept free between reader and writer. At 2,500 words a second that is 25 ms; a copy takes
less than 1 ms."""

_TRIES = const(8)

# "State machine 0 has a word", RP2040 data sheet, 2.5.3; the other state machines follow.
_DREQ_PIO0_RX0 = const(4)
_COUNT_TRIGGER = const(7)  # the register that sets a channel's transfer count and starts it


def ring_memory(words: int) -> bytearray:
    """Return memory for a ring of `words`, a power of two. To be called early, while the heap is
    almost empty.

    The DMA wraps at multiples of the ring's size, and MicroPython allocates at no given address. So
    this takes all that lies before such an address, until the ring's memory begins there, and gives
    it back: its last reference goes with the return. If that does not succeed, because other
    objects lie between, it takes twice the memory, half of which is never used.
    """
    size = words * WORD_BYTES
    before: "list[bytearray | None]" = [None] * _TRIES
    try:
        for i in range(_TRIES):
            memory: "bytearray | None" = bytearray(size)
            ahead = -uctypes.addressof(memory) & size - 1
            if not ahead:
                return memory  # type: ignore[return-value]
            memory = None
            gc.collect()
            before[i] = bytearray(ahead)
    except MemoryError:  # too little is free for so many tries
        memory = None
    before.clear()
    gc.collect()
    return bytearray(2 * size)


class DmaRing:
    """A ring of `words`, a power of two, in `memory` (from `ring_memory`, or twice
    its size), for the words of state
    machine `number` of PIO 0.

    The DMA wraps within the ring by itself, so it can write nowhere else. After RUN_WORDS it starts
    a second channel, whose only transfer sets the count again and so starts the next run; the ring
    continues at the same place. The position of the writer is computed from the count and not from
    the write address: the count also shows how often it went round, so an overrun is noticed
    however long the ring was not read.
    """

    def __init__(self, words: int, memory: bytearray, number: int) -> None:
        self._words = words
        size = words * WORD_BYTES
        self._memory = memory
        begin = uctypes.addressof(memory)
        self.address = (begin + size - 1) & -size
        """Where the ring begins."""
        self._shape = array("i", [words, self.address - begin])  # for viper
        self._count = array("I", [RUN_WORDS])
        self.taken = 0
        """Words taken since the start, modulo RUN_WORDS."""
        self._dreq = _DREQ_PIO0_RX0 + number
        self._dma = rp2.DMA()
        self._again = rp2.DMA()

    # The stubs of rp2.DMA 1.28.0.post4 lack its attributes, so pyright must ignore some lines.

    def start(self, machine: rp2.StateMachine) -> None:
        """Start to take the words of `machine`."""
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
        # A state machine can be read as a buffer: that reads its FIFO.
        dma.config(
            read=machine,  # pyright: ignore[reportArgumentType]
            write=self.address,
            count=RUN_WORDS,
            ctrl=control,
            trigger=True,
        )

    def arrived(self) -> int:
        """Return how many words have arrived since the start, modulo RUN_WORDS. It allocates
        nothing, so an interrupt may call it."""
        left = self._dma.count  # pyright: ignore[reportAttributeAccessIssue]
        return (RUN_WORDS - left) & (RUN_WORDS - 1)

    def waiting(self) -> int:
        """Return how many words are not taken yet; more than the ring holds if some were lost."""
        return (self.arrived() - self.taken) & (RUN_WORDS - 1)

    def place(self) -> int:
        """Return where in the ring the oldest word is that is not taken yet."""
        return self.taken % self._words

    def take(self, words: int) -> None:
        """Mark this many words as taken."""
        self.taken = (self.taken + words) & (RUN_WORDS - 1)

    @micropython.native
    def copy_to(self, buf: bytearray) -> int:
        """Take the oldest words, as many as fit; return how many bytes they are, or -1 if more are
        waiting than the ring holds with MARGIN_WORDS. It allocates nothing."""
        left = self._dma.count  # pyright: ignore[reportAttributeAccessIssue]
        words = _copy(self._memory, self._shape, self.taken, left, buf, len(buf))  # type: ignore[arg-type]
        if words <= 0:
            return words
        self.taken = (self.taken + words) & (RUN_WORDS - 1)
        return words * WORD_BYTES

    def view(self) -> memoryview:
        """Return the memory of the ring."""
        offset = self._shape[1]
        return memoryview(self._memory)[offset : offset + self._words * WORD_BYTES]


@micropython.viper
def _copy(memory: ptr8, shape: ptr32, taken: int, left: int, buf: ptr8, room: int) -> int:
    """Copy the oldest words to `buf`, as many as fit into `room` bytes; `left` are still to come in
    this run. Return how many words they are, or -1 as `copy_to`."""
    in_ring = shape[0]
    words = (RUN_WORDS - left - taken) & (RUN_WORDS - 1)
    if words > in_ring - MARGIN_WORDS:
        return -1
    if words > room >> 2:
        words = room >> 2
    offset = shape[1]
    mask = in_ring * WORD_BYTES - 1
    at = taken * WORD_BYTES
    i = 0
    while i < words * WORD_BYTES:
        buf[i] = memory[offset + (at + i & mask)]
        i += 1
    return words
