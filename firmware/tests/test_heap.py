"""What is told of the heap."""

from firmware import heap
from firmware.heap import Heap
from firmware.tests.fake_gc import ALLOCATED, FREE, FakeGc


def test_before_the_first_collection_nothing_is_known_and_then_what_it_left() -> None:
    real, heap.gc = heap.gc, FakeGc()
    try:
        told = Heap()
        assert (told.used, told.free) == (0, 0)
        told.collect()
        assert (told.used, told.free) == (ALLOCATED, FREE)
    finally:
        heap.gc = real


def test_used_and_free_make_up_the_heap_as_it_was_at_first() -> None:
    real, heap.gc = heap.gc, FakeGc()
    try:
        told = Heap()
        told.collect()
        heap.gc.mem_free = lambda: FREE - 300
        told.collect()
        assert (told.used, told.free) == (ALLOCATED + 300, FREE - 300)
        assert heap.gc.collected == 2
    finally:
        heap.gc = real
