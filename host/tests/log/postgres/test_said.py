"""What someone puts into the tables beside the records, or takes out, is a finding of `verify`."""

from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.naive_shoe import naive_event, recorded
from host.tests.support.postgres import Database, Session
from sabot.centre.postgres_centre import PostgresCentre
from sabot.log.postgres.checks import said
from sabot.log.presence import ATTACHED, WAITING, Span
from sabot.log.store import open_store

_KEY = Ed25519PrivateKey.from_private_bytes(b"notary.." * 4)


@pytest.fixture
def filled(database: Database) -> Database:
    """A log with alarms, of which one is acknowledged, presence and checkpoints."""
    database.allow("site_1", "U1", "U2")
    with open_store(database.place(), create=True) as store:
        for unit in ("U1", "U2"):
            store.append(unit, [recorded(naive_event(number)) for number in (1, 2, 3)])
    with PostgresCentre(database.place("site_1")) as centre:
        for _ in range(2):
            centre.checkpoints([("U1", 2, bytes(16), 2), ("U2", 3, bytes(16), 3)])
        centre.checkpoints([("U1", 3, bytes(16), 3)])
        for end in (90, 100, 80):
            centre.keep_presence([Span("U1", 5, end, ATTACHED), Span("U1", end, 200, WAITING)] * 2)
    with database.connect("site_1") as session:
        for number in (1, 2, 2, 3):
            session.execute("SELECT sabot.alarm('U1', %s, 'a', 'b', 'c', NULL)", (number,))
    with database.connect() as session:
        session.execute("SELECT sabot.acknowledge_alarms(ARRAY[1], 'Anna', 'looked at')")
    with PostgresCentre(database.place("notary")) as centre:
        for _ in range(2):
            centre.seal_alarms(lambda *chain: said.seal_of(_KEY, *chain))
    return database


@pytest.fixture
def session(filled: Database) -> Iterator[Session]:
    with filled.connect("postgres") as session:
        session.execute("SET session_replication_role = replica")
        yield session


def _faults(database: Database) -> str:
    with open_store(database.place("reader")) as store:
        return "\n".join(store.faults())


def test_what_the_functions_wrote_is_no_fault(filled: Database) -> None:
    assert _faults(filled) == ""


_CHANGES = {
    "DELETE FROM sabot.alarms WHERE number = 2": "alarm 2, which site_1 raised or",
    "UPDATE sabot.alarms SET detail = 'nothing' WHERE number = 2": "alarm 2, or entry 2",
    "DELETE FROM sabot.alarms; DELETE FROM sabot.alarm_chain":
        "the chain of alarms is not the one that the notary has sealed up to entry 4",
    "DELETE FROM sabot.alarm_chain WHERE place = 2": "entries 2 to 2 of the chain of alarms were",
    "UPDATE sabot.alarm_chain SET remark = 'never' WHERE what = 'acknowledged'":
        "alarm 1, or entry 4 of the chain of alarms, was changed",
    "INSERT INTO sabot.alarms (unit, number, kind, detail, unix_ms, site)"
    " VALUES ('U1', 9, 'a', 'b', 1, 'x')": "was raised by no function",
    "INSERT INTO sabot.presence VALUES ('U2', 'attached', 0, 1000)":
        "presence says that U2 was attached from 1970-01-01T00:00:00.000Z to 1970",
    "UPDATE sabot.presence SET end_unix_ms = end_unix_ms + 1": "presence was changed: its rows are",
    "DELETE FROM sabot.presence WHERE begin_unix_ms = 5": "presence was changed: 1 row fewer than",
    "DELETE FROM sabot.site_checkpoints WHERE number = 3": "site_checkpoints was changed: 2 rows",
    "UPDATE sabot.site_checkpoints SET number = 1": "site_checkpoints was changed: its rows are",
}  # fmt: skip


def test_each_change_by_hand_is_named(filled: Database, session: Session) -> None:
    from sabot.log.postgres.sessions import PostgresConnection

    session.execute("SET search_path = sabot")
    assert list(said.faults(PostgresConnection(session))) == []
    for statement, words in _CHANGES.items():
        with session.transaction(force_rollback=True):
            session.execute(statement)
            found = "\n".join(said.faults(PostgresConnection(session)))
            assert words in found, (statement, found)


def test_sites_that_send_at_the_same_time_leave_right_sums(
    filled: Database, session: Session
) -> None:
    with (
        PostgresCentre(filled.place("site_1")) as one,
        PostgresCentre(filled.place("logger")) as two,
    ):
        for number in range(4, 9):
            one.checkpoints([("U1", number, bytes(16), 1)])
            two.checkpoints([("U1", number + 1, bytes(16), 1), ("U2", number, bytes(16), 1)])
            one.keep_presence([Span("U1", 5, number * 100, ATTACHED)])
            two.keep_presence([Span("U1", 5, number * 90, ATTACHED)])
    assert _faults(filled) == ""
