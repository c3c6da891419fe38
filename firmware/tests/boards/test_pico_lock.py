"""The lock on a fake Pico, when the samples are not judged for a while."""

from firmware.tests.fakes import fake_pico
from firmware.tests.fakes.fake_pico import board as pico
from firmware.tests.fakes.fake_pico import lock, new_board, run

_LOCK = pico._PIN_OF["lock"][0]
_EDGE = pico._PIN_OF["sensor_e"][0]
_FASTEST_MS = 20  # from the edge of a card at 3 m/s to its last mark
_LIMIT_MS = 5  # from there to the lock
_COLLECTION_MS = 34
_SAMPLES_PER_MS = 20
_UNREAD_MS = lock.UNREAD_WORDS * 8 // _SAMPLES_PER_MS
_buf = bytearray(512)


def _released(within_ms: int = 8):
    """Return a board with a released lock that has just judged all samples."""
    board, world = new_board(sensor_e=0)
    board.set_lock(True)
    run(board.wait_for_activity(within_ms, True))
    board.judged(False)
    return board, world


def _pass_ms(world, ms: int) -> None:
    """Let time pass, in which samples arrive."""
    for _ in range(ms):
        world.pass_ms(1)
        world.sample([world.inputs[_EDGE]] * _SAMPLES_PER_MS)


def _read(board) -> None:
    while board.read_samples(_buf) == len(_buf):
        pass


def test_the_lock_shuts_in_time_after_a_card_that_comes_while_no_samples_are_judged() -> None:
    for edge_ms in range(_COLLECTION_MS):
        _, world = _released()
        _pass_ms(world, edge_ms)
        world.inputs[_EDGE] = 1
        _pass_ms(world, _FASTEST_MS + _LIMIT_MS)
        assert world.outputs[_LOCK] == 0, edge_ms


def test_samples_that_have_waited_count_only_once_they_are_judged() -> None:
    for edge_ms in range(_UNREAD_MS):
        board, world = _released()
        _pass_ms(world, edge_ms)
        world.inputs[_EDGE] = 1
        _pass_ms(world, _UNREAD_MS - 1 - edge_ms)
        _read(board)
        _pass_ms(world, edge_ms + 1 + _LIMIT_MS)  # the last mark comes while they are judged
        assert world.outputs[_LOCK] == 0, edge_ms


def test_without_a_card_it_stays_released_however_long_no_samples_are_judged() -> None:
    _, world = _released()
    _pass_ms(world, 300)
    assert world.outputs[_LOCK] == 1


def test_while_samples_are_judged_regularly_it_stays_released_until_the_card_is_known() -> None:
    board, world = _released()
    world.inputs[_EDGE] = 1
    for _ in range(20):
        _pass_ms(world, _UNREAD_MS - 2 * lock.LOOK_MS)
        _read(board)
        board.judged(True)
        assert world.outputs[_LOCK] == 1
    board.set_lock(False)
    assert world.outputs[_LOCK] == 0


def _shut_by_a_card():
    """Return a board whose lock the interrupt has shut, with a card over the first sensor."""
    board, world = _released()
    world.inputs[_EDGE] = 1
    _pass_ms(world, _COLLECTION_MS)
    assert world.outputs[_LOCK] == 0
    return board, world


def test_it_is_released_once_all_samples_of_that_card_are_judged_and_no_card_is_in_the_head() -> (
    None
):
    board, world = _shut_by_a_card()
    for _ in range(3):
        _read(board)
        board.judged(True)
        assert world.outputs[_LOCK] == 0
    world.inputs[_EDGE] = 0
    _pass_ms(world, 20)
    _read(board)
    board.judged(True)  # its end is still in the head
    assert world.outputs[_LOCK] == 0
    _pass_ms(world, 20)
    _read(board)
    board.judged(False)
    assert world.outputs[_LOCK] == 1


def test_samples_that_are_not_read_keep_it_shut_whatever_those_before_them_show() -> None:
    """A fast card passes the first sensor as a whole between two reads."""
    board, world = _released()
    _pass_ms(world, 3)
    _read(board)  # of which the judgement takes long
    world.inputs[_EDGE] = 1
    _pass_ms(world, _FASTEST_MS + 1)
    world.inputs[_EDGE] = 0
    _pass_ms(world, 10)
    assert world.outputs[_LOCK] == 0
    for _ in range(5):
        board.judged(False)  # no card is in the head by the samples that were read
        assert world.outputs[_LOCK] == 0
    _read(board)
    board.judged(False)
    assert world.outputs[_LOCK] == 1


def test_an_edge_that_is_too_new_for_the_reader_keeps_it_shut() -> None:
    """Samples come in words of eight, and the reader is sure of an edge after three."""
    board, world = _shut_by_a_card()
    world.pass_ms(lock.LOOK_MS)  # the interrupt sees the card once more
    _read(board)
    world.inputs[_EDGE] = 0
    board.judged(False)
    assert world.outputs[_LOCK] == 0
    world.sample([0] * 8 * lock.SURE_WORDS)
    _read(board)
    board.judged(False)
    assert world.outputs[_LOCK] == 1


def test_a_card_that_comes_meanwhile_keeps_it_shut() -> None:
    board, world = _shut_by_a_card()
    world.inputs[_EDGE] = 0
    _pass_ms(world, 30)
    _read(board)
    world.inputs[_EDGE] = 1
    board.judged(False)
    assert world.outputs[_LOCK] == 0


def test_the_card_that_came_has_the_last_word() -> None:
    board, world = _shut_by_a_card()
    _read(board)
    board.set_lock(False)
    world.inputs[_EDGE] = 0
    _pass_ms(world, 30)
    _read(board)
    board.judged(False)
    assert world.outputs[_LOCK] == 0
    board.set_lock(True)
    assert world.outputs[_LOCK] == 1


def test_to_release_it_waits_until_that_card_is_judged() -> None:
    board, world = _shut_by_a_card()
    board.set_lock(False)
    board.set_lock(True)
    assert world.outputs[_LOCK] == 0


def test_a_lock_that_is_shut_stays_shut() -> None:
    board, world = new_board(sensor_e=1)
    run(board.wait_for_activity(8, True))
    _pass_ms(world, 100)
    _read(board)
    board.judged(False)
    assert world.outputs[_LOCK] == 0 and (_LOCK, 1) not in world.output_log


class _Line:
    """A pin that stores only its level."""

    level = 1

    def value(self, level: int = -1) -> int:
        if level >= 0:
            self.level = level
        return self.level


class _Waiting:
    """A ring of samples in which many wait."""

    taken = 0

    def arrived(self) -> int:
        return 1000


def test_the_interrupt_makes_no_object() -> None:
    """During a collection it must not allocate."""
    lock_heap = getattr(fake_pico.real_micropython, "heap_lock", None)
    if lock_heap is None:
        return  # CPython has no such lock; MicroPython runs this too
    world = fake_pico.new_world()
    pin = _Line()
    made = lock.Lock(pin)
    made.set(True)
    made.watch(_Line(), _Waiting())
    timer = world.timer
    assert timer is not None
    lock_heap()
    try:
        timer.callback(timer)
    finally:
        fake_pico.real_micropython.heap_unlock()
    assert pin.level == 0
