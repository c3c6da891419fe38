"""The notary of a centre: checks what the centre has taken of each unit, and signs for it.

A receipt is signed only for what was committed before the notary looked, and stored in the same
database: a centre that loses it has lost no less of the records. What one notary has signed for,
another one with the same key does not check again; with another key it checks all from the
beginning, because it vouches only for what it has seen.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Protocol

from sabot.centre.alarms import CHAIN, Alarm
from sabot.centre.checks.checkers import Checkers, spans_of
from sabot.centre.checks.checking import Found, Span, holes_of, joined, stones_of, taken_up_to
from sabot.centre.checks.holes import UnnamedHoles, removed
from sabot.centre.checks.recount import Recount
from sabot.keys.chain_keys import Keys
from sabot.keys.signing import PrivateKey, public_of
from sabot.log.boards import unit_of
from sabot.log.postgres.checks import said
from sabot.log.postgres.checks.gone import without
from sabot.log.postgres.store import PostgresStore
from sabot.receipts.receipt import CHAIN as CHAIN_CHECKED
from sabot.receipts.receipt import NUMBERS, Receipt, ReceiptUnusable, make

_AT_ONCE = 1 << 17
"""Events that are checked in one look, if there are so many: so what is done is signed soon."""
_UNITS = (
    "SELECT u.unit, u.newest, u.mac, r.number, r.receipt, sabot.now_unix_ms() FROM units AS u"
    " LEFT JOIN LATERAL (SELECT number, receipt FROM receipts WHERE unit = u.id"
    " AND number <= u.newest ORDER BY number DESC LIMIT 1) AS r ON true"
    " WHERE u.records > 0 ORDER BY u.unit"
)
# The receipts that have the bytes of a key in them, down from a number.
_SIGNED = (
    "SELECT r.number, r.receipt FROM receipts AS r JOIN units AS u ON u.id = r.unit"
    " WHERE u.unit = ? AND r.number <= ? AND position(? IN r.receipt) > 0"
    " ORDER BY r.number DESC LIMIT ? OFFSET ?"
)
_SIGNED_AT_ONCE = 100
_OTHER_HEAD = "the centre's head of this unit has another MAC than its record"


class NotarysCentre(Protocol):
    """What a notary says to the centre."""

    def alarm(self, alarm: Alarm) -> None:
        """Keep an alarm; the same one twice is one."""

    def miss(self, unit: str, first: int, last: int) -> None:
        """Note that events which were taken are not there any more, so that their site is asked for
        them. One that is there after all changes nothing."""

    def seal_alarms(self, seal: Callable[[int, bytes, int], bytes]) -> None:
        """If the chain of alarms has gone on, keep the seal that is made of its last place, of the
        digest there, and of the centre's time."""


class NotaryWatcher(Protocol):
    """What shows what a notary does."""

    def receipt(self, unit: str, number: int, unix_ms: int) -> None:
        """A receipt up to event `number` of `unit` was signed at this time."""

    def alarm(self, alarm: Alarm) -> None:
        """An alarm was raised that this notary had not raised before."""


@dataclass(frozen=True, slots=True)
class _Work:
    """A unit with something new: the span to check, and the centre's head of it."""

    span: Span
    newest: int
    mac: bytes
    now_unix_ms: int
    checked: str


class Notary:
    """Looks at all units of a centre, again and again."""

    def __init__(
        self,
        store: PostgresStore,
        private: PrivateKey,
        keys: Keys | None,
        checkers: Checkers,
        centre: NotarysCentre,
        watcher: NotaryWatcher,
    ) -> None:
        self._store = store
        self._private = private
        self._public = public_of(private)
        self._keys = keys
        self._checkers = checkers
        self._centre = centre
        self._watcher = watcher
        self._holes = UnnamedHoles(store)
        self._recount = Recount(store)
        self._known: set[str] = set()
        """The units whose own last receipt was looked for."""
        self._alarms: set[Alarm] = set()
        self._reached: dict[str, tuple[int, bytes]] = {}
        """By unit the last event that was checked, and its MAC."""
        self.is_behind = False
        self._broken: dict[str, int] = {}
        """By unit the event with which its chain broke: until that is put right, all after it is
        not looked at again."""

    def look(self) -> int:
        """Check what is new of each unit, and sign for it. Return how many receipts were signed.
        `is_behind` then says whether there is more to do at once."""
        work = self._some_of([each for each in self._new() if not self._is_broken(each)])
        parts = [spans_of(each.span) for each in work]
        found = self._found([span for some in parts for span in some])
        signed = 0
        for each, some in zip(work, parts, strict=True):
            signed += self._sign(each, joined([found[span] for span in some]))
        for alarm in self._holes.alarms():
            self._raise(alarm)
        self._count_again()
        self._centre.seal_alarms(lambda *chain: said.seal_of(self._private, *chain))
        return signed

    def _count_again(self) -> None:
        """Look for events that the centre had taken, and does not have any more."""
        for each in self._recount.look():
            self._miss(*each)
        for unit, number in self._recount.others:
            self._raise(Alarm(unit, number, CHAIN, _OTHER_HEAD))
        for unit, first, last in self._recount.filled:
            self._check_again(unit, first, last)

    def _miss(self, unit: str, first: int, last: int) -> None:
        """Say that events which the centre had taken are not there, and have them sent again."""
        self._raise(removed(unit, (first, last)))
        self._centre.miss(unit, first, last)

    def _check_again(self, unit: str, first: int, last: int) -> None:
        """Check events that a site has sent again, in the place of those that were gone."""
        span = Span(unit, first, self._store.first_from(unit, last + 1) or last, None)
        if not self._checkers.continue_all([span])[0]:
            (found,) = self._checkers.examine([span])
            if found.broken is not None:
                self._raise(found.broken)

    def _found(self, spans: Sequence[Span]) -> dict[Span, Found]:
        """What is found in each span; those that simply continue need no closer look."""
        outcomes = zip(spans, self._checkers.continue_all(spans), strict=True)
        right = {span: Found(span.last) for span, continues in outcomes if continues}
        odd = [span for span in spans if span not in right]
        return right | dict(zip(odd, self._checkers.examine(odd), strict=True))

    def _new(self) -> list[_Work]:
        """The units with something new, as they are at one moment."""
        with self._store.at_one_moment(), self._store.reading() as connection:
            rows = connection.execute(_UNITS).fetchall()
            return [
                self._work(unit, newest, mac, now)
                for unit, newest, mac, signed, receipt, now in rows
                if self._goes_on(unit, newest, signed, receipt)
            ]

    def _goes_on(self, unit: str, newest: int, signed: int | None, receipt: bytes) -> bool:
        """Whether a unit has events that this notary's key has not signed for. What else is in the
        table of receipts, such as those of another key, says nothing."""
        reached = self._reached.get(unit, (0,))[0]
        if reached < newest and signed is not None and signed > reached:
            checked = self._checks(unit)
            last = self._own(unit, signed, receipt)
            if last is None or checked not in (NUMBERS, last.checked):
                last = None if unit in self._known else self._last_own(unit, newest, checked)
            self._known.add(unit)
            if last is not None and last.number > reached:
                self._reached[unit] = last.number, last.mac
        return self._reached.get(unit, (0,))[0] < newest

    def _checks(self, unit: str) -> str:
        keyed = self._keys is not None and bool(self._keys.chains(unit_of(unit)))
        return CHAIN_CHECKED if keyed else NUMBERS

    def _work(self, unit: str, newest: int, mac: bytes, now: int) -> _Work:
        number, before = self._reached.get(unit, (0, None))
        return _Work(Span(unit, number + 1, newest, before), newest, mac, now, self._checks(unit))

    def _own(self, unit: str, number: int, data: bytes) -> Receipt | None:
        """A receipt if this notary has signed it."""
        with suppress(ReceiptUnusable):
            receipt = Receipt.parse(data)
            named = (receipt.unit, receipt.number, receipt.public_key)
            if named == (unit, number, self._public):
                return receipt
        return None

    def _last_own(self, unit: str, newest: int, checked: str) -> Receipt | None:
        """The last receipt that this notary signed after as good a check as now."""
        with self._store.reading() as connection:
            for at in count(0, _SIGNED_AT_ONCE):
                given = (unit, newest, self._public, _SIGNED_AT_ONCE, at)
                rows = connection.execute(_SIGNED, given).fetchall()
                for number, data in rows:
                    receipt = self._own(unit, number, data)
                    if receipt is not None and checked in (NUMBERS, receipt.checked):
                        return receipt
                if len(rows) < _SIGNED_AT_ONCE:
                    return None
        raise AssertionError("there is an end")

    def _sign(self, work: _Work, found: Found) -> int:
        """Sign for a unit as far as it is right; return how many receipts that are."""
        span = work.span
        with self._store.at_one_moment():
            holes, stones = holes_of(self._store, span.unit), stones_of(self._store, span.unit)
        for missing in found.missing:
            for part in without(missing, holes):
                self._miss(span.unit, *part)
        if found.broken is not None:
            self._raise(found.broken)
            self._broken[span.unit] = found.broken.number
        mac = self._mac_at(span.unit, found.good)
        if found.good == work.newest and mac != work.mac:
            self._raise(Alarm(span.unit, work.newest, CHAIN, _OTHER_HEAD))
            return 0
        if found.good < span.first or mac is None:
            return 0
        receipt = make(
            self._private,
            unit=span.unit,
            number=found.good,
            mac=mac,
            records=taken_up_to(found.good, holes, stones),
            unix_ms=work.now_unix_ms,
            checked=work.checked,
        )
        self._store.keep_receipts(span.unit, [(found.good, receipt)])
        self._reached[span.unit] = found.good, mac
        self._watcher.receipt(span.unit, found.good, work.now_unix_ms)
        return 1

    def _some_of(self, work: Sequence[_Work]) -> list[_Work]:
        """As much of the work as is done in one look."""
        some, left = [], _AT_ONCE
        for each in work:
            if left <= 0:
                break
            span = each.span
            if span.last - span.first >= left:  # up to an event that is there
                last = self._store.first_from(span.unit, span.first + left - 1)
                span = replace(span, last=span.last if last is None else last)
            left -= span.last - span.first + 1
            some.append(replace(each, span=span))
        self.is_behind = [each.span for each in some] != [each.span for each in work]
        return some

    def _is_broken(self, work: _Work) -> bool:
        """Whether the chain of a unit broke at an event that has not been put right since."""
        unit = work.span.unit
        event = self._broken.get(unit)
        if event is not None and self._checkers.continue_all([Span(unit, event, event, None)])[0]:
            del self._broken[unit]
        return unit in self._broken

    def _mac_at(self, unit: str, number: int) -> bytes | None:
        for _, _, mac in self._store.raw(unit, number, number):
            return mac
        return None

    def _raise(self, alarm: Alarm) -> None:
        self._centre.alarm(alarm)
        if alarm not in self._alarms:
            self._alarms.add(alarm)
            self._watcher.alarm(alarm)
