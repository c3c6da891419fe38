"""Checks what retention has removed from a unit's log: by whom, and whether it was allowed to; and
that what the tombstone keeps of it was there.

A tombstone is signed, but anyone can make a key. Only whole shoes of cards that are older than the
log's minimum may be removed, from the beginning of the log on, and only by the operator. The
operator is trusted with what is removed and when, not with what the shoe recorded: the records that
a tombstone keeps have their MACs, and follow those of the tombstone before it.
"""

from collections.abc import Callable, Iterator, Sequence
from hmac import compare_digest
from typing import Any

from sabot.audit.chain import MacKeys, epoch_of, mac
from sabot.audit.context import OF_TOMBSTONES
from sabot.audit.retention import DAY_MS, Minimum
from sabot.audit.tombstone import ContextRecord, Tombstone, TombstoneUnusable
from sabot.keys.signing import fingerprint
from sabot.link.events import BootEvent, Event, ShoeLoadedEvent
from sabot.link.wire import WireError, parse_event
from sabot.text import counted, local_time

_CLOCKS_DIFFER_MS = 3_600_000  # two computers' clocks, and that of a shoe

Found = tuple[int, str, str]
"""Event number, kind and detail of a finding."""


def wrong_with(
    stones: Sequence[tuple[Any, Any, bytes]],
    operator: bytes | None,
    minimums: Sequence[Minimum],
    record_after: Callable[[int], tuple[int, bytes] | None],
    macs: MacKeys | None,
    now_unix_ms: int,
) -> Iterator[Found]:
    """Yield what is wrong with the tombstones of a unit: rows of first event, last event and
    tombstone. ChainChecks reports those that cannot be read or do not fit the chain.

    `operator` is the public key that must have signed; None if it is not known, which is a finding.
    `minimums` are those that were ever set for the log. `record_after` returns number and record of
    what follows an event in the log; None for the end of the log. `macs` has the keys of the chain,
    None without any. A tombstone of a later time than `now_unix_ms` is wrong.
    """
    removed_to, shoe = 0, 0
    kept: dict[str, ContextRecord] = {}
    for first, last, data in stones:
        try:
            stone = Tombstone.parse(data)
        except TombstoneUnusable:
            continue
        if (first, last) != (stone.first, stone.last):
            detail = f"the table says that it replaces events {first} to {last}; it is of"
            yield stone.first, "tombstone", f"{detail} {stone.first} to {stone.last}"
        if wrong := _wrong_signer(stone, operator):
            yield stone.first, "operator", wrong
        for wrong in _not_whole(stone, removed_to, shoe, record_after(stone.last)):
            yield stone.first, "tombstone", wrong
        if wrong := _wrong_date(stone, now_unix_ms) or _too_young(stone, minimums):
            yield stone.first, "tombstone", wrong
        for wrong in _not_kept(stone, removed_to, kept, record_after(stone.last), macs):
            yield stone.first, "tombstone", wrong
        removed_to, shoe = stone.last, stone.shoes[-1].shoe


def _wrong_signer(stone: Tombstone, operator: bytes | None) -> str | None:
    signer = f"events to {stone.last} were removed by {fingerprint(stone.public_key)}"
    if operator is None:
        return f"{signer}, which was not checked; name the operator's key with --operator"
    return None if operator == stone.public_key else f"{signer}, not by the operator"


def _not_whole(
    stone: Tombstone, removed_to: int, shoe: int, following: tuple[int, bytes] | None
) -> Iterator[str]:
    """What contradicts that whole shoes of cards were removed, from the log's beginning on.
    `removed_to` and `shoe` are the last event and shoe of cards removed before."""
    if stone.first != removed_to + 1:
        yield f"it begins with event {stone.first}, although event {removed_to + 1} was not removed"
    shoes = [shoe, *(each.shoe for each in stone.shoes)]
    events = sum(each.events for each in stone.shoes)
    if shoes != sorted(set(shoes)) or events > stone.last - stone.first + 1:
        yield "the shoes of cards that it says were removed cannot have been there"
    if following is None:
        yield f"the log ends with the removed events: shoe {shoes[-1]} was its last one"
        return
    number, record = following
    event = _event_in(record)
    if number > stone.last + 1 or event is None:
        return  # something else is wrong there, or was lost by the shoe
    if not isinstance(event, ShoeLoadedEvent):
        yield f"no shoe of cards begins with event {number}: shoe {shoes[-1]} was not whole"
    elif event.shoe <= shoes[-1]:
        yield f"shoe of cards {event.shoe} begins after it, but it says that it removed that one"


def _wrong_date(stone: Tombstone, now_unix_ms: int) -> str | None:
    """Why these records cannot have been removed when the tombstone says."""
    removed = stone.removed_unix_ms
    if removed > now_unix_ms + _CLOCKS_DIFFER_MS:
        return f"it is dated {local_time(removed)}, which is in the future"
    for each in stone.context:
        event = _event_in(each.record)
        made = None if event is None else event.unix_ms
        if made is not None and made > removed + _CLOCKS_DIFFER_MS:
            when = f"it is dated {local_time(removed)}, before event {each.number}"
            return f"{when} of {local_time(made)}, which it keeps"
    return None


def _not_kept(
    stone: Tombstone,
    removed_to: int,
    kept: dict[str, ContextRecord],
    following: tuple[int, bytes] | None,
    macs: MacKeys | None,
) -> Iterator[str]:
    """Yield what contradicts that the records which a tombstone keeps are the last of their kinds
    that were there. `removed_to` is the last event that was removed before, and `kept` has what the
    tombstones before it keep, by kind; it goes on with those of this one."""
    own: dict[str, ContextRecord] = {}
    starts = [
        event for each in stone.context if isinstance(event := _event_in(each.record), BootEvent)
    ]
    boot = starts[-1] if starts else None
    if macs is not None and any(each.chain != macs.chain for each in starts):
        macs = None  # that is the finding `wrong_key`
    for each in stone.context:
        event = _event_in(each.record)
        if event is None or event.number != each.number or event.kind not in OF_TOMBSTONES:
            yield f"it keeps a record {each.number} that no tombstone keeps"
            continue
        if event.kind in own:
            yield f"it keeps two records of the kind {event.kind}"
        own[event.kind] = each
        if each.number > stone.last:
            yield f"it keeps event {each.number}, which it does not replace"
        elif each.number <= removed_to and kept.get(event.kind) != each:
            yield f"it keeps another event {each.number} than the tombstone before it"
        elif macs is not None and not _fits_chain(each, macs):
            yield f"the MAC of event {each.number}, which it keeps, does not fit the chain"
    for kind, before in kept.items():
        if kind not in own:
            yield f"it does not keep event {before.number} ({kind}), as the tombstone before it did"
    if boot is None:
        yield "it keeps no start of the unit"
    elif following is not None and following[0] == stone.last + 1:
        after = _event_in(following[1])
        if after is not None and after.kind != BootEvent.SHAPE.name and after.boot != boot.boot:
            yield f"it keeps start {boot.boot}, the record after it is of start {after.boot}"
    kept.update(own)


def _fits_chain(each: ContextRecord, macs: MacKeys) -> bool:
    before = each.before or (macs.chain or b"" if each.number == 1 else b"")
    try:
        key = macs.mac_key(epoch_of(each.number))
    except KeyError:
        return False
    return bool(before) and compare_digest(mac(key, before, each.record), each.mac)


def _too_young(stone: Tombstone, minimums: Sequence[Minimum]) -> str | None:
    """Why the minimum that was in force forbids to remove these records; None if it does not."""
    in_force = [each.days for each in minimums if each.set_unix_ms <= stone.removed_unix_ms]
    days = max(stone.keep_days, in_force[-1] if in_force else 0)
    if stone.keep_days < days:
        return f"removed after {counted(stone.keep_days, 'day')}, but the minimum then was {days}"
    for each in stone.context:
        event = _event_in(each.record)
        made = None if event is None else event.unix_ms
        if made is not None and 0 <= stone.removed_unix_ms - made < days * DAY_MS:
            least = counted(days, "day")
            return f"event {each.number} of {local_time(made)} was removed before {least}"
    return None


def _event_in(record: bytes) -> Event | None:
    try:
        return parse_event(record)
    except WireError:
        return None
