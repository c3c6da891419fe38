"""The start of a pool (docs/randomness.md). It is loaded at the start, then dropped: the heap is
small, and the boot loader gives a module once only."""

from sabot_firmware.journal import noise, pool_slot
from sabot_firmware.journal.randomness import CHAIN, HOST, MORE, UNIT
from sabot_firmware.store import StoreError

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board
    from sabot_firmware.journal.journal import Journal
    from sabot_firmware.journal.randomness import Pool
    from sabot_firmware.store import SettingsStore


def begin(
    pool: "Pool",
    board: "Board",
    journal: "Journal",
    store: "SettingsStore",
    command_key: bytes,
    work: bytearray,
) -> "tuple[bool, int]":
    """Begin with what was kept, stir in what there is, and replace what was kept, on flash. Return
    whether the pool has had bytes of a host, and which sources are stuck."""
    number, kept = pool_slot.opened(command_key, journal.pool_slot())
    try:
        more: "bytes | None" = store.load(MORE)  # type: ignore[assignment]
    except StoreError:  # it only adds to what was kept: the unit can go on without it
        more = None
    pool.begin(kept)
    if more is not None:
        pool.stir(HOST, more)
    pool.stir(UNIT, command_key)
    pool.stir(CHAIN, journal.chain.secret + journal.chain.mac)
    stuck = noise.stir_all(pool, board, work)
    has_host_bytes = number & 1 == 1 or more is not None
    number = (number | 1) + 1 | has_host_bytes
    journal.write_pool(pool_slot.filled(command_key, number, pool.take(b"kept")))
    if more is not None:
        store.remove(MORE)  # not earlier: until now only it has the host's bytes
    return has_host_bytes, stuck
