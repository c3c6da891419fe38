"""Checks the index of the log, which is derived from the records, against these records."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from sabot.audit.checks.chain_events import RawRecord
from sabot.audit.checks.decoding import Values, kind_of
from sabot.audit.checks.holes import MOST_ODD
from sabot.link.words import UNKNOWN
from sabot.log.found import DAMAGED, LARGEST, kind_now
from sabot.text import counted, printable, utc_time
from sabot_protocol import events

_SHOWN = 32  # characters of a value
_KIND_NAMES = [""] * 256
for _shape in events.KINDS:
    _KIND_NAMES[_shape.number] = _shape.name
_NAMES = {DAMAGED, *_KIND_NAMES}


class IndexChecks:
    """Compares the derived rows with the records. All differences make one finding. The newest
    records may have no rows yet."""

    def __init__(
        self, rows: Iterable[tuple[Any, ...]], report: Callable[[int, str, str], None]
    ) -> None:
        self._rows = iter(rows)
        self._held: list[tuple[Any, ...]] = []  # taken from `rows` and not compared yet
        self._report = report
        self._wrong: tuple[int, str] | None = None
        self._count = 0
        self._strays: list[tuple[int, str]] = []  # rows without a record
        self._without: int | None = None  # first record without a row, until a later one has a row

    def agree(self) -> bool:
        """Whether every record so far has its row, and no row is left."""
        self._held += islice(self._rows, 1)
        differ = self._wrong is not None or self._strays
        return not differ and self._without is None and not self._held

    def complete_up_to(self, number: int) -> bool:
        """Whether the last record has its row, and no other row comes before event `number`."""
        if not self._held:
            self._held += islice(self._rows, 1)
        left = bool(self._held) and not _comes_after(self._held[0][0], number - 1)
        return self._without is None and not left

    def go_on(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Go on with `rows`, after others that were compared elsewhere."""
        self._rows, self._held = iter(rows), []

    def compare(self, rows: Sequence[RawRecord], decoded: Sequence[Values | None]) -> None:
        """Take the next records."""
        names = _KIND_NAMES
        wanted: list[tuple[Any, ...]] = [
            (row[0], names[values[0]] or kind_of(values), values[4], values[5], values[6])
            if values is not None
            else (row[0], DAMAGED)
            for row, values in zip(rows, decoded, strict=True)
        ]
        self._held += islice(self._rows, max(0, len(wanted) - len(self._held)))
        if self._without is None and self._held == wanted:
            self._held = []
            return
        last = wanted[-1][0]
        while not (self._held and _comes_after(self._held[-1][0], last)):
            row = next(self._rows, None)
            if row is None:
                break
            self._held.append(row)
        self._one_by_one(wanted)

    def _one_by_one(self, wanted: Sequence[tuple[Any, ...]]) -> None:
        held = {row[0]: row for row in self._held}
        for right in wanted:
            stored = held.pop(right[0], None)
            if stored is None:
                self._without = right[0] if self._without is None else self._without
                continue
            if self._without is not None:
                self._differs(self._without, "it is missing there")
                self._without = None
            if not _agree(stored, right):
                detail = f"it is {_words(*stored[1:])} there; {_words(*right[1:])} by its record"
                self._differs(right[0], detail)
        last = wanted[-1][0]
        self._held = [row for row in held.values() if _comes_after(row[0], last)]
        for number, *row in held.values():
            if not _comes_after(number, last):
                at = max(1, number) if isinstance(number, int) else wanted[0][0]
                detail = f"it has {_words(*row)}, of which there is no record"
                if len(self._strays) < MOST_ODD:
                    self._strays.append((at, detail))
                else:
                    self._differs(at, detail)

    def ended(self, next_number: int, missing: Sequence[tuple[int, int]]) -> None:
        """After the last record, report differences. Rows that are left have no record any more;
        those of the events from each first to each last of `missing`, in order, are not reported
        again."""
        for at, detail in self._strays:
            place = bisect_right(missing, (at, LARGEST))
            if not place or missing[place - 1][1] < at:
                self._differs(at, detail)
        left = len(self._held) + sum(1 for _ in self._rows)
        if left:
            detail = (
                f"{counted(left, 'more event')} in the tables that were derived from the records"
            )
            self._report(next_number, "truncated", detail)
        if self._wrong is not None:
            number, detail = self._wrong
            others = f", and {self._count - 1} more" if self._count > 1 else ""
            detail = f"the table that commands read differs: {detail}{others}"
            self._report(number, "derived", f"{detail}; `sabot rebuild` makes it again")

    def _differs(self, number: int, detail: str) -> None:
        self._wrong = min(self._wrong or (number, detail), (number, detail))
        self._count += 1


def _words(kind: object, unix_ms: object, shoe: object, round_: object) -> str:
    """A derived row for people. A forger can store anything in its columns."""
    when = utc_time(unix_ms) if isinstance(unix_ms, int) else None
    shown = (kind, when or ("no clock" if unix_ms is None else unix_ms), shoe, round_)
    kind, when, shoe, round_ = (printable(str(each)[:_SHOWN]) for each in shown)
    return f"{kind} at {when}, shoe {shoe}, round {round_}"


def _comes_after(number: object, last: object) -> bool:
    """Whether a row comes after the record numbered `last`, in SQLite's order."""
    if isinstance(number, int) and isinstance(last, int):
        return number > last
    return isinstance(last, int)


def _agree(stored: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    """Whether a derived row is right."""
    if right[1] == DAMAGED:
        return True  # `damaged` is reported; its derived row cannot be checked
    _, kind, unix_ms, shoe, round_ = right
    limited = (
        None if unix_ms is None else min(unix_ms, LARGEST),
        min(shoe, LARGEST),
        min(round_, LARGEST),
    )
    if stored[2:] != limited:
        return False
    # Another version may have derived it, which did not know the kind, or which knows it.
    stored_kind = kind_now(stored[1]) if isinstance(stored[1], str) else stored[1]
    if stored_kind == kind or not kind.startswith(UNKNOWN) or not isinstance(stored_kind, str):
        return bool(stored_kind == kind)
    return stored_kind not in _NAMES and not stored_kind.startswith(UNKNOWN)
