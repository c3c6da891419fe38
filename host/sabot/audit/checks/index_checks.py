"""Checks what was derived from the records, so that they are found quickly, against the records."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from sabot.audit.checks.chain_checks import RawRecord
from sabot.audit.checks.decoding import Values
from sabot.log.derived import DAMAGED, LARGEST
from sabot_protocol import events

_KIND_NAMES = ["?"] * 256
for _shape in events.KINDS:
    _KIND_NAMES[_shape.number] = _shape.name


class IndexChecks:
    """Holds the rows that were derived from records against the records: one finding for all that
    differ. Behind some record there may be none yet."""

    def __init__(
        self, rows: Iterable[tuple[Any, ...]], tell: Callable[[int, str, str], None]
    ) -> None:
        self._rows = iter(rows)
        self._held: list[tuple[Any, ...]] = []  # taken from `rows`, and not compared yet
        self._tell = tell
        self._wrong: tuple[int, str] | None = None
        self._count = 0
        self._without: int | None = None  # first record without a row, while none behind has one

    def compare(self, rows: Sequence[RawRecord], decoded: Sequence[Values | None]) -> None:
        """Take the next records."""
        names = _KIND_NAMES
        wanted: list[tuple[Any, ...]] = [
            (row[0], names[values[0]], values[4], values[5], values[6])
            if values is not None
            else (row[0], DAMAGED)
            for row, values in zip(rows, decoded, strict=True)
        ]
        self._held += islice(self._rows, max(0, len(wanted) - len(self._held)))
        if self._without is None and self._held == wanted:
            self._held = []
            return
        last = wanted[-1][0]
        while not (self._held and _comes_behind(self._held[-1][0], last)):
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
                self._differs(right[0], f"there it is {stored[1:]}, {right[1:]} by its record")
        last = wanted[-1][0]
        self._held = [row for row in held.values() if _comes_behind(row[0], last)]

    def ended(self, next_number: int) -> None:
        """There are no more records: what is derived from others is of some that are gone."""
        behind = len(self._held) + sum(1 for _ in self._rows)
        if behind:
            detail = f"{behind} events more are in the tables that were derived from the records"
            self._tell(next_number, "truncated", detail)
        if self._wrong is not None:
            number, detail = self._wrong
            others = f", and {self._count - 1} more" if self._count > 1 else ""
            detail = f"the table that commands show it from differs: {detail}{others}"
            self._tell(number, "derived", f"{detail}; `sabot rebuild` makes it anew")

    def _differs(self, number: int, detail: str) -> None:
        self._wrong = self._wrong or (number, detail)
        self._count += 1


def _comes_behind(number: object, last: object) -> bool:
    """Whether a row belongs behind the record numbered `last`, in SQLite's order."""
    if isinstance(number, int) and isinstance(last, int):
        return number > last
    return isinstance(last, int)


def _agree(stored: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    """Whether a derived row is right."""
    if right[1] == DAMAGED:
        return True  # that is found, and what it was nobody knows
    _, kind, unix_ms, shoe, round_ = right
    limited = (
        None if unix_ms is None else min(unix_ms, LARGEST),
        min(shoe, LARGEST),
        min(round_, LARGEST),
    )
    return stored[1:] == (kind, *limited)
