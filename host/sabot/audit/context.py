"""The context of records: the MAC of the event before them, and the firmware, game and clock.

A shoe of cards can be judged only with the firmware and the game that dealt it. These may have been
recorded thousands of events earlier.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from sabot.audit.tombstone import ContextRecord, Tombstone, TombstoneUnusable
from sabot.link.events import (
    BootEvent,
    CalibratedEvent,
    ClockSetEvent,
    Event,
    GameLoadedEvent,
    GapEvent,
    ProvisionedEvent,
)
from sabot.link.wire import WireError, parse_event
from sabot.log.store import Filter, Store

KINDS = tuple(kind.SHAPE.name for kind in (BootEvent, GameLoadedEvent, ClockSetEvent))
"""`boot` has firmware, build and chain; `game_loaded` has the game's hash; `clock_set` has the
clock's time before it was set."""

OF_TOMBSTONES = (*KINDS, *(kind.SHAPE.name for kind in (ProvisionedEvent, CalibratedEvent)))
"""What a tombstone keeps: also what `sabot units` shows of a unit, its table and calibration."""


def mac_before(store: Store, unit: str, number: int) -> bytes:
    """The MAC of the event before `number`: from its record, from the tombstone of the removed
    events that ends with it, or from the `gap` that reports its loss. Empty for event 1, and if the
    log does not have it.
    """
    for _, _, mac in store.raw(unit, number - 1, number - 1):
        return mac
    for tombstone in tombstones(store, unit):
        if tombstone.last == number - 1:
            return tombstone.after
    for row in store.rows(Filter(unit=unit, kinds=("gap",))):
        with suppress(WireError):  # `verify` reports damaged records
            gap = row.event()
            if isinstance(gap, GapEvent) and gap.last == number - 1:
                return gap.mac
    return b""


def context_before(
    store: Store, unit: str, number: int, kinds: Sequence[str] = KINDS
) -> tuple[ContextRecord, ...]:
    """The last record of each of `kinds` before event `number`, ordered by number, if the log or a
    tombstone still has it.
    """
    latest: dict[str, ContextRecord] = {}
    for tombstone in tombstones(store, unit):
        for each in tombstone.context:
            if each.number < number:
                with suppress(WireError):
                    kind = parse_event(each.record).kind
                    if kind in kinds:
                        latest[kind] = each
    found: dict[str, tuple[int, bytes, bytes]] = {}
    for row in store.rows(Filter(unit=unit, kinds=kinds)):
        if row.number >= number:
            break
        found[row.kind] = (row.number, row.data, row.mac)
    for kind, (at, record, mac) in found.items():
        latest[kind] = ContextRecord(at, mac_before(store, unit, at), record, mac)
    return tuple(sorted(latest.values(), key=lambda each: each.number))


def kept_of_removed(store: Store, unit: str) -> Iterator[Event]:
    """The events that the unit's tombstones keep, in the order of their numbers."""
    kept = {each.number: each for stone in tombstones(store, unit) for each in stone.context}
    for number in sorted(kept):
        with suppress(WireError):
            yield parse_event(kept[number].record)


def tombstones(store: Store, unit: str) -> Iterator[Tombstone]:
    """The unit's tombstones that can be read; `verify` reports the others."""
    for data in store.tombstones(unit):
        with suppress(TombstoneUnusable):
            yield Tombstone.parse(data)
