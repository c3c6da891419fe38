"""How a log in PostgreSQL is, for its keeper: version, size, days, sites, units, alarms."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import psycopg

from sabot.errors import DatabaseUnusable
from sabot.log.place import Address
from sabot.log.postgres import migrations
from sabot.log.postgres.checks import catalog, gone, rights, said
from sabot.log.postgres.checks.gone import Gone
from sabot.log.postgres.server import ServerFigures, server_figures
from sabot.log.postgres.sessions import PostgresConnection, Sessions

_UNSIGNED = (
    "SELECT u.id, coalesce(c.number, 0), d.day FROM units AS u LEFT JOIN LATERAL ("
    "SELECT number FROM receipts WHERE unit = u.id ORDER BY number DESC LIMIT 1) AS c ON true"
    " JOIN LATERAL (SELECT day FROM days WHERE unit = u.id AND last > coalesce(c.number, 0)"
    " ORDER BY day LIMIT 1) AS d ON true WHERE u.newest > coalesce(c.number, 0)"
)
_FIRST_ON_A_DAY = (
    "SELECT u.unit, r.received_unix_ms FROM unnest(?::integer[], ?::bigint[])"
    " AS head (unit, number) JOIN units AS u ON u.id = head.unit JOIN LATERAL ("
    "SELECT received_unix_ms FROM records WHERE unit = head.unit AND number > head.number"
    " AND day = ? ORDER BY number LIMIT 1) AS r ON true"
)
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
    has_newest: bool
    """Whether its newest event is there, or was pruned."""
    unsigned_unix_ms: int | None
    """When the first event came that no receipt covers; None if receipts cover all, or it was
    pruned."""


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
    open_alarms: int
    """How many of them no one has acknowledged."""
    altered: list[str]
    """What is not as it was made."""
    escalations: list[str]
    """What roles may do that no log lets them."""
    changed_alarms: list[str]
    """What someone has changed in the table of alarms."""
    missing: list[Gone]
    """Events that were taken, and of which the log says that they are gone."""
    figures: ServerFigures
    waiting: list[tuple[str, str]]
    """Units that a role may forward and of which nothing has come: unit and role."""
    units: list[UnitStatus]

    @property
    def short_of_locks(self) -> bool:
        """Whether the server may refuse two programs that read the whole log."""
        return 2 * _LOCKS_OF_A_DAY * self.days > self.may_lock


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Who has looked at an alarm, when, as which role, and why it is no longer open."""

    unix_ms: int
    role: str
    person: str
    remark: str


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
    acknowledgements: Sequence[Acknowledgement] = ()
    """The oldest first; it is open without any."""


def status_of(place: Address) -> Status:
    """How the log at a place is."""
    with _reading(place) as connection:
        server, size, slots = _one(
            connection,
            "SELECT current_setting('server_version'), pg_database_size(current_database()),"
            " current_setting('max_locks_per_transaction')::bigint"
            " * current_setting('max_connections')::bigint",
        )
        days = gone.days(connection)
        open_alarms, alarms = _one(
            connection,
            "SELECT (SELECT coalesce(sum(amount), 0)::bigint FROM open_alarms()),"
            " (SELECT count(*) FROM alarms)",
        )
        waiting = connection.execute(
            "SELECT unit, role::text FROM sites WHERE unit NOT IN (SELECT unit FROM units)"
            " ORDER BY unit"
        ).fetchall()
        return Status(
            server,
            migrations.version_of(connection.session),
            size,
            days[-1] if days else None,
            days[0] if days else None,
            len(days),
            slots,
            alarms,
            open_alarms,
            catalog.altered(connection),
            rights.escalations(connection),
            list(said.of_alarms(connection)),
            gone.missing(connection),
            server_figures(connection),
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
    said_of: dict[int, list[Acknowledgement]] = {}
    entries = (
        "SELECT alarm, unix_ms, role::text, person, remark FROM alarm_chain"
        " WHERE what = 'acknowledged' ORDER BY place"
    )
    with _reading(place) as connection:
        for alarm, *entry in connection.execute(entries):
            said_of.setdefault(alarm, []).append(Acknowledgement(*entry))
        return [
            replace(AlarmRow(*row), acknowledgements=said_of.get(row[0], ()))
            for row in connection.execute(query)
        ]


def acknowledge(place: Address, ids: Sequence[int], person: str, remark: str) -> None:
    """Note that a person has looked at alarms, and why they are no longer open. Raises
    DatabaseUnusable if there is no such alarm, or if there is no text."""
    with _session(place) as connection:
        try:
            connection.execute("SELECT acknowledge_alarms(?, ?, ?)", (list(ids), person, remark))
        except psycopg.Error as error:
            if error.sqlstate == "SB404":
                number = error.diag.message_detail
                raise DatabaseUnusable(
                    f"{place}: has no alarm {number}; `sabot database alarms` lists them"
                ) from None
            raise


def _units(connection: PostgresConnection) -> Iterator[UnitStatus]:
    """Each unit. Of the records one partition is read for each unit (gone.heads)."""
    query = (
        "SELECT u.unit, u.newest, u.records, coalesce(s.role::text, ''), coalesce(c.number, 0),"
        " c.receipt FROM units AS u"
        " LEFT JOIN LATERAL (SELECT role FROM sites WHERE unit IN (u.unit,"
        " split_part(u.unit, '~', 1)) ORDER BY length(unit) DESC LIMIT 1) AS s ON true"
        " LEFT JOIN LATERAL (SELECT number, receipt FROM receipts WHERE unit = u.id"
        " ORDER BY number DESC LIMIT 1) AS c ON true"
        " ORDER BY u.unit"
    )
    heads = {each.unit: each for each in gone.heads(connection)}
    unsigned = _unsigned(connection)
    for unit, newest, records, site, receipted, receipt in connection.execute(query).fetchall():
        head = heads.get(unit)
        received = None if head is None else head.received_unix_ms
        is_there = head is None or not (head.is_gone or head.differs)
        yield UnitStatus(
            unit, newest, received, records, site, receipted, receipt, is_there, unsigned.get(unit)
        )


def _unsigned(connection: PostgresConnection) -> dict[str, int]:
    """When the first event of each unit came that no receipt covers. Each partition is read once,
    and one for each unit."""
    by_day: dict[date, list[tuple[int, int]]] = {}
    for unit_id, receipted, day in connection.execute(_UNSIGNED).fetchall():
        by_day.setdefault(day, []).append((unit_id, receipted))
    found: dict[str, int] = {}
    for day, some in by_day.items():
        given = [unit_id for unit_id, _ in some], [receipted for _, receipted in some], day
        found.update(connection.execute(_FIRST_ON_A_DAY, given).fetchall())
    return found


@contextmanager
def _session(place: Address) -> Iterator[PostgresConnection]:
    """A session in which each statement is a transaction."""
    sessions = Sessions(place)
    try:
        with sessions.session() as session:
            connection = PostgresConnection(session)
            catalog.check_version(place, connection)
            yield connection
    finally:
        sessions.close()


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
