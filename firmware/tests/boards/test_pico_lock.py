"""The Pico's lock on fake parts: its interrupt, and what it makes of samples that no card makes.
test_lock_rules.py has the rules that every board keeps."""

from firmware.tests.fakes import fake_pico
from firmware.tests.fakes.fake_pico import board as pico
from firmware.tests.fakes.fake_pico import dma_ring, lock, new_board, run, sampler
from firmware.tests.support.passing import code, nibbles_of, pass_of, printed

_LOCK = pico._PIN_OF["lock"][0]
_EDGE = pico._PIN_OF["sensor_e"][0]
_SET = 3
_SAMPLES_PER_MS = 20
_LIMIT_MS = 5
_REST_MS = 30
_E, _INK = 1, 2
_HAS_CONSTANTS = hasattr(lock, "_RUN_WORDS")  # MicroPython keeps none whose name begins with _
_buf = bytearray(512)


def _released():
    """Return a board with a released lock that has just judged all samples."""
    board, world = new_board(sensor_e=0)
    board.set_lock(True)
    run(board.wait_for_activity(8, True))
    board.judged(0, False)
    return board, world


def _see(world, nibbles, times: int = 1) -> None:
    """Let these samples arrive in their time, a whole number of ms, as often as `times`."""
    nibbles = bytes(nibbles)
    nibbles += nibbles[-1:] * (-len(nibbles) % _SAMPLES_PER_MS)
    for _ in range(times):
        for at in range(0, len(nibbles), _SAMPLES_PER_MS):
            world.sample(nibbles[at : at + _SAMPLES_PER_MS])
            world.inputs[_EDGE] = nibbles[at + _SAMPLES_PER_MS - 1] & _E
            world.pass_ms(1)


def _card():
    """Return the samples of a card at 3 m/s."""
    return nibbles_of(pass_of(printed(code(7, _SET)), 3000))


def _last_mark_ms() -> int:
    """Return in which ms the last mark of that card passes."""
    nibbles = _card()
    return max([at for at in range(len(nibbles)) if nibbles[at] & 6]) // _SAMPLES_PER_MS


def _read(board) -> None:
    while board.read_samples(_buf) == len(_buf):
        pass


def _shut(world) -> bool:
    return world.outputs[_LOCK] == 0


def test_without_a_card_it_stays_released_however_long_no_samples_are_judged() -> None:
    _, world = _released()
    _see(world, [0] * _SAMPLES_PER_MS, times=300)
    assert not _shut(world)


def test_a_hand_over_the_first_sensor_does_not_shut_it() -> None:
    _, world = _released()
    _see(world, [_E] * _SAMPLES_PER_MS, times=500)
    assert not _shut(world)


def test_what_covers_the_first_sensor_for_a_moment_is_no_card() -> None:
    _, world = _released()
    _see(world, [_E] * 50 + [0] * 400)
    assert not _shut(world)


def test_single_flipped_samples_are_no_marks_and_no_edges() -> None:
    _, world = _released()
    flipped = []
    for _ in range(40):
        flipped += [_E, _E | _INK, _E, 0, _E, _E]
    _see(world, flipped)
    assert not _shut(world)


def test_flipped_samples_in_a_card_do_not_shut_it_early() -> None:
    nibbles = _card()
    for at in range(25, len(nibbles) - 500, 25):
        nibbles[at] ^= 7
    _, world = _released()
    _see(world, nibbles[: _last_mark_ms() * _SAMPLES_PER_MS])
    assert not _shut(world)


def test_a_shoe_that_reads_all_the_time_is_given_time_to_decide() -> None:
    """It shuts the lock 3.3 ms after the last mark; the interrupt leaves that to it."""
    board, world = _released()
    nibbles = _card()
    last_ms = _last_mark_ms()
    for ms in range(last_ms + 3):
        _see(world, nibbles[ms * _SAMPLES_PER_MS : (ms + 1) * _SAMPLES_PER_MS])
        if ms < last_ms:
            _read(board)
            board.judged(0, True)
        assert not _shut(world), ms
    _see(world, nibbles[(last_ms + 3) * _SAMPLES_PER_MS :][: 3 * _SAMPLES_PER_MS])
    assert _shut(world)


def test_a_last_mark_in_samples_that_were_read_but_not_judged_keeps_it_shut() -> None:
    board, world = _released()
    nibbles = _card()
    _see(world, nibbles)
    while board.read_samples(_buf):
        board.judged(len(_buf), False)  # nothing of this piece
        assert _shut(world)
    board.judged(0, False)
    assert not _shut(world)


def test_samples_that_the_interrupt_could_not_follow_shut_it_until_they_are_judged() -> None:
    """An erase of the Pico's own flash stops interrupts too: no card in it is counted."""
    board, world = _released()
    world.sample([_E] * 8 * (sampler.RING_WORDS + 1))
    _see(world, [_E] * _SAMPLES_PER_MS * _LIMIT_MS)
    assert _shut(world)
    _read(board)
    board.judged(0, False)
    assert not _shut(world)


def test_hours_later_an_old_card_does_not_shut_it() -> None:
    """Places in the stream are modulo RUN_WORDS."""
    if not _HAS_CONSTANTS:
        return
    board, world = _released()
    _see(world, _card())
    _read(board)
    board.judged(0, False)
    _see(world, [0] * _SAMPLES_PER_MS * lock.LOOK_MS)
    state = board._lock._state
    for words in range(0, lock._RUN_WORDS, lock._RUN_WORDS // 8):
        place = state[lock._FOLLOWED] + words & lock._RUN_WORDS - 1
        state[lock._JUDGED] = place
        assert not board._lock._unjudged(), words


def test_the_constants_are_those_of_the_ring() -> None:
    if not _HAS_CONSTANTS:
        return
    assert lock._RUN_WORDS == dma_ring.RUN_WORDS
    assert lock._WORD_BYTES == dma_ring.WORD_BYTES
    assert lock._RING_MASK == sampler.RING_WORDS * lock._WORD_BYTES - 1
    assert lock._HALF_RUN == lock._RUN_WORDS // 2


def test_a_lock_that_is_shut_stays_shut() -> None:
    board, world = new_board(sensor_e=0)
    run(board.wait_for_activity(8, True))
    _see(world, _card())
    _read(board)
    board.judged(0, False)
    assert _shut(world) and (_LOCK, 1) not in world.output_log


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
    words = 0

    def arrived(self) -> int:
        return self.words

    def view(self):
        return memoryview(bytearray(8192))


def test_the_interrupt_makes_no_object() -> None:
    """During a collection it must not allocate."""
    lock_heap = getattr(fake_pico.real_micropython, "heap_lock", None)
    if lock_heap is None:
        return  # CPython has no such lock; MicroPython runs this too
    world = fake_pico.new_world()
    pin, samples = _Line(), _Waiting()
    made = lock.Lock(pin)
    made.set(True)
    made.watch(_Line(), samples)
    timer = world.timer
    assert timer is not None
    samples.words = 3000  # more than the ring holds: there may have been a card
    lock_heap()
    try:
        timer.callback(timer)
        samples.words = 3004
        timer.callback(timer)
    finally:
        fake_pico.real_micropython.heap_unlock()
    assert pin.level == 0
