"""Takes the rows of a unit that do not continue the last good one, and reports what happened.

They are held back (*in doubt*) until one continues the chain again, either after the last good
record or after the record just before it. The records between make one finding, and the chain goes
on.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sabot.audit import chain
from sabot.audit.checks.chain_events import BOOT, CHAIN, OF_THE_CHAIN, ChainEvents, ChainMacs
from sabot.audit.checks.decoding import Values, values_of, why_damaged
from sabot.audit.checks.doubt import HELD, ChainRow, Doubt
from sabot.audit.checks.findings import ReportFinding
from sabot.audit.checks.holes import MOST_ODD, Holes
from sabot.audit.tombstone import Tombstone, usable_tombstones
from sabot.text import counted

_STILL_THERE = "is in the log, but a tombstone says that it was removed"
_FARTHEST = 10_000_000  # most events that can be missing; a shoe takes years to record more


@dataclass(slots=True)
class Position:
    """Where the check of a chain is: the last good record, and what must come after it."""

    due: int
    """The next event."""
    due_row: int
    before: bytes | None
    """The MAC of the event before it; None if it is not known."""
    record: bytes = b""
    """The record before it; empty if it is not known."""


class OddRows:
    """The rows of one unit that do not continue the last good one. It moves `position` on. `report`
    takes findings. `lost` is called with the number of an event if a record before it is missing or
    cannot be used."""

    def __init__(
        self,
        unit: str,
        position: Position,
        macs: ChainMacs,
        chain_events: ChainEvents,
        holes: Holes,
        report: ReportFinding,
        lost: Callable[[int], None],
        tombstones: Iterable[bytes],
    ) -> None:
        self.any = False
        """Whether there was such a row."""
        self.notes: list[tuple[int, str, str]] = []
        """What the reader should know although it is not a fault: event number, kind, detail."""
        self._here = position
        self._macs = macs
        self._chain_events = chain_events
        self._holes = holes
        self._report = report
        self._lost = lost
        self._tombstones, self._unreadable = usable_tombstones(unit, tombstones, _FARTHEST)
        self._doubt = Doubt()
        self._replaying = False  # whether the rows repeat events that were there before
        self._copy: ChainRow
        # By the event that should be in a row: the event that is.
        self._misplaced_rows: dict[int, int] = {}
        self._altered: tuple[ChainRow, int, bytes, str] | None = None
        self._hole = 0, 0  # the newest one: the events before and after it

    @property
    def undecided(self) -> bool:
        """Whether rows are in doubt or repeat others."""
        return bool(self._doubt.count) or self._replaying

    @property
    def _farthest(self) -> int:
        """The largest number that the next row may have: beyond, no key is derived."""
        return min(self._here.due + _FARTHEST, chain.MOST_EVENTS)

    def take(self, row: Any, record: Any, mac: Any, values: Values | None) -> Iterator[Values]:
        """Take a row that is not the next good one. Yield the values of usable events."""
        self.any = True
        if type(row) is not int:
            self._report(self._here.due, "changed", f"the table numbers a row {row!r}")
            self._lost(self._here.due)
            return
        at = row - self._here.due_row + self._here.due
        odd = ChainRow(
            row,
            record if isinstance(record, bytes) else b"",
            mac if isinstance(mac, bytes) else b"",
            values,
            at,
        )
        if values is None:
            self._report(at, "damaged", f"record cannot be read: {why_damaged(record)}")
        if self._doubt.count:
            yield from self._after_held_back(odd)
        elif self._replaying:
            yield from self._after_copies(odd)
        else:
            yield from self._after_good(odd)

    def _after_good(self, row: ChainRow) -> Iterator[Values]:
        if row.row < self._here.due_row or row.at > self._farthest:
            detail = (
                f"a row {row.row} instead of {self._here.due_row}, which no shoe can have written"
            )
            self._report(self._here.due, "changed", detail)
        elif row.row == self._here.due_row:
            cannot_check = self._here.before is None and row.own == self._here.due
            if cannot_check or self._continues(self._here.before, self._here.due, row):
                yield from self._take(row)
            else:
                yield from self._hold_back(row)
        elif self._macs.keys is not None and self._continues(
            self._here.before, self._here.due, row
        ):
            self._report(
                self._here.due, "reordered", f"is in row {row.row}, {self._here.due_row} is empty"
            )
            yield from self._take(row)
        else:
            yield from self._after_hole(row)

    def _after_hole(self, row: ChainRow) -> Iterator[Values]:
        """Take a row after missing rows."""
        while self._tombstones and self._tombstones[0].first < row.at:
            tombstone = self._tombstones.pop(0)
            if self._here.due < tombstone.first:
                self._missing(self._here.due, tombstone.first - 1, None)
                self._here.due_row += tombstone.first - self._here.due
                self._here.due = tombstone.first
            self._skip_removed(tombstone)
        if self._here.due < row.at:
            self._missing(self._here.due, row.at - 1, row)
        elif self._here.due > row.at:
            self._report(row.at, "tombstone", _STILL_THERE)
            self._here.before = None
        self._hole = self._here.due, row.at
        self._here.due, self._here.due_row = row.at, row.row
        self._lost(row.at)
        if self._here.before is None or self._continues(self._here.before, row.at, row):
            yield from self._take(row)
        else:
            yield from self._hold_back(row)

    def _missing(self, first: int, last: int, following: ChainRow | None) -> None:
        """Note that events `first` to `last` are missing; `following` is the row after them."""
        self._here.before = None
        if self._unreadable:
            detail = f"{self._unreadable.pop(0)}; events to {last} are gone"
            self._report(first, "tombstone", detail)
            return
        checked = following is not None and self._macs.keys is not None
        self._holes.add(
            first, last, (following.record, following.mac) if following and checked else None
        )

    def _skip_removed(self, tombstone: Tombstone) -> None:
        """Continue the chain after the removed events."""
        if tombstone.first < self._here.due:
            self._report(tombstone.first, "tombstone", _STILL_THERE)
            if tombstone.last < self._here.due:
                return
        elif self._here.before is not None and tombstone.before != (
            b"" if tombstone.first == 1 else self._here.before
        ):
            detail = "does not continue the event before it: it has another MAC for that event"
            self._report(tombstone.first, "tombstone", detail)
        else:
            self.notes.append((tombstone.first, "removed", tombstone.removed_text()))
        for each in tombstone.context:
            (values,) = values_of([each.record])
            if values is not None and values[0] == BOOT:
                self._chain_events.start(tombstone.first, values)
        self._here.before = tombstone.after
        self._here.record = b""
        self._here.due_row += tombstone.last + 1 - self._here.due
        self._here.due = tombstone.last + 1

    def _take(self, row: ChainRow) -> Iterator[Values]:
        """Take the row as the event that is due, and continue the chain after it."""
        number, before = self._here.due, self._here.before
        self._here.before, self._here.record = row.mac, row.record
        self._here.due, self._here.due_row = number + 1, row.row + 1
        self._replaying = False
        if row.values is None or row.values[1] != number:
            self._lost(number)
            return
        if row.values[0] in OF_THE_CHAIN and not (row.doubted and row.values[0] == BOOT):
            self._chain_events.take(row.values, before)
        yield row.values

    def _hold_back(self, row: ChainRow) -> Iterator[Values]:
        """Hold back a row that does not continue those before it."""
        doubt = self._doubt
        if doubt.count < HELD:
            doubt.rows.append(row)
        else:
            if doubt.whole:
                for each in doubt.rows:
                    yield from self._yield_unjudged(each)
            doubt.rows[1:] = [row]
            yield from self._yield_unjudged(row)
        doubt.count += 1
        if self._macs.keys is not None and row.values is not None and row.values[0] == BOOT:
            if self._macs.chain not in (None, row.values[CHAIN]):
                doubt.foreign = doubt.foreign or row.values[CHAIN]
        if doubt.foreign and doubt.count >= HELD:
            yield from self._settle_doubt()

    def _yield_unjudged(self, row: ChainRow) -> Iterator[Values]:
        """Yield a row in doubt unchecked, if it contains the event that should be there."""
        if row.values is None or row.own != row.at:
            self._lost(row.at)
        else:
            if row.values[0] in OF_THE_CHAIN:
                self._chain_events.take(row.values, None)
            yield row.values

    def _after_held_back(self, row: ChainRow) -> Iterator[Values]:
        """Take a row that comes after rows in doubt."""
        doubt = self._doubt
        last, first = doubt.rows[-1], doubt.rows[0]
        if row.row != last.row + 1:
            yield from self._settle_doubt()
            yield from self._after_good(row)
        elif self._continues(self._here.before, self._here.due, row):
            yield from self._continues_good(row)
        elif self._follows(last, row):
            yield from self._continues_doubt(row)
        elif (right := self._right_mac()) and self._continues(right, self._here.due + 1, row):
            self._report(self._here.due, "changed", "the next event continues from another MAC")
            first.mac = right
            self._doubt = Doubt()
            yield from self._take(first)
            yield from self._take(row)
        else:
            yield from self._hold_back(row)

    def _right_mac(self) -> bytes | None:
        """The MAC that the only row in doubt must have, if it contains the event that is due."""
        before, first = self._here.before, self._doubt.rows[0]
        if self._doubt.count > 1 or first.own != self._here.due:
            return None
        if self._macs.keys is None or before is None:
            return None
        return self._macs.right(before, first.own, first.record)

    def _continues_good(self, row: ChainRow) -> Iterator[Values]:
        """Take a row that continues the last good one. The rows in doubt are between the two."""
        doubt, self._doubt = self._doubt, Doubt()
        in_order = sorted((*doubt.rows, row), key=lambda each: each.own)
        if doubt.whole and [each.own for each in in_order] == list(
            range(self._here.due, self._here.due + len(in_order))
        ):
            self._report(self._here.due, "reordered", f"event {doubt.rows[0].own} is in its place")
            for each in in_order:
                yield from self._take(each)
            self._here.due_row = row.row + 1
            return
        if not self._replaying:
            first = doubt.rows[0]
            if doubt.count == 1 and (first.record, first.mac) == (
                self._here.record,
                self._here.before,
            ):
                self._report(
                    self._here.due, "doubled", f"event {self._here.due - 1} is there again"
                )
            else:
                detail = f"out of place before it: {counted(doubt.count, 'record')}"
                self._report(self._here.due, "inserted", detail)
        yield from self._take(row)

    def _continues_doubt(self, row: ChainRow) -> Iterator[Values]:
        """Take a row that continues the last row in doubt, which proves the MAC of that row."""
        doubt, last, number = self._doubt, self._doubt.rows[-1], row.own
        begins = number - doubt.count  # the first event in doubt, if they are consecutive
        if number <= self._here.due:
            self._doubt = Doubt()
            self._copied(row)
        elif self._replaying:
            self._doubt = Doubt()
            self._here.due, self._here.due_row = number, row.row
            self._lost(number)
            yield from self._take(row)
        elif begins == self._here.due:
            doubt.foreign = b""  # the chain is still this unit's
            yield from self._settle_doubt()
            yield from self._take(row)
        elif begins > self._here.due:
            self._missing(self._here.due, begins - 1, doubt.rows[0])
            self._doubt = Doubt()
            if doubt.count > 1:
                self._report(begins, "changed", "it and those after it were changed")
            self._lost(begins)
            self._here.due, self._here.due_row = begins, doubt.rows[0].row
            yield from self._take_held_back(doubt)
            yield from self._take(row)
        else:
            detail = f"out of place: {counted(self._here.due - begins, 'record')}"
            self._report(self._here.due, "inserted", detail)
            self._doubt = Doubt()
            self._lost(number)
            self._here.due, self._here.due_row, self._here.before = number, row.row, last.mac
            yield from self._take(row)

    def _copied(self, row: ChainRow) -> None:
        """Note that this row and the one before it repeat events, or contain missing ones."""
        first = row.own - 1
        refilled = self._holes.refill(first)
        if not refilled and not self._replaying:
            self._report(self._here.due, "doubled", f"events from {first} on are there again")
        self._replaying = True
        self._copy = row

    def _after_copies(self, row: ChainRow) -> Iterator[Values]:
        """Take a row that comes after rows that repeat events."""
        if self._continues(self._here.before, self._here.due, row):
            yield from self._take(row)
        elif self._follows(self._copy, row):
            self._copy = row
        elif row.own == row.at and row.at > self._here.due:
            self._here.due, self._here.due_row, self._here.before = row.at, row.row, None
            self._lost(row.at)
            yield from self._take(row)
        else:
            yield from self._hold_back(row)

    def _take_held_back(self, doubt: Doubt) -> Iterator[Values]:
        """Take the rows that were held back, and continue after them."""
        if doubt.whole:
            for row in doubt.rows:
                row.doubted = True
                yield from self._take(row)
        else:  # they have been yielded already
            last = doubt.rows[-1]
            self._here.due += doubt.count
            self._here.due_row += doubt.count
            self._here.before, self._here.record = last.mac, last.record

    def _settle_doubt(self) -> Iterator[Values]:
        """Report the rows in doubt as changed, doubled or misplaced, and take them."""
        doubt, self._doubt = self._doubt, Doubt()
        first, last = doubt.rows[0], doubt.rows[-1]
        if self._replaying:
            self._lost(self._here.due)
            self._here.due, self._here.due_row, self._here.before = (
                last.at + 1,
                last.row + 1,
                last.mac,
            )
            self._replaying = False
            return
        if doubt.foreign:
            self._chain_events.other_chain(self._here.due, doubt.foreign)
        elif (first.record, first.mac) == (self._here.record, self._here.before):
            self._report(self._here.due, "doubled", f"event {self._here.due - 1} is there again")
        elif self._misplaced_rows.get(first.own) == self._here.due or (
            doubt.count > 1 and first.own != self._here.due
        ):
            self._misplaced(first)
        else:
            others = f", or that of one up to {last.at}" if doubt.count > 2 else ""
            self._changed(first, f"its record or its MAC{others} is not what the shoe made")
        yield from self._take_held_back(doubt)

    def _changed(self, first: ChainRow, detail: str) -> None:
        """Report that the event that is due was changed. For the first one, `ended` searches the
        key that made it."""
        if self._altered is None and self._macs.keys is not None and self._here.before is not None:
            self._altered = (first, self._here.due, self._here.before, detail)
        else:
            self._report(self._here.due, "changed", detail)

    def _misplaced(self, row: ChainRow) -> None:
        """Take a row that contains another event; the two events may have been swapped."""
        number, own = self._here.due, row.own
        if self._misplaced_rows.get(own) == number:
            self._report(own, "reordered", f"it and event {number} are in each other's place")
            del self._misplaced_rows[own]
        elif own > number and len(self._misplaced_rows) < MOST_ODD:
            self._misplaced_rows[number] = own
        else:
            self._changed(row, f"the record in its place says that it is event {own}")

    def ended(self) -> Iterator[Values]:
        """After the last row, report what is still undecided. Yield the values of events that were
        in doubt."""
        if self._doubt.count:
            yield from self._settle_doubt()
        while self._tombstones and self._tombstones[0].first <= self._here.due:
            self._skip_removed(self._tombstones.pop(0))
        for tombstone in self._tombstones:
            removed = (
                f"a tombstone says that events {tombstone.first} to {tombstone.last} were removed"
            )
            self._report(self._here.due, "truncated", f"{removed}, but the log ends before them")
        for wrong in self._unreadable:
            self._report(0, "tombstone", wrong)
        for number, own in self._misplaced_rows.items():
            self._report(number, "changed", f"the record in its place says that it is event {own}")
        self._holes.ended()
        if self._altered is not None:
            row, number, before, detail = self._altered
            epoch = self._macs.epoch_of_key(
                number, before, row.record, row.mac, self._newest_carried()
            )
            if epoch is not None:
                own = chain.epoch_of(number)
                detail = f"made with the key of epoch {epoch}, but it is of epoch {own}"
                detail += ": that key was stolen"
            self._report(number, "changed" if epoch is None else "wrong_epoch", detail)

    def _newest_carried(self) -> int:
        """Return the number up to which events are there; a single one after a hole is only a
        claim."""
        before_hole, after_hole = self._hole
        return before_hole if self._here.due <= after_hole + 1 else self._here.due

    def _continues(self, before: bytes | None, number: int, row: ChainRow) -> bool:
        """Whether `row` holds event `number`, and continues the event whose MAC is `before`."""
        if row.own != number or not 0 < number <= self._farthest:
            return False
        if self._macs.keys is None:
            return True
        return before is not None and self._macs.right(before, number, row.record) == row.mac

    def _follows(self, before: ChainRow, row: ChainRow) -> bool:
        """Whether `row` continues the event in row `before`, regardless of that event's number."""
        if self._macs.keys is None and before.own + 1 != row.own:
            return False
        return self._continues(before.mac, row.own, row)
