"""The store of a log in any order of calls, against a dictionary of what it must have.

Events come in order, again, with gaps, or with another content than before; some are pruned; lists
are derived late or made again; a reader reads while the log writes; the log is closed, or its
computer loses its power. A log may begin as one of version 2.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import protocol.tests.without_clocks  # noqa: F401
from host.tests.log.test_games_kept import VERSION_2
from host.tests.support.helpers import event_bytes
from host.tests.support.naive_shoe import recorded
from sabot.errors import DatabaseUnusable, HistoryDiffers
from sabot.link.session import Record
from sabot.log.place import Place
from sabot.log.store import Filter, Row, Store, open_store

_UNITS = ("U1", "U2")
_EVENTS_A_SHOE = 20
_EVENTS_A_ROUND = 4
_units = st.sampled_from(_UNITS)


def _record(number: int, variant: int = 0) -> Record:
    shoe, round_ = number // _EVENTS_A_SHOE, number // _EVENTS_A_ROUND % 5
    return recorded(event_bytes("lid" if number % 3 else "lock", number, t_ms=variant,
                                shoe=shoe, round=round_))  # fmt: skip


def _seen(row: Row) -> tuple[str, int, bytes, bytes]:
    return row.unit, row.number, row.data, row.mac


class StoreMachine(RuleBasedStateMachine):
    """A log that is written, and what it must have."""

    place: Place

    @initialize(version=st.sampled_from((2, 3)), before=st.integers(1, 30))
    def begin(self, version: int, before: int) -> None:
        self.model: dict[str, dict[int, Record]] = {unit: {} for unit in _UNITS}
        self.pruned: dict[str, set[int]] = {unit: set() for unit in _UNITS}
        self.reader: Iterator[Row] | None = None
        self.due: list[tuple[str, int, bytes, bytes]] = []
        self.reading: Store | None = None
        self.make_place(version, before)
        self.store = open_store(self.place, create=True)

    def make_place(self, version: int, before: int) -> None:
        """Make an empty log, or one of version 2 with events up to `before`."""
        self.root = Path(tempfile.mkdtemp(prefix="sabot-store-"))
        self.copies = 0
        self.place = path = self.root / "log"
        if version == 2:
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.executescript(VERSION_2)  # its unit is U1, with the id 7
                for number in range(1, before + 1):
                    record = self.model["U1"][number] = _record(number)
                    row = (7, number, 5, record.data, record.mac)
                    connection.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?)", row)

    def cut_the_power(self) -> None:
        """Let the log go on as it is now, whatever was not stored."""
        assert isinstance(self.place, Path)
        self.copies += 1
        to = self.root / f"log{self.copies}"
        for suffix in ("", "-wal"):
            beside = self.place.with_name(self.place.name + suffix)
            if beside.exists():
                shutil.copyfile(beside, to.with_name(to.name + suffix))
        self.store.close()
        self.place = to

    def remove_place(self) -> None:
        """Remove all logs of this machine."""
        shutil.rmtree(self.root)

    def _last(self, unit: str) -> int:
        return max(self.model[unit].keys() | self.pruned[unit], default=0)

    def _all(self) -> list[tuple[str, int, bytes, bytes]]:
        return [
            (unit, number, record.data, record.mac)
            for unit in _UNITS
            for number, record in sorted(self.model[unit].items())
        ]

    @rule(
        unit=_units,
        back=st.sampled_from((-9, -2, 0, 0, 1, 5, 12, 30)),
        count=st.integers(1, 40),
        derived=st.booleans(),
    )
    def append(self, unit: str, back: int, count: int, derived: bool) -> None:
        """From `back` events before the end on; a negative one leaves a gap."""
        first = max(1, self._last(unit) + 1 - back)
        records = [_record(number) for number in range(first, first + count)]
        self.store.append(unit, records)
        for record in records:
            if record.event.number not in self.pruned[unit]:
                self.model[unit][record.event.number] = record
        if derived:
            self.store.derive()

    @rule(unit=_units)
    def fill_a_gap(self, unit: str) -> None:
        """The first event that the log lacks, after its lists have all others."""
        there = self.model[unit].keys() | self.pruned[unit]
        self.store.derive()
        number = next(n for n in range(1, self._last(unit) + 2) if n not in there)
        self.store.append(unit, [_record(number)])
        self.model[unit][number] = _record(number)

    @rule(
        unit=_units,
        place=st.integers(0, 1 << 16),
        count=st.integers(0, 5),
        other=st.sampled_from(("both", "record", "mac")),
    )
    def another_history(self, unit: str, place: int, count: int, other: str) -> None:
        """It comes with events that the log lacks, before it and after it: none is stored."""
        if not self.model[unit]:
            return
        number = sorted(self.model[unit])[place % len(self.model[unit])]
        known, changed = _record(number), _record(number, 99)
        if other == "record":
            changed = replace(changed, mac=known.mac)
        elif other == "mac":
            changed = replace(known, mac=changed.mac)
        missing = set(range(1, number)) - self.model[unit].keys() - self.pruned[unit]
        after = range(self._last(unit) + 1, self._last(unit) + 1 + count)
        with pytest.raises(HistoryDiffers):
            self.store.append(unit, [*map(_record, [*missing, *after]), changed])

    @rule(most=st.sampled_from((None, 1, 7)))
    def derive(self, most: int | None) -> None:
        self.store.derive(most)
        if most is None:
            self._lists_have_all()

    @rule()
    def rebuild(self) -> None:
        with open_store(self.place) as store:
            assert store.rebuild() == len(self._all())
        self._lists_have_all()

    @rule(unit=_units, place=st.integers(0, 1 << 16), count=st.integers(1, 12))
    def prune(self, unit: str, place: int, count: int) -> None:
        numbers = sorted(self.model[unit])[:-1]  # the newest one stays
        if not numbers:
            return
        first = numbers[place % len(numbers)]
        last = min(first + count - 1, numbers[-1])
        with open_store(self.place) as store:
            if self.pruned[unit] & set(range(first, last + 1)):
                with pytest.raises(DatabaseUnusable, match="pruned already"):
                    store.prune(unit, first, last, b"tombstone")
                return
            store.prune(unit, first, last, b"tombstone")
        self._forget(unit, first, last)

    @rule(unit=_units, count=st.integers(1, 12))
    def prune_to_the_end(self, unit: str, count: int) -> None:
        """The newest events too, while no log runs, but never all: a unit has records. The shoe
        sends them again."""
        last = self._last(unit)
        first = max(1, last + 1 - count)
        if self.pruned[unit] & set(range(first, last + 1)):
            return
        if min(self.model[unit], default=first) >= first:
            return
        self.store.close()
        with open_store(self.place) as store:
            store.prune(unit, first, last, b"tombstone")
        self._forget(unit, first, last)
        self.store = open_store(self.place, create=True)
        self.store.append(unit, [_record(number) for number in range(first, last + 1)])

    def _forget(self, unit: str, first: int, last: int) -> None:
        for number in range(first, last + 1):
            self.model[unit].pop(number, None)
            self.pruned[unit].add(number)

    @precondition(lambda self: self.reader is None)
    @rule(count=st.integers(0, 5))
    def begin_to_read(self, count: int) -> None:
        self.due = self._all()
        self.reading = open_store(self.place)
        self.reader = self.reading.rows()
        for row in (row for _, row in zip(range(count + 1), self.reader, strict=False)):
            assert _seen(row) == self.due.pop(0)

    @precondition(lambda self: self.reader is not None)
    @rule()
    def read_to_the_end(self) -> None:
        """It shows the log as it was when it began."""
        assert self.reader is not None and self.reading is not None
        assert [_seen(row) for row in self.reader] == self.due
        self.reader = None
        self.reading.close()

    @rule()
    def close_and_open(self) -> None:
        self.store.close()
        self.store = open_store(self.place, create=True)

    @rule()
    def lose_the_power(self) -> None:
        self._stop_reading()
        self.cut_the_power()
        self.store = open_store(self.place, create=True)

    @invariant()
    def it_has_all_and_nothing_else(self) -> None:
        if not hasattr(self, "store"):
            return
        assert [_seen(row) for row in self.store.rows()] == self._all()
        for unit in _UNITS:
            assert self.store.last_number(unit) == self._last(unit)

    @rule(unit=_units, shoe=st.integers(0, 4), round_=st.integers(0, 4))
    def a_round(self, unit: str, shoe: int, round_: int) -> None:
        wanted = Filter(unit=unit, shoe=shoe, round=round_, kinds=["lid"])
        assert [row.number for row in self.store.rows(wanted)] == [
            number
            for number in sorted(self.model[unit])
            if (number // _EVENTS_A_SHOE, number // _EVENTS_A_ROUND % 5) == (shoe, round_)
            and number % 3
        ]

    def _lists_have_all(self) -> None:
        for unit in _UNITS:
            numbers = [number for number, *_ in self.store.derived(unit)]
            assert numbers == sorted(self.model[unit])

    def _stop_reading(self) -> None:
        if self.reading is not None:
            self.reader = None
            self.reading.close()

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        self._stop_reading()
        with closing(self.store):
            assert self.store.faults() == []
        self.remove_place()


SETTINGS = settings(
    max_examples=8,
    stateful_step_count=25,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)

TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = SETTINGS
