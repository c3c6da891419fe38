"""The heap as the last collection left it: to ask for it at any time would take as long as to
collect, and the cards must not wait for a host's question."""

import gc

from sabot_firmware.native import const

_MOST_GAPS = const(500)


class Heap:
    """Bytes of MicroPython's heap; 0 before the first collection has been looked at."""

    def __init__(self) -> None:
        self.used = 0
        self.free = 0
        self.due = True
        """Whether to collect when there is time."""
        self._to_fill = self._to_look = False
        self._size = 0

    def tend(self) -> None:
        """Collect if it is due, which takes 24 ms on a Pico; or else look what that has left, which
        takes 10, or fill its gaps: a card may come between them."""
        if self.due:
            self.due = False
            self._to_fill = self._to_look = True
            gc.collect()
        elif self._to_look:
            self._to_look = False
            self.free = gc.mem_free()  # type: ignore[attr-defined]
            if not self._size:
                self._size = self.free + gc.mem_alloc()  # type: ignore[attr-defined]
            self.used = self._size - self.free
        elif self._to_fill:
            self._to_fill = False
            self.fill_gaps()

    def fill_gaps(self) -> None:
        """Make small objects, and forget them, until none is left of the gaps that the last
        collection has made between objects that stay.

        MicroPython looks for room from the first gap on. What is larger than a gap is looked for
        past all that stays, each time: 0.3 ms on a Pico, half of its time in the end.
        """
        large = id((self,) * 16)
        for _ in range(_MOST_GAPS):
            if id((self,)) > large:
                break
