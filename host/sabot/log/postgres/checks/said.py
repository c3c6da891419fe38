"""What was put into a log in PostgreSQL beside its records, or taken out, by no function: alarms,
what sites said of their logs, and when shoes were attached.

Alarms are a chain: each entry has a digest of it and of all before it, and the notary seals how far
it goes. Of the other two the functions keep a sum. So what someone has changed in the tables is
found; what someone had a function write, as another role, is not.
"""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from sabot.keys.signing import NotSealed, PrivateKey, open_sealed, seal
from sabot.log.postgres.arrays import texts
from sabot.log.postgres.sessions import PostgresConnection
from sabot.text import counted, printable, utc_time

_CHAIN = (
    "SELECT c.place, c.unix_ms, c.alarm, c.role::text, c.what, c.person, c.remark, c.digest, a.id,"
    " a.number, a.unix_ms, a.site::text, a.unit, a.kind, a.detail, a.record, a.mac"
    " FROM alarm_chain AS c LEFT JOIN alarms AS a ON a.id = c.alarm ORDER BY c.place"
)
_SUM = (
    "SELECT (SELECT count(*) FROM {0}) - coalesce(sum(s.rows), 0)::bigint,"
    " (coalesce(bit_xor(s.sum), repeat('0', 256)::bit(256))"
    " # (SELECT coalesce(bit_xor({1}(t)), repeat('0', 256)::bit(256)) FROM {0} AS t))::text"
    " FROM sums AS s WHERE s.name = '{0}'"
)
_PRESENCE, _CHECKPOINTS = "presence", "site_checkpoints"
_NOTHING = "0" * 256


def seal_of(private: PrivateKey, place: int, digest: bytes, unix_ms: int) -> bytes:
    """The notary's word that the chain of alarms goes up to `place`, and has this digest there."""
    return seal(private, {"alarms": place, "digest": digest, "unix_ms": unix_ms})


def sealed(data: bytes) -> tuple[int, bytes] | None:
    """Place and digest of a seal; None if it is not one."""
    with suppress(NotSealed):
        found = open_sealed(data)
        place, digest = found.document.get("alarms"), found.document.get("digest")
        if found.signed and type(place) is int and type(digest) is bytes:
            return place, digest
    return None


def faults(connection: PostgresConnection) -> Iterator[str]:
    """Yield, for people, what was put into these tables or taken out of them."""
    yield from of_alarms(connection)
    yield from _of_presence(connection)
    yield from _of_checkpoints(connection)


def of_alarms(connection: PostgresConnection) -> Iterator[str]:
    """What was changed in the alarms, and in what was said of them."""
    before, due, chained = b"", 1, set()
    digests: dict[int, bytes] = {}
    for entry in connection.execute(_CHAIN).fetchall():
        place, _, alarm, role, what, _, _, digest, there, *_ = entry
        if place > due:
            yield f"entries {due} to {place - 1} of the chain of alarms were removed"
        if there is None:
            yield f"alarm {alarm}, which {printable(role)} raised or acknowledged, was removed"
        elif place == due and digest != hashlib.sha256(before + texts_of(entry)).digest():
            yield f"alarm {alarm}, or entry {place} of the chain of alarms, was changed"
        chained |= {alarm} if what == "alarm" else set()
        before, due = digest, place + 1
        digests[place] = digest
    for (alarm,) in connection.execute("SELECT id FROM alarms ORDER BY id").fetchall():
        if alarm not in chained:
            yield f"alarm {alarm} was raised by no function: it is not in the chain of alarms"
    for place, data in connection.execute("SELECT place, seal FROM alarm_seals ORDER BY place"):
        known = sealed(data)
        if known is not None and known[0] == place and digests.get(place) != known[1]:
            yield (
                f"the chain of alarms is not the one that the notary has sealed up to entry {place}"
            )


def texts_of(entry: Any) -> bytes:
    """What the digest of an entry of the chain is made of, besides that of the one before."""
    place, unix_ms, alarm, role, what, person, remark, _, _, number, at, site, *more = entry
    unit, kind, detail, record, mac = more
    fields = (
        place,
        unix_ms,
        alarm,
        role,
        what,
        person,
        remark,
        number,
        at,
        site,
        unit,
        kind,
        detail,
    )
    hexes = [(each or b"").hex() for each in (record, mac)]
    return bytes(texts([*map(str, fields), *hexes]))


def _of_presence(connection: PostgresConnection) -> Iterator[str]:
    more, sum_ = _difference(connection, _PRESENCE, "hash_of_presence")
    if sum_ == _NOTHING:
        return
    query = (
        "SELECT unit, state, begin_unix_ms, end_unix_ms FROM presence AS p"
        " WHERE hash_of_presence(p) = ?::text::bit(256)"
    )
    for unit, state, begin, end in connection.execute(query, (sum_,)).fetchall():
        yield (
            f"presence says that {printable(unit)} was {state} from {utc_time(begin)} to "
            f"{utc_time(end)}, and no log has said so"
        )
        return
    yield f"presence was changed: {_than_said(more)}"


def _of_checkpoints(connection: PostgresConnection) -> Iterator[str]:
    more, sum_ = _difference(connection, _CHECKPOINTS, "hash_of_checkpoint")
    if sum_ != _NOTHING:
        yield f"site_checkpoints was changed: {_than_said(more)}"


def _than_said(more: int) -> str:
    if more == 0:
        return "its rows are others than logs and sites have said"
    what = "more" if more > 0 else "fewer"
    return f"{counted(abs(more), 'row')} {what} than logs and sites have said"


def _difference(connection: PostgresConnection, table: str, hash_: str) -> tuple[int, str]:
    """How many rows more a table has than the functions wrote, and the difference of the sums."""
    found = connection.execute(_SUM.format(table, hash_)).fetchone()
    more, sum_ = found or (0, _NOTHING)
    return more, sum_
