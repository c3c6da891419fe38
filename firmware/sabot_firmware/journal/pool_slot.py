"""What a unit does seldom with its pool (docs/randomness.md): take samples at a start and test the
sources; seal the value that is kept, so that the journal's chip alone tells nothing, and open it.

A shoe loads this module when it needs it, and drops it: the heap is small.
"""

from hashlib import sha256

from sabot_firmware.journal.keyring import SLOT_SIZE
from sabot_firmware.native import const, micropython, ptr8
from sabot_protocol.chain import hmac_blocks

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board
    from sabot_firmware.journal.randomness import Pool

FIRST_POOL = const(3)
"""The number of the first kept value of a unit that was provisioned with bytes of a host."""

# Places in a slot, which keyring.py fills up: its epoch before them, a CRC after them.
_NUMBER, _SEALED, _TAG, _END = const(4), const(8), const(40), const(56)

SAMPLES = const(1024)
"""Samples of each source at a start, as NIST SP 800-90B, 4.3, has it for start-up tests."""

# NIST SP 800-90B, 4.4.1 and 4.4.2, for 0.1 bit of min-entropy a sample and a false alarm of 2**-20:
# 1 + ceil(20 / 0.1), and 1 + critbinom(window, 2**-0.1, 1 - 2**-20).
MOST_REPEATED = const(200)
"""The most equal samples in a row."""
_BINARY_WINDOW, _BINARY_MOST = const(1024), const(990)
_WINDOW, _MOST = const(512), const(501)
_OSCILLATOR, _SOURCES = const(0), const(4)  # of `enums.RANDOM_SOURCES`

_KEY_LABEL = b"sabot pool key"
_TAG_LABEL = b"sabot pool tag"
_PAD_LABEL = b"sabot pool pad"


def filled(command_key: bytes, number: int, kept: bytes) -> memoryview:
    """Return a slot with `kept`, 32 bytes. `number` counts the values that were kept, by twos, plus
    1 if the pool has had bytes of a host."""
    numbered = number.to_bytes(4, "little")
    tag = _mac(command_key, _TAG_LABEL + numbered + kept)[: _END - _TAG]
    slot = memoryview(bytearray(SLOT_SIZE))
    slot[_NUMBER:_SEALED] = numbered
    slot[_SEALED:_TAG] = _padded(command_key, numbered, tag, kept)
    slot[_TAG:_END] = tag
    return slot


def opened(command_key: bytes, slot: "bytearray | memoryview | None") -> "tuple[int, bytes]":
    """Return the number and the value in `slot`; 0 and zeros if there is none, or if this unit has
    not written it."""
    if slot is not None:
        numbered, tag = bytes(slot[_NUMBER:_SEALED]), bytes(slot[_TAG:_END])
        kept = _padded(command_key, numbered, tag, bytes(slot[_SEALED:_TAG]))
        if _mac(command_key, _TAG_LABEL + numbered + kept)[: _END - _TAG] == tag:
            return int.from_bytes(numbered, "little"), kept
    return 0, bytes(_TAG - _SEALED)


def _padded(command_key: bytes, numbered: bytes, tag: bytes, data: bytes) -> bytes:
    pad = _mac(command_key, _PAD_LABEL + numbered + tag)
    return bytes([data[at] ^ pad[at] for at in range(len(pad))])


def _mac(command_key: bytes, message: bytes) -> bytes:
    blocks = hmac_blocks(sha256(_KEY_LABEL + command_key).digest())
    inner = sha256(blocks[0])
    inner.update(message)
    outer = sha256(blocks[1])
    outer.update(inner.digest())
    return outer.digest()


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
    for at in range(SAMPLES):
        work[at] = 0
    return stuck


def is_stuck(samples: "memoryview | bytes", binary: bool) -> bool:
    """Whether a source fails its repetition count or its adaptive proportion test. `binary`: its
    samples are 0 and 1."""
    window, most = (_BINARY_WINDOW, _BINARY_MOST) if binary else (_WINDOW, _MOST)
    size = len(samples)
    if repeated(samples, size) > MOST_REPEATED:
        return True
    for at in range(0, size, window):
        if count(samples, at, min(at + window, size)) > most:
            return True
    return False


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
