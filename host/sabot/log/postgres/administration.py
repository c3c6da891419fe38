"""What the keeper of a log in PostgreSQL does: make it, change its version, let roles in."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg
from psycopg import sql

from sabot.errors import DatabaseUnusable, did_you_mean
from sabot.log.place import Address
from sabot.log.postgres import migrations
from sabot.log.postgres.failures import user_error
from sabot.log.postgres.sessions import Session, arguments, connected

_OLDEST_SERVER = 15
GROUPS = {
    "read": "sabot_reader",
    "log": "sabot_logger",
    "notary": "sabot_notary",
    "desk": "sabot_desk",
    "keep": "sabot_keeper",
}
"""What a login role may be let do, and the group role that may."""
_SITE = "sabot_site"


@contextmanager
def administering(place: Address) -> Iterator[Session]:
    """A session of the keeper. Raises the errors of failures.py."""
    session = connected(place, arguments(place))
    try:
        yield session
    except (psycopg.Error, UnicodeError) as error:
        raise user_error(place, error) from None
    finally:
        session.close()


def make(place: Address) -> Iterator[int]:
    """Make the roles and a new log of the newest version; yield each version on the way to it. Of a
    log that is there nothing is changed, and nothing is yielded.

    Raises DatabaseUnusable if the server or the database cannot have one.
    """
    with administering(place) as session:
        _check_server(place, session)
        migrations.make_roles(session)
        if not migrations.version_of(session):
            yield from migrations.migrate(session)


def version_of(place: Address) -> int:
    """The version of the log at a place. Raises DatabaseUnusable if there is none."""
    with administering(place) as session:
        version = migrations.version_of(session)
    if not version:
        raise DatabaseUnusable(f"{place}: has no Sabot log; `sabot database make` makes one there")
    return version


def migrate(place: Address, to: int) -> Iterator[int]:
    """Lead a log to another version, and yield each version on the way. Raises DatabaseUnusable if
    there is no such version, or no log."""
    before = version_of(place)
    if not migrations.LOWEST <= to <= migrations.VERSION:
        raise DatabaseUnusable(
            f"{place}: this sabot knows versions {migrations.LOWEST} to {migrations.VERSION} of a "
            f"log, and no version {to}"
        )
    if before > migrations.VERSION:
        raise DatabaseUnusable(
            f"{place}: a log of version {before}, this sabot knows {migrations.LOWEST} to "
            f"{migrations.VERSION}; lead it back with the sabot that made it"
        )
    with administering(place) as session:
        yield from migrations.migrate(session, to)


def grant(place: Address, role: str, what: str) -> None:
    """Let a login role do something, one of GROUPS. Raises DatabaseUnusable if there is no such
    role."""
    with administering(place) as session, session.transaction():
        _check_role(place, session, role)
        _change_membership(session, "GRANT {} TO {}", GROUPS[what], role)


def revoke(place: Address, role: str, what: str) -> None:
    """Take that back."""
    with administering(place) as session, session.transaction():
        _check_role(place, session, role)
        _change_membership(session, "REVOKE {} FROM {}", GROUPS[what], role)


def let_forward(place: Address, role: str, units: Sequence[str]) -> None:
    """Let a login role forward these units, and no other role that is not a logger.

    Raises DatabaseUnusable if there is no such role, if another has a unit, or if the role may
    write every unit anyway.
    """
    with administering(place) as session, session.transaction():
        _check_role(place, session, role)
        query = "SELECT pg_has_role(%s, 'sabot_logger', 'USAGE')"
        if (session.execute(query, (role,)).fetchone() or (False,))[0]:
            raise DatabaseUnusable(
                f"{place}: {role} may log, so it may write every unit; take that back first: "
                f"sabot database grant ... {role} --may log --remove"
            )
        session.execute("SET LOCAL ROLE sabot_keeper")
        for unit in units:
            session.execute(
                "INSERT INTO sabot.sites VALUES (%s, %s) ON CONFLICT DO NOTHING", (unit, role)
            )
            query = "SELECT role FROM sabot.sites WHERE unit = %s"
            (its,) = session.execute(query, (unit,)).fetchone() or ("",)
            if its != role:
                raise DatabaseUnusable(
                    f"{place}: {unit} is forwarded by {its}; take it from that role first: "
                    f"sabot database site ... {its} --unit {unit} --remove"
                )
        session.execute("RESET ROLE")
        _change_membership(session, "GRANT {} TO {}", _SITE, role)


def end_forwarding(place: Address, role: str, units: Sequence[str]) -> list[str]:
    """Let a login role forward these units no longer; return those that it still may. Raises
    DatabaseUnusable if it could not forward one of them."""
    with administering(place) as session, session.transaction():
        session.execute("SET LOCAL ROLE sabot_keeper")
        for unit in units:
            query = "DELETE FROM sabot.sites WHERE unit = %s AND role = %s"
            if not session.execute(query, (unit, role)).rowcount:
                raise DatabaseUnusable(
                    f"{place}: {role} does not forward {unit}; `sabot database status` lists who "
                    "forwards what"
                )
        query = "SELECT unit FROM sabot.sites WHERE role = %s ORDER BY unit"
        left = [unit for (unit,) in session.execute(query, (role,))]
        session.execute("RESET ROLE")
        if not left:
            _change_membership(session, "REVOKE {} FROM {}", _SITE, role)
    return left


def _check_server(place: Address, session: Session) -> None:
    found = session.execute(
        "SELECT current_setting('server_version_num')::integer / 10000,"
        " current_setting('server_encoding'), current_setting('fsync'), pg_is_in_recovery(),"
        " (SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database())"
    ).fetchone()
    assert found is not None
    version, encoding, fsync, standby, owns = found
    if version < _OLDEST_SERVER:
        wrong = f"its server is PostgreSQL {version}; a log needs {_OLDEST_SERVER} or newer"
    elif encoding != "UTF8":
        wrong = f"its encoding is {encoding}; make the database with encoding UTF8"
    elif fsync != "on":
        wrong = f"its server runs with fsync = {fsync}, and forgets events; set it to on"
    elif standby:
        wrong = "a standby, which cannot be written to; name the primary server"
    elif not owns:
        wrong = "belongs to another role; make the log as the owner of the database"
    else:
        return
    raise DatabaseUnusable(f"{place}: {wrong}")


def _check_role(place: Address, session: Session, role: str) -> None:
    """Raise DatabaseUnusable unless there is a role of this name that a person or program uses."""
    query = "SELECT rolname::text FROM pg_roles WHERE rolcanlogin ORDER BY rolname"
    roles = [name for (name,) in session.execute(query)]
    if role not in roles:
        raise DatabaseUnusable(
            f"{place}: has no login role {role}, which PostgreSQL's createuser makes; "
            f"{did_you_mean(role, roles)}"
        )


def _change_membership(session: Session, statement: str, group: str, role: str) -> None:
    session.execute(sql.SQL(statement).format(sql.Identifier(group), sql.Identifier(role)))
