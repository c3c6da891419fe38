"""How a log in PostgreSQL is, for its keeper: version, size, days, sites, units, alarms."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any

from sabot.log.place import Address
from sabot.log.postgres import migrations
from sabot.log.postgres.checks import catalog, rights
from sabot.log.postgres.sessions import PostgresConnection, Sessions

_LOCKS_OF_A_DAY = 4
"""Locks of a partition: it and its indexes. Who reads a whole log needs those of all days."""


@dataclass(frozen=True, slots=True)
class UnitStatus:
    """A unit: its newest event and when it came, how many events were ever stored, who forwards it
    (empty: no site), and up to which event there is a receipt (0: none)."""

    unit: str
    newest: int
    received_unix_ms: int | None
    records: int
    site: str
    receipted: int
    receipt: bytes | None


@dataclass(frozen=True, slots=True)
class Status:
    """A log in PostgreSQL."""

    server: str
    version: int
    bytes: int
    first_day: date | None
    last_day: date | None
    days: int
    may_lock: int
    """How many tables and indexes all sessions together may have locked."""
    alarms: int
    altered: list[str]
    """What is not as it was made."""
    escalations: list[str]
    """What roles may do that no log lets them."""
    waiting: list[tuple[str, str]]
    """Units that a role may forward and of which nothing has come: unit and role."""
    units: list[UnitStatus]

    @property
    def short_of_locks(self) -> bool:
        """Whether the server may refuse two programs that read the whole log."""
        return 2 * _LOCKS_OF_A_DAY * self.days > self.may_lock


@dataclass(frozen=True, slots=True)
class AlarmRow:
    """An alarm; `record` and `mac` are what the side that raised it has."""

    id: int
    unix_ms: int
    unit: str
    number: int
    kind: str
    detail: str
    site: str
    record: bytes | None
    mac: bytes | None


def status_of(place: Address) -> Status:
    """How the log at a place is."""
    with _reading(place) as connection:
        server, size, slots = _one(
            connection,
            "SELECT current_setting('server_version'), pg_database_size(current_database()),"
            " current_setting('max_locks_per_transaction')::bigint"
            " * current_setting('max_connections')::bigint",
        )
        days, first, last = _one(
            connection, "SELECT count(DISTINCT day), min(day), max(day) FROM days"
        )
        (alarms,) = _one(connection, "SELECT count(*) FROM alarms")
        waiting = connection.execute(
            "SELECT unit, role::text FROM sites WHERE unit NOT IN (SELECT unit FROM units)"
            " ORDER BY unit"
        ).fetchall()
        return Status(
            server,
            migrations.version_of(connection.session),
            size,
            first,
            last,
            days,
            slots,
            alarms,
            catalog.altered(connection),
            rights.escalations(connection),
            waiting,
            list(_units(connection)),
        )


def roles_of(place: Address) -> tuple[list[rights.Role], list[str]]:
    """Who may do what with the log at a place, and what of it no log lets anyone."""
    with _reading(place) as connection:
        return rights.roles(connection), rights.escalations(connection)


def alarms_of(place: Address) -> list[AlarmRow]:
    """The alarms of the log at a place, in the order in which they were raised."""
    query = (
        "SELECT id, unix_ms, unit, number, kind, detail, site::text, record, mac FROM alarms"
        " ORDER BY id"
    )
    with _reading(place) as connection:
        return [AlarmRow(*row) for row in connection.execute(query)]


def _units(connection: PostgresConnection) -> Iterator[UnitStatus]:
    query = (
        "SELECT u.unit, u.newest, r.received_unix_ms, u.records, coalesce(s.role::text, ''),"
        " coalesce(c.number, 0), c.receipt FROM units AS u"
        " LEFT JOIN LATERAL (SELECT role FROM sites WHERE unit IN (u.unit,"
        " split_part(u.unit, '~', 1)) ORDER BY length(unit) DESC LIMIT 1) AS s ON true"
        " LEFT JOIN LATERAL (SELECT number, receipt FROM receipts WHERE unit = u.id"
        " ORDER BY number DESC LIMIT 1) AS c ON true"
        " LEFT JOIN LATERAL (SELECT day FROM days WHERE unit = u.id ORDER BY last DESC LIMIT 1)"
        " AS d ON true"
        " LEFT JOIN LATERAL (SELECT received_unix_ms FROM records AS r WHERE r.unit = u.id"
        " AND r.day = d.day AND r.number = u.newest) AS r ON true"
        " ORDER BY u.unit"
    )
    return (UnitStatus(*row) for row in connection.execute(query))


@contextmanager
def _reading(place: Address) -> Iterator[PostgresConnection]:
    """A session with a log that may be altered."""
    sessions = Sessions(place)
    try:
        with sessions.reading() as connection:
            catalog.check_version(place, connection)
            yield connection
    finally:
        sessions.close()


def _one(connection: PostgresConnection, query: str) -> Any:
    return connection.execute(query).fetchone()
