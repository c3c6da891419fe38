"""The free heap after the last collection, and a spare piece of it. Measuring the heap when a host
asks would take as long as a collection, and the cards must not wait for that."""

import gc

from sabot_firmware.native import const

_MOST_GAPS = const(500)
_LARGE = const(64)  # references, 264 bytes on a Pico: nothing larger is made often
_SPARE_BYTES = const(4000)
_LEAST = const(20000)  # to be free besides the spare piece; a round of many hands takes more
_MOST_FRAMES = const(6)  # of the host, each with 1 to 2.5 KB of garbage on a Pico


class Heap:
    """Bytes of MicroPython's heap, used and free; 0 before they are measured the first time."""

    def __init__(self) -> None:
        self.used = 0
        self.free = 0
        self.due = True
        """Whether to collect when there is time."""
        self._to_fill = self._to_look = False
        self._size = self._frames = 0
        self._spare: "bytearray | None" = None
        self._room = 0  # what would be free without the spare piece; 0 before it is measured

    def take_spare(self) -> bool:
        """Hold a piece for work that needs memory in one piece, such as an open file (1,152 bytes
        on a Pico): what stays of other work leaves only small pieces between. If little is free,
        it is left to all. Return False if no piece is large enough."""
        if self._spare is None and not 0 < self._room < _LEAST + _SPARE_BYTES:
            try:
                self._spare = bytearray(_SPARE_BYTES)
            except MemoryError:
                return False
        return True

    def give_spare(self) -> None:
        """Let the work that follows have the piece: MicroPython collects garbage when it needs
        it."""
        self._spare = None

    def frame_taken(self) -> None:
        """Note that a frame of the host has made garbage. A collection is due after some frames:
        otherwise MicroPython collects when it must, perhaps in the middle of a pass."""
        self._frames += 1
        if self._frames >= _MOST_FRAMES:
            self.due = True

    def maintain(self) -> None:
        """Do the next step: collect if that is due, which takes 33 ms on a Pico, then measure the
        heap, which takes 6 ms, then fill the gaps, some at a time. A card may come between the
        steps."""
        if self.due:
            self.due = False
            self._frames = 0
            self._to_fill = self._to_look = True
            gc.collect()
        elif self._to_look:
            self._look()
        elif self._to_fill:
            self._to_fill = not self.fill_gaps()

    def measure(self) -> None:
        """Collect and measure at once: 39 ms on a Pico. Between the steps of `maintain` much can be
        allocated, in a shoe that deals or has just dealt."""
        gc.collect()
        self._look()

    def _look(self) -> None:
        self._to_look = False
        self.free = gc.mem_free()  # type: ignore[attr-defined]
        if not self._size:
            self._size = self.free + gc.mem_alloc()  # type: ignore[attr-defined]
        self.used = self._size - self.free
        self._room = self.free
        if self._spare is not None:
            self._room += _SPARE_BYTES
            if self.free < _LEAST:
                self._spare = None

    def fill_gaps(self) -> bool:
        """Make small objects and drop them, until no gap is left between the objects that stay that
        is too small for what is made while a card passes. Return whether none is left.

        MicroPython searches for memory from the first gap on. For anything larger than the gap it
        searches past all objects that stay, each time: 0.3 ms on a Pico, which adds up to half of
        the processor's time.
        """
        large = id((self,) * _LARGE)
        for _ in range(_MOST_GAPS):
            if id((self,)) > large:
                return True
        return False
