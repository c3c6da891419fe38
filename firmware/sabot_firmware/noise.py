"""The hardware's sources of randomness: what they give goes into the pool, and at the start each is
tested (docs/randomness.md). A start loads this module and drops it: the heap is small."""

from sabot_firmware.native import const, micropython
from sabot_protocol import enums

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board
    from sabot_firmware.pool import Pool

SAMPLES = const(1024)
"""Samples of each source at a start, as NIST SP 800-90B, 4.3, has it for start-up tests."""

# NIST SP 800-90B, 4.4.1 and 4.4.2, for 0.1 bit of min-entropy a sample and a false alarm of 2**-20:
# 1 + ceil(20 / 0.1), and 1 + critbinom(window, 2**-0.1, 1 - 2**-20).
MOST_REPEATED = const(200)
"""The most equal samples in a row."""
_BINARY_WINDOW, _BINARY_MOST = const(1024), const(990)
_WINDOW, _MOST = const(512), const(501)
_OSCILLATOR = enums.RANDOM_SOURCES.index("oscillator")


def stir_all(pool: "Pool", board: "Board", work: bytearray) -> int:
    """Stir SAMPLES samples of every source into the pool. Return which sources are stuck: bit n is
    the n-th of `enums.RANDOM_SOURCES`. What a stuck one gives is stirred in all the same. `work` is
    a buffer of at least SAMPLES bytes."""
    samples = memoryview(work)[:SAMPLES]
    stuck = 0
    for source in range(len(enums.RANDOM_SOURCES)):
        board.noise(source, samples)
        pool.stir(source, samples)
        if is_stuck(samples, source == _OSCILLATOR):
            stuck |= 1 << source
    for at in range(SAMPLES):
        work[at] = 0
    return stuck


def is_stuck(samples: "memoryview | bytes", binary: bool) -> bool:
    """Whether a source fails its repetition count or its adaptive proportion test. `binary`: its
    samples are 0 and 1."""
    window, most = (_BINARY_WINDOW, _BINARY_MOST) if binary else (_WINDOW, _MOST)
    if repeated(samples) > MOST_REPEATED:
        return True
    for at in range(0, len(samples), window):
        if count(samples[at : at + window]) > most:
            return True
    return False


@micropython.native
def repeated(samples: "memoryview | bytes") -> int:
    """Return the largest number of equal samples in a row."""
    most, row, before = 0, 0, -1
    for sample in samples:
        if sample == before:
            row += 1
        else:
            row, before = 1, sample
        if row > most:
            most = row
    return most


@micropython.native
def count(samples: "memoryview | bytes") -> int:
    """Return how many samples equal the first one."""
    first, found = samples[0], 0
    for sample in samples:
        if sample == first:
            found += 1
    return found
