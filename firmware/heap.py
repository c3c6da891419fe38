"""The heap as the last collection left it: to ask for it at any time would take as long as to
collect, and the cards must not wait for a host's question."""

import gc


class Heap:
    """Bytes of MicroPython's heap; 0 before the first `collect`."""

    def __init__(self) -> None:
        self.used = 0
        self.free = 0
        self._size = 0

    def collect(self) -> None:
        """Collect, which takes 24 ms on a Pico, and see what is left, which takes 10."""
        gc.collect()
        self.free = gc.mem_free()  # type: ignore[attr-defined]
        if not self._size:
            self._size = self.free + gc.mem_alloc()  # type: ignore[attr-defined]
        self.used = self._size - self.free
