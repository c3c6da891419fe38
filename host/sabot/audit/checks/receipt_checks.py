"""Compares the log of a site or a centre with receipts, and with what sites said of their logs.

A receipt counts all events of a unit up to one. So whichever side lost some, or removed them, the
other side's receipts name them: also if the log alone looks whole.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sabot.audit import context
from sabot.audit.checks.findings import FoundInUnit, Note
from sabot.audit.tombstone import Tombstone
from sabot.keys.signing import fingerprint
from sabot.log.store import Store
from sabot.text import counted, local_time

CENTRE, SITE = "centre", "site"

_MOST_NAMED = 5  # spans of events in one finding


@dataclass(frozen=True, slots=True)
class Said:
    """What a receipt, or a checkpoint of a site, says of a unit: up to event `number`, which has
    the MAC `mac`, there are `records` events."""

    number: int
    mac: bytes
    records: int
    unix_ms: int
    site: str = ""
    """The site whose checkpoint it is; empty for a receipt."""

    def __str__(self) -> str:
        when = local_time(self.unix_ms)
        return f"the checkpoint of {self.site} of {when}" if self.site else f"the receipt of {when}"


@dataclass(frozen=True, slots=True)
class _Lack:
    """Events `first` to `last` of which the log has fewer than was said."""

    first: int
    last: int
    count: int
    whole: bool
    """Whether it has none of them."""
    said: Said


class LogOfUnit:
    """What a log has of a unit."""

    def __init__(self, store: Store, unit: str) -> None:
        self._store, self._unit = store, unit
        stones = sorted(context.tombstones(store, unit), key=lambda each: each.first)
        self.stones: Sequence[Tombstone] = stones
        self._counted_to = self._count = 0

    def mac_of(self, number: int) -> object:
        """The MAC of an event; None if the log does not have it."""
        for _, _, mac in self._store.raw(self._unit, number, number):
            return mac
        return next((each.after for each in self.stones if each.last == number), None)

    def pruned(self, number: int) -> bool:
        """Whether a tombstone replaces an event."""
        return any(each.first <= number <= each.last for each in self.stones)

    def records_up_to(self, number: int) -> int:
        """How many events the log has had up to one: records, and those that tombstones replace. To
        be asked for one event after the other."""
        first = self._counted_to + 1
        if number >= first:
            self._count += self._store.records_within(self._unit, first, number)
            self._counted_to = number
        return self._count + sum(_events(each, number) for each in self.stones)

    def missing(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The events from `first` to `last` that the log does not have."""
        due = first
        for number, end in self._present(first, last):
            if number > due:
                yield due, number - 1
            due = max(due, end + 1)
        if due <= last:
            yield due, last

    def _present(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """First and last event of what is there, in order."""
        stones = [each for each in self.stones if each.last >= first and each.first <= last]
        for number, _, _ in self._store.raw(self._unit, first, last):
            while stones and stones[0].first < number:
                stone = stones.pop(0)
                yield stone.first, stone.last
            yield number, number
        for stone in stones:
            yield stone.first, stone.last


def compare(
    store: Store,
    unit: str,
    said: Sequence[Said],
    side: str,
    operator: bytes | None,
    found: FoundInUnit,
    notes: list[Note],
) -> None:
    """Compare the log of a unit with all that was said of it. `side` is whose log it is; `operator`
    the public key that must have signed tombstones, None if it is not known."""
    log, kind = LogOfUnit(store, unit), f"{side}_lacks"
    ordered = sorted(said, key=lambda each: (each.number, -each.records, each.site))
    lacks = _joined(_lacking(log, ordered))
    for lack in lacks:
        found.add(*_named(store, log, lack, kind))
    _other_macs(store, log, ordered, lacks, kind, found)
    for stone in log.stones:
        covering = [each for each in ordered if each.number >= stone.last]
        of = next(iter(covering), None) or next(
            (each for each in ordered if each.number >= stone.first), None
        )
        if of is None:
            continue
        detail = (
            f"events to {stone.last}, which {of} counts, were removed from {store.place} on "
            f"{local_time(stone.removed_unix_ms)} by {fingerprint(stone.public_key)}"
        )
        if operator == stone.public_key:
            notes.append(Note(unit, stone.first, "receipted", detail))
        else:
            whose = "not by the operator" if operator else "which was not checked: see --operator"
            found.add(stone.first, kind, f"{detail}, {whose}")


def _lacking(log: LogOfUnit, ordered: Sequence[Said]) -> Iterator[_Lack]:
    """Yield, between each of these and the one before it, what the log lacks."""
    before = have_before = short_before = 0
    for each in ordered:
        if each.number == before:  # the first of an event counts most
            continue
        have = log.records_up_to(each.number)
        short = max(0, each.records - have)
        if short > short_before:
            whole = have == have_before
            yield _Lack(before + 1, each.number, short - short_before, whole, each)
        before, have_before = each.number, have
        short_before = max(short_before, short)


def _joined(lacks: Iterable[_Lack]) -> list[_Lack]:
    """Those that follow each other and of which the log has nothing, as one."""
    joined: list[_Lack] = []
    for each in lacks:
        last = joined[-1] if joined else None
        if last is not None and last.whole and each.whole and last.last + 1 == each.first:
            count = last.count + each.count
            joined[-1] = _Lack(last.first, each.last, count, True, each.said)
        else:
            joined.append(each)
    return joined


def _named(store: Store, log: LogOfUnit, lack: _Lack, kind: str) -> tuple[int, str, str]:
    gaps = list(log.missing(lack.first, lack.last))
    spans = [f"{first}" if first == last else f"{first} to {last}" for first, last in gaps]
    more = f" and {len(spans) - _MOST_NAMED} more" if len(spans) > _MOST_NAMED else ""
    what = counted(lack.count, "event")
    if sum(last - first + 1 for first, last in gaps) != lack.count:
        what += " of those"
    where = f"{', '.join(spans[:_MOST_NAMED])}{more}" if spans else f"{lack.first} to {lack.last}"
    detail = (
        f"{what} ({where}) not in {store.place}; {lack.said} counts {lack.said.records:,} up to "
        f"event {lack.said.number}"
    )
    return (gaps[0][0] if gaps else lack.first), kind, detail


def _other_macs(
    store: Store,
    log: LogOfUnit,
    ordered: Sequence[Said],
    lacks: Sequence[_Lack],
    kind: str,
    found: FoundInUnit,
) -> None:
    """Report events that have another MAC than was said, and those that are not there although the
    count is right."""
    others: list[Said] = []
    for each in ordered:
        mac = log.mac_of(each.number)
        if mac is None:
            named = any(lack.first <= each.number <= lack.last for lack in lacks)
            if not named and not log.pruned(each.number):
                found.add(each.number, kind, f"it is not in {store.place}; {each} is up to it")
        elif mac != each.mac:
            others.append(each)
    if others:
        first = others[0]
        has = log.mac_of(first.number)
        shown = has.hex() if isinstance(has, bytes) else repr(has)
        more = f", and {counted(len(others) - 1, 'later one')}" if len(others) > 1 else ""
        detail = (
            f"its MAC in {store.place} is {shown}; {first} has {first.mac.hex()}{more}: this event "
            "or earlier ones are others"
        )
        found.add(first.number, "receipt_differs", detail)


def _events(stone: Tombstone, number: int) -> int:
    """How many events up to one a tombstone replaces. Of one that goes on after it, as many as may
    be."""
    events = sum(each.events for each in stone.shoes)
    return events if stone.last <= number else max(0, min(events, number - stone.first + 1))
