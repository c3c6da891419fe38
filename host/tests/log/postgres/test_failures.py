"""What PostgreSQL's errors mean for who waits: whether trying again can help."""

import psycopg
import pytest

from sabot.errors import DatabaseUnusable, NoDatabaseServer
from sabot.log.place import Address
from sabot.log.postgres.failures import no_session, user_error

_PLACE = Address("postgresql://site@centre/sabot")


@pytest.mark.parametrize(
    "error",
    [
        psycopg.OperationalError("server closed the connection unexpectedly"),
        psycopg.DatabaseError('insufficient data in "D" message\nlost synchronization with server'),
        psycopg.InterfaceError("the connection is lost"),
        psycopg.errors.ProtocolViolation("invalid frontend message type 0"),
        psycopg.errors.AdminShutdown("terminating connection"),
    ],
)
def test_a_connection_that_broke_can_be_tried_again(error: psycopg.Error) -> None:
    meant = user_error(_PLACE, error)
    assert isinstance(meant, NoDatabaseServer) and "\n" not in str(meant)


@pytest.mark.parametrize(
    "error",
    [
        psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes"),
        psycopg.ProgrammingError("the query has 1 placeholder but 2 parameters were passed"),
        psycopg.errors.InsufficientPrivilege("permission denied for table records"),
    ],
)
def test_what_will_not_change_by_waiting_is_not_tried_again(error: psycopg.Error) -> None:
    meant = user_error(_PLACE, error)
    assert isinstance(meant, DatabaseUnusable) and not isinstance(meant, NoDatabaseServer)


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("connection to server failed: Connection refused", True),
        ("the database system is starting up", True),
        ('database "sabot" does not exist', False),
        ('password authentication failed for user "site"', False),
    ],
)
def test_a_session_that_is_refused_for_good_says_so(said: str, again: bool) -> None:
    meant = no_session(_PLACE, psycopg.OperationalError(said))
    assert isinstance(meant, NoDatabaseServer) is again


def test_who_runs_a_command_as_another_user_than_the_owner_is_told_so() -> None:
    said = 'FATAL: Peer authentication failed for user "sabot"'
    error = no_session(_PLACE, psycopg.OperationalError(said))
    assert str(error).endswith(
        "; run this as the user of the same name, or name the server's host in it"
    )
