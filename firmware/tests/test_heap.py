"""The figures of the heap, its collections and the filling of its gaps."""

import gc as real_gc

from firmware.tests.fakes.fake_gc import ALLOCATED, FREE, FakeGc
from sabot_firmware import heap
from sabot_firmware.heap import Heap


def _tend_after_collection(figures: Heap) -> None:
    """Measure what the collection left and fill the gaps, each in a separate turn."""
    for _ in range(2):
        figures.maintain()


def test_figures_are_zero_before_the_first_collection_and_then_those_after_it() -> None:
    real, heap.gc = heap.gc, FakeGc()
    try:
        figures = Heap()
        assert (figures.used, figures.free) == (0, 0)
        figures.maintain()
        assert heap.gc.collected == 1 and (figures.used, figures.free) == (0, 0)
        _tend_after_collection(figures)
        assert (figures.used, figures.free) == (ALLOCATED, FREE)
    finally:
        heap.gc = real


def test_it_collects_only_when_a_collection_is_due() -> None:
    real, heap.gc = heap.gc, FakeGc()
    try:
        figures = Heap()
        for _ in range(5):
            figures.maintain()
        assert heap.gc.collected == 1
        figures.due = True
        for _ in range(5):
            figures.maintain()
        assert heap.gc.collected == 2
    finally:
        heap.gc = real


def test_a_host_that_asks_without_a_pause_makes_a_collection_due_before_the_heap_is_full() -> None:
    real, heap.gc = heap.gc, FakeGc()
    try:
        figures = Heap()
        figures.maintain()
        _tend_after_collection(figures)
        for collections in range(1, 4):
            garbage_bytes = 0
            while not figures.due:
                figures.frame_taken()
                garbage_bytes += 2500  # of one frame, at most
            assert garbage_bytes < 20_000, "the least that is free"
            for _ in range(3):
                figures.maintain()
            assert heap.gc.collected == 1 + collections
    finally:
        heap.gc = real


def test_used_and_free_add_up_to_the_first_size_of_the_heap() -> None:
    real, heap.gc = heap.gc, FakeGc()
    try:
        figures = Heap()
        figures.maintain()
        _tend_after_collection(figures)
        heap.gc.mem_free = lambda: FREE - 300
        figures.due = True
        figures.maintain()
        _tend_after_collection(figures)
        assert (figures.used, figures.free) == (ALLOCATED + 300, FREE - 300)
    finally:
        heap.gc = real


def test_measuring_collects_first_and_leaves_nothing_to_measure_later() -> None:
    real, heap.gc = heap.gc, FakeGc()
    try:
        figures = Heap()
        figures.maintain()  # collects; the figures would follow in the next turn
        heap.gc.mem_free = lambda: FREE if heap.gc.collected == 2 else 0
        figures.measure()
        assert heap.gc.collected == 2 and (figures.used, figures.free) == (ALLOCATED, FREE)
        heap.gc.mem_free = lambda: 0  # what was allocated since then
        figures.maintain()
        assert figures.free == FREE
    finally:
        heap.gc = real


def test_gaps_for_what_is_made_while_a_card_passes_are_filled_too_some_at_a_time() -> None:
    if not hasattr(real_gc, "threshold"):
        return  # CPython allocates otherwise
    before = real_gc.threshold()
    real_gc.threshold(-1)
    try:
        stays = [(i,) * 20 for i in range(300)]
        for i in range(0, len(stays), 3):
            stays[i] = None
        real_gc.collect()
        large, small = id((stays,) * 64), id((stays,) * 16)
        assert small < large
        heap, calls = Heap(), 1
        while not heap.fill_gaps():
            calls += 1
        assert calls > 1
        assert id((stays,) * 16) > large
    finally:
        real_gc.threshold(before)


def test_once_the_gaps_are_filled_new_objects_come_after_them() -> None:
    if not hasattr(real_gc, "threshold"):
        return  # CPython allocates otherwise
    before = real_gc.threshold()
    real_gc.threshold(-1)  # as main.py runs the shoe
    try:
        stays = [(i,) for i in range(1500)]
        for i in range(0, len(stays), 3):
            stays[i] = None
        real_gc.collect()
        large, small = id((stays,) * 16), id((stays,))
        assert small < large  # a large object does not fit these gaps
        Heap().fill_gaps()
        assert id((stays,)) > large
    finally:
        real_gc.threshold(before)


def test_the_spare_piece_is_held_given_and_had_again() -> None:
    figures = Heap()
    assert figures.take_spare() and figures._spare is not None
    held = figures._spare
    assert figures.take_spare() and figures._spare is held, "one is enough"
    figures.give_spare()
    assert figures._spare is None
    assert figures.take_spare() and len(figures._spare) == len(held) >= 3 * 1152


def test_the_spare_piece_is_left_to_all_while_little_is_free() -> None:
    class Small(FakeGc):
        free = 19000

        def mem_free(self):
            return self.free

    real, heap.gc = heap.gc, Small()
    try:
        figures = Heap()
        figures.take_spare()
        figures.measure()
        assert figures._spare is None, "19,000 bytes besides it"
        heap.gc.free = 23000
        figures.measure()
        assert figures.take_spare() and figures._spare is None, "it would leave 19,000"
        heap.gc.free = 25000
        figures.measure()
        assert figures.take_spare() and figures._spare is not None
        heap.gc.free = 21000
        figures.measure()
        assert figures._spare is not None
    finally:
        heap.gc = real
