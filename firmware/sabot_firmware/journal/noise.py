"""The hardware's sources of randomness: what they give goes into the pool, and at the start each is
tested (docs/randomness.md). A start loads this module and drops it: the heap is small, and the boot
loader gives a module once only."""

from sabot_firmware.native import const, micropython, ptr8

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board
    from sabot_firmware.journal.randomness import Pool

SAMPLES = const(1024)
"""Samples of each source at a start, as NIST SP 800-90B, 4.3, has it for start-up tests."""

# NIST SP 800-90B, 4.4.1 and 4.4.2, for 0.1 bit of min-entropy a sample and a false alarm of 2**-20:
# 1 + ceil(20 / 0.1), and 1 + critbinom(window, 2**-0.1, 1 - 2**-20).
MOST_REPEATED = const(200)
"""The most equal samples in a row."""
_BINARY_WINDOW, _BINARY_MOST = const(1024), const(990)
_WINDOW, _MOST = const(512), const(501)
_OSCILLATOR, _SOURCES = const(0), const(4)  # of `enums.RANDOM_SOURCES`


def stir_all(pool: "Pool", board: "Board", work: bytearray) -> int:
    """Stir SAMPLES samples of every source into the pool. Return which sources are stuck: bit n is
    the n-th of `enums.RANDOM_SOURCES`. What a stuck one gives is stirred in all the same. `work` is
    a buffer of at least SAMPLES bytes."""
    samples = memoryview(work)[:SAMPLES]
    stuck = 0
    for source in range(_SOURCES):
        board.noise(source, samples)
        pool.stir(source, samples)
        if is_stuck(samples, source == _OSCILLATOR):
            stuck |= 1 << source
    clear(work, SAMPLES)
    return stuck


def is_stuck(samples: "memoryview | bytes", binary: bool) -> bool:
    """Whether a source fails its repetition count or its adaptive proportion test. `binary`: its
    samples are 0 and 1."""
    window, most = (_BINARY_WINDOW, _BINARY_MOST) if binary else (_WINDOW, _MOST)
    size = len(samples)
    if repeated(samples, size) > MOST_REPEATED:  # pyright: ignore[reportArgumentType]
        return True
    for at in range(0, size, window):
        if count(samples, at, min(at + window, size)) > most:  # pyright: ignore[reportArgumentType]
            return True
    return False


@micropython.viper
def clear(work: ptr8, size: int) -> int:
    """Make the first `size` bytes of a buffer zeros; return how many."""
    at = 0
    while at < size:
        work[at] = 0
        at += 1
    return at


@micropython.viper
def repeated(samples: ptr8, size: int) -> int:
    """Return the largest number of equal samples in a row."""
    most = row = at = 0
    before = 256
    while at < size:
        row = row + 1 if samples[at] == before else 1
        before = samples[at]
        if row > most:
            most = row
        at += 1
    return most


@micropython.viper
def count(samples: ptr8, at: int, end: int) -> int:
    """Return how many samples from `at` to `end` equal the first of them."""
    first = samples[at]
    found = 0
    while at < end:
        if samples[at] == first:
            found += 1
        at += 1
    return found
