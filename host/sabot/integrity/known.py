"""What a house knows of its shoes of cards besides the log: machines, dealers, shifts.

A file of comma-separated values says which `name` of which `kind` belonged to a unit from when to
when: "machine,DM-3,SHOE-7,2026-11-01T00:00,2026-12-01T00:00". Name people
by pseudonyms.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

from sabot.errors import Misused
from sabot.table_time import BadTime, parse

COLUMNS = ("kind", "name", "unit", "from", "to")
"""The columns of the file; it may have more."""


@dataclass(frozen=True, slots=True)
class _Span:
    kind: str
    name: str
    unit: str
    begin: int
    end: int


class Known:
    """What the file says."""

    def __init__(self, spans: tuple[_Span, ...] = ()) -> None:
        self._spans = spans

    def of(self, unit: str, unix_ms: int | None) -> Mapping[str, str]:
        """What belonged to a unit at a time, by kind; nothing without a time."""
        if unix_ms is None:
            return {}
        return {
            each.kind: each.name
            for each in self._spans
            if each.unit == unit and each.begin <= unix_ms < each.end
        }


def read_known(path: Path, zone: tzinfo) -> Known:
    """Read a file of what a house knows, whose times are those of `zone`. Raises Misused."""
    spans: list[_Span] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
            if missing:
                raise Misused(
                    f"{path}: has no column {missing[0]}; the first line must name "
                    f"{', '.join(COLUMNS)}"
                )
            for line, row in enumerate(rows, 2):
                try:
                    begin, end = (parse(row[name] or "", zone) for name in ("from", "to"))
                except BadTime as error:
                    raise Misused(f"{path}: line {line}: {error}") from None
                spans.append(_Span(row["kind"], row["name"], row["unit"], begin, end))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Misused(f"{path}: cannot be read: {error}") from None
    return Known(tuple(spans))
