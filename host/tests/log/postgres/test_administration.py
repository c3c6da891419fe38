"""Making a log in PostgreSQL, and letting roles use it, as a keeper who is not a superuser."""

from collections.abc import Iterator

import psycopg
import pytest

from host.tests.support.naive_shoe import naive_event, recorded
from host.tests.support.postgres import Database, Server
from sabot.errors import DatabaseUnusable
from sabot.log.place import Address
from sabot.log.postgres import administration, migrations, status
from sabot.log.store import open_store

_ROLES = ("owner_of_a_log", "some_logger", "some_site", "other_site", 'odd "role"; DROP')


@pytest.fixture
def own(postgres: Server) -> Iterator[Database]:
    """An empty database that belongs to a role that may make roles, and may nothing else."""
    name = postgres.new_database()
    with postgres.connect() as session:
        for role in _ROLES:
            quoted = role.replace('"', '""')
            session.execute(f'CREATE ROLE "{quoted}" LOGIN')
        session.execute("ALTER ROLE owner_of_a_log CREATEROLE")
        session.execute(f"ALTER DATABASE {name} OWNER TO owner_of_a_log")
        for group in (*administration.GROUPS.values(), "sabot_site"):  # the cluster has them
            session.execute(f"GRANT {group} TO owner_of_a_log WITH ADMIN OPTION")
    yield Database(postgres, name)
    postgres.drop_database(name)
    with postgres.connect() as session:
        for role in reversed(_ROLES):
            quoted = role.replace('"', '""')
            session.execute(f'DROP OWNED BY "{quoted}"')
            session.execute(f'DROP ROLE "{quoted}"')


def _made(own: Database) -> Address:
    place = own.place("owner_of_a_log")
    assert list(administration.make(place)) == list(range(1, migrations.VERSION + 1))
    return place


@pytest.mark.slow
def test_the_owner_of_a_database_makes_a_log_once(own: Database) -> None:
    place = _made(own)
    assert list(administration.make(place)) == []
    assert administration.version_of(place) == migrations.VERSION
    open_store(place).close()


@pytest.mark.slow
def test_a_role_that_may_make_roles_makes_the_first_log_of_a_cluster() -> None:
    with Server() as server:
        with server.connect() as session:
            session.execute("CREATE ROLE keeper LOGIN CREATEROLE")
            session.execute("CREATE ROLE logger LOGIN")
            session.execute("CREATE ROLE site LOGIN")
            session.execute("CREATE DATABASE log OWNER keeper")
        place = Address(server.address("log", "keeper"))
        list(administration.make(place))
        administration.grant(place, "logger", "log")
        administration.let_forward(place, "site", ["U2"])
        with open_store(Address(server.address("log", "logger")), create=True) as store:
            store.append("U1", [recorded(naive_event(1)), recorded(naive_event(2))])
        with open_store(place) as store:
            store.prune("U1", 1, 1, b"stone")
            assert store.faults() == [] and store.count() == 1
        assert list(administration.migrate(place, 1))[-1] == 1
        assert list(administration.migrate(place, migrations.VERSION))[-1] == migrations.VERSION


def test_a_log_is_made_only_by_who_owns_the_database(own: Database) -> None:
    with own.connect("postgres") as session:
        session.execute(f"GRANT CREATE, CONNECT ON DATABASE {own.name} TO some_logger")
    with pytest.raises(DatabaseUnusable, match="belongs to another role"):
        list(administration.make(own.place("some_logger")))
    with pytest.raises(DatabaseUnusable, match="has no Sabot log"):
        administration.version_of(own.place("owner_of_a_log"))


def test_a_database_of_another_encoding_gets_no_log(postgres: Server) -> None:
    with postgres.connect() as session:
        session.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(DatabaseUnusable, match="encoding is LATIN1"):
        list(administration.make(Address(postgres.address("latin"))))
    postgres.drop_database("latin")


def test_versions_are_led_to_and_only_to_those_that_there_are(own: Database) -> None:
    place = _made(own)
    for version in (0, -1, migrations.VERSION + 1):
        with pytest.raises(DatabaseUnusable, match="no version"):
            list(administration.migrate(place, version))
    assert list(administration.migrate(place, 1))[-1] == 1
    assert list(administration.migrate(place, 1)) == []
    assert list(administration.migrate(place, migrations.VERSION))[-1] == migrations.VERSION


def test_a_role_is_let_in_and_out_again(own: Database) -> None:
    place, logger = _made(own), own.place("some_logger")
    with pytest.raises(DatabaseUnusable, match=r"no session .*permission denied"):
        open_store(logger)
    administration.grant(place, "some_logger", "log")
    with open_store(logger, create=True) as store:
        store.append("U1", [recorded(naive_event(1))])
    administration.revoke(place, "some_logger", "log")
    administration.grant(place, "some_logger", "read")
    with open_store(logger, create=True) as store:
        assert store.count() == 1
        with pytest.raises(DatabaseUnusable, match="may not do this"):
            store.append("U1", [recorded(naive_event(2))])


@pytest.mark.parametrize("role", ["nobody", "", "sabot_keeper", "x" * 99, 'odd "role"'])
def test_only_login_roles_that_exist_are_let_in(own: Database, role: str) -> None:
    place = _made(own)
    for call in (
        lambda: administration.grant(place, role, "read"),
        lambda: administration.let_forward(place, role, ["U1"]),
    ):
        with pytest.raises(DatabaseUnusable, match="has no login role"):
            call()


def test_a_name_of_a_role_is_no_sql(own: Database) -> None:
    place = _made(own)
    administration.grant(place, 'odd "role"; DROP', "read")
    administration.let_forward(place, 'odd "role"; DROP', ["U'1"])
    with psycopg.connect(
        own.place("owner_of_a_log").uri, user='odd "role"; DROP', autocommit=True
    ) as session:
        assert session.execute("SELECT role FROM sabot.sites").fetchall() == [('odd "role"; DROP',)]


def test_a_unit_is_one_sites_only(own: Database) -> None:
    place = _made(own)
    administration.let_forward(place, "some_site", ["U1", "U2"])
    administration.let_forward(place, "some_site", ["U2", "U3"])
    with pytest.raises(DatabaseUnusable, match="U2 is forwarded by some_site"):
        administration.let_forward(place, "other_site", ["U9", "U2"])
    assert status.status_of(place).waiting == [(each, "some_site") for each in ("U1", "U2", "U3")]
    with pytest.raises(DatabaseUnusable, match="does not forward U1"):
        administration.end_forwarding(place, "other_site", ["U1"])
    assert administration.end_forwarding(place, "some_site", ["U1", "U3"]) == ["U2"]
    administration.let_forward(place, "other_site", ["U1"])
    assert administration.end_forwarding(place, "some_site", ["U2"]) == []
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        own.connect("some_site")


def test_who_may_log_is_no_site(own: Database) -> None:
    place = _made(own)
    administration.grant(place, "some_logger", "log")
    with pytest.raises(DatabaseUnusable, match="may write every unit"):
        administration.let_forward(place, "some_logger", ["U1"])
