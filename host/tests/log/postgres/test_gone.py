"""Events that were taken and are not in the tables any more are found without reading the log."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from host.tests.support.naive_shoe import naive_event, recorded
from host.tests.support.postgres import Database, Session
from sabot.log.postgres import sessions, status
from sabot.log.postgres.checks import gone
from sabot.log.postgres.checks.gone import Gone
from sabot.log.postgres.sessions import PostgresConnection
from sabot.log.postgres.store import PostgresStore
from sabot.silences import GONE

_DAY_MS = 86_400_000
_FIRST_MS = 1_790_000_000_000


@pytest.fixture
def filled(database: Database) -> Database:
    """Three days of two units, of one without its events 8 to 11, which never came."""
    with PostgresStore(database.place(), create=True) as store:
        for day in range(3):
            first = 1 + 10 * day
            for unit, lost in (("U1", ()), ("U2", range(8, 12))):
                rows = [
                    recorded(naive_event(number))
                    for number in range(first, first + 10)
                    if number not in lost
                ]
                _take(store, unit, rows, _FIRST_MS + day * _DAY_MS)
    return database


def _take(store: PostgresStore, unit: str, records: list, received: int) -> None:  # type: ignore[type-arg]
    from sabot.log.postgres.store import _rows_of

    store.take(unit, _rows_of(unit, records), received_unix_ms=received)


@pytest.fixture
def session(filled: Database) -> Iterator[Session]:
    """A session of a person who has the server."""
    with filled.connect("postgres") as session:
        session.execute("SET session_replication_role = replica")
        yield session


def _found(database: Database) -> set[Gone]:
    """What is found by all three ways."""
    place = database.place("reader")
    with sessions.connected(place, sessions.arguments(place)) as session:
        connection = PostgresConnection(session)
        found = set(gone.uncovered(connection))
        for day in gone.days(connection):
            found |= set(gone.of_day(connection, day))
        return found


def test_nothing_is_gone_from_a_log_as_it_was_made(filled: Database) -> None:
    assert _found(filled) == set()
    with PostgresStore(filled.place()) as store:
        assert store.faults() == []
    assert all(unit.has_newest for unit in status.status_of(filled.place()).units)


@pytest.mark.parametrize(
    ("statement", "lost"),
    [
        ("DELETE FROM sabot.records WHERE unit = 1 AND number > 25", {Gone("U1", 26, 30)}),
        ("DELETE FROM sabot.records WHERE unit = 1 AND number = 13", {Gone("U1", 13, 13)}),
        (
            "DELETE FROM sabot.records WHERE number IN (1, 7, 12, 20)",
            {Gone("U1", n, n) for n in (1, 7, 12, 20)} | {Gone("U2", n, n) for n in (1, 7, 12, 20)},
        ),
        ("DELETE FROM sabot.records WHERE unit = 2", {
            Gone("U2", 1, 7), Gone("U2", 12, 20), Gone("U2", 21, 30),
        }),
        ("DROP TABLE sabot.records_2026_09_22", {Gone("U1", 11, 20), Gone("U2", 12, 20)}),
        ("DELETE FROM sabot.days WHERE day = '2026-09-22'", {
            Gone("U1", 11, 20), Gone("U2", 12, 20),
        }),
    ],
    ids=["newest", "one", "edges", "unit", "day", "day and its limits"],
)  # fmt: skip
def test_what_is_gone_is_found(
    filled: Database, session: Session, statement: str, lost: set[Gone]
) -> None:
    session.execute(statement)
    assert _found(filled) == lost
    with PostgresStore(filled.place(), create=False) as store:
        told = "\n".join(store.faults())
    assert all(GONE.say(**each._asdict()) in told for each in lost)


def test_what_was_pruned_or_came_late_is_not_gone(filled: Database) -> None:
    with PostgresStore(filled.place()) as store:
        store.prune("U1", 3, 6, b"stone")
        store.prune("U1", 11, 30, b"stone")
        _take(store, "U2", [recorded(naive_event(9))], _FIRST_MS + 5 * _DAY_MS)
    assert _found(filled) == set()
    assert all(unit.has_newest for unit in status.status_of(filled.place()).units)


def test_the_status_reads_one_partition_for_each_unit_and_names_a_unit_without_its_newest_event(
    filled: Database, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, object]] = []
    execute = PostgresConnection.execute

    def noting(self: PostgresConnection, query: str, parameters: object = ()) -> object:
        asked.append((query, parameters))
        return execute(self, query, parameters)  # type: ignore[arg-type]

    session.execute("DELETE FROM sabot.records WHERE unit = 1 AND number = 30")
    monkeypatch.setattr(PostgresConnection, "execute", noting)
    units = {unit.unit: unit for unit in status.status_of(filled.place()).units}
    assert (units["U1"].has_newest, units["U2"].has_newest) == (False, True)
    assert units["U2"].received_unix_ms == _FIRST_MS + 2 * _DAY_MS
    of_records = [(query, given) for query, given in asked if "records AS r" in query]
    ((query, given),) = of_records
    plan = "\n".join(
        line
        for (line,) in session.execute(
            f"EXPLAIN {query.replace('?', '%s').replace('records AS r', 'sabot.records AS r')}",
            given,  # type: ignore[arg-type]
        )
    )
    assert plan.count("records_2026_09_23") > 0 and "records_2026_09_22" not in plan


def test_a_file_of_a_log_has_nothing_of_it(tmp_path: Path) -> None:
    """The parts of a span without others, in order, at its edges and beyond."""
    assert gone.without((5, 9), []) == [(5, 9)]
    assert gone.without((5, 9), [(1, 5), (7, 7), (9, 12)]) == [(6, 6), (8, 8)]
    assert gone.without((5, 9), [(1, 20)]) == []
