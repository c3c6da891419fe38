"""Follows the records of one unit by number and by MAC, and reports changes to them.

A record is good if it is in the row of its number, contains that number, and has the MAC that the
key of its epoch makes from it and the MAC before it. OddRows takes those that are not good.

The MAC decides: a row belongs to the chain if the next good record continues from its MAC. Without
keys only the numbers in the records decide.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from sabot.audit.chain import MacKeys
from sabot.audit.checks.chain_events import OF_THE_CHAIN, ChainEvents, ChainMacs, RawRecord
from sabot.audit.checks.decoding import Values, values_of
from sabot.audit.checks.findings import ReportFinding
from sabot.audit.checks.holes import Holes
from sabot.audit.checks.odd_rows import OddRows, Position

_CHUNK = 1000  # rows decoded together


@dataclass(frozen=True, slots=True)
class Place:
    """Where the check of a chain is, between two rows that continue each other."""

    due: int
    """The next event."""
    due_row: int
    before: bytes | None
    """The MAC of the event before it; None if it is not known."""
    keyed: bool
    """Whether MACs are checked."""


class ChainChecks:
    """Checks the chain of one unit. `report` takes findings. `lost` is called with the number of an
    event if a record before it is missing or cannot be used.

    `before` is the MAC of the event before event `first`; None if it is not known.
    """

    def __init__(
        self,
        unit: str,
        macs: MacKeys | None,
        report: ReportFinding,
        lost: Callable[[int], None],
        tombstones: Iterable[bytes] = (),
        first: int = 1,
        before: bytes | None = None,
    ) -> None:
        self.seen: Callable[[Sequence[RawRecord], Sequence[Values | None]], None] | None = None
        """Called with every chunk of rows, and the values of their records."""
        self.rows = 0
        """Rows taken so far."""
        self._macs = ChainMacs(macs)
        self.holes = Holes(report)
        self._chain_events = ChainEvents(self._macs, self.holes, report)
        if before is None and first == 1:
            before = self._macs.chain
        self._here = Position(first, first, before)
        self._odd = OddRows(
            unit, self._here, self._macs, self._chain_events, self.holes, report, lost, tombstones
        )

    @property
    def undisturbed(self) -> bool:
        """Whether each row so far continued the one before it, and none says anything about rows
        elsewhere in the log."""
        return not self._odd.any and self._chain_events.local

    @property
    def place(self) -> Place | None:
        """Where the check is; None while rows are in doubt or repeat others."""
        if self._odd.undecided:
            return None
        at = self._here
        return Place(at.due, at.due_row, at.before, self._macs.keys is not None)

    @property
    def notes(self) -> Sequence[tuple[int, str, str]]:
        """What the reader should know although it is not a fault: event number, kind, detail."""
        return self._odd.notes

    @property
    def chain(self) -> bytes | None:
        """The id of the chain; None if it is not known."""
        return self._macs.chain

    @property
    def last_record(self) -> bytes:
        """The last good record; empty if there is none just before the next row."""
        return self._here.record

    def pass_over(self, rows: int, to: Place, record: bytes, chain: bytes | None) -> None:
        """Take `rows` rows as good that were checked elsewhere, undisturbed and from this place on;
        `record` is the last of them, and `chain` the id of their chain if they name it."""
        self.rows += rows
        at = self._here
        at.due, at.due_row, at.before, at.record = to.due, to.due_row, to.before, record
        if self._macs.chain is None:
            self._macs.chain = chain

    def follow(self, records: Iterable[RawRecord]) -> Iterator[Sequence[Values]]:
        """Take records in the order of their rows. Yield the values of usable events by number,
        some at a time. After the last row comes `ended`."""
        rows, at = iter(records), self._here
        while chunk := list(islice(rows, _CHUNK)):
            decoded = values_of([record for _, record, _ in chunk])
            self.rows += len(chunk)
            if self.seen is not None:
                self.seen(chunk, decoded)
            good = self._all_good(chunk, decoded)
            if good is not None:
                yield good
                continue
            for (row, record, mac), values in zip(chunk, decoded, strict=True):
                if row == at.due_row and values is not None and values[1] == at.due:
                    if self._macs.keys is None or (
                        at.before is not None and self._macs.right(at.before, at.due, record) == mac
                    ):
                        if values[0] in OF_THE_CHAIN:
                            self._chain_events.take(values, at.before)
                        at.before, at.record = mac, record
                        at.due += 1
                        at.due_row += 1
                        yield (values,)
                        continue
                for each in self._odd.take(row, record, mac, values):
                    yield (each,)

    def _all_good(
        self, chunk: Sequence[RawRecord], decoded: Sequence[Values | None]
    ) -> Sequence[Values] | None:
        """Take all rows if each is the next good one, and none says anything about rows elsewhere
        in the log. Otherwise take none, and return None."""
        here, count = self._here, len(chunk)
        due, before = here.due, here.before
        good = [values for values in decoded if values is not None]
        if [values[1] for values in good] != list(range(due, due + count)):
            return None
        if [row for row, _, _ in chunk] != list(range(here.due_row, here.due_row + count)):
            return None
        of_the_chain = OF_THE_CHAIN
        own = [at for at, values in enumerate(good) if values[0] in of_the_chain]
        if not all(self._chain_events.continues(good[at]) for at in own):
            return None
        if not self._macs.all_continue(before, due, chunk):
            return None
        for at in own:
            self._chain_events.take(good[at], chunk[at - 1][2] if at else before)
        _, here.record, here.before = chunk[-1]
        here.due += count
        here.due_row += count
        return good

    @property
    def next_number(self) -> int:
        """The number of the last event plus one."""
        return self._here.due

    def ended(self) -> Iterator[Values]:
        """After the last row, report what is still undecided. Yield the values of events that were
        in doubt."""
        yield from self._odd.ended()
