"""Sessions with a PostgreSQL server, which are opened when needed and used again."""

import select
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import conninfo
from psycopg.pq import TransactionStatus

from sabot.errors import DatabaseUnusable
from sabot.log.place import Address
from sabot.log.postgres import arrays
from sabot.log.postgres.failures import ERRORS, no_session, user_error

Session = psycopg.Connection[Any]
Cursor = psycopg.Cursor[Any]

_MOST_IDLE = 8
_SCHEMA = "sabot"

# For all sessions whose address does not say otherwise. A server that vanished without a word is
# noticed within half a minute.
_DEFAULTS = {
    "application_name": "sabot",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
# Plans are made for the values at hand: with a day known, one partition is read.
_BEGIN = (
    f"SET search_path = {_SCHEMA}, pg_temp; SET plan_cache_mode = force_custom_plan;"
    " SET lock_timeout = '30s'"
)
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT"


class PostgresConnection:
    """A session as `sabot.log.sql.Connection`."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def execute(self, query: str, parameters: Sequence[Any] = ()) -> Cursor:
        """Carry out a statement, with `?` for each parameter."""
        cursor = psycopg.RawCursor(self.session)
        cursor.format = psycopg.pq.Format.BINARY
        return cursor.execute(numbered(query).encode(), parameters)

    def stream(self, query: str, parameters: Sequence[Any], chunk: int) -> Iterator[list[Any]]:
        """Carry out a query, and yield its rows, `chunk` at a time; the server keeps the others.
        The last ones may be none."""
        cursor = psycopg.RawServerCursor(self.session, self._name())
        cursor.format = psycopg.pq.Format.BINARY
        try:
            cursor.execute(numbered(query).encode(), parameters)
            while True:
                some = cursor.fetchmany(chunk)
                yield some
                if len(some) < chunk:
                    return
        finally:
            with suppress(psycopg.Error):  # the session has ended, and its cursors with it
                cursor.close()

    def has_table(self, name: str) -> bool:
        """Whether the log has this table."""
        found = self.execute("SELECT 1 WHERE to_regclass(?) IS NOT NULL", (f"{_SCHEMA}.{name}",))
        return found.fetchone() is not None

    def reads_secrets(self) -> bool:
        """Whether the role may read what the desk keeps secret."""
        query = "SELECT has_column_privilege('desk_key', 'secret', 'SELECT')"
        return bool((self.execute(query).fetchone() or (False,))[0])

    def bounded(self, column: str, kind: str, most: int = 8) -> str:
        """As in sabot.log.sql. The columns have their types."""
        length = {"blob": "octet_length", "text": "length"}.get(kind)
        return (
            column
            if length is None
            else f"CASE WHEN {length}({column}) <= {most} THEN {column} END"
        )

    _cursors = 0

    def _name(self) -> str:
        PostgresConnection._cursors += 1
        return f"c{PostgresConnection._cursors}"


class Sessions:
    """The sessions of one program with the server at `place`. Thread-safe.

    All that is done with a session raises the errors of failures.py.
    """

    def __init__(self, place: Address) -> None:
        self._place = place
        self._arguments = arguments(place)
        self._idle: deque[Session] = deque()
        self._lock = threading.Lock()
        self._closings = 0

    def close(self) -> None:
        """Close the idle sessions, and each that is in use when it is given back. The next use
        opens another."""
        with self._lock:
            self._closings += 1
            idle, self._idle = self._idle, deque()
        for session in idle:
            _close(session)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A session in which each statement is a transaction of its own."""
        closings = self._closings
        session = self._taken() or connected(self._place, self._arguments)
        try:
            yield session
        except BaseException as error:
            raise user_error(self._place, error) from None
        finally:
            self._give_back(session, usable=closings == self._closings)

    @contextmanager
    def reading(self) -> Iterator[PostgresConnection]:
        """A session that sees the log as it is now."""
        with self.session() as session:
            session.execute(_SNAPSHOT)
            try:
                yield PostgresConnection(session)
            finally:
                _end(session, "ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[PostgresConnection]:
        """A session within a transaction, which is committed at the end."""
        with self.session() as session, session.transaction():
            yield PostgresConnection(session)

    def _taken(self) -> Session | None:
        """An idle session whose server is still there, as far as this end knows."""
        while True:
            with self._lock:
                session = self._idle.pop() if self._idle else None
            if session is None or not _has_news(session):
                return session
            _close(session)

    def _give_back(self, session: Session, *, usable: bool) -> None:
        usable = usable and session.info.transaction_status == TransactionStatus.IDLE
        with self._lock:
            if usable and len(self._idle) < _MOST_IDLE:
                self._idle.append(session)
                return
        _close(session)


def arguments(place: Address) -> dict[str, Any]:
    """What psycopg needs for a session. Raises DatabaseUnusable if the address is not one."""
    try:
        given = conninfo.conninfo_to_dict(place.uri)
    except psycopg.Error as error:
        said = " ".join(str(error).split())
        raise DatabaseUnusable(f"{place}: not an address ({said}); check it") from None
    return {**_DEFAULTS, **given, "client_encoding": "UTF8"}


def connected(place: Address, given: dict[str, Any]) -> Session:
    """Open a session. Raises NoDatabaseServer or DatabaseUnusable."""
    try:
        session = psycopg.connect(autocommit=True, prepare_threshold=None, **given)
    except psycopg.Error as error:
        raise no_session(place, error) from None
    except UnicodeError:
        raise DatabaseUnusable(f"{place}: not an address; check it") from None
    arrays.register(session)
    try:
        session.execute(_BEGIN)
    except ERRORS as error:
        _close(session)
        raise user_error(place, error) from None
    return session


@lru_cache(maxsize=500)
def numbered(query: str) -> str:
    """A query with `$1`, `$2` and so on in place of each `?`."""
    first, *others = query.split("?")
    return first + "".join(f"${number}{text}" for number, text in enumerate(others, 1))


def _has_news(session: Session) -> bool:
    """Whether the server of an idle session has said something: it has ended the session."""
    if session.closed:
        return True
    poll = select.poll()
    poll.register(session.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _end(session: Session, how: str) -> None:
    with suppress(psycopg.Error):  # it is gone, and is closed when it is given back
        if session.info.transaction_status != TransactionStatus.IDLE:
            session.execute(how)


def _close(session: Session) -> None:
    with suppress(psycopg.Error):
        session.close()
