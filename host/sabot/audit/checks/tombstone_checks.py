"""Checks what retention has removed from a unit's log: by whom, and whether it was allowed to.

A tombstone is signed, but anyone can make a key. Only whole shoes of cards that are older than the
log's minimum may be removed, from the beginning of the log on, and only by the operator.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sabot.audit.retention import DAY_MS, Minimum
from sabot.audit.tombstone import Tombstone, TombstoneUnusable
from sabot.keys.signing import fingerprint
from sabot.link.events import Event, ShoeLoadedEvent
from sabot.link.wire import WireError, parse_event
from sabot.text import counted, local_time

Found = tuple[int, str, str]
"""Event number, kind and detail of a finding."""


def wrong_with(
    stones: Sequence[tuple[Any, Any, bytes]],
    operator: bytes | None,
    minimums: Sequence[Minimum],
    record_after: Callable[[int], tuple[int, bytes] | None],
) -> Iterator[Found]:
    """Yield what is wrong with the tombstones of a unit: rows of first event, last event and
    tombstone. ChainChecks reports those that cannot be read or do not fit the chain.

    `operator` is the public key that must have signed; None if it is not known, which is a finding.
    `minimums` are those that were ever set for the log. `record_after` returns number and record of
    what follows an event in the log; None for the end of the log.
    """
    removed_to, shoe = 0, 0
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
        if wrong := _too_young(stone, minimums):
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
