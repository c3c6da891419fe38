"""MicroPython's heap on an emulated Pico, read from the chip's memory: nothing runs on the chip for
it, so it changes nothing of what it measures.

MicroPython (py/gc.c) divides its heap into blocks of 16 bytes, and keeps two bits for each in a
table: free, the first block of an object, a further one, or marked, while garbage is collected.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sabot_hil.emulation.bare import BarePico

BLOCK_BYTES = 16
_BLOCKS_A_BYTE = 4
SIZES = 1 << 16
_FREE, _TAIL, _MARKED = 0, 2, 3
_RAM, _RAM_END = 0x20000000, 0x20042000
_WORDS = 4  # of the description: table, its bytes, table of finalisers, and begin and end of blocks
_LEAST_TABLE_BYTES = 1000


@dataclass(frozen=True, slots=True)
class Room:
    """What is free in a heap."""

    free: int
    """Bytes."""
    largest: int
    """Bytes of the largest piece."""

    def least(self, other: "Room") -> "Room":
        """The smaller of both values, each for itself."""
        return Room(min(self.free, other.free), min(self.largest, other.largest))


class Heap:
    """The heap of a Pico that MicroPython runs on. Raises ValueError if it is not found."""

    def __init__(self, pico: BarePico) -> None:
        self._pico = pico
        self._table, self._bytes, self.begin = _description(pico)

    def table(self) -> bytes:
        """MicroPython's table, as it is now: two bits a block."""
        return self._pico.ram(self._table, self._bytes)

    def _kinds(self) -> NDArray[np.uint8]:
        table = np.frombuffer(self.table(), np.uint8)
        return np.stack([table >> shift & 3 for shift in (0, 2, 4, 6)], axis=1).reshape(-1)

    def collects(self) -> bool:
        """Whether garbage is being collected now."""
        return bool((self._kinds() == _MARKED).any())

    def room(self) -> Room:
        """What is free now: garbage that is not collected yet counts as used."""
        free = np.concatenate(([0], self._kinds() == _FREE, [0])).astype(np.int8)
        edges = np.flatnonzero(np.diff(free))
        pieces = edges[1::2] - edges[::2]
        largest = int(pieces.max()) if len(pieces) else 0
        return Room(int(pieces.sum()) * BLOCK_BYTES, largest * BLOCK_BYTES)

    def objects(self) -> NDArray[np.int64]:
        """Every object, as its first block times SIZES plus how many blocks it has."""
        kinds = self._kinds()
        begins = np.flatnonzero((kinds != _FREE) & (kinds != _TAIL))
        ends = np.flatnonzero(np.append(kinds, _FREE) != _TAIL)
        after = ends[np.searchsorted(ends, begins, "right")]
        found: NDArray[np.int64] = begins.astype(np.int64) * SIZES + (after - begins)
        return found


def _description(pico: BarePico) -> tuple[int, int, int]:
    """Return the address and the bytes of the table, and the address of the first block."""
    words = np.frombuffer(pico.ram(_RAM, _RAM_END - _RAM), "<u4").astype(np.int64)
    table, size, _, begin, end = (words[at : len(words) - _WORDS + at] for at in range(5))
    fits = (end - begin == size * _BLOCKS_A_BYTE * BLOCK_BYTES) & (size > _LEAST_TABLE_BYTES)
    fits &= (table >= _RAM) & (table + size <= begin) & (end <= _RAM_END)
    found = np.flatnonzero(fits)
    if len(found) != 1:
        raise ValueError(f"MicroPython's heap is not found: {len(found)} places look like it")
    at = int(found[0])
    return int(table[at]), int(size[at]), int(begin[at])


class HeapWatch:
    """Notes what is free after each collection of garbage, as soon as it has ended (within 1 ms).
    It looks at each millisecond in which the Pico has power; a start of MicroPython ends what was
    known of the heap."""

    def __init__(self, pico: BarePico) -> None:
        self._pico = pico
        self._starts = (-1, -1)
        self._heap: Heap | None = None
        self._collecting = False
        self._worst: Room | None = None
        self._table = b""
        self._objects: NDArray[np.int64] | None = None
        self._largest_new = 0
        self.on_room: Callable[[Room], None] | None = None
        """Called with what is free after each collection."""
        self.collections = 0
        """How many have ended."""
        pico.on_look = self._look

    def take_worst(self) -> Room | None:
        """Return the least since the last call; None if no garbage was collected."""
        worst, self._worst = self._worst, None
        return worst

    def take_largest_new(self) -> int:
        """Return the bytes of the largest object that was made since the last call, as far as the
        looks show it: an object may be given back at once."""
        largest, self._largest_new = self._largest_new, 0
        return largest * BLOCK_BYTES

    def _look(self) -> None:
        starts = (self._pico.starts, self._pico.resets)
        if starts != self._starts or self._heap is None:
            self._collecting = False
            try:
                self._heap = Heap(self._pico)
            except ValueError:  # MicroPython has not made it yet
                self._heap = self._objects = None
                return
            self._starts = starts
            self._objects = None
        table = self._heap.table()
        if table == self._table:
            return
        self._table = table
        objects = self._heap.objects()
        if self._objects is not None:
            made = np.setdiff1d(objects, self._objects, assume_unique=True) % SIZES
            self._largest_new = max(self._largest_new, int(made.max(initial=0)))
        self._objects = objects
        collecting = self._heap.collects()
        if self._collecting and not collecting:
            room = self._heap.room()
            self.collections += 1
            self._worst = room if self._worst is None else self._worst.least(room)
            if self.on_room is not None:
                self.on_room(room)
        self._collecting = collecting
