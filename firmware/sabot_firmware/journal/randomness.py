"""The randomness of a unit: a pool of 32 bytes, of which every random number is a hash, and the
value that is kept of it over a loss of power (docs/randomness.md).

Each start replaces the kept value, on flash, before the pool gives its first random bytes. So no
start begins with a value from which an earlier start has given any.
"""

import sys
from hashlib import sha256

from sabot_firmware.native import const

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board
    from sabot_firmware.journal.journal import Journal
    from sabot_firmware.store import SettingsStore

SIZE = 32

# What is stirred in, besides the hardware's sources, which have their places in
# `enums.RANDOM_SOURCES`.
HOST = 16
"""Bytes of a host."""
TIMES = 17
"""When cards, buttons and switches came."""
UNIT = 18
"""The unit's command key."""
CHAIN = 19
"""The secret of the present epoch of the audit chain, and the MAC of the last event."""
SECRET = 20
"""The sealing secret that is replaced next."""

_STIR = b"sabot pool stir"
_USE = b"sabot pool use"
_NEXT = b"sabot pool next"

_KEEP_MS = const(3600000)
"""The least time between two values that are kept: each wears the board's flash. The first bytes
of a host after each start are kept at once."""
_BETWEEN = const(32)
"""Samples of each source that are stirred in between two rounds, and times that are."""
MORE = "pool_more"
"""The document with what is kept of the pool after a start; the next start stirs it in."""
_SOURCES = const(4)  # of `enums.RANDOM_SOURCES`
_TIMER = const(2)  # its place in `enums.RANDOM_SOURCES`


class Pool:
    """A pool that begins with 32 bytes that were kept, or with zeros."""

    def __init__(self, kept: bytes = bytes(SIZE)) -> None:
        self._pool = bytearray(kept)

    def begin(self, kept: bytes) -> None:
        """Begin again with what was kept."""
        self._pool[:] = kept

    def stir(self, source: int, data: "bytes | bytearray | memoryview") -> None:
        """Stir in `data` of any size. `source` 0-255 says what it is."""
        digest = sha256(_STIR)
        digest.update(bytes((source,)))
        digest.update(data)
        self._replace(digest)

    def take(self, label: bytes, size: int = SIZE) -> bytes:
        """Return random bytes, at most 32, for the use that `label` names, and replace the pool."""
        digest = sha256(_USE)
        digest.update(bytes((len(label),)))
        digest.update(label)
        digest.update(self._pool)
        taken = digest.digest()[:size]
        self._replace(sha256(_NEXT))
        return taken

    def _replace(self, digest: "sha256") -> None:  # type: ignore[valid-type]
        digest.update(self._pool)  # type: ignore[attr-defined]
        self._pool[:] = digest.digest()  # type: ignore[attr-defined]


class Randomness(Pool):
    """The randomness of the unit with this command key. `journal` is mounted and nothing is queued;
    `store` has the unit's documents. `work` is a buffer of 1 KB for the start."""

    def __init__(
        self,
        board: "Board",
        journal: "Journal",
        store: "SettingsStore",
        command_key: bytes,
        work: bytearray,
    ) -> None:
        from sabot_firmware.journal import pool_start

        Pool.__init__(self)
        self._board = board
        self._store = store
        self.has_host_bytes, self.stuck = pool_start.begin(
            self, board, journal, store, command_key, work
        )
        """Whether the pool has had bytes of a host: without them no card may be sealed. And which
        sources failed their tests: bit n is the n-th of `enums.RANDOM_SOURCES`."""
        self._samples = memoryview(bytearray(_BETWEEN))
        self._times = bytearray(_BETWEEN)
        self._at = 0
        self._kept_ms = -_KEEP_MS
        self._due = False  # whether the pool has had bytes of a host since it was kept
        del pool_start
        for part in ("pool_start", "pool_slot", "noise"):
            drop("sabot_firmware.journal", part)

    def mark_time(self) -> None:
        """Note when something came from outside: a card, a button."""
        self._at = at = (self._at + 1) % _BETWEEN
        self._board.noise(_TIMER, self._samples)
        self._times[at] ^= self._samples[0]

    def stir_between(self) -> None:
        """Stir in some samples of each source, and when the last cards came."""
        for source in range(_SOURCES):
            self._board.noise(source, self._samples)
            self.stir(source, self._samples)
        self.stir(TIMES, self._times)

    def add_host_bytes(self, data: bytes) -> bool:
        """Stir in bytes of a host; return whether they are the first. They are kept by `keep`."""
        first = not self.has_host_bytes
        self.stir(HOST, data)
        self.has_host_bytes = self._due = True
        return first

    def keep(self, now_ms: int) -> None:
        """Keep the pool for the next start if it has had bytes of a host since this start, but not
        more often than each hour: without these bytes no one follows the unit over the next loss of
        power. It takes 60 ms of erasing flash, so no card may come now."""
        if self._due and now_ms - self._kept_ms >= _KEEP_MS:
            self._due = False
            self._kept_ms = now_ms
            self._store.save(MORE, self.take(b"kept"))


def drop(package: str, part: str) -> None:
    """Forget a module that is rarely needed, so that its memory is free again. MicroPython's
    dictionaries keep a value that was deleted until its place is needed: so it is replaced first.
    """
    setattr(sys.modules[package], part, None)
    delattr(sys.modules[package], part)
    name = package + "." + part
    sys.modules[name] = None  # type: ignore[assignment]
    del sys.modules[name]
