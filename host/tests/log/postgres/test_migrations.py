"""The versions of a log in PostgreSQL: the ways between them keep what the log has.

SABOT_WRITE_CATALOG=1 writes what each version is made of, after a new one was added.
"""

import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest

from host.tests.support.naive_shoe import naive_event, recorded
from host.tests.support.postgres import Database, Server, Session
from sabot.errors import DatabaseUnusable
from sabot.log.postgres import migrations, sessions
from sabot.log.postgres.checks import catalog, rights
from sabot.log.postgres.sessions import PostgresConnection
from sabot.log.store import open_store

_DAY = "SELECT sabot.make_partition('2026-11-21')"


@pytest.fixture
def empty(postgres: Server) -> Iterator[Database]:
    """A database without a log."""
    name = postgres.new_database()
    yield Database(postgres, name)
    postgres.drop_database(name)


def _described(database: Database) -> frozenset[str]:
    place = database.place()
    with sessions.connected(place, sessions.arguments(place)) as session:
        return catalog.described(PostgresConnection(session))


def _lead(session: Session, to: int) -> list[int]:
    return list(migrations.migrate(session, to))


def test_each_version_is_what_its_catalog_says_upward_and_downward(empty: Database) -> None:
    with empty.connect("postgres") as session:
        migrations.make_roles(session)
        up, down = range(1, migrations.VERSION + 1), range(migrations.VERSION - 1, 0, -1)
        for version in (*up, *down):
            assert _lead(session, version) == [version]
            with session.transaction():
                session.execute("SET LOCAL ROLE sabot_keeper")
                session.execute(_DAY)
            here = _described(empty)
            if os.environ.get("SABOT_WRITE_CATALOG"):
                folder = Path(str(files(migrations.__name__)))
                text = "".join(f"{line}\n" for line in sorted(here))
                (folder / f"{version:04}.catalog").write_text(text, encoding="utf-8")
            assert here == catalog.expected_of(version)
            if version == migrations.VERSION:
                _compare_grants(empty)


def _compare_grants(database: Database) -> None:
    place = database.place()
    with sessions.connected(place, sessions.arguments(place)) as session:
        here = rights.grants(PostgresConnection(session))
    if os.environ.get("SABOT_WRITE_CATALOG"):
        text = "".join(f"{line}\n" for line in sorted(here))
        path = Path(str(files(migrations.__name__))) / f"{migrations.VERSION:04}.grants"
        path.write_text(text, encoding="utf-8")
    assert here == rights.expected_grants()


def _everything(session: Session) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables of the schema."""
    tables = session.execute(
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'sabot'::regnamespace"
        " AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname"
    ).fetchall()
    rows = {
        table: session.execute(f"SELECT * FROM sabot.{table} AS t ORDER BY t::text").fetchall()
        for (table,) in tables
    }
    if "sums" in rows:  # whose part it was is not kept
        query = "SELECT name, sum(rows), bit_xor(sum) FROM sabot.sums GROUP BY name ORDER BY name"
        rows["sums"] = session.execute(query).fetchall()
    return rows


def test_down_and_up_again_keeps_all_that_the_log_has(database: Database) -> None:
    with open_store(database.place(), create=True) as store:
        store.append("U1", [recorded(naive_event(number)) for number in (1, 2, 3, 7)])
    database.allow("site_1", "U1")
    with database.connect() as session:
        session.execute("INSERT INTO sabot.receipts VALUES (1, 3, 'receipt')")
        session.execute("SELECT sabot.checkpoint('U1', 7, %s, 4)", (bytes(16),))
        for number in (1, 2):
            session.execute("SELECT sabot.alarm('U1', %s, 'a', 'b', 'c', NULL)", (number,))
        session.execute("DELETE FROM sabot.alarms WHERE number = 1")
        before = _everything(session)
        assert all(before[each] for each in ("receipts", "site_checkpoints", "alarms", "holes"))
    with database.connect("postgres") as session:
        for _ in range(2):
            assert _lead(session, 1) == list(range(migrations.VERSION - 1, 0, -1))
            records = session.execute("SELECT * FROM sabot.records ORDER BY number").fetchall()
            assert records == before["records"]
            assert _lead(session, migrations.VERSION)[-1] == migrations.VERSION
            assert _everything(session) == before
        session.execute("SELECT sabot.alarm('U1', 3, 'a', 'b', 'c', NULL)")
        ids = [id_ for (id_,) in session.execute("SELECT id FROM sabot.alarms ORDER BY id")]
        assert ids == [2, 3]
    with open_store(database.place()) as store:
        assert store.count() == 4


def test_a_migration_that_fails_changes_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = migrations._text

    def broken(name: str) -> str:
        return right(name) + (";\nSELECT 1 / 0" if name == "0001_up.sql" else "; SELECT nothing")

    before = _described(database)
    with database.connect("postgres") as session:
        monkeypatch.setattr(migrations, "_text", broken)
        with pytest.raises(psycopg.Error):
            _lead(session, 1)
        assert migrations.version_of(session) == migrations.VERSION
    assert _described(database) == before


def test_a_log_of_another_version_is_not_opened_and_says_what_leads_on(database: Database) -> None:
    with database.connect("postgres") as session:
        _lead(session, 1)
        with pytest.raises(DatabaseUnusable, match=r"of version 1, .* sabot database migrate"):
            open_store(database.place())
        session.execute("UPDATE sabot.about SET value = '999' WHERE name = 'version'")
    with pytest.raises(DatabaseUnusable, match=r"of version 999, .* update sabot"):
        open_store(database.place())


def test_a_database_without_a_log_is_not_opened_and_says_what_makes_one(empty: Database) -> None:
    with pytest.raises(DatabaseUnusable, match="has no Sabot log; `sabot database make`"):
        open_store(empty.place("postgres"))
