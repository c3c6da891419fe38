"""The lock on a fake Pico, when the samples are not looked at for a while."""

from firmware.tests.fakes import fake_pico
from firmware.tests.fakes.fake_pico import board as pico
from firmware.tests.fakes.fake_pico import lock, new_board, run

_LOCK = pico._PIN_OF["lock"][0]
_EDGE = pico._PIN_OF["sensor_e"][0]
_FASTEST_MS = 20  # from the edge of a card at 3 m/s to its last mark
_LIMIT_MS = 5  # from there to the lock
_COLLECTION_MS = 34
_buf = bytearray(512)


def _released(within_ms: int = 8):
    """Return a board with a released lock that has just looked at the samples."""
    board, world = new_board(sensor_e=0)
    board.set_lock(True)
    _look(board, within_ms)
    return board, world


def _look(board, within_ms: int = 1) -> None:
    run(board.wait_for_activity(within_ms, True))
    board.read_samples(_buf)


def test_the_lock_shuts_in_time_after_a_card_that_comes_without_a_look_at_the_samples() -> None:
    for edge_ms in range(_COLLECTION_MS):
        _, world = _released()
        world.pass_ms(edge_ms)
        world.inputs[_EDGE] = 1
        world.pass_ms(_FASTEST_MS + _LIMIT_MS)
        assert world.outputs[_LOCK] == 0, edge_ms


def test_samples_that_have_waited_count_only_once_they_are_read() -> None:
    for edge_ms in range(lock.UNSEEN_MS):
        board, world = _released()
        world.pass_ms(edge_ms)
        world.inputs[_EDGE] = 1
        world.pass_ms(lock.UNSEEN_MS - 1 - edge_ms)
        board.read_samples(_buf)
        world.pass_ms(edge_ms + 1 + _LIMIT_MS)  # the last mark comes while they are read
        assert world.outputs[_LOCK] == 0, edge_ms


def test_without_a_card_it_stays_released_however_long_there_is_no_look() -> None:
    _, world = _released()
    world.pass_ms(1000)
    assert world.outputs[_LOCK] == 1


def test_with_regular_looks_it_stays_released_until_the_card_is_known() -> None:
    board, world = _released()
    world.inputs[_EDGE] = 1
    for _ in range(20):
        _look(board, lock.UNSEEN_MS // 2 - lock.LOOK_MS)
        assert world.outputs[_LOCK] == 1
    board.set_lock(False)
    assert world.outputs[_LOCK] == 0


def test_it_is_released_again_once_all_of_that_card_has_been_looked_at() -> None:
    board, world = _released()
    world.inputs[_EDGE] = 1
    world.pass_ms(_COLLECTION_MS)
    for _ in range(10):
        _look(board)
        assert world.outputs[_LOCK] == 0
    world.inputs[_EDGE] = 0
    world.pass_ms(_COLLECTION_MS)
    run(board.wait_for_activity(0, True))  # after a collection: no look yet
    assert world.outputs[_LOCK] == 0
    board.read_samples(_buf)
    assert world.outputs[_LOCK] == 0  # the samples must be read first
    run(board.wait_for_activity(0, True))
    assert world.outputs[_LOCK] == 0  # the last marks may have come just now
    for _ in range(5):
        _look(board)
    assert world.outputs[_LOCK] == 1


def test_samples_from_before_the_first_sensor_was_clear_do_not_release_it() -> None:
    board, world = _released()
    world.inputs[_EDGE] = 1
    world.pass_ms(_COLLECTION_MS)
    board.read_samples(_buf)
    world.inputs[_EDGE] = 0  # its last marks may be in samples not read yet
    run(board.wait_for_activity(1, True))
    assert world.outputs[_LOCK] == 0


def test_the_card_that_came_has_the_last_word() -> None:
    board, world = _released()
    world.inputs[_EDGE] = 1
    world.pass_ms(_COLLECTION_MS)
    board.read_samples(_buf)
    board.set_lock(False)
    for _ in range(8):
        _look(board)
        world.inputs[_EDGE] = 0
    assert world.outputs[_LOCK] == 0
    board.set_lock(True)
    assert world.outputs[_LOCK] == 1


def test_to_release_it_waits_for_the_next_look() -> None:
    board, world = _released()
    world.inputs[_EDGE] = 1
    world.pass_ms(_COLLECTION_MS)
    board.set_lock(False)
    board.set_lock(True)
    assert world.outputs[_LOCK] == 0


def test_a_lock_that_is_shut_stays_shut() -> None:
    board, world = new_board(sensor_e=1)
    _look(board)
    world.pass_ms(100)
    _look(board)
    _look(board)
    assert world.outputs[_LOCK] == 0 and (_LOCK, 1) not in world.output_log


class _Line:
    """A pin that stores only its level."""

    level = 1

    def value(self, level: int = -1) -> int:
        if level >= 0:
            self.level = level
        return self.level


def test_the_interrupt_makes_no_object() -> None:
    """During a collection it must not allocate."""
    lock_heap = getattr(fake_pico.real_micropython, "heap_lock", None)
    if lock_heap is None:
        return  # CPython has no such lock; MicroPython runs this too
    world = fake_pico.new_world()
    pin = _Line()
    made = lock.Lock(pin)
    made.set(True)
    made.watch(_Line())
    world.now_ms += _COLLECTION_MS
    timer = world.timer
    assert timer is not None
    lock_heap()
    try:
        timer.callback(timer)
    finally:
        fake_pico.real_micropython.heap_unlock()
    assert pin.level == 0
