"""Events as a log has them: what to ask for, and what is found."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sabot.link import wire
from sabot.link.events import Event

DAMAGED = "damaged"
"""`Row.kind` of a record that cannot be read as an event."""

LARGEST = (1 << 63) - 1
"""Largest integer in a column. SQLite sorts text, which only a forger puts there, after these."""

RawRecord = tuple[int, bytes, bytes]
"""Number, record and MAC."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Selects events; None means any. Times are UTC milliseconds, from (included) to (not); `first`
    and `last` are numbers of events."""

    unit: str | None = None
    shoe: int | None = None
    round: int | None = None
    kinds: Sequence[str] | None = None
    from_unix_ms: int | None = None
    to_unix_ms: int | None = None
    first: int | None = None
    last: int | None = None
    newest_first: bool = False
    """The events of each unit in the other order."""

    def in_columns(self) -> "Filter":
        """The same filter for the columns of `events`, which have LARGEST for larger numbers."""
        names = ("shoe", "round", "from_unix_ms", "to_unix_ms", "first", "last")
        values = {name: getattr(self, name) for name in names}
        return replace(self, **{n: min(v, LARGEST) for n, v in values.items() if v is not None})


class Row(NamedTuple):
    """An event as stored. `data` is what the shoe wrote and `mac` what it sent with it; kind,
    time, shoe and round are copied from `data`.

    For a record that cannot be read the kind is `damaged`, the time None, and shoe and round are
    those of the event before it, so that a search there finds it. One that is larger than any event
    is not read at all: its data are zeros.
    """

    unit: str
    number: int
    kind: str
    unix_ms: int | None
    shoe: int
    round: int
    received_unix_ms: int
    data: bytes
    mac: bytes

    def event(self) -> Event:
        """The event in `data`. Raises wire.WireError if the bytes were changed."""
        return wire.parse_event(self.data)


def selects(wanted: Filter, row: Row) -> bool:
    """Whether a filter selects a row that is not in `events` yet."""
    if wanted.shoe not in (None, row.shoe) or wanted.round not in (None, row.round):
        return False
    if wanted.kinds is not None and row.kind not in wanted.kinds:
        return False
    if wanted.first is not None and row.number < wanted.first:
        return False
    if wanted.last is not None and row.number > wanted.last:
        return False
    if wanted.from_unix_ms is None and wanted.to_unix_ms is None:
        return True
    return (
        row.unix_ms is not None
        and (wanted.from_unix_ms is None or row.unix_ms >= wanted.from_unix_ms)
        and (wanted.to_unix_ms is None or row.unix_ms < wanted.to_unix_ms)
    )
