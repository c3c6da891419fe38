"""What a site may do at the log of its centre: the functions that a role of sabot_site may call.

Such a role reads no table, so it cannot open the log as a store. The other roles that write may
call these too.
"""

from collections.abc import Sequence
from typing import Any

from sabot.log.found import Row
from sabot.log.place import Address
from sabot.log.postgres import taking
from sabot.log.postgres.arrays import bigints, texts
from sabot.log.postgres.sessions import Cursor, PostgresConnection, Sessions
from sabot.log.postgres.taking import Head
from sabot.log.presence import Span


class Centre:
    """The log of a centre at `place`. Thread-safe.

    Every method raises NoDatabaseServer if the server cannot be reached; then it is not known
    whether it was carried out, and calling it again is always right. NotThisSites if the role may
    not write the unit, DatabaseUnusable if there is no log, or the values cannot be stored.
    """

    def __init__(self, place: Address) -> None:
        self.place = place
        self._sessions = Sessions(place)

    def close(self) -> None:
        """Close all sessions. The next call opens one again."""
        self._sessions.close()

    def heads(self) -> dict[str, Head]:
        """The head of each unit that this role may write and that the centre has, by name."""
        with self._sessions.session() as session:
            return taking.heads(session)

    def take(self, unit: str, rows: Sequence[Row], after: int | None = None) -> Head:
        """Store events of a unit; as `PostgresStore.take`."""
        with self._sessions.session() as session:
            return taking.take(self.place, session, unit, rows, after)

    def receipts_after(self, unit: str, number: int) -> list[tuple[int, bytes]]:
        """The receipts of a unit for events after `number`, in order: the event's number, and the
        receipt. None for a unit that the centre does not have."""
        found = self._call("SELECT number, receipt FROM receipts_after(?, ?)", unit, (number,))
        return [(at, receipt) for at, receipt in found]

    def checkpoint(self, unit: str, number: int, mac: bytes, records: int) -> None:
        """Keep what this site's own log has of a unit: its newest event, and how many it ever had.
        Nothing is kept of a unit that the centre does not have."""
        self._call("SELECT checkpoint(?, ?, ?, ?)", unit, (number, mac, records))

    def alarm(
        self,
        unit: str,
        number: int,
        kind: str,
        detail: str,
        record: bytes | None = None,
        mac: bytes | None = None,
    ) -> None:
        """Raise an alarm about event `number` of a unit, with the bytes that this side has of it.
        The same alarm twice is one."""
        self._call("SELECT alarm(?, ?, ?, ?, ?, ?)", unit, (number, kind, detail, record, mac))

    def keep_game(self, document: bytes) -> None:
        """Store a game document. One that is stored already stays."""
        with self._sessions.session() as session:
            PostgresConnection(session).execute("SELECT keep_game(?)", (document,))

    def keep_presence(self, spans: Sequence[Span]) -> None:
        """Store when this site's log had its shoes, and waited for them."""
        units = [each.unit for each in spans]
        with self._sessions.session() as session, taking.refusals(self.place, ", ".join(units)):
            PostgresConnection(session).execute(
                "SELECT keep_presence(?, ?, ?, ?)",
                (
                    texts(units),
                    texts([each.state for each in spans]),
                    bigints([each.begin_unix_ms for each in spans]),
                    bigints([each.end_unix_ms for each in spans]),
                ),
            )

    def keep_tombstone(
        self, unit: str, first: int, last: int, mac: bytes, tombstone: bytes
    ) -> None:
        """Store the tombstone of events that this site pruned before the centre had any later one;
        `mac` is that of the last of them. The unit's head is then their last.

        Raises OtherBytes if the centre has events of the unit; its number is that of the newest.
        """
        parameters = (first, last, mac, tombstone)
        self._call("SELECT keep_tombstone(?, ?, ?, ?, ?)", unit, parameters)

    def now_unix_ms(self) -> int:
        """What the clock of the centre says."""
        with self._sessions.session() as session:
            found = PostgresConnection(session).execute("SELECT now_unix_ms()").fetchone()
        return int(found[0]) if found else 0

    def _call(self, query: str, unit: str, parameters: Sequence[Any]) -> Cursor:
        """Call a function for a unit, in a transaction of its own."""
        with self._sessions.session() as session, taking.refusals(self.place, unit):
            return PostgresConnection(session).execute(query, (unit, *parameters))
