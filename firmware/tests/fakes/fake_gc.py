"""The part of MicroPython's `gc` that CPython lacks; it does nothing on MicroPython."""

from sabot_firmware import heap

ALLOCATED, FREE = 1000, 2000


class FakeGc:
    """A heap whose figures never change."""

    def __init__(self) -> None:
        self.collected = 0

    def collect(self):
        self.collected += 1

    def mem_alloc(self):
        return ALLOCATED

    def mem_free(self):
        return FREE


if not hasattr(heap.gc, "mem_free"):
    heap.gc = FakeGc()  # type: ignore[assignment]
