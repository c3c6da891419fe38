"""Collects the records of one shoe of cards from a log, for a bundle."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise, takewhile

from sabot.audit.absence.elsewhere import Elsewhere
from sabot.audit.bundle import chain_id_of, check_bundle, facts_of, unit_keys
from sabot.audit.bundle_file import MAX_NUMBER, MAX_SIZE, Bundle, epochs_of
from sabot.audit.checks.findings import Summary
from sabot.audit.context import context_before, mac_before, tombstones
from sabot.errors import BundleUnusable, DatabaseUnusable
from sabot.keys.chain_keys import Keys
from sabot.link.events import (
    CheckpointEvent,
    CompositionEvent,
    Event,
    GapEvent,
    ShoeEndedEvent,
    ShoeLoadedEvent,
)
from sabot.link.wire import WireError, parse_event
from sabot.log.store import Filter, Store

LEAD = 16
"""Maximum number of records before `shoe_loaded` that are included: they show how the cards were
changed."""

_MOST_EVENTS = 1_000_000
"""More events than a shoe of cards has. Keys are made for so many numbers at most."""
_LATEST_GAP = 4096  # a `gap` is searched up to this many events after the end
_END = (ShoeEndedEvent, CompositionEvent, CheckpointEvent)  # of a shoe of cards, in this order

_Raw = tuple[int, bytes, bytes]


def collect(
    store: Store,
    unit: str,
    shoe: int,
    *,
    keys: Keys | None,
    still_open: bool,
    exported_unix_ms: int,
) -> Bundle:
    """A bundle of the shoe of cards `shoe` of `unit`; its `findings` say what is wrong with it.

    With `keys` the bundle includes the MAC keys of its epochs.

    Raises DatabaseUnusable if the shoe of cards is not in the log; BundleUnusable if it is too
    large, or has not ended and `still_open` is false; KeysUnusable if `keys` have no key of the
    unit.
    """
    start = next((row.number for row in store.rows(Filter(unit=unit, shoe=shoe))), None)
    if start is None:
        raise _not_there(store, unit, shoe)
    dealt, ended = _dealt(store, unit, shoe, start)
    if not ended and not still_open:
        raise BundleUnusable(
            f"{unit} shoe {shoe}: has not ended in {store.place}; --open exports it up to now"
        )
    records = _up_to_gap(store, unit, [*_lead(store, unit, start), *dealt])
    if records[-1][0] > MAX_NUMBER:
        raise BundleUnusable(
            f"{unit} shoe {shoe}: not exported: it has an event {records[-1][0]}, a number that no "
            "shoe reaches; `sabot verify` reports what is wrong with it"
        )
    context = context_before(store, unit, records[0][0])
    chain_id = chain_id_of(context, records)
    epochs = epochs_of(context, records)
    facts = facts_of(shoe, context, records)
    document = None if facts.game_sha256 is None else store.game(facts.game_sha256)
    bundle = Bundle(
        unit=unit,
        shoe=shoe,
        chain=chain_id,
        before=mac_before(store, unit, records[0][0]),
        context=context,
        records=tuple(records),
        keys={} if keys is None else unit_keys(keys, unit, chain_id, epochs),
        facts=facts,
        game_document=document or b"",
        ended=ended,
        findings=(),
        exported_unix_ms=exported_unix_ms,
        seam=next((row.seam for row in store.seam_rows() if row.name == unit), b""),
    )
    # Who gets the bundle sees by themselves whether its game is there.
    games = [] if document or facts.game_sha256 is None else [facts.game_sha256.hex()]
    wrong = check_bundle(bundle, None, Summary(), Elsewhere(games))
    return replace(bundle, findings=tuple(found for found in wrong if found.kind != "no_key"))


def _dealt(store: Store, unit: str, shoe: int, start: int) -> tuple[list[_Raw], bool]:
    """The records from `start` to the begin of the next shoe of cards, or to the end of the log;
    and whether the shoe of cards has ended.

    What comes after the end can change it: a misdeal voids the last round. Only the next
    `shoe_loaded` shows that nothing more can come, so that record is the last one.
    """
    records: list[_Raw] = []
    size = 0
    ended = False
    for raw in store.raw(unit, start):
        if type(raw[0]) is not int or raw[0] > start + _MOST_EVENTS:
            raise BundleUnusable(
                f"{unit} shoe {shoe}: has records in {store.place} with numbers that no shoe of "
                "cards has; `sabot verify` reports what is wrong with it"
            )
        event = _event_in(raw)
        size += len(raw[1]) + len(raw[2])
        if size > MAX_SIZE:
            if ended:  # what came long after it has no room
                break
            raise BundleUnusable(
                f"{unit} shoe {shoe}: is over {MAX_SIZE:,} bytes in {store.place}, too large for a "
                "bundle; `sabot verify` reports what is wrong with it"
            )
        records.append(raw)
        ended = ended or isinstance(event, _END)
        if isinstance(event, ShoeLoadedEvent) and event.shoe != shoe:
            break
    return records, ended


def _lead(store: Store, unit: str, start: int) -> list[_Raw]:
    """The records before event `start` that belong to no shoe of cards, at most LEAD."""
    before = list(store.raw(unit, max(1, start - LEAD), start - 1))
    numbered = zip(reversed(before), range(start - 1, 0, -1), strict=False)
    own = takewhile(lambda pair: pair[0][0] == pair[1] and _is_between(pair[0]), numbered)
    return [raw for raw, _ in own][::-1]


def _is_between(raw: _Raw) -> bool:
    event = _event_in(raw)
    return event is not None and not isinstance(event, _END)


def _up_to_gap(store: Store, unit: str, records: Sequence[_Raw]) -> list[_Raw]:
    """The records; if events are lost among them, also those up to the `gap` that reports it."""
    lost = [later - 1 for (earlier, *_), (later, *_) in pairwise(records) if later > earlier + 1]
    last = records[-1][0]
    for gap in _gaps(store, unit) if lost else ():
        within = gap.first <= lost[-1] <= gap.last
        if within and last < gap.number <= last + _LATEST_GAP:
            return [*records, *store.raw(unit, last + 1, gap.number)]
    return list(records)


def _gaps(store: Store, unit: str) -> Iterator[GapEvent]:
    for row in store.rows(Filter(unit=unit, kinds=("gap",))):
        with suppress(WireError):
            event = row.event()
            if isinstance(event, GapEvent):
                yield event


def _not_there(store: Store, unit: str, shoe: int) -> DatabaseUnusable:
    store.check_unit(unit)
    for tombstone in tombstones(store, unit):
        if shoe in {each.shoe for each in tombstone.shoes}:
            return DatabaseUnusable(
                f"{store.place}: shoe {shoe} of {unit} was removed by retention, as events "
                f"{tombstone.first} to {tombstone.last}; name a copy of the log with --db"
            )
    there = sorted({row.shoe for row in store.rows(Filter(unit=unit, kinds=("shoe_loaded",)))})
    known = f"it has {there[0]} to {there[-1]}" if there else "it has none"
    return DatabaseUnusable(
        f"{store.place}: has no shoe of cards {shoe} of {unit}, {known}; name another with "
        "--shoe, or another log with --db"
    )


def _event_in(raw: _Raw) -> Event | None:
    try:
        return parse_event(raw[1])
    except WireError:
        return None
