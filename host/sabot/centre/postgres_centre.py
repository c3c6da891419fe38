"""A connection of a site to a centre that is a log in PostgreSQL.

The role of a site can read no table: it calls functions, which look after its own units only.
"""

import hashlib
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from sabot.audit.checks.decoding import Values, kind_of, values_of
from sabot.centre.alarms import LONGEST_DETAIL, Alarm
from sabot.centre.link import Batch, EndsBefore, OtherBytes, Refused, SeamDiffers
from sabot.centre.start import Head
from sabot.errors import (
    DiskFull,
    HistoryDiffers,
    NoDatabaseServer,
    NotThisSites,
    RightsMissing,
    SabotError,
)
from sabot.link.flow import Flow
from sabot.log.found import DAMAGED, LARGEST, RawRecord, Row
from sabot.log.place import Address
from sabot.log.postgres import sessions, taking
from sabot.log.postgres.arrays import Array, bigints, byteas, texts
from sabot.log.postgres.failures import user_error
from sabot.log.presence import Span
from sabot.log.store import SeamRow
from sabot.text import shortened

_PATIENCE_S = 90.0
"""A centre that has not answered after so long is as one that is gone: a link can swallow what is
sent, and acknowledge it."""
_RECEIPTS_AT_ONCE = 500  # of a unit
_NOT_YOURS, _DAMAGED, _FULL = "SB403", "SB422", "53100"
_NO_BOARD, _OTHER_SEAM, _NO_FUNCTION = "SB400", "SB409", "42883"
_FORBIDDEN = "42501"
_SEAM = "say_seam"
_HEADS = b"SELECT * FROM sabot.heads_of($1)"
_HOLES = b"SELECT * FROM sabot.holes_of($1)"
# Where the chain of alarms ends, if the notary has not sealed it there.
_UNSEALED = (
    b"SELECT place, digest, sabot.now_unix_ms() FROM (SELECT * FROM sabot.alarm_chain"
    b" ORDER BY place DESC LIMIT 1) AS last"
    b" WHERE place > (SELECT coalesce(max(place), 0) FROM sabot.alarm_seals)"
)
_RECEIPTS = (
    b"SELECT asked.unit, found.number, found.receipt"
    b" FROM unnest($1::text[], $2::bigint[]) AS asked (unit, after), LATERAL ("
    b"SELECT number, receipt FROM sabot.receipts_after(asked.unit, asked.after)"
    b" ORDER BY number LIMIT $3) AS found ORDER BY asked.unit, found.number"
)


class PostgresCentre:
    """What sabot/centre/link.py says of a connection to a centre."""

    def __init__(self, place: Address) -> None:
        self._place = place
        given = sessions.arguments(place)
        try:
            self._session = sessions.connected(place, given)
        except SabotError:
            raise
        except Exception as error:
            raise _not_understood(place, error) from None
        self._units: list[str] = []
        self._takes_one_by_one = False

    def __enter__(self) -> "PostgresCentre":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(psycopg.Error):
            self._session.close()

    def heads(self, units: Sequence[str]) -> dict[str, Head]:
        self._units = sorted({*self._units, *units})
        rows = self._ask(_HEADS, list(units))
        return {unit: Head(*head) for unit, *head in rows}

    def holes(self) -> list[tuple[str, int, int]]:
        return self._ask(_HOLES, self._units)

    def take(
        self, unit: str, before: RawRecord | None, rows: Sequence[RawRecord], after: int | None
    ) -> Head:
        derived = derived_rows(unit, before, rows)
        try:
            with _refused(), self._asking():
                head = taking.take(self._place, self._session, unit, derived, after)
        except taking.EndsBefore:
            raise EndsBefore from None
        except taking.OtherBytes as error:
            raise OtherBytes(error.number) from None
        except HistoryDiffers as error:
            raise SeamDiffers(str(error)) from None
        return Head(*head)

    def take_all(self, batches: Sequence[Batch]) -> list[Head | None]:
        if self._takes_one_by_one:
            return [None] * len(batches)
        given = [
            taking.Batch(
                each.unit,
                derived_rows(each.unit, each.before, each.rows),
                each.after,
                each.said,
            )
            for each in batches
        ]
        try:
            with self._asking():
                heads = taking.take_units(self._place, self._session, given)
        except _OlderCentre:
            self._takes_one_by_one = True
            return [None] * len(batches)
        return [None if head is None else Head(*head) for head in heads]

    def keep_seam(self, row: SeamRow) -> None:
        numbers, contents = bigints([row.last]), byteas([row.seam])
        with _refused():
            self._say(_SEAM, texts([row.name]), numbers, contents)

    def keep_games(self, documents: Sequence[bytes]) -> None:
        self._say("say_games", byteas(documents))

    def keep_presence(self, spans: Sequence[Span]) -> None:
        self._say(
            "say_presence",
            texts([span.unit for span in spans]),
            texts([span.state for span in spans]),
            bigints([span.begin_unix_ms for span in spans]),
            bigints([span.end_unix_ms for span in spans]),
        )

    def keep_flows(self, flows: Sequence[Flow]) -> None:
        facts = texts([flow.as_fact() for flow in flows])
        with suppress(_OlderCentre):
            self._say("say_flows", texts([flow.unit for flow in flows]), facts)

    def keep_tombstone(
        self, unit: str, first: int, last: int, after: bytes, tombstone: bytes
    ) -> None:
        with _refused():
            numbers, contents = bigints([first, last]), byteas([after, tombstone])
            self._say("say_tombstone", texts([unit]), numbers, contents)

    def checkpoints(self, of: Iterable[tuple[str, int, bytes, int]]) -> None:
        units, numbers, macs, records = zip(*of, strict=True)
        arrays = texts(units), bigints(numbers), byteas(macs), bigints(records)
        self._say("say_checkpoints", *arrays)

    def receipts_after(self, numbers: Mapping[str, int]) -> list[tuple[str, int, bytes]]:
        return self._ask(_RECEIPTS, list(numbers), list(numbers.values()), _RECEIPTS_AT_ONCE)

    def alarm(self, alarm: Alarm) -> None:
        said = texts([alarm.unit, alarm.kind, shortened(alarm.detail, LONGEST_DETAIL)])
        contents = byteas([alarm.record or b"", alarm.mac or b""])
        with _refused():
            self._say("say_alarm", said, bigints([alarm.number]), contents)

    def miss(self, unit: str, first: int, last: int) -> None:
        """As `NotarysCentre.miss`."""
        with suppress(SeamDiffers):  # SB409: it is there
            self._say("say_missing", texts([unit]), bigints([first]), bigints([last]))

    def seal_alarms(self, seal: Callable[[int, bytes, int], bytes]) -> None:
        """As `NotarysCentre.seal_alarms`."""
        for place, digest, unix_ms in self._ask(_UNSEALED):
            made = seal(place, digest, unix_ms)
            self._ask(b"INSERT INTO sabot.alarm_seals VALUES ($1, $2) RETURNING 1", place, made)

    def open_alarms(self) -> dict[str, int] | None:
        try:
            return dict(self._ask(b"SELECT * FROM sabot.open_alarms()"))
        except _OlderCentre:
            return None

    def _say(self, function: str, *arrays: Array) -> None:
        """Call a function with arrays, and a digest of them."""
        values = ", ".join(f"${number}" for number in range(1, len(arrays) + 2))
        digest = hashlib.sha256(b"".join(arrays)).digest()
        self._ask(f"SELECT sabot.{function}({values})".encode(), *arrays, digest)

    def _ask(self, query: bytes, *values: object) -> list[Any]:
        cursor = psycopg.RawCursor(self._session)
        cursor.format = psycopg.pq.Format.BINARY
        with self._asking():
            cursor.execute(query, values)
            return cursor.fetchall()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Raise an error of this program's for one of the library, also if no answer comes."""
        watch = threading.Timer(_PATIENCE_S, _cut, (self._session,))
        watch.daemon = True
        watch.start()
        try:
            yield
        except psycopg.Error as error:
            if error.sqlstate == _NOT_YOURS:
                raise NotThisSites("the centre does not take it from this site") from None
            if error.sqlstate == _DAMAGED:
                raise taking.DamagedOnTheWay(
                    f"{self._place}: got something else than was sent"
                ) from None
            if error.sqlstate == _NO_FUNCTION and _SEAM in str(error):
                raise Refused(
                    "the centre is of a version that knows no seams; its keeper leads it on: "
                    "sabot database migrate"
                ) from None
            if error.sqlstate == _NO_FUNCTION:
                raise _OlderCentre from None
            if error.sqlstate == _FORBIDDEN:
                raise RightsMissing(
                    f"{self._place}: its role has too few rights ({error.diag.message_primary}); at"
                    " the centre: `sabot database site` for a site, `grant` for a notary"
                ) from None
            if error.sqlstate == _OTHER_SEAM:
                raise SeamDiffers("the centre has another seam of this board") from None
            if error.sqlstate == taking.REPLACED:
                newest = error.diag.message_detail
                raise SeamDiffers(
                    f"the centre has events of the board before it up to {newest}, after the seam"
                ) from None
            if error.sqlstate == _NO_BOARD:
                raise SeamDiffers("the centre does not have the board before it") from None
            if error.sqlstate == _FULL:
                raise DiskFull(
                    f"{self._place}: the centre's disk is full; make room there. The site keeps "
                    "what is not sent"
                ) from None
            raise user_error(self._place, error) from None
        except (SabotError, _OlderCentre):
            raise
        except Exception as error:  # of an answer whose bytes were changed: anything
            raise _not_understood(self._place, error) from None
        finally:
            watch.cancel()


class _OlderCentre(Exception):
    """The centre is of a version that does not have this function."""


def _not_understood(place: Address, error: Exception) -> SabotError:
    return NoDatabaseServer(
        f"{place}: its answer cannot be understood ({shortened(str(error), 100)})"
    )


@contextmanager
def _refused() -> Iterator[None]:
    """Raise Refused for what the centre will not do for one unit."""
    try:
        yield
    except NotThisSites as error:
        raise Refused(str(error)) from None


def derived_rows(unit: str, before: RawRecord | None, rows: Sequence[RawRecord]) -> list[Row]:
    """Records with their kind, time, shoe and round, as a log derives them. `before` is the record
    before them: a damaged one counts to its shoe and round."""
    shoe = round_ = 0
    made = []
    decoded = values_of([record for _, record, _ in ([before] if before else []) + list(rows)])
    if before is not None:
        if (values := decoded.pop(0)) is not None:
            *_, shoe, round_ = _shown(values)
    for (number, record, mac), values in zip(rows, decoded, strict=True):
        kind, unix_ms = DAMAGED, None
        if values is not None:
            kind, unix_ms, shoe, round_ = _shown(values)
        made.append(Row(unit, number, kind, unix_ms, shoe, round_, 0, record, mac))
    return made


def _shown(values: Values) -> tuple[str, int | None, int, int]:
    """Kind, time, shoe and round of an event, each as large as a column holds."""
    _, _, _, _, unix_ms, shoe, round_ = values[:7]
    time_ = None if unix_ms is None else min(unix_ms, LARGEST)
    return kind_of(values), time_, min(shoe, LARGEST), min(round_, LARGEST)


def _cut(session: psycopg.Connection[Any]) -> None:
    """End the line of a session whose centre does not answer."""
    with suppress(OSError, psycopg.Error):
        with socket.socket(fileno=os.dup(session.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
