"""The randomness of a unit: its pool, from the start on, and the value that is kept of it over a
loss of power (docs/randomness.md).

Each start replaces the kept value, on flash, before the pool gives its first random bytes. So no
start begins with a value from which an earlier start has given any.
"""

import sys

from sabot_firmware.journal import pool_slot
from sabot_firmware.journal.keyring import SLOT_SIZE
from sabot_firmware.native import const
from sabot_firmware.pool import CHAIN, HOST, SIZE, TIMES, UNIT, Pool

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board
    from sabot_firmware.journal.journal import Journal

_KEEP_MS = const(3600000)
"""The least time between two values that are kept: each wears the journal's chip. A host's first
bytes are kept at once."""
_BETWEEN = const(32)
"""Samples of each source that are stirred in between two rounds."""
_TIMES = const(32)
_SOURCES = const(4)  # of `enums.RANDOM_SOURCES`
_TIMER = const(2)  # its place in `enums.RANDOM_SOURCES`
_KEPT = b"kept"


class Randomness:
    """The randomness of the unit with this command key. `journal` is mounted and nothing is queued.
    `work` is a buffer of 1 KB for the start."""

    def __init__(
        self, board: "Board", journal: "Journal", command_key: bytes, work: bytearray
    ) -> None:
        self._board = board
        self._journal = journal
        self._slots = pool_slot.PoolSlots(command_key)
        slot = journal.pool_slot()
        found = None if slot is None else self._slots.opened(slot)
        self._number, kept = found or (0, bytes(SIZE))
        self.has_host_bytes = self._number & 1 == 1
        """Whether the pool has had bytes of a host. Without them no card may be sealed."""
        self.pool = Pool(kept)
        self.pool.stir(UNIT, command_key)
        self.pool.stir(CHAIN, journal.chain.secret + journal.chain.mac)
        self.stuck = _stir_all(self.pool, board, work)
        """The sources that failed their tests at the start: bit n is the n-th of
        `enums.RANDOM_SOURCES`."""
        self._times = bytearray(_TIMES)
        self._samples = memoryview(bytearray(_BETWEEN))
        self._sample = self._samples[:1]
        self._at = 0
        self._kept_ms = 0
        self._due = False  # whether the pool has had bytes of a host since it was kept
        self._slot = memoryview(bytearray(SLOT_SIZE))
        self._fill()
        journal.write_pool(self._slot)

    def take(self, label: bytes, size: int = SIZE) -> bytes:
        """Return random bytes, at most 32, for the use that `label` names."""
        return self.pool.take(label, size)

    def mark_time(self) -> None:
        """Note when something came from outside: a card, a button. It allocates nothing."""
        at = self._at
        self._board.noise(_TIMER, self._sample)
        self._times[at] ^= self._samples[0]
        self._at = (at + 1) % _TIMES

    def stir_between(self) -> None:
        """Stir in some samples of each source, and when the last cards came."""
        pool, samples = self.pool, self._samples
        for source in range(_SOURCES):
            self._board.noise(source, samples)
            pool.stir(source, samples)
        pool.stir(TIMES, self._times)

    def add_host_bytes(self, data: bytes) -> bool:
        """Stir in bytes of a host; return whether they are the first. They are kept by `keep`."""
        first = not self.has_host_bytes
        self.pool.stir(HOST, data)
        self.has_host_bytes = self._due = True
        if first:
            self._kept_ms = -_KEEP_MS
        return first

    def keep(self, now_ms: int) -> None:
        """Keep the pool if it has had bytes of a host, but not more often than each hour."""
        if self._due and now_ms - self._kept_ms >= _KEEP_MS:
            self._due = False
            self._kept_ms = now_ms
            self._fill()
            self._journal.put_pool(self._slot)

    def _fill(self) -> None:
        self._number = (self._number | 1) + 1 | self.has_host_bytes
        self._slots.fill(self._slot, self._number, self.pool.take(_KEPT))


def _stir_all(pool: Pool, board: "Board", work: bytearray) -> int:
    """Stir in what the sources give at a start, with a module that is dropped after it."""
    import sabot_firmware
    from sabot_firmware import noise

    stuck = noise.stir_all(pool, board, work)
    del noise
    del sabot_firmware.noise, sys.modules["sabot_firmware.noise"]
    return stuck
