"""The log: events of many units in a database, each byte for byte as its shoe wrote it.

`open_store` opens one: a file of SQLite (sqlite/) or a database of a PostgreSQL server (postgres/).
Programs that read or write a log know only what is here.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Self

from sabot.errors import DatabaseLocked, DatabaseUnusable
from sabot.link.flow import Flow
from sabot.link.session import Record
from sabot.log import boards
from sabot.log.follow import Follower
from sabot.log.found import DAMAGED, Filter, RawRecord, Row
from sabot.log.place import Place
from sabot.log.presence import Span
from sabot.log.seam import Seam, usable
from sabot.log.sql import Connection

__all__ = [
    "DAMAGED",
    "DatabaseLocked",
    "Filter",
    "Removal",
    "Row",
    "SeamRow",
    "Store",
    "open_store",
]

_MOST_LISTED = 20  # units that a message names


class Removal(NamedTuple):
    """Events `first` to `last` of a unit, which are to be removed, and the tombstone for them."""

    unit: str
    first: int
    last: int
    tombstone: bytes


class SeamRow(NamedTuple):
    """A row of the table of seams: the name of the new board, the last event of the board before
    it, and the seam (seam.py)."""

    name: str
    last: int
    seam: bytes


class Store(ABC):
    """A log. Thread-safe. A *unit* here is a board of a unit, by its name (boards.py).

    Every method raises DatabaseUnusable if the log is damaged, was altered or cannot be reached,
    and DatabaseLocked if another program keeps it from being read or written for too long.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        """Where it is; messages begin with it."""
        self.understood: dict[str, int] = {}
        """How many events of each kind had been derived by a version that did not know it, and were
        corrected when this was opened."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close the log, after deriving what can be derived within a moment."""

    # Storing.

    @abstractmethod
    def append(self, unit: str, records: Sequence[Record]) -> None:
        """Store events of `unit` in one transaction; on return they are durable.

        An event that is stored already with the same bytes and MAC is skipped, and so is a pruned
        one. Raises HistoryDiffers if bytes or MAC differ, if another board has taken the place of
        this one, or if it is a board without a seam, and then stores none of the events;
        DatabaseUnusable if the log was removed, replaced or overwritten; DiskFull.
        """

    @abstractmethod
    def keep_game(self, document: bytes) -> None:
        """Store a game document, which is durable on return. One that is stored already stays."""

    @abstractmethod
    def keep_presence(self, spans: Sequence[Span], flows: Sequence[Flow] = ()) -> None:
        """Store when logs had sessions with shoes, and waited for them, and how the events of
        shoes come, in place of what was noted before."""

    @abstractmethod
    def keep_receipts(self, unit: str, receipts: Sequence[tuple[int, bytes]]) -> None:
        """Store receipts of a unit of this log, each with the number of the event up to which it
        is, in one transaction. One that is stored for that event already stays.

        Raises DatabaseUnusable if the log does not have the unit.
        """

    @abstractmethod
    def prune_all(self, removals: Sequence[Removal]) -> None:
        """Remove the events of several units, and put the tombstones in their place. They can never
        be stored again. Of each unit all of it is done or nothing.

        Raises DatabaseUnusable if the log does not have a unit, or some are pruned already.
        """

    @abstractmethod
    def keep_seam(self, row: SeamRow) -> None:
        """Store the seam of a board that has no records yet. The same one twice is one.

        Raises DatabaseUnusable if the log has another seam of it, or does not have the board before
        it; HistoryDiffers if that has later events than the seam says.
        """

    @abstractmethod
    def remove_seam(self, name: str) -> None:
        """Remove the seam of a board. Raises DatabaseUnusable if it has records, or no seam."""

    @abstractmethod
    def change_fact(self, name: str, change: Callable[[str | None], str | None]) -> None:
        """Replace the fact `name` by what `change` makes of it, in one transaction.

        `change` gets None if there is none. An unchanged value is not written; if `change` raises,
        the log stays as it was.
        """

    @abstractmethod
    def convert(self) -> None:
        """Make a log of an older version one of this version, and warn with LogConverted.

        Raises DatabaseLocked if another program logs to it."""

    @abstractmethod
    def derive(self, most: int | None = None) -> None:
        """Derive what is missing of the lists of events: all, or at least `most` of them. If
        nothing is missing, make a copy of the file possible.

        Does nothing if the store is opened for reading.
        """

    @abstractmethod
    def rebuild(self, progress: Callable[[int], None] | None = None) -> int:
        """Make the lists of events again from the records, in one transaction. Return their length.

        `progress` is called with the number of rows so far. Appending waits meanwhile.
        """

    # Reading events.

    @abstractmethod
    def units(self) -> list[str]:
        """The name of every board that has records, by unit; the boards of a unit in order."""

    @abstractmethod
    def last_number(self, unit: str) -> int:
        """Number of the newest event of `unit` that was ever stored; 0 if there is none."""

    @abstractmethod
    def count(self) -> int:
        """The number of events."""

    @abstractmethod
    def rows(self, wanted: Filter = Filter()) -> Iterator[Row]:
        """Yield the events that `wanted` selects, by unit and number, a few in memory at a time.

        The result is the log as it was when the first event was requested. With `newest_first`, the
        few that are in no list yet are in memory at once.
        """

    @abstractmethod
    def raw_chunks(
        self, unit: str, first: int | None = None, last: int | None = None
    ) -> Iterator[list[RawRecord]]:
        """As `raw`, many at a time, which takes less time. The last ones may be none."""

    @abstractmethod
    def first_from(self, unit: str, number: int) -> int | None:
        """The number of the first record of `unit` that has at least this number; None if there is
        none."""

    @abstractmethod
    def records_within(self, unit: str, first: int, last: int) -> int:
        """How many records of `unit` have a number from `first` to `last`."""

    @abstractmethod
    def derived(
        self, unit: str, first: int | None = None, last: int | None = None
    ) -> Iterator[tuple[int, str, int | None, int, int]]:
        """Yield what was derived from the records alone, by number: number, kind, time, shoe and
        round of events `first` to `last` of `unit` (None: no limit). `verify` compares them with
        the records.
        """

    @abstractmethod
    def counts(self, unit: str, kinds: Sequence[str]) -> list[int]:
        """How many events of each of these kinds `unit` has, without reading their records."""

    @abstractmethod
    def last_received(self, unit: str) -> int | None:
        """When the log received the newest event of `unit`, UTC milliseconds; None without one."""

    @abstractmethod
    def place_at(self, unit: str, unix_ms: int) -> tuple[int, int] | None:
        """The shoe of cards and the round of the last event of `unit` at or before a time."""

    @abstractmethod
    def rounds_within(
        self, unit: str, begin_unix_ms: int | None, end_unix_ms: int | None
    ) -> tuple[int, int | None] | None:
        """First and last event between which the rounds of `unit` are that lie, with any part of
        them, within a time span; None for no limit. None if there are no such rounds."""

    # Reading the rest.

    @abstractmethod
    def tombstone_rows(self, unit: str) -> list[tuple[Any, Any, bytes]]:
        """First event, last event and tombstone as the table has them, in the order of the first
        event. A tombstone that is not bytes, or too large to be one, is empty."""

    @abstractmethod
    def kept_game(self, sha256: bytes) -> object:
        """The game document that is stored under this SHA-256, whatever it is; None if there is
        none, or it is larger than one can be."""

    @abstractmethod
    def presence(self, unit: str) -> list[Span]:
        """When logs had sessions with `unit`, and waited for it; nothing of a log of version 2."""

    @abstractmethod
    def flows(self) -> dict[str, Flow]:
        """How the events of each unit came when its log last noted it; nothing of a unit that only
        older versions logged."""

    @abstractmethod
    def receipts(self, unit: str, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield the receipts of `unit` up to events after event `after`, in the order of these
        events, a few in memory at a time: the event's number, and the receipt. None of a log that
        is older than version 5."""

    @abstractmethod
    def last_receipt(self, unit: str) -> tuple[int, bytes] | None:
        """The receipt of `unit` that goes furthest, as `receipts` yields it; None without any."""

    @abstractmethod
    def seam_rows(self) -> list[SeamRow]:
        """The rows of the table of seams, by unit and board. A seam that is not bytes, or too large
        to be one, is empty. None of a log that is older than version 6."""

    @abstractmethod
    def fact(self, name: str) -> str | None:
        """The log's fact `name` about itself; None if it has none."""

    @abstractmethod
    def faults(self, stopped: Callable[[], bool] = lambda: False) -> list[str]:
        """What is wrong with the log as a database, for people. A long check ends with
        DatabaseUnusable soon after `stopped` returns true.
        """

    @abstractmethod
    def copy(self, to: Path) -> int:
        """Copy the log, as it is now, to the new file `to`. Return how many events the copy has.

        Raises DatabaseUnusable if `to` exists or cannot be written; then nothing is written.
        """

    @abstractmethod
    def follower(self) -> Follower:
        """Return what follows this log while others write it."""

    # Tables of others, and moments.

    @abstractmethod
    def at_one_moment(self) -> AbstractContextManager[None]:
        """Within, all that this thread reads is the log as it is now. It takes less time, too."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """A connection that sees the log as it is now, whatever is written meanwhile."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction."""

    @abstractmethod
    def watch(self) -> None:
        """From now on, raise DatabaseUnusable at a transaction if the log was removed or replaced;
        not of one that cannot be watched, such as a copy."""

    @abstractmethod
    def forget_replaced(self) -> None:
        """Remove what was replaced, such as a secret, from where the database still has it."""

    # What follows from these.

    def prune(self, unit: str, first: int, last: int, tombstone: bytes) -> None:
        """As `prune_all`, of one unit."""
        self.prune_all([Removal(unit, first, last, tombstone)])

    def seams(self) -> list[Seam]:
        """The seams that can be read, and that are of the board in whose row they are, by unit and
        board; `verify` reports the others."""
        found = [(row.name, each) for row in self.seam_rows() for each in usable([row.seam])]
        return [each for name, each in found if each.name == name]

    def seam_of(self, name: str) -> Seam | None:
        """The seam by which a board has taken the place of the one before it; None for a first
        board, or if it cannot be read."""
        if boards.before(name) is None:
            return None
        return next((seam for seam in self.seams() if seam.name == name), None)

    def boards(self, unit: str) -> list[str]:
        """The names of the boards of a unit in order: those that have records, and the one that has
        a seam and no records yet."""
        names = [*self.units(), *(row.name for row in self.seam_rows())]
        return boards.chosen(unit, names)

    def check_unit(self, unit: str) -> None:
        """Raise DatabaseUnusable, which names the units in the log, unless it has this one, or a
        board of this name."""
        names = self.units()
        units = boards.units_of(names)
        if not boards.chosen(unit, names):
            listed = ", ".join(units[:_MOST_LISTED])
            more = f" and {len(units) - _MOST_LISTED} more" if len(units) > _MOST_LISTED else ""
            raise DatabaseUnusable(
                f"{self.place}: has no unit {unit}; there are: {listed or 'none'}{more}"
            )

    def raw(
        self, unit: str, first: int | None = None, last: int | None = None
    ) -> Iterator[RawRecord]:
        """Yield number, record and MAC of events `first` to `last` of `unit` (None: no limit), by
        number, a few in memory at a time, from the table of records alone.
        """
        for some in self.raw_chunks(unit, first, last):
            yield from some

    def tombstones(self, unit: str) -> list[bytes]:
        """The tombstones of the pruned events of `unit`, in the order of their numbers."""
        return [tombstone for _, _, tombstone in self.tombstone_rows(unit)]

    def game(self, sha256: bytes) -> bytes | None:
        """The game document with this SHA-256; None if the log does not have it, or has other
        bytes under it, as `verify` reports."""
        document = self.kept_game(sha256)
        if type(document) is not bytes or hashlib.sha256(document).digest() != sha256:
            return None
        return document


def open_store(place: Place, *, create: bool = False) -> Store:
    """Open a log. A new file is made with `create`, without which nothing can be appended, but an
    existing log can be read, pruned and rebuilt.

    Raises DatabaseUnusable if there is no log there, or it is not one, has another version, has
    other tables than a log, is damaged, or cannot be written with `create`; DatabaseLocked;
    DiskFull if it cannot grow. Missing or altered lists are an error only of what needs them, so
    that `rebuild` can make them again.
    """
    if isinstance(place, Path):
        from sabot.log.sqlite.store import SqliteStore

        return SqliteStore(place, create=create)
    from sabot.log.postgres.store import PostgresStore

    return PostgresStore(place, create=create)
