"""What the notary checks of a unit before it signs: numbers, and with keys the chain."""

from collections.abc import Sequence
from dataclasses import dataclass

from sabot.audit import context
from sabot.audit.chain import MacKeys
from sabot.audit.checks.chain_checks import ChainChecks
from sabot.audit.checks.chain_events import ChainMacs
from sabot.audit.tombstone import Tombstone
from sabot.centre.alarms import CHAIN, LONGEST_DETAIL, Alarm
from sabot.log.postgres.checks.gone import without
from sabot.log.store import Store
from sabot.text import shortened

_NOT_THERE = frozenset(("missing", "gap"))
"""Kinds of findings of events that are not there."""


@dataclass(frozen=True, slots=True)
class Span:
    """Events `first` to `last` of a unit, to be checked against the MAC of the event before them;
    None if it is not known."""

    unit: str
    first: int
    last: int
    before: bytes | None


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in a span."""

    good: int
    """The event up to which all that is there is right."""
    missing: Sequence[tuple[int, int]] = ()
    """First and last event of what is not there, and that no `gap` in the span names."""
    broken: Alarm | None = None
    """The alarm of the event after `good`, if it breaks the chain."""


def continues(store: Store, span: Span, macs: MacKeys | None) -> bool:
    """Whether a span has every number, and each event continues the chain. Without `macs` only the
    numbers are looked at."""
    if macs is None:
        wanted = span.last - span.first + 1
        return store.records_within(span.unit, span.first, span.last) == wanted
    before = span.before
    if before is None and span.first == 1:
        before = macs.chain
    if before is None:
        return False
    chain, due = ChainMacs(macs), span.first
    for rows in store.raw_chunks(span.unit, span.first, span.last):
        if [number for number, _, _ in rows] != list(range(due, due + len(rows))):
            return False
        if not chain.all_continue(before, due, rows):
            return False
        if rows:
            due, before = due + len(rows), rows[-1][2]
    return due == span.last + 1


def examine(store: Store, span: Span, macs: MacKeys | None) -> Found:
    """Find out what is wrong in a span that does not simply continue."""
    found: list[tuple[int, str, str]] = []
    checks = ChainChecks(
        span.unit,
        macs,
        lambda event, kind, detail: found.append((event, kind, detail)),
        lambda number: None,
        store.tombstones(span.unit),
        span.first,
        span.before,
    )
    for _ in checks.follow(store.raw(span.unit, span.first, span.last)):
        pass
    for _ in checks.ended():
        pass
    changed = sorted(each for each in found if each[1] not in _NOT_THERE)
    if macs is None or not changed:
        return Found(span.last, checks.holes.missing)
    event, kind, detail = changed[0]  # what comes after it may follow from it
    missing = [(first, last) for first, last in checks.holes.missing if last < event]
    broken = Alarm(span.unit, event, CHAIN, shortened(f"{kind}: {detail}", LONGEST_DETAIL))
    return Found(event - 1, missing, broken)


def joined(parts: Sequence[Found]) -> Found:
    """What was found in spans that follow each other, up to the first that is broken."""
    missing: list[tuple[int, int]] = []
    for part in parts:
        missing += part.missing
        if part.broken is not None:
            return Found(part.good, missing, part.broken)
    return Found(parts[-1].good, missing)


def taken_up_to(number: int, holes: Sequence[tuple[int, int]], stones: Sequence[Tombstone]) -> int:
    """How many events of a unit a centre has taken up to `number`: all, without those in `holes`,
    and of those that tombstones replace as many as these say. What was removed from its tables
    otherwise still counts: it was taken."""
    pruned = [(stone.first, stone.last) for stone in stones if stone.last <= number]
    replaced = sum(shoe.events for stone in stones if stone.last <= number for shoe in stone.shoes)
    count = number - sum(last - first + 1 for first, last in pruned) + replaced
    for first, last in holes:
        for low, high in without((first, min(last, number)), pruned):
            count -= high - low + 1
    return count


def holes_of(store: Store, unit: str) -> list[tuple[int, int]]:
    """The numbers that the centre never got, between those that it did."""
    query = (
        "SELECT h.first, h.last FROM holes AS h JOIN units AS u ON u.id = h.unit"
        " WHERE u.unit = ? ORDER BY h.first"
    )
    with store.reading() as connection:
        return [(first, last) for first, last in connection.execute(query, (unit,))]


def stones_of(store: Store, unit: str) -> list[Tombstone]:
    """The tombstones of a unit, in order."""
    return sorted(context.tombstones(store, unit), key=lambda each: each.first)
