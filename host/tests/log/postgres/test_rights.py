"""Who may do more with a log in PostgreSQL than a log lets anyone is named, each of them."""

from collections.abc import Iterator

import pytest

from host.tests.support.helpers import FirmwareLog, new_log, stored
from host.tests.support.postgres import Database
from sabot.log.postgres import sessions
from sabot.log.postgres.checks import rights, soundness
from sabot.log.postgres.sessions import PostgresConnection

_TAKE = "sabot.take"
_ESCALATIONS = {
    "ALTER ROLE site_1 SUPERUSER": "site_1 forwards to the log, and is a superuser",
    "GRANT sabot_keeper TO site_1": "site_1 forwards to the log, and may also keep the log",
    "GRANT sabot_logger TO site_1": "site_1 forwards to the log, and may also log to it",
    "GRANT sabot_desk TO site_2": "site_2 forwards to the log, and may also serve its screens",
    "GRANT pg_write_all_data TO reader": "reader is a member of pg_write_all_data, which reaches",
    "GRANT pg_read_all_data TO stranger": "stranger is a member of pg_read_all_data, which reaches",
    "CREATE ROLE between; GRANT sabot_keeper TO between; GRANT between TO site_1":
        "site_1 forwards to the log, and may also keep the log",
    f"GRANT EXECUTE ON FUNCTION {_TAKE} TO PUBLIC": "everyone may EXECUTE function take(",
    f"REVOKE EXECUTE ON FUNCTION {_TAKE} FROM sabot_site":
        "no longer: sabot_site may EXECUTE function take(",
    "GRANT UPDATE ON sabot.records TO reader": "reader may UPDATE table records, as in no log",
    "GRANT UPDATE (newest) ON sabot.units TO reader": "reader may UPDATE column units.newest",
    "GRANT CREATE ON SCHEMA sabot TO reader": "reader may CREATE schema sabot, as in no log",
    "GRANT CONNECT ON DATABASE {name} TO PUBLIC": "everyone may CONNECT database of the log",
    "ALTER DEFAULT PRIVILEGES FOR ROLE sabot_keeper IN SCHEMA sabot GRANT ALL ON TABLES TO reader":
        "reader may UPDATE each new table of sabot_keeper, as in no log",
    "GRANT sabot_keeper TO sabot_site": "sabot_site is a member of sabot_keeper, as in no log",
    "REVOKE sabot_reader FROM sabot_notary": "sabot_notary is no longer a member of sabot_reader",
    "ALTER ROLE sabot_logger LOGIN": "sabot_logger has LOGIN, as in no log",
    "ALTER ROLE reader SUPERUSER": "reader is let into the log, and is a superuser",
    "ALTER ROLE reader CREATEROLE": "reader is let into the log, and has CREATEROLE",
    "ALTER ROLE notary REPLICATION": "notary is let into the log, and has REPLICATION",
    "GRANT sabot_logger TO reader WITH ADMIN OPTION":
        "reader may make others members of sabot_logger, and is no keeper",
}  # fmt: skip


@pytest.fixture
def connection(database: Database) -> Iterator[PostgresConnection]:
    """A session of a superuser, in whose transactions rights can be changed."""
    place = database.place("postgres")
    with sessions.connected(place, sessions.arguments(place)) as session:
        yield PostgresConnection(session)


def test_each_right_beyond_those_of_a_log_is_named(
    database: Database, connection: PostgresConnection
) -> None:
    assert rights.escalations(connection) == []
    for statement, words in _ESCALATIONS.items():
        with connection.session.transaction(force_rollback=True):
            connection.session.execute(statement.replace("{name}", database.name))
            found = rights.escalations(connection)
            assert any(words in line for line in found), (statement, found)
            faults = list(soundness.faults(database.place(), connection, lambda: False))
            assert set(found) <= set(faults), "`sabot verify` names them too"
    assert rights.escalations(connection) == []


def test_what_the_keeper_lets_roles_do_is_no_escalation(connection: PostgresConnection) -> None:
    with connection.session.transaction(force_rollback=True):
        for statement in (
            "GRANT sabot_reader TO stranger",
            "GRANT pg_monitor TO stranger",
            "ALTER ROLE stranger CREATEDB",
            "GRANT sabot_keeper TO clerk WITH ADMIN OPTION",
            "ALTER ROLE keeper CREATEROLE",
            "INSERT INTO sabot.sites VALUES ('U1', 'site_1')",
        ):
            connection.session.execute(statement)
        assert rights.escalations(connection) == []


def test_what_each_role_may_do_is_listed(
    database: Database, connection: PostgresConnection
) -> None:
    database.allow("site_1", "U1", "U2")
    may = {role.name: role.may for role in rights.roles(connection) if not role.is_of_sabot}
    assert may == {
        "keeper": ["keep the log"],
        "logger": ["log to it"],
        "notary": ["sign for it"],
        "clerk": ["serve its screens"],
        "reader": ["read it"],
        "site_1": ["forward U1, U2"],
        "site_2": ["forward nothing"],
        "postgres": ["do anything: it is a superuser of the server"],
    }


def test_other_partitions_and_records_change_no_right(
    database: Database, connection: PostgresConnection
) -> None:
    with new_log(database.place("logger")) as store:
        store.append("U1", stored(FirmwareLog().load().draw("AS").records))
    assert rights.escalations(connection) == []
