"""A log in PostgreSQL that someone altered is not read, and a server that forgets is not used."""

import pytest

from host.tests.support.helpers import FirmwareLog, new_log, stored
from host.tests.support.postgres import Database, Server, make_template
from host.tests.support.postgres import new_log as new_database
from sabot.errors import DatabaseUnusable
from sabot.log.postgres import sessions
from sabot.log.postgres.checks import catalog, soundness
from sabot.log.store import open_store

_HIDE = "CREATE FUNCTION public.hide() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
_DAYS = ["2024-02-29", "2025-01-01"]
_ALTERATIONS = {
    "a trigger": (
        _HIDE,
        "CREATE TRIGGER t BEFORE INSERT ON sabot.units FOR EACH ROW EXECUTE FUNCTION public.hide()",
    ),
    "a trigger of a partition": (
        _HIDE,
        "CREATE TRIGGER t BEFORE INSERT ON sabot.{partition}"
        " FOR EACH ROW EXECUTE FUNCTION public.hide()",
    ),
    "a rule": ("CREATE RULE r AS ON INSERT TO sabot.holes DO INSTEAD NOTHING",),
    "row security": ("ALTER TABLE sabot.records ENABLE ROW LEVEL SECURITY",),
    "row security of a partition": ("ALTER TABLE sabot.{partition} ENABLE ROW LEVEL SECURITY",),
    "a policy": ("CREATE POLICY p ON sabot.units USING (unit <> 'U1')",),
    "a column": ("ALTER TABLE sabot.units ADD COLUMN more text",),
    "another type": ("ALTER TABLE sabot.desk ALTER COLUMN number TYPE numeric",),
    "a column that may be null": ("ALTER TABLE sabot.days ALTER COLUMN first DROP NOT NULL",),
    "a default": ("ALTER TABLE sabot.holes ALTER COLUMN unix_ms SET DEFAULT 0",),
    "no index": ("DROP INDEX sabot.records_by_time",),
    "no key of a partition": ("ALTER TABLE sabot.{partition} DROP CONSTRAINT {partition}_pkey",),
    "no key": ("ALTER TABLE sabot.units DROP CONSTRAINT units_unit_key",),
    "a partial index": (
        "ALTER TABLE sabot.units DROP CONSTRAINT units_unit_key",
        "CREATE UNIQUE INDEX ON sabot.units (unit) WHERE id > 1",
    ),
    "no limit": ("ALTER TABLE sabot.records DROP CONSTRAINT records_mac_check",),
    "another owner": ("ALTER TABLE sabot.units OWNER TO stranger",),
    "another owner of a function": ("ALTER FUNCTION sabot.heads() OWNER TO postgres",),
    "a function as its caller": ("ALTER FUNCTION sabot.heads() SECURITY INVOKER",),
    "a strict function": ("ALTER FUNCTION sabot.take STRICT",),
    "a function that changes nothing": ("ALTER FUNCTION sabot.take STABLE",),
    "a leakproof function": ("ALTER FUNCTION sabot.may_write LEAKPROOF",),
    "another owner of the schema": ("ALTER SCHEMA sabot OWNER TO stranger",),
    "another search path": ("ALTER FUNCTION sabot.heads() SET search_path = public",),
    "another function": (
        "CREATE OR REPLACE FUNCTION sabot.may_write(of_unit text) RETURNS boolean"
        " LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS 'SELECT true'",
    ),
    "one function more": ("CREATE FUNCTION sabot.more() RETURNS int LANGUAGE sql AS 'SELECT 1'",),
    "one table more": ("CREATE TABLE sabot.more (x text)",),
    "a view": ("CREATE VIEW sabot.more AS SELECT 1",),
    "one table less": ("DROP TABLE sabot.holes",),
    "a table that is not logged": ("ALTER TABLE sabot.holes SET UNLOGGED",),
    "a table in between": (
        "CREATE TABLE public.child () INHERITS (sabot.units)",
        "ALTER TABLE public.child SET SCHEMA sabot",
    ),
    "an event trigger": (
        "CREATE FUNCTION public.watch() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'",
        "CREATE EVENT TRIGGER watch ON ddl_command_end EXECUTE FUNCTION public.watch()",
    ),
}


@pytest.fixture
def filled(database: Database) -> Database:
    """A log with some events, so that it has partitions."""
    with new_log(database.place()) as store:
        store.append("U1", stored(FirmwareLog().load().draw("AS").records))
    return database


def test_every_alteration_shows(filled: Database) -> None:
    place = filled.place("postgres")
    with sessions.connected(place, sessions.arguments(place)) as session:
        connection = sessions.PostgresConnection(session)
        query = "SELECT min(relname)::text FROM pg_class WHERE relispartition AND relkind = 'r'"
        (partition,) = session.execute(query).fetchone() or ("",)
        assert catalog.altered(connection) == []
        for what, statements in _ALTERATIONS.items():
            with session.transaction(force_rollback=True):
                for statement in statements:
                    session.execute(statement.format(partition=partition))
                assert catalog.altered(connection), what
        assert catalog.altered(connection) == []


def test_a_function_that_was_altered_is_named_with_what_differs(filled: Database) -> None:
    place = filled.place("postgres")
    with sessions.connected(place, sessions.arguments(place)) as session:
        with session.transaction(force_rollback=True):
            session.execute("ALTER FUNCTION sabot.take STRICT")
            session.execute("ALTER FUNCTION sabot.heads SECURITY INVOKER")
            assert catalog.altered(sessions.PostgresConnection(session)) == [
                "function heads(...) is no longer as its owner",
                "function take(...) is now strict",
            ]


def test_what_is_made_and_removed_day_by_day_is_no_alteration(filled: Database) -> None:
    with filled.connect() as session:
        session.execute("SET ROLE sabot_keeper")
        session.execute("SELECT sabot.make_partition(d) FROM unnest(%s::date[]) AS d", (_DAYS,))
        session.execute("ANALYZE sabot.records")
        open_store(filled.place("reader")).close()
        for day in _DAYS:
            session.execute(f"DROP TABLE sabot.records_{day.replace('-', '_')}")
    open_store(filled.place("reader")).close()


def test_an_altered_log_is_opened_by_no_one_and_the_message_says_what_is_wrong(
    filled: Database,
) -> None:
    with filled.connect("postgres") as session:
        session.execute("CREATE RULE r AS ON INSERT TO sabot.holes DO INSTEAD NOTHING")
        for role in ("reader", "logger", "keeper"):
            with pytest.raises(DatabaseUnusable, match=r"altered \(has rule of holes: r\)"):
                open_store(filled.place(role), create=True)
        session.execute("DROP RULE r ON sabot.holes")
    open_store(filled.place("reader")).close()


def test_who_else_may_change_records_is_a_fault_and_keeps_no_one_from_reading(
    filled: Database,
) -> None:
    with filled.connect("postgres") as session:
        session.execute("GRANT UPDATE ON sabot.records TO reader")
        session.execute("GRANT SELECT ON sabot.records TO PUBLIC")
    with open_store(filled.place("reader")) as store:
        assert store.faults() == [
            "everyone may SELECT table records, as in no log",
            "reader may UPDATE table records, as in no log",
        ]


_FORGERIES = {
    "UPDATE sabot.units SET newest = newest + 1": "but its head says",
    "INSERT INTO sabot.units (unit, newest, records, site, mac) VALUES ('U9', 5, 5, 'x', '')":
        "names a unit U9, of which it has no records",
    "DELETE FROM sabot.records WHERE number = 1": "do not fit their records",
    "UPDATE sabot.days SET first_shoe = 7": "do not fit their records",
    "UPDATE sabot.records SET unix_ms = 1 WHERE number = 1": "do not fit their records",
    "DELETE FROM sabot.days": "do not fit their records",
    "UPDATE sabot.records SET unit = 77 WHERE number = 1": "rows of a unit 77",
    "INSERT INTO sabot.tombstones VALUES (77, 1, 2, 'x')": "tombstones has rows of a unit 77",
    "UPDATE sabot.games SET document = 'x'": "a game document does not fit its SHA-256",
}  # fmt: skip


def test_what_no_function_of_a_log_stores_is_a_fault(filled: Database) -> None:
    place = filled.place("postgres")
    with sessions.connected(place, sessions.arguments(place)) as session:
        connection = sessions.PostgresConnection(session)
        assert list(soundness.faults(place, connection, lambda: False)) == []
        for statement, fault in _FORGERIES.items():
            with session.transaction(force_rollback=True):
                session.execute(statement)
                found = list(soundness.faults(place, connection, lambda: False))
                assert any(fault in each for each in found), (statement, found)
        with pytest.raises(DatabaseUnusable, match="was ended"):
            list(soundness.faults(place, connection, lambda: True))


@pytest.mark.slow
def test_a_server_that_forgets_in_a_power_failure_is_not_used() -> None:
    with Server({"fsync": "off"}) as server:
        make_template(server)
        with new_database(server) as database, pytest.raises(DatabaseUnusable, match="fsync = off"):
            open_store(database.place())
