"""PostgreSQL's errors as messages for users."""

import psycopg

from sabot.errors import DatabaseLocked, DatabaseUnusable, DiskFull, NoDatabaseServer, SabotError
from sabot.log.place import Address

ERRORS = (psycopg.Error, UnicodeEncodeError)
"""What a call of psycopg raises. A text with half a surrogate pair cannot even be sent."""

# The first two characters of a code are its class (PostgreSQL's manual, appendix A).
_GONE = ("08", "53", "57P01", "57P02", "57P03", "57P05", "25P03", "25006")
_FULL = "53100"
_BUSY = ("40", "55P03", "57014")
_FORBIDDEN = "42501"
_NOT_A_LOG = ("42", "3F")
_WRONG_VALUE = ("22", "23")
_DAMAGED = ("XX", "58")

# Without a code an error is not the server's. If it is not one of these, what came made no sense to
# the library: the connection ended within a message, or the link changed it.
_OWN_FAULTS = (
    psycopg.DataError,
    psycopg.NotSupportedError,
    psycopg.ProgrammingError,
    UnicodeEncodeError,
)

# A server that refuses a session gives no code that the library passes on. What it then says in
# English will not change by waiting.
_REFUSED_FOR_GOOD = (
    "does not exist",
    "authentication failed",
    "no pg_hba.conf entry",
    "permission denied",
    "not permitted",
    "no password supplied",
    "certificate",
    "invalid",
)


def user_error(place: Address, error: BaseException) -> BaseException:
    """Return an error of the database library as one that says what to do; others unchanged."""
    if not isinstance(error, ERRORS):
        return error
    return _of_psycopg(place, error)


def no_session(place: Address, error: psycopg.Error) -> SabotError:
    """The error for a session that could not be opened."""
    said = _said(error)
    if any(words in said for words in _REFUSED_FOR_GOOD):
        what_to_do = "check the address and the role"
        if "Peer authentication failed" in said:
            what_to_do = "run this as the user of the same name, or name the server's host in it"
        return DatabaseUnusable(f"{place}: no session ({said}); {what_to_do}")
    return NoDatabaseServer(f"{place}: no PostgreSQL server ({said}); is it running there?")


def _of_psycopg(place: Address, error: psycopg.Error | UnicodeEncodeError) -> SabotError:
    code = getattr(error, "sqlstate", None) or ""
    said = _said(error)
    if code == _FULL:
        return DiskFull(
            f"{place}: the server's disk is full ({said}); make room there, then log again: the "
            "events are still on the shoe"
        )
    if code.startswith(_GONE) or (not code and not isinstance(error, _OWN_FAULTS)):
        return NoDatabaseServer(f"{place}: the PostgreSQL server is gone ({said})")
    if code.startswith(_BUSY):
        return DatabaseLocked(f"{place}: locked for too long ({said}); try again")
    if code == _FORBIDDEN:
        return DatabaseUnusable(
            f"{place}: its role may not do this ({said}); the keeper of the log can let it: "
            "sabot database grant"
        )
    if code.startswith(_NOT_A_LOG):
        return DatabaseUnusable(
            f"{place}: not a Sabot log, or an altered one ({said}); see `sabot database status`"
        )
    if code.startswith(_WRONG_VALUE) or isinstance(error, UnicodeEncodeError | psycopg.DataError):
        return DatabaseUnusable(f"{place}: a value that no log can have ({said})")
    if code.startswith(_DAMAGED):
        return DatabaseUnusable(
            f"{place}: cannot be read ({said}); check the server's disk and its log"
        )
    return DatabaseUnusable(f"{place}: {said}")


def _said(error: BaseException) -> str:
    """What an error says, on one line and not too long."""
    said = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
    return " ".join(said.split())[:300]
