"""What came before a stretch of records: the MAC it stands behind, and what was in force.

Nobody can judge a shoe of cards without knowing the firmware and the game that dealt it, and those
may have been told thousands of events before.
"""

from collections.abc import Iterator
from contextlib import suppress

from sabot.audit.tombstone import NoTombstone, Standing, Tombstone
from sabot.link.events import Boot, ClockSet, GameLoaded, Gap
from sabot.link.wire import WireError, parse_event
from sabot.log.store import Filter, Store

KINDS = tuple(kind.SHAPE.name for kind in (Boot, GameLoaded, ClockSet))
"""Firmware, build and chain are in `boot`, the game's hash in `game_loaded`, what the clock was
before in `clock_set`."""


def mac_before(store: Store, unit: str, number: int) -> bytes:
    """The MAC of the event before `number`: from its record, from the tombstone of what was
    removed up to there, or from the `gap` that tells of its loss. Empty for event 1, and where the
    log does not have it.
    """
    for _, _, mac in store.raw(unit, number - 1, number - 1):
        return mac
    for tombstone in tombstones(store, unit):
        if tombstone.last == number - 1:
            return tombstone.after
    for row in store.rows(Filter(unit=unit, kinds=("gap",))):
        with suppress(WireError):  # a damaged record tells nothing
            gap = row.event()
            if isinstance(gap, Gap) and gap.last == number - 1:
                return gap.mac
    return b""


def standing_before(store: Store, unit: str, number: int) -> tuple[Standing, ...]:
    """The last record of each of KINDS before event `number`, as far as the log or a tombstone
    still has it, by number.
    """
    latest: dict[str, Standing] = {}
    for tombstone in tombstones(store, unit):
        for each in tombstone.context:
            if each.number < number:
                with suppress(WireError):
                    latest[parse_event(each.record).kind] = each
    found: dict[str, tuple[int, bytes, bytes]] = {}
    for row in store.rows(Filter(unit=unit, kinds=KINDS)):
        if row.number >= number:
            break
        found[row.kind] = (row.number, row.data, row.mac)
    for kind, (at, record, mac) in found.items():
        latest[kind] = Standing(at, mac_before(store, unit, at), record, mac)
    return tuple(sorted(latest.values(), key=lambda each: each.number))


def tombstones(store: Store, unit: str) -> Iterator[Tombstone]:
    """The unit's tombstones that can be read; `verify` tells of the others."""
    for data in store.tombstones(unit):
        with suppress(NoTombstone):
            yield Tombstone.parse(data)
