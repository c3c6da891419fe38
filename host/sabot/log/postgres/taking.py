"""The one way by which records come into a log in PostgreSQL: its function `sabot.take`."""

import hashlib
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg

from sabot.errors import DatabaseUnusable, HistoryDiffers, NotThisSites, SabotError
from sabot.log import boards
from sabot.log.found import Row
from sabot.log.place import Address
from sabot.log.postgres.arrays import Array, bigints, byteas, texts
from sabot.log.seam import another_seam, goes_on, has_records, no_seam, seam_too_early
from sabot.silences import NOT_STORED

MOST = 20_000
"""Records in one batch of `take`."""

_TAKE = b"SELECT * FROM sabot.take($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
_TAKE_UNITS = b"SELECT * FROM sabot.take_units($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
_WRONG, _NOT_YOURS, _OTHER_BYTES, _ENDS_BEFORE, _DAMAGED, _NOT_STORED = (
    "SB400", "SB403", "SB409", "SB412", "SB422", "SB500",
)  # fmt: skip
NO_SEAM, REPLACED = "SB410", "SB411"
"""Of a board without a seam; and of one whose place another has taken."""


class Head(NamedTuple):
    """The newest record of a unit that was ever stored, pruned ones too, and how many were."""

    number: int
    mac: bytes
    records: int


class OtherBytes(HistoryDiffers):
    """Record `number` is stored with other bytes than those that were sent. Nothing was stored."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(text)
        self.number = number


class EndsBefore(SabotError):
    """The log of the centre ends with record `newest`, before that after which records were sent:
    it lost some. Nothing was stored."""

    def __init__(self, text: str, newest: int) -> None:
        super().__init__(text)
        self.newest = newest


class NotStored(DatabaseUnusable):
    """The database does not say that it has what was sent: a function or a table of it was altered.
    Nothing of it may be acknowledged."""


class DamagedOnTheWay(SabotError):
    """The server got other bytes than were sent. Nothing was stored; send it again."""


def take(
    place: Address,
    session: psycopg.Connection[Any],
    unit: str,
    rows: Sequence[Row],
    after: int | None = None,
    received_unix_ms: int | None = None,
) -> Head:
    """Store records of a unit, all or none; they are durable once the transaction is committed.

    As `PostgresStore.take`. Only a keeper may say when they were received.
    """
    try:
        arrays = _columns(rows)
        digest = hashlib.sha256(unit.encode())
    except (struct.error, TypeError, AttributeError, UnicodeEncodeError):
        raise DatabaseUnusable(
            f"{place}: an event of {unit} has a number too large to be stored, or no bytes; switch "
            "the shoe off and on, update its firmware"
        ) from None
    for array in arrays:
        digest.update(array)
    cursor = psycopg.RawCursor(session)
    cursor.format = psycopg.pq.Format.BINARY
    try:
        cursor.execute(_TAKE, (unit, after, *arrays, received_unix_ms, digest.digest()))
    except psycopg.Error as error:
        raise _refused(place, unit, error) from None
    return checked(place, unit, cursor.fetchone(), rows[-1].number, rows[-1].mac)


class Batch(NamedTuple):
    """Records of a unit that go with those of others: `after` as for `take`; `said` is how many
    events the sender has had up to the last one, None if it does not say."""

    unit: str
    rows: Sequence[Row]
    after: int
    said: int | None = None


def take_units(
    place: Address, session: psycopg.Connection[Any], batches: Sequence[Batch]
) -> list[Head | None]:
    """Store records of many units in one transaction and one round trip, of each unit all or none.
    Each batch goes on after the newest record of its unit, or begins with that one.

    Return the head of each unit; None for one of which nothing was stored, and whose records have
    to be sent alone, by `take`. Raises DamagedOnTheWay, NotStored.
    """
    rows = [row for batch in batches for row in batch.rows]
    whose = [at for at, batch in enumerate(batches, 1) for _ in batch.rows]
    arrays = (
        texts([batch.unit for batch in batches]),
        bigints([batch.after for batch in batches]),
        bigints([batch.said for batch in batches]),
        bigints(whose),
        *_columns(rows),
    )
    cursor = psycopg.RawCursor(session)
    cursor.format = psycopg.pq.Format.BINARY
    try:
        cursor.execute(_TAKE_UNITS, (*arrays, hashlib.sha256(b"".join(arrays)).digest()))
    except psycopg.Error as error:
        raise _refused(place, batches[0].unit, error) from None
    answers = {unit: answer for unit, *answer in cursor.fetchall()}
    heads: list[Head | None] = []
    for batch in batches:
        *head, code = answers.get(batch.unit, (None, None, None, ""))
        last = batch.rows[-1]
        if code:
            heads.append(None)
        else:
            heads.append(checked(place, batch.unit, head, last.number, last.mac))
    return heads


def _columns(rows: Sequence[Row]) -> tuple[Array, ...]:
    """The arrays of records, in the order of the parameters."""
    return (
        bigints([row.number for row in rows]),
        byteas([row.data for row in rows]),
        byteas([row.mac for row in rows]),
        texts([row.kind for row in rows]),
        bigints([row.unix_ms for row in rows]),
        bigints([row.shoe for row in rows]),
        bigints([row.round for row in rows]),
    )


def checked(place: Address, unit: str, answer: Any, number: int, mac: bytes) -> Head:
    """The head of a unit in the answer of a database that was sent records up to `number`, the last
    with this MAC. Raises NotStored unless it says that it has them: a function that was altered
    answers too. Raises OtherBytes if it has another record in place of the last."""
    head = Head(*answer) if answer is not None and len(answer) == 3 else None
    if (
        head is None
        or (type(head.number), type(head.mac), type(head.records)) != (int, bytes, int)
        or head.number < number
        or head.records < 1
    ):
        has = "nothing" if head is None or head.number is None else f"event {head.number}"
        raise NotStored(NOT_STORED.say(place=place, unit=unit, sent=number, has=has))
    if head.number == number and head.mac != mac:
        raise OtherBytes(
            f"{unit}: event {number} is in {place} with other bytes; keep both", number
        )
    return head


def seam_refused(place: Address, name: str, error: psycopg.Error) -> BaseException:
    """Return why the log did not keep or remove the seam of a board."""
    code, detail = error.sqlstate, error.diag.message_detail or "0"
    old = boards.before(name)
    if code == _OTHER_BYTES:
        said = error.diag.message_primary or ""
        if said.startswith("another seam"):
            return DatabaseUnusable(another_seam(place, name))
        return DatabaseUnusable(has_records(place, name))
    if code == REPLACED and old is not None:
        return HistoryDiffers(seam_too_early(place, old, int(detail)))
    if code == _WRONG:
        return DatabaseUnusable(f"{place}: has no unit {old}; `sabot units` lists them")
    return _refused(place, name, error)


def _refused(place: Address, unit: str, error: psycopg.Error) -> BaseException:
    code, detail = error.sqlstate, error.diag.message_detail or "0"
    if code == _NOT_YOURS:
        return NotThisSites(
            f"{place}: does not take {unit} from this role; its keeper can let it: "
            "sabot database site"
        )
    if code == _OTHER_BYTES:
        return OtherBytes(
            f"{unit}: event {detail} is in {place} with other bytes; keep both", int(detail)
        )
    if code == _NOT_STORED:
        said = error.diag.message_primary or ""
        return NotStored(NOT_STORED.say(place=place, unit=unit, sent="all", has=said))
    if code == _ENDS_BEFORE:
        return EndsBefore(f"{place}: ends with event {detail} of {unit}", int(detail))
    if code == _DAMAGED:
        return DamagedOnTheWay(f"{place}: got other events of {unit} than were sent")
    if code == NO_SEAM:
        return HistoryDiffers(no_seam(place, unit))
    if code == REPLACED:
        return HistoryDiffers(goes_on(unit, int(detail)))
    if code == _WRONG:
        return DatabaseUnusable(f"{place}: refused events of {unit}: {error.diag.message_primary}")
    return error
