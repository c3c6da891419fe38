"""Plays patterns to the shoe's sensor inputs: runs of levels, exact to the microsecond.

DMA feeds the runs to a PIO program that holds each for its cycles. So a garbage collection, or
anything else that Python does, cannot shift an edge.
"""

import machine
import rp2
import uctypes

from sabot_protocol.rig import rig
from sabot_rig.starter import CYCLE_HZ, Starter

STATE_MACHINE = 0

_WORD_BYTES = 4
_RING_WORDS = rig.MAX_RUNS
_RING_BYTES = _RING_WORDS * _WORD_BYTES
_RING_BITS = 14  # the ring's size in bytes as a power of two, for the DMA
_DREQ_PIO0_TX0 = 0  # "state machine 0 takes a word", RP2040 data sheet 2.5.3
_OVERHEAD = 3  # cycles of a run in addition to the count in its word

_LOW_FOR_LONG = ((rig.MAX_RUN_US - _OVERHEAD) << 4).to_bytes(_WORD_BYTES, "little")
"""Replaces each run that was played. If the rest of a pattern comes too late, no old card passes
again, and there is time to notice."""


@rp2.asm_pio(
    out_init=(rp2.PIO.OUT_LOW,) * rig.CHANNELS,  # pyright: ignore[reportArgumentType]
    out_shiftdir=rp2.PIO.SHIFT_RIGHT,
    autopull=True,
    pull_thresh=32,
    fifo_join=rp2.PIO.JOIN_TX,  # 8 runs, for times when the bus is busy
)
def _program() -> None:
    out(pins, 4)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    out(x, 28)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    label("hold")  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    jmp(x_dec, "hold")  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


class Player:
    """Four neighbouring outputs, low until the first pattern plays; `first` is the lowest pin."""

    def __init__(self, first: machine.Pin) -> None:
        if machine.freq() % CYCLE_HZ:
            raise ValueError("no exact microsecond from this clock")
        self.length_us = 0
        """Length of everything that was loaded."""
        self.playing = False
        self._first = first
        # The DMA wraps at multiples of the ring's size. So this takes twice the memory it uses.
        self._memory = bytearray(2 * _RING_BYTES)
        address = uctypes.addressof(self._memory)
        self._base = (address + _RING_BYTES - 1) & -_RING_BYTES
        offset = self._base - address
        self._ring = memoryview(self._memory)[offset : offset + _RING_BYTES]
        self._total = self._loaded = self._freed = 0  # runs
        self._machine = rp2.StateMachine(STATE_MACHINE, _program, freq=CYCLE_HZ, out_base=first)
        self._dma = rp2.DMA()
        self._starter = Starter(STATE_MACHINE)

    def prepare(self, runs: int) -> None:
        """Prepare for a pattern of this many runs. The outputs stay as they are."""
        self._machine.active(0)
        self._machine.restart()  # it waits inside `out`, which must not continue when a run comes
        self._total = runs
        self._loaded = self._freed = self.length_us = 0

    def room(self) -> int:
        """Return how many more runs can be loaded now."""
        return min(self._total - self._loaded, _RING_WORDS - (self._loaded - self._freed))

    def load(self, runs: "bytes | bytearray | memoryview") -> bool:
        """Take the next runs. The caller has checked `room`, and that each run lasts MIN_RUN_US to
        MAX_RUN_US. Return False if a run came too late to be played."""
        ring = self._ring
        for at in range(0, len(runs), rig.RUN_BYTES):
            word = runs[at] | runs[at + 1] << 8 | runs[at + 2] << 16 | runs[at + 3] << 24
            self.length_us += word >> 4
            word -= _OVERHEAD << 4
            to = self._loaded % _RING_WORDS * _WORD_BYTES
            for i in range(_WORD_BYTES):
                ring[to + i] = word >> 8 * i & 0xFF
            if self.playing and self._gone() > self._loaded:
                return False  # it cannot be known whether that was before or after these bytes
            self._loaded += 1
        return True

    def ready(self) -> bool:
        """Whether the whole pattern is loaded, or as much as there is room for."""
        return self._loaded > 0 and not self.room()

    def start(self) -> int:
        """Play; return when the first run began, as `time.ticks_us()` counts."""
        dma = self._dma
        control = dma.pack_ctrl(
            inc_write=False, ring_size=_RING_BITS, ring_sel=False, treq_sel=_DREQ_PIO0_TX0
        )
        # A state machine can be written as a buffer: that writes its FIFO.
        dma.config(
            read=self._base,
            write=self._machine,  # pyright: ignore[reportArgumentType]
            count=self._total,
            ctrl=control,
            trigger=True,
        )
        self.playing = True
        return self._starter.start()

    def look(self) -> bool:
        """Free the runs that were played. Return False if a run was due that was not loaded yet."""
        if not self.playing:
            return True
        gone = self._gone()
        if gone > self._loaded:
            return False
        if self._loaded == self._total:
            self._freed = gone
        while self._freed < gone:
            to = self._freed % _RING_WORDS * _WORD_BYTES
            for i in range(_WORD_BYTES):
                self._ring[to + i] = _LOW_FOR_LONG[i]
            self._freed += 1
        return True

    def finish(self) -> None:
        """End the pattern after its last run; the levels stay."""
        self.playing = False
        self._total = self._loaded = self._freed = 0

    def stop(self) -> None:
        """Stop playing; the outputs go low."""
        self._dma.active(0)
        # This empties the FIFO and sets the outputs as at the start.
        self._machine.init(_program, freq=CYCLE_HZ, out_base=self._first)
        self.finish()

    def _gone(self) -> int:
        """Return how many runs the DMA has taken; the FIFO holds the last eight of them."""
        return self._total - self._dma.count  # pyright: ignore[reportAttributeAccessIssue]
