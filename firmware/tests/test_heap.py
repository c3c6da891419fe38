"""What is told of the heap."""

import gc as real_gc

from firmware.tests.fakes.fake_gc import ALLOCATED, FREE, FakeGc
from sabot_firmware import heap
from sabot_firmware.heap import Heap


def _tend_behind(told: Heap) -> None:
    """What it has left is looked at, and its gaps are filled, each in a turn of its own."""
    for _ in range(2):
        told.tend()


def test_before_the_first_collection_nothing_is_known_and_then_what_it_left() -> None:
    real, heap.gc = heap.gc, FakeGc()
    try:
        told = Heap()
        assert (told.used, told.free) == (0, 0)
        told.tend()
        assert heap.gc.collected == 1 and (told.used, told.free) == (0, 0)
        _tend_behind(told)
        assert (told.used, told.free) == (ALLOCATED, FREE)
    finally:
        heap.gc = real


def test_it_is_collected_when_that_is_due_only() -> None:
    real, heap.gc = heap.gc, FakeGc()
    try:
        told = Heap()
        for _ in range(5):
            told.tend()
        assert heap.gc.collected == 1
        told.due = True
        for _ in range(5):
            told.tend()
        assert heap.gc.collected == 2
    finally:
        heap.gc = real


def test_used_and_free_make_up_the_heap_as_it_was_at_first() -> None:
    real, heap.gc = heap.gc, FakeGc()
    try:
        told = Heap()
        told.tend()
        _tend_behind(told)
        heap.gc.mem_free = lambda: FREE - 300
        told.due = True
        told.tend()
        _tend_behind(told)
        assert (told.used, told.free) == (ALLOCATED + 300, FREE - 300)
    finally:
        heap.gc = real


def test_once_the_gaps_are_filled_room_is_looked_for_behind_them() -> None:
    if not hasattr(real_gc, "threshold"):
        return  # CPython keeps its objects elsewhere
    before = real_gc.threshold()
    real_gc.threshold(-1)  # as main.py runs the shoe
    try:
        stays = [(i,) for i in range(1500)]
        for i in range(0, len(stays), 3):
            stays[i] = None
        real_gc.collect()
        large, small = id((stays,) * 16), id((stays,))
        assert small < large  # whatever is large is looked for past these gaps
        Heap().fill_gaps()
        assert id((stays,)) > large
    finally:
        real_gc.threshold(before)
