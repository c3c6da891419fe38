"""Old records are removed a day at a time: a partition is dropped, replaced, or thinned out."""

import random
import threading
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from host.tests.support.helpers import event_bytes
from host.tests.support.postgres import Database
from sabot.errors import DatabaseLocked, DatabaseUnusable
from sabot.log.found import Filter, Row
from sabot.log.postgres import removing
from sabot.log.postgres.store import PostgresStore
from sabot.log.store import Removal, open_store
from sabot_protocol.events import MAC_SIZE

_DAY_MS = 86_400_000
_FIRST_MS = 1_760_000_000_000
_A_DAY = 20  # events of a unit
_UNITS = ("U1", "U2", "U3")


def _rows(unit: str, day: int) -> list[Row]:
    first = 1 + day * _A_DAY
    return [
        Row(
            unit, n, "lid", _FIRST_MS + n, 1 + n // 50, n % 7, 0,
            event_bytes("lid", n, unix_ms=_FIRST_MS + n, shoe=1 + n // 50, round=n % 7),
            n.to_bytes(MAC_SIZE, "big"),
        )
        for n in range(first, first + _A_DAY)
    ]  # fmt: skip


@pytest.fixture
def store(database: Database) -> Iterator[PostgresStore]:
    """A log of six past days, 20 events a day of each unit."""
    with PostgresStore(database.place(), create=True) as store:
        for day in range(6):
            for unit in _UNITS:
                store.take(unit, _rows(unit, day), received_unix_ms=_FIRST_MS + day * _DAY_MS)
        yield store


def _partitions(database: Database) -> dict[str, int]:
    """The partitions of the six days that are there, by the name of their file: a new one for a
    partition that was replaced."""
    with database.connect("postgres") as session:
        found = session.execute(
            "SELECT right(relname, 2), oid::int FROM pg_class"
            " WHERE relispartition AND relkind = 'r'"
            " AND relname < 'records_2026' ORDER BY relname"
        ).fetchall()
        return {str(day): int(str(oid)) for day, oid in found}


def _left(store: PostgresStore) -> dict[str, list[int]]:
    return {unit: [row.number for row in store.rows(Filter(unit))] for unit in _UNITS}


def test_a_day_of_which_nothing_stays_is_dropped_and_one_of_which_little_stays_is_replaced(
    store: PostgresStore, database: Database
) -> None:
    before = _partitions(database)
    days = list(before)[:6]
    # All of two days, most of the third, some of the fourth.
    lasts = {"U1": 65, "U2": 59, "U3": 50}
    store.prune_all([Removal(unit, 1, last, b"stone") for unit, last in lasts.items()])
    after = _partitions(database)
    assert [day in after for day in days] == [False, False, True, True, True, True]
    assert after[days[2]] != before[days[2]] and after[days[3]] == before[days[3]]
    assert _left(store) == {u: list(range(last + 1, 121)) for u, last in lasts.items()}
    assert [row.data for row in store.rows(Filter("U3"))][:20] == [
        row.data for day in (2, 3) for row in _rows("U3", day)
    ][10:30]
    assert store.faults() == []
    with open_store(database.place("reader")) as reader:  # the tables are still as they were made
        assert reader.tombstones("U2") == [b"stone"]
    with PostgresStore(database.place("logger"), create=True) as logger:
        logger.take("U1", [*_rows("U1", 3), *_rows("U1", 6)], received_unix_ms=None)
        assert logger.last_number("U1") == 140
    assert _left(store)["U1"] == list(range(66, 141))


def test_removals_of_several_units_are_all_done_or_none(
    store: PostgresStore, database: Database
) -> None:
    before = _left(store), _partitions(database)
    for wrong in (Removal("U9", 1, 2, b"x"), Removal("U1", 3, 4, b"twice")):
        with pytest.raises(DatabaseUnusable):
            store.prune_all([Removal("U1", 1, 40, b"a"), Removal("U2", 1, 40, b"b"), wrong])
    assert (_left(store), _partitions(database)) == before
    assert [store.tombstones(unit) for unit in _UNITS] == [[], [], []]


def test_any_removals_leave_what_they_should_and_a_sound_log(
    store: PostgresStore, rng: random.Random
) -> None:
    left = _left(store)
    begun = dict.fromkeys(_UNITS, 1)
    for _ in range(5):
        removals = []
        for unit in rng.sample(_UNITS, rng.randint(1, 3)):
            last = begun[unit] + rng.randint(0, 30)
            removals.append(Removal(unit, begun[unit], last, b"stone"))
            left[unit] = [number for number in left[unit] if not begun[unit] <= number <= last]
            begun[unit] = last + 1 + rng.randint(0, 3)
        store.prune_all(removals)
        assert _left(store) == left
        assert store.faults() == []
        for unit in _UNITS:
            for number in (1, 30, 77):
                assert store.first_from(unit, number) == next(
                    (n for n in left[unit] if n >= number), None
                )
            at = store.place_at(unit, _FIRST_MS + 90)
            due = [n for n in left[unit] if n <= 90][-1:]
            assert at == ((1 + due[0] // 50, due[0] % 7) if due else None)


def test_programs_that_read_for_long_are_waited_for_and_others_go_on_meanwhile(
    store: PostgresStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removing, "_TRY_MS", 50)
    monkeypatch.setattr(removing, "_PAUSE_S", 0.1)
    monkeypatch.setattr(removing, "_TRIES", 3)
    removals = [Removal(unit, 1, 20, b"stone") for unit in _UNITS]
    with closing(open_store(database.place("reader")).rows()) as reading:
        next(reading)
        with pytest.raises(DatabaseLocked, match="programs that read for long"):
            store.prune_all(removals)
        assert len(_left(store)["U1"]) == 120 and store.tombstones("U1") == []
        monkeypatch.setattr(removing, "_TRIES", 300)
        pruning = threading.Thread(target=store.prune_all, args=(removals,))
        pruning.start()
        with PostgresStore(database.place("logger"), create=True) as logger:
            for day in range(6, 12):  # a log does not wait until the reader has ended
                logger.take("U1", _rows("U1", day))
        assert pruning.is_alive()
        assert sum(1 for _ in reading) == 359  # and it sees the log as it was
    pruning.join(60)
    assert len(_left(store)["U1"]) == 220 and store.tombstones("U1") == [b"stone"]


def test_a_role_that_is_no_keeper_removes_nothing(database: Database, store: PostgresStore) -> None:
    for role in ("logger", "reader", "notary", "clerk"):
        with PostgresStore(database.place(role)) as other:
            with pytest.raises(DatabaseUnusable, match="its role may not do this"):
                other.prune_all([Removal("U1", 1, 20, b"stone")])
    assert len(_left(store)["U1"]) == 120


def test_a_killed_removal_leaves_all_or_nothing(
    store: PostgresStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> None:
        with database.connect("postgres") as session:
            session.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    before = _left(store), _partitions(database)
    for step in ("_copy_what_stays", "_replace", "_narrow"):
        with monkeypatch.context() as patch:
            done = getattr(removing, step)

            def broken(*given: object, done: object = done) -> None:
                done(*given)  # type: ignore[operator]
                ended()

            patch.setattr(removing, step, broken)
            with pytest.raises((DatabaseUnusable, psycopg.Error)):
                store.prune_all([Removal(unit, 1, 37, b"stone") for unit in _UNITS])
        assert (_left(store), _partitions(database)) == before
    assert store.faults() == []
