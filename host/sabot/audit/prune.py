"""Retention: removes old, whole shoes of cards from a log, and leaves tombstones.

The removed records are contiguous. They begin with the unit's first record or after its last
tombstone. A shoe of cards is removed together with the events up to the next `shoe_loaded`; the
first one also with the events before it. A shoe of cards stays if

- any of its records is younger than the retention time, or it has not ended,
- it is the unit's last one: the log goes on from there,
- the log is forwarded to a centre (sabot/centre), which has not signed for all of it yet, or
- the verifier finds anything wrong in what would be removed: a log in dispute is evidence.

A record has two ages: since the host received it, by the host's clock, and since the shoe wrote it,
by the shoe's clock. The lesser one counts. A shoe's clock that is ahead of now is wrong and does
not count; nor does one that was never set. So one wrong clock alone cannot make a record old. The
audit chain protects the shoe's time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from sabot.audit import tombstone
from sabot.audit.bundle import chain_id_of, ratchet_of
from sabot.audit.checks.findings import Finding, Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.audit.context import OF_TOMBSTONES, context_before, mac_before, tombstones
from sabot.audit.retention import DAY_MS
from sabot.audit.tombstone import RemovedShoe
from sabot.errors import DatabaseUnusable, KeptByLaw
from sabot.keys.chain_keys import Keys
from sabot.keys.signing import PrivateKey
from sabot.link.events import DECIDED_KINDS, Event, RoundVoidEvent
from sabot.link.wire import WireError
from sabot.log.found import NO_TIME
from sabot.log.store import Filter, Removal, Row, Store
from sabot.receipts import kept
from sabot.text import counted, local_time


@dataclass(frozen=True, slots=True)
class Stretch:
    """The records of a shoe of cards, and those that are removed with it. `shoe` is 0 if no shoe of
    cards was loaded in them."""

    shoe: int
    first: int
    last: int
    events: int
    rounds: int
    ended: bool
    youngest_unix_ms: int
    """When the youngest record was written or received, as the module's docstring defines it."""
    followed: bool
    """Whether another shoe of cards was loaded after it."""


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What to remove of a unit: stretches that begin with its first record, and why no more."""

    unit: str
    going: Sequence[Stretch]
    stays: Stretch | None
    """The first stretch that is not removed; None if the log has no other records."""
    why: str
    """Why that stretch stays, for people."""
    stuck: bool
    """Whether it stays for ever, because it is old and its end is not in the log."""
    unreceipted: bool
    """Whether it stays only because the centre has not signed for it."""
    macs_checked: bool
    """Whether there was a key to check the MACs of the records to remove."""
    findings: Sequence[Finding]
    """What is wrong in the records to remove. If there is any finding, nothing may be removed."""

    @property
    def first(self) -> int:
        """Number of the first event to remove."""
        return self.going[0].first

    @property
    def last(self) -> int:
        """Number of the last event to remove."""
        return self.going[-1].last

    @property
    def events(self) -> int:
        """How many records to remove."""
        return sum(stretch.events for stretch in self.going)


def plan(
    store: Store, unit: str, *, keep_days: int, now_unix_ms: int, keys: Keys | None
) -> PrunePlan:
    """Plan the removal of a unit's records that are older than `keep_days`. With `keys` their audit
    chain is checked too.

    Raises KeysUnusable if `keys` have no key of the unit.
    """
    going: list[Stretch] = []
    stays, why, stuck, unreceipted = None, "there is nothing else", False, False
    receipted = kept.covered(store, unit)
    keep_ms = keep_days * DAY_MS
    first = max((each.last for each in tombstones(store, unit)), default=0) + 1
    for stretch in _stretches(store.rows(Filter(unit=unit)), first, now_unix_ms, keep_ms):
        old = now_unix_ms - stretch.youngest_unix_ms >= keep_ms
        may_go = old and stretch.ended and stretch.followed
        unreceipted = may_go and receipted is not None and receipted < stretch.last
        if may_go and not unreceipted:
            going.append(stretch)
            continue
        stays, stuck = stretch, old and stretch.followed and not unreceipted
        if unreceipted:
            why = f"the centre has no receipt for it, only up to event {receipted}"
        elif not old:
            why = f"until {local_time(stretch.youngest_unix_ms + keep_ms)} at least"
        elif not stretch.followed:
            why = "the log goes on from there"
        else:
            why = "its end is not in the log"
        break
    findings: list[Finding] = []
    if going:
        macs = None
        if keys is not None:
            before = context_before(store, unit, going[-1].last + 1)
            macs = ratchet_of(keys, unit, chain_id_of(before, ()))
        checks = UnitChecks(unit, macs=macs, tombstones=store.tombstones(unit))
        found = checks.verify(store.raw(unit, last=going[-1].last), Summary())
        findings = [each for each in found if each.kind != "no_key"]
    checked = keys is not None
    return PrunePlan(unit, going, stays, why, stuck, unreceipted, checked, findings)


def carry_out(
    store: Store,
    plans: Sequence[PrunePlan],
    private: PrivateKey,
    *,
    keep_days: int,
    now_unix_ms: int,
) -> None:
    """Remove what was planned of several units, and leave tombstones signed with `private`: of each
    unit all of it or nothing.

    Raises KeptByLaw if a plan has findings, and DatabaseUnusable if a plan was made for another
    log; then nothing was removed.
    """
    store.prune_all(
        [_removal(store, planned, private, keep_days, now_unix_ms) for planned in plans]
    )


def _removal(
    store: Store, planned: PrunePlan, private: PrivateKey, keep_days: int, now_unix_ms: int
) -> Removal:
    """The removal that was planned, with its tombstone."""
    unit, first, last = planned.unit, planned.first, planned.last
    if planned.findings:
        raise KeptByLaw(
            f"{unit}: {counted(len(planned.findings), 'finding')} in what would be removed"
        )
    digest, count, after = sha256(), 0, b""
    for _, record, mac in store.raw(unit, first, last):
        digest.update(record)
        digest.update(mac)
        count, after = count + 1, mac
    if count != planned.events:
        raise DatabaseUnusable(
            f"{store.place}: events {first} to {last} of {unit} are {counted(count, 'record')}, "
            f"but {planned.events} by its tables; run `sabot rebuild`, then try again"
        )
    sealed = tombstone.make(
        private,
        unit=unit,
        first=first,
        last=last,
        shoes=[RemovedShoe(each.shoe, each.rounds, each.events) for each in planned.going],
        before=mac_before(store, unit, first),
        after=after,
        sha256=digest.digest(),
        removed_unix_ms=now_unix_ms,
        keep_days=keep_days,
        context=context_before(store, unit, last + 1, OF_TOMBSTONES),
    )
    return Removal(unit, first, last, sealed)


def _stretches(
    rows: Iterator[Row], first: int, now_unix_ms: int, keep_ms: int
) -> Iterator[Stretch]:
    """Yield a unit's records, divided where a shoe of cards is loaded. The last stretch may end
    early, as soon as it is known to be too young.
    """
    shoe = events = rounds = youngest = last = 0
    ended = False
    for row in rows:
        event = _event_in(row)
        kind = None if event is None else event.kind
        if event is not None and kind == "shoe_loaded":
            if shoe:
                yield Stretch(shoe, first, last, events, rounds, ended, youngest, True)
                first, events, rounds, youngest, ended = last + 1, 0, 0, 0, False
            shoe = event.shoe
        events += 1
        rounds += kind in DECIDED_KINDS
        rounds -= isinstance(event, RoundVoidEvent) and event.reason == "misdeal"
        ended = ended or kind == "shoe_ended"
        last = row.number
        youngest = max(youngest, _recorded_unix_ms(row, event, now_unix_ms))
        if shoe and now_unix_ms - youngest < keep_ms:
            break
    if events:
        yield Stretch(shoe, first, last, events, rounds, ended, youngest, False)


def _recorded_unix_ms(row: Row, event: Event | None, now_unix_ms: int) -> int:
    """The later of a record's two times: when the host received it, and when the shoe wrote it."""
    received = row.received_unix_ms
    if received == NO_TIME:
        return now_unix_ms + 1
    if event is None or event.unix_ms is None or event.unix_ms > now_unix_ms:
        return received
    return max(received, event.unix_ms)


def _event_in(row: Row) -> Event | None:
    try:
        return row.event()
    except WireError:
        return None
