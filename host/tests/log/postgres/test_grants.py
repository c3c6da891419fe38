"""What each role may do at a log in PostgreSQL, by trying everything as each of them.

The tables of what is allowed are written here by hand; all else has to be refused.
"""

import hashlib
from collections.abc import Callable

import psycopg
import pytest
from psycopg import errors

from host.tests.support.naive_shoe import naive_event, recorded
from host.tests.support.postgres import ROLES, Database, Session
from sabot.log.postgres.store import PostgresStore
from sabot.log.store import open_store

_FORBIDDEN = "42501"
_READABLE = (
    "about", "alarm_chain", "alarm_seals", "alarms", "days", "desk", "games", "holes", "missing",
    "presence", "receipts", "records", "seams", "site_checkpoints", "sites", "sums",
    "tombstones", "units",
)  # fmt: skip
_OF_THE_DESK = ("desk_key", "sessions", "users")
_ALL = (*_READABLE, *_OF_THE_DESK)
_READERS = ("reader", "logger", "notary", "clerk")
_OTHERS = tuple(role for role in ROLES if role != "keeper")

# Of each table, beside what all readers may read.
_MAY = {
    "clerk": {
        ("SELECT", "desk_key"), ("SELECT", "users"), ("SELECT", "sessions"),
        ("INSERT", "desk"), ("INSERT", "desk_key"), ("INSERT", "users"), ("INSERT", "sessions"),
        ("UPDATE", "desk_key"), ("UPDATE", "users"), ("UPDATE", "sessions"), ("DELETE", "sessions"),
        ("LOCK", "desk_key"), ("LOCK", "sessions"),
    },
    "notary": {("INSERT", "receipts"), ("INSERT", "alarm_seals")},
}  # fmt: skip
_WRITING = {
    "take", "heads", "heads_of", "holes_of", "keep_game", "keep_presence", "keep_tombstone",
    "receipts_after", "checkpoint", "alarm", "now_unix_ms", "check_digest", "say_alarm",
    "say_checkpoints", "say_games", "say_presence", "say_tombstone", "keep_seam", "say_seam",
    "take_units", "open_alarms", "keep_flows", "say_flows",
}  # fmt: skip
_READING = {"now_unix_ms", "open_alarms", "hash_of", "hash_of_presence", "hash_of_checkpoint"}
_MAY_CALL = {
    "reader": _READING,
    "logger": {*_WRITING, *_READING, "remove_seam"},
    "notary": {*_READING, "alarm", "check_digest", "say_alarm", "say_missing"},
    "clerk": _READING,
    "site_1": _WRITING,
    "site_2": _WRITING,
    "stranger": set(),
}
_STATEMENTS = {
    "SELECT": "SELECT * FROM sabot.{0}",
    "INSERT": "INSERT INTO sabot.{0} DEFAULT VALUES",
    "UPDATE": "UPDATE sabot.{0} SET {1} = {1}",
    "DELETE": "DELETE FROM sabot.{0}",
    "TRUNCATE": "TRUNCATE sabot.{0}",
    "LOCK": "LOCK TABLE sabot.{0} IN SHARE ROW EXCLUSIVE MODE",
    "DROP": "DROP TABLE sabot.{0}",
    "ALTER": "ALTER TABLE sabot.{0} ADD COLUMN more text",
    "INDEX": "CREATE INDEX ON sabot.{0} ({1})",
    "RULE": "CREATE RULE hide AS ON INSERT TO sabot.{0} DO INSTEAD NOTHING",
    "SECURITY": "ALTER TABLE sabot.{0} ENABLE ROW LEVEL SECURITY",
    "OWNER": "ALTER TABLE sabot.{0} OWNER TO CURRENT_USER",
    "REFERENCES": "CREATE TABLE public.mine (x bigint REFERENCES sabot.{0} ({1}))",
}


@pytest.fixture
def filled(database: Database) -> Database:
    """A log with something in it, and sites."""
    with open_store(database.place(), create=True) as store:
        store.append("U1", [recorded(naive_event(number)) for number in (1, 2, 3)])
    database.allow("site_1", "U1")
    database.allow("site_2", "U2")
    return database


def _refused(session: Session, statement: str, *given: object) -> bool:
    """Whether a statement is refused because of the role; nothing stays of it."""
    try:
        with session.transaction(force_rollback=True):
            session.execute(statement, given)
    except psycopg.Error as error:
        return error.sqlstate in (_FORBIDDEN, errors.InvalidSchemaName.sqlstate)
    return False


def _columns(database: Database) -> dict[str, str]:
    """A column of each table and partition."""
    with database.connect("postgres") as session:
        found = session.execute(
            "SELECT c.relname::text, max(a.attname) FROM pg_class AS c JOIN pg_attribute AS a"
            " ON a.attrelid = c.oid AND a.attnum > 0"
            " WHERE relnamespace = 'sabot'::regnamespace AND relkind IN ('r', 'p') GROUP BY 1"
        )
        return {str(table): str(column) for table, column in found}


@pytest.mark.slow
def test_a_role_may_do_with_each_table_what_is_written_here_and_nothing_else(
    filled: Database,
) -> None:
    columns = _columns(filled)
    partitions = columns.keys() - set(_ALL)
    assert set(_ALL) <= columns.keys() and len(partitions) == 2
    for role in _OTHERS:
        allowed = set(_MAY.get(role, set()))
        if role in _READERS:
            allowed |= {("SELECT", table) for table in _READABLE}
        if role == "stranger":
            with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
                filled.connect(role)
            continue
        done = set()
        with filled.connect(role) as session:
            for name, statement in _STATEMENTS.items():
                for table, column in columns.items():
                    if not _refused(session, statement.format(table, column)):
                        done.add((name, table))
        assert done == allowed, role


def test_a_reader_reads_no_secret_of_the_desk(filled: Database) -> None:
    for role in ("reader", "logger", "notary"):
        with filled.connect(role) as session:
            for column in ("desk_key.secret", "users.hash", "sessions.sha256"):
                table, _, name = column.partition(".")
                assert _refused(session, f"SELECT {name} FROM sabot.{table}")
                assert not _refused(session, f"SELECT 1 FROM sabot.{table}")


def test_the_desk_changes_only_what_changes_of_users_and_sessions(filled: Database) -> None:
    with filled.connect("clerk") as session:
        for column in ("role", "hash", "closed"):
            assert not _refused(session, f"UPDATE sabot.users SET {column} = {column}")
        for column in ("users.name", "users.made_unix_ms", "sessions.name", "desk.record"):
            table, _, name = column.partition(".")
            assert _refused(session, f"UPDATE sabot.{table} SET {name} = {name}")
        assert _refused(session, "DELETE FROM sabot.users")
        assert _refused(session, "DELETE FROM sabot.desk")


def _functions(database: Database) -> dict[str, str]:
    """A call of each function, with nulls."""
    with database.connect("postgres") as session:
        found = session.execute(
            "SELECT p.proname::text, coalesce((SELECT string_agg('NULL::' || format_type(t, NULL),"
            " ', ' ORDER BY place) FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS a (t,"
            " place)), '') FROM pg_proc AS p WHERE pronamespace = 'sabot'::regnamespace"
        )
        return {str(name): f"SELECT sabot.{name}({arguments})" for name, arguments in found}


def test_a_role_may_call_the_functions_that_are_written_here_and_no_others(
    filled: Database,
) -> None:
    calls = _functions(filled)
    assert calls.keys() > _WRITING
    for role in _OTHERS:
        if role != "stranger":
            with filled.connect(role) as session:
                done = {name for name, call in calls.items() if not _refused(session, call)}
            assert done == _MAY_CALL[role], role


def test_no_function_of_a_log_is_everyones(filled: Database) -> None:
    with filled.connect("postgres") as session:
        session.execute("CREATE ROLE passer_by LOGIN")
        try:
            session.execute(f"GRANT CONNECT ON DATABASE {filled.name} TO passer_by")
            session.execute("GRANT USAGE ON SCHEMA sabot TO passer_by")
            with filled.connect("passer_by") as other:
                for name, call in _functions(filled).items():
                    assert _refused(other, call), name
        finally:
            session.execute("DROP OWNED BY passer_by")
            session.execute("DROP ROLE passer_by")


_ESCALATIONS = (
    "SET ROLE sabot_keeper",
    "SET ROLE postgres",
    "SET SESSION AUTHORIZATION keeper",
    "GRANT sabot_keeper TO CURRENT_USER",
    "GRANT sabot_logger TO site_1",
    "CREATE SCHEMA mine",
    "CREATE TABLE sabot.mine (x text)",
    "CREATE TABLE public.mine (x text)",
    "CREATE TEMPORARY TABLE units (unit text)",
    "CREATE FUNCTION sabot.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "ALTER FUNCTION sabot.now_unix_ms() RENAME TO then",
    "DROP FUNCTION sabot.heads()",
    "DROP SCHEMA sabot CASCADE",
    "ALTER TABLE sabot.records DETACH PARTITION sabot.{partition}",
    "ALTER DATABASE {database} SET search_path = public",
    "CREATE EVENT TRIGGER mine ON ddl_command_start EXECUTE FUNCTION now()",
    "COPY sabot.records FROM PROGRAM 'true'",
    "SELECT pg_read_file('PG_VERSION')",
    "ALTER SYSTEM SET fsync = off",
    "SET fsync = off",
)


@pytest.mark.parametrize("role", [*_READERS, "site_1"])
def test_no_role_becomes_more_than_it_is(filled: Database, role: str) -> None:
    (partition, *_) = sorted(_columns(filled).keys() - set(_ALL))
    with filled.connect(role) as session:
        for statement in _ESCALATIONS:
            text = statement.format(partition=partition, database=filled.name)
            with pytest.raises(psycopg.Error):
                session.execute(text)
                pytest.fail(f"{role}: {text}")
            session.execute("RESET ROLE")


def _take(unit: str, number: int) -> tuple[str, tuple[object, ...]]:
    """The call that stores a record, written without code of the project."""
    digest = hashlib.sha256(unit.encode())
    for kind, item in (
        (20, number.to_bytes(8, "big")), (17, b"r"), (17, bytes(16)), (25, b"lid"),
        (20, None), (20, bytes(8)), (20, bytes(8)),
    ):  # fmt: skip
        head = [1, item is None, kind, 1, 1, -1 if item is None else len(item)]
        digest.update(b"".join(part.to_bytes(4, "big", signed=True) for part in head))
        digest.update(item or b"")
    query = (
        "SELECT newest FROM sabot.take(%s, NULL, ARRAY[%s]::bigint[], ARRAY['r'::bytea],"
        " ARRAY[%s]::bytea[], ARRAY['lid'], ARRAY[NULL]::bigint[], ARRAY[0]::bigint[],"
        " ARRAY[0]::bigint[], NULL, %s)"
    )
    return query, (unit, number, bytes(16), digest.digest())


def test_a_site_reaches_its_own_units_only_by_every_function(filled: Database) -> None:
    stone = bytes(16), b"stone"
    calls: list[Callable[[str], tuple[str, tuple[object, ...]]]] = [
        lambda unit: ("SELECT sabot.keep_tombstone(%s, 20, 30, %s, %s)", (unit, *stone)),
        lambda unit: _take(unit, 9),
        lambda unit: ("SELECT sabot.receipts_after(%s, 0)", (unit,)),
        lambda unit: ("SELECT sabot.checkpoint(%s, 3, %s, 3)", (unit, bytes(16))),
        lambda unit: ("SELECT sabot.alarm(%s, 3, 'a', 'b', NULL, NULL)", (unit,)),
        lambda unit: (
            "SELECT sabot.keep_presence(ARRAY['U2', %s], ARRAY['attached', 'attached'],"
            " ARRAY[1, 1]::bigint[], ARRAY[2, 2]::bigint[])",
            (unit,),
        ),
    ]
    with filled.connect("site_2") as session:
        for call in calls:
            for unit in ("U1", "U3", "", "u2", "U2 ", None):
                with pytest.raises(psycopg.Error) as caught:
                    session.execute(*call(str(unit) if unit is not None else "U1"))
                assert caught.value.sqlstate == "SB403"
        for call in calls:
            session.execute(*call("U2"))
        assert session.execute("SELECT unit FROM sabot.heads()").fetchall() == [("U2",)]
        asked = "SELECT unit FROM sabot.heads_of(ARRAY['U1', 'U2', 'U3'])"
        assert session.execute(asked).fetchall() == [("U2",)]
    with filled.connect("reader") as session:
        for table in ("alarms", "presence"):
            units = session.execute(f"SELECT DISTINCT unit FROM sabot.{table}").fetchall()
            assert units == [("U2",)]


def test_what_a_site_may_no_longer_forward_is_refused_at_once(filled: Database) -> None:
    with filled.connect("site_1") as session:
        session.execute(*_take("U1", 4))
        with filled.connect() as keeper:
            keeper.execute("UPDATE sabot.sites SET role = 'site_2' WHERE unit = 'U1'")
        with pytest.raises(psycopg.Error) as caught:
            session.execute(*_take("U1", 5))
        assert caught.value.sqlstate == "SB403"
        assert session.execute("SELECT * FROM sabot.heads()").fetchall() == []


@pytest.mark.parametrize("setting", ["off", "local", "remote_write"])
def test_a_role_cannot_have_its_events_acknowledged_before_they_are_durable(
    filled: Database, setting: str
) -> None:
    with filled.connect("site_1") as session, session.transaction():
        session.execute(f"SET synchronous_commit = {setting}")
        session.execute(*_take("U1", 4))
        assert session.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_a_role_that_is_neither_logger_nor_site_takes_nothing(filled: Database) -> None:
    query, given = _take("U1", 4)
    for role in ("reader", "notary", "clerk"):
        with filled.connect(role) as session:
            assert _refused(session, query, *given)


def test_a_keeper_alone_says_when_records_were_received(filled: Database) -> None:
    query, given = _take("U1", 4)
    query = query.replace(" NULL, %s)", " 1795000000000, %s)")
    for role in ("site_1", "logger"):
        with filled.connect(role) as session, pytest.raises(psycopg.Error) as caught:
            session.execute(query, given)
        assert caught.value.sqlstate == "SB403"
    with filled.connect() as session:
        assert session.execute(query, given).fetchone() == (4,)
    with PostgresStore(filled.place("reader")) as store:
        assert store.last_received("U1") == 1_795_000_000_000
