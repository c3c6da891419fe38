"""Follows a log in PostgreSQL while others write it."""

from collections.abc import Iterator

from sabot.errors import SabotError
from sabot.link.flow import Flow
from sabot.log.follow import Follower
from sabot.log.found import LARGEST, RawRecord
from sabot.log.place import Address
from sabot.log.postgres import queries
from sabot.log.postgres.sessions import PostgresConnection, Sessions
from sabot.log.presence import ATTACHED

# The heads of all units; none if nothing was committed since the snapshot of the last call. The
# first row also has this snapshot, and the log's own id: another one is another log.
_HEADS = (
    "SELECT now.snapshot, now.log, u.unit, u.newest, u.mac FROM"
    " (SELECT pg_current_snapshot()::text AS snapshot,"
    " (SELECT value FROM about WHERE name = 'id') AS log) AS now"
    " LEFT JOIN units AS u ON now.snapshot <> ?"
)
_NOTED = (
    "SELECT unit, max(end_unix_ms), (sum(end_unix_ms) % 9007199254740881)::bigint FROM presence"
    f" WHERE state = '{ATTACHED}' GROUP BY unit"
)


class PostgresFollower(Follower):
    """Follows the log at `place`. The heads of all units are in one small table."""

    def __init__(self, place: Address) -> None:
        self._sessions = Sessions(place)
        self._snapshot = ""
        self._log: str | None = None
        self._newest: dict[str, tuple[int, bytes]] = {}

    def close(self) -> None:
        self._sessions.close()
        self._snapshot = ""

    def poll(self) -> dict[str, int]:
        try:
            with self._sessions.session() as session:
                rows = PostgresConnection(session).execute(_HEADS, (self._snapshot,)).fetchall()
        except SabotError:
            self._snapshot = ""  # of a server that may be another one when it is back
            raise
        snapshot, log = rows[0][:2]
        if snapshot == self._snapshot:
            return {}
        before, replaced = self._newest, log != self._log
        self._snapshot, self._log = snapshot, log
        known = [row[2:] for row in rows if row[2] is not None]
        self._newest = {unit: (number, mac) for unit, number, mac in known if number}
        changed = {
            unit: head[0]
            for unit, head in self._newest.items()
            if replaced or before.get(unit) != head
        }
        return changed | dict.fromkeys(before.keys() - self._newest.keys(), 0)

    def records(self, unit: str, after: int, last: int = LARGEST) -> Iterator[RawRecord]:
        while True:
            some: list[RawRecord] = []
            with self._sessions.reading() as connection:
                unit_id = queries.unit_id(connection, unit)
                if unit_id is None:
                    return
                until = min(last, queries.newest(connection, unit))
                while not some and after < until:
                    to = min(until, after + queries.CHUNK)
                    some = queries.between(connection, unit_id, after, to)
                    if not some:  # these are missing, or pruned
                        found = queries.first_from(connection, unit_id, to + 1)
                        to = until if found is None else found - 1
                    after = to
            yield from some
            if after >= until:
                return

    def received_before(self, unit: str, unix_ms: int) -> int:
        with self._sessions.reading() as connection:
            unit_id = queries.unit_id(connection, unit)
            return 0 if unit_id is None else queries.received_before(connection, unit_id, unix_ms)

    def newest_note(self) -> int:
        with self._sessions.session() as session:
            (newest,) = session.execute("SELECT max(number) FROM desk").fetchone() or (0,)
        return int(newest or 0)

    def noted(self) -> dict[str, tuple[int, int]]:
        with self._sessions.session() as session:
            rows = PostgresConnection(session).execute(_NOTED)
            return {unit: (end, mark) for unit, end, mark in rows}

    def flows(self) -> dict[str, Flow]:
        with self._sessions.session() as session:
            return queries.flows(PostgresConnection(session))
