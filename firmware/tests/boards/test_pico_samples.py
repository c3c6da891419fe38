"""The sensor head's samples on a fake Pico: order, rate, ring, overrun."""

from firmware.tests.fakes import fake_pico
from firmware.tests.fakes.fake_pico import awake, dma_ring, live, new_board, run, sampler
from firmware.tests.fakes.fake_pico import board as pico
from sabot_firmware.cards import reader
from sabot_firmware.table import inputs

_BUF = bytearray(512)


def _sampling_board():
    board, world = new_board()
    world.while_asleep = lambda: world.sample([0] * 8)
    run(board.wait_for_activity(8, True))
    world.while_asleep = lambda: None
    assert board.read_samples(bytearray(64)) == 4
    return board, world


# A sample in these tests is one byte, its value a nibble.


def _nibbles_of(data) -> bytearray:
    nibbles = bytearray(2 * len(data))
    for i in range(len(data)):
        nibbles[2 * i] = data[i] & 15
        nibbles[2 * i + 1] = data[i] >> 4
    return nibbles


def _endless_noise():
    state = 12345
    while True:
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        yield state >> 16 & 15


def _noise(count: int) -> bytearray:
    source = _endless_noise()
    nibbles = bytearray(count)
    for i in range(count):
        nibbles[i] = next(source)
    return nibbles


def _read_all(board, buf=_BUF) -> bytearray:
    read = bytearray()
    size = board.read_samples(buf)
    while size:
        read.extend(_nibbles_of(buf[:size]))
        size = board.read_samples(buf)
    return read


def test_a_word_has_the_oldest_sample_in_its_lowest_nibble_as_in_a_recording() -> None:
    board, world = _sampling_board()
    world.sample([1, 2, 3, 4, 5, 6, 7, 8])
    buf = bytearray(8)
    assert board.read_samples(buf) == 4
    assert bytes(buf[:4]) == b"\x21\x43\x65\x87"


def test_channel_e_is_bit_0_and_all_four_are_sampled_together() -> None:
    _, world = _sampling_board()
    first = [gpio for gpio, part, _ in pico.PINS if part == "sensor_e"]
    assert [world.chip.state_machine.in_base.gpio] == first
    assert world.chip.state_machine.instructions == [("pins", 4, 0)]


def test_the_sample_rate_is_exactly_that_of_the_reader() -> None:
    _, world = _sampling_board()
    cycles = len(world.chip.state_machine.instructions)
    assert world.chip.state_machine.freq == reader.SAMPLE_RATE_HZ * cycles
    assert world.clock_hz % world.chip.state_machine.freq == 0


def test_nothing_is_sampled_before_the_first_turn() -> None:
    board, world = new_board()
    world.sample(15 for _ in range(8000))
    awake(world)
    run(board.wait_for_activity(8, True))
    assert _read_all(board) == bytearray(8)
    assert board.overruns == 0


def test_the_ring_holds_half_a_second_and_more() -> None:
    board, world = _sampling_board()
    source, half_a_second = _endless_noise(), reader.SAMPLE_RATE_HZ // 2
    world.sample(next(source) for _ in range(half_a_second))
    assert _read_as(board, _endless_noise()) == half_a_second
    assert board.overruns == 0


def _check_stream(board, world, count: int, sizes) -> None:
    """Check that `count` samples, in pieces of `sizes` words, come once each and in order."""
    source, expected = _endless_noise(), _endless_noise()
    given = taken = 0
    while given < count:
        piece = 8 * next(sizes)
        world.sample(next(source) for _ in range(piece))
        given += piece
        taken += _read_as(board, expected)
    assert taken == given
    assert board.overruns == 0


def _read_as(board, expected) -> int:
    """Read all samples and check that they are as `expected`; return how many there were."""
    taken = 0
    size = board.read_samples(_BUF)
    while size:
        for nibble in _nibbles_of(_BUF[:size]):
            assert nibble == next(expected), taken
            taken += 1
        size = board.read_samples(_BUF)
    return taken


def _sizes():
    """Return sizes from one word to nearly all that the ring holds."""
    size = 1
    while True:
        yield size
        size = size * 7 % 1979 + 1


def test_round_the_ring_every_sample_comes_once_and_in_order() -> None:
    board, world = _sampling_board()
    _check_stream(board, world, 5 * 8 * sampler.RING_WORDS, _sizes())


def test_samples_that_make_no_whole_word_yet_come_later() -> None:
    board, world = _sampling_board()
    world.sample([1, 2, 3, 4, 5])
    assert board.read_samples(bytearray(16)) == 0
    world.sample([6, 7, 8])
    assert _read_all(board) == bytearray((1, 2, 3, 4, 5, 6, 7, 8))


def test_a_small_buffer_takes_whole_words_and_leaves_the_rest() -> None:
    board, world = _sampling_board()
    nibbles = _noise(80)
    world.sample(nibbles)
    buf = bytearray(11)
    assert board.read_samples(buf) == 8
    assert _nibbles_of(buf[:8]) == nibbles[:16]
    assert _read_all(board, buf) == nibbles[16:]


def test_a_new_run_of_the_dma_loses_nothing() -> None:
    run_words = dma_ring.RUN_WORDS
    dma_ring.RUN_WORDS = 2 * sampler.RING_WORDS
    try:
        board, world = _sampling_board()
        _check_stream(board, world, 5 * 8 * sampler.RING_WORDS, _sizes())
    finally:
        dma_ring.RUN_WORDS = run_words


def test_numbers_of_the_sampler_are_no_heap_objects_on_the_device() -> None:
    assert dma_ring.RUN_WORDS < 1 << 28
    assert dma_ring.RUN_WORDS % sampler.RING_WORDS == 0


class _Addresses:
    """Stands in for `uctypes`: each buffer lies where the list says, then at its last place."""

    def __init__(self, *addresses: int) -> None:
        self.addresses = list(addresses)

    def addressof(self, buf) -> int:
        return self.addresses.pop(0) if len(self.addresses) > 1 else self.addresses[0]


def _ring_memory_at(*addresses: int) -> int:
    """Return the bytes of the memory that a ring of 16 words gets at such places of a heap."""
    real, dma_ring.uctypes = dma_ring.uctypes, _Addresses(*addresses)
    try:
        return len(dma_ring.ring_memory(16))
    finally:
        dma_ring.uctypes = real


def test_a_ring_takes_no_more_memory_than_it_has_once_some_begins_at_a_multiple_of_its_size() -> (
    None
):
    assert _ring_memory_at(0x20000040) == 64
    assert _ring_memory_at(0x20000010, 0x20000010, 0x20000080) == 64


def test_a_ring_whose_memory_never_begins_at_such_a_place_takes_twice_as_much() -> None:
    assert _ring_memory_at(0x20000010) == 128


def test_an_overrun_is_counted_and_the_newer_half_of_the_ring_is_read() -> None:
    # At several lengths: one of them brings the writer back to where it was at the last read.
    for words_missed in (sampler.RING_WORDS - 63, sampler.RING_WORDS, 4 * sampler.RING_WORDS + 5):
        board, world = _sampling_board()
        source, expected = _endless_noise(), _endless_noise()
        world.sample(next(source) for _ in range(8 * words_missed))
        for _ in range(8 * (words_missed - sampler.RING_WORDS // 2)):
            next(expected)
        assert _read_as(board, expected) == 4 * sampler.RING_WORDS
        assert board.overruns == 1
        world.sample(next(source) for _ in range(80))
        assert _read_as(board, expected) == 80
        assert board.overruns == 1


def test_just_less_than_an_overrun_loses_nothing() -> None:
    board, world = _sampling_board()
    source, most = _endless_noise(), 8 * (sampler.RING_WORDS - dma_ring.MARGIN_WORDS)
    world.sample(next(source) for _ in range(most))
    assert _read_as(board, _endless_noise()) == most
    assert board.overruns == 0


def test_reading_samples_and_looking_at_inputs_allocates_nothing() -> None:
    board, world = _sampling_board()
    live(board, world, 100)  # the display has been drawn
    world.sample(_noise(8 * 200))
    assert board.read_samples(_BUF) == 512
    lock = getattr(fake_pico.real_micropython, "heap_lock", None)
    if lock is None:
        return  # CPython has no such lock; MicroPython runs this too
    world.now_ms += 10
    lock()
    try:
        size = board.read_samples(_BUF)
        board._look()
        change = board.take_input()
    finally:
        fake_pico.real_micropython.heap_unlock()
    assert size == 4 * 72 and change == inputs.NONE
