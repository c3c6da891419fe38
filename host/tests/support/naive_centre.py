"""A naive centre and naive sites, right and with faults, to judge the judge of `make losses`.

    python -m host.tests.support.naive_centre FAULT,... forward|notary ...

Each `FAULT` is `right`, or one of MUTANTS: what a program could do wrong, for the sites in turn.
Nothing of Sabot is in it.
"""

import hashlib
import sqlite3
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from host.tests.support import naive_log
from host.tests.support.naive_log import NaiveLog
from sabot_hil.kit.centre.postgres import DATABASE, Server
from sabot_hil.kit.centre.programs import NOTARY_ROLE
from sabot_hil.kit.centre.receipt_file import NotAReceipt, Receipt, make_receipt, read_receipt

RIGHT = "right"
MUTANTS: Mapping[str, str] = {
    "skips_one": "lacks",
    "doubles_one": "is doubled",
    "swaps_two": "has other bytes of",
    "believes_what_it_sent": "lacks|does not go on",
    "counts_again": "head is",
    "takes_any_bytes": "has other bytes of|head is",
    "sends_to_another_unit": "which it never recorded|lacks|which no site has",
    "removes_at_the_site": "lacks",
    "forges_receipts": "the notary has not signed it",
    "keeps_any_receipt": "another site's unit",
    "signs_too_much": "there is no such event|it is nowhere|that cannot be|another MAC",
    "signs_a_wrong_count": "records, there are",
    "signs_before_the_commit": "it is nowhere|there is no such event",
    "hides_holes": "no hole names",
    "is_silent_when_set_back": "there is no alarm set_back",
    "cries_wolf": "a false alarm",
    "claims_a_checked_chain_of_numbers": "says that",
}
"""What a mutant does wrong, and what the judge must say of it, as a regular expression."""

_BATCH = 400
_LINK_ERRORS = (psycopg.Error, ValueError, TypeError, AssertionError)
_NAP_S = 0.15
_TIMEOUT_S = 5
_SCHEMA = """
CREATE SCHEMA sabot;
CREATE TABLE sabot.units (id serial PRIMARY KEY, unit text UNIQUE, site text, newest bigint,
    mac bytea, records bigint);
CREATE TABLE sabot.records (unit int, number bigint, day date, received_unix_ms bigint,
    record bytea, mac bytea);
CREATE INDEX ON sabot.records (unit, number);
CREATE TABLE sabot.receipts (unit int, number bigint, receipt bytea);
CREATE TABLE sabot.site_checkpoints (unit int, number bigint, mac bytea, records bigint, site text,
    unix_ms bigint);
CREATE TABLE sabot.holes (unit int, first bigint, last bigint, site text, unix_ms bigint);
CREATE TABLE sabot.alarms (id serial, unit text, number bigint, kind text, detail text,
    record bytea, mac bytea, site text, unix_ms bigint);
CREATE FUNCTION sabot.naive_take(name text, after_ bigint, numbers bigint[], records_ bytea[],
    macs bytea[], sum bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE head sabot.units; before bigint := after_; data bytea := '';
BEGIN
    SELECT * INTO head FROM sabot.units WHERE unit = name FOR UPDATE;
    FOR at IN 1 .. cardinality(numbers) LOOP
        data := data || int8send(numbers[at]) || records_[at] || macs[at];
    END LOOP;
    IF sum <> sha256(data || convert_to(name, 'UTF8')) THEN RETURN 'damaged'; END IF;
    IF head.newest <> after_ THEN RETURN 'other head'; END IF;
    INSERT INTO sabot.records SELECT head.id, n, current_date, 0, r, m
        FROM unnest(numbers, records_, macs) AS each(n, r, m);
    FOR at IN 1 .. cardinality(numbers) LOOP
        IF numbers[at] > before + 1 THEN
            INSERT INTO sabot.holes VALUES (head.id, before + 1, numbers[at] - 1, current_user, 0);
        END IF;
        before := numbers[at];
    END LOOP;
    UPDATE sabot.units SET newest = before, mac = macs[cardinality(macs)],
        records = head.records + cardinality(numbers) WHERE id = head.id;
    RETURN 'taken';
END $$;
"""


class NaivePrograms:
    """The programs of this module. Each site has a fault of its own, or RIGHT; so has the notary,
    with the units of that site."""

    waits = False

    def __init__(self, faults: Sequence[str]) -> None:
        self._command = [sys.executable, "-m", __name__, ",".join(faults)]

    def make(self, server: Server, sites: Mapping[str, Sequence[str]]) -> None:
        """Make the centre."""
        server.sql(f"CREATE DATABASE {DATABASE}", database="postgres")
        server.sql(_SCHEMA)
        for role in (*sites, NOTARY_ROLE):
            server.sql(f'CREATE ROLE "{role}" LOGIN SUPERUSER', database="postgres")
        for role, units in sites.items():
            for unit in units:
                query = (
                    "INSERT INTO sabot.units (unit, site, newest, records) VALUES (%s, %s, 0, 0)"
                )
                server.sql(query, unit, role)

    def logger(self, log: Path, seed: int) -> Sequence[str]:
        """A logger whose file has the tables of a log, and no more."""
        return [sys.executable, "-m", naive_log.__name__, str(log), str(seed)]

    def forward(self, log: Path, address: str, notary: Path) -> Sequence[str]:
        """The forwarder."""
        return [*self._command, "forward", str(log), address, str(notary)]

    def notary(self, address: str, key: Path, keys: Path) -> Sequence[str]:
        """The notary."""
        return [*self._command, "notary", address, str(key)]

    def compare(
        self, log: Path, address: str, notary: Path, keys: Path, elsewhere: Sequence[str]
    ) -> Sequence[str]:
        """There is no such command."""
        return ()


class _Forwarder:
    """Sends a log's records, as they follow the centre's head."""

    def __init__(self, fault: str, log: Path, address: str, notary: Path) -> None:
        self._fault = fault
        self._log = NaiveLog(log)
        self._address = address
        key: Any = load_pem_public_key(notary.read_bytes())
        self._notary = key.public_bytes_raw()
        self._believed = Path(f"{log}.sent")
        self._sent: dict[str, int] = {}
        self._doubted: dict[tuple[str, int], object] = {}
        """A unit and its head, by the connection that has said so: a second must say it too."""

    def run(self) -> None:
        """Forward for ever."""
        while True:
            try:
                with psycopg.connect(
                    self._address, connect_timeout=_TIMEOUT_S, autocommit=True, **_KEEPALIVE
                ) as connection:
                    while True:
                        for unit in self._log.units():
                            self._forward(connection, unit)
                            self._fetch_receipts(connection, unit)
                        time.sleep(_NAP_S)
            except (sqlite3.Error, *_LINK_ERRORS):
                time.sleep(_NAP_S)

    def _forward(self, connection: Any, unit: str) -> None:
        query = "SELECT newest, id FROM sabot.units WHERE unit = %s"
        after, id_ = connection.execute(query, (unit,)).fetchone()
        own = self._log.unit_id(unit)
        last = "SELECT ifnull(max(number), 0) FROM receipts WHERE unit = ?"
        (receipted,) = self._log.connection.execute(last, (own,)).fetchone()
        if after < receipted and self._fault != "is_silent_when_set_back":
            self._alarm(connection, unit, after, "set_back")
        if self._fault == "cries_wolf" and after:
            self._alarm(connection, unit, after, "other_bytes")
        if self._fault == "believes_what_it_sent":
            after = self._sent.get(unit) or int(self._believing().get(unit, 0))
        rows = self._log.connection.execute(
            "SELECT number, record, mac FROM records WHERE unit = ? AND number > ? ORDER BY number"
            " LIMIT ?", (own, after, _BATCH),
        ).fetchall()  # fmt: skip
        if not rows:
            return
        if self._fault == "believes_what_it_sent":
            self._sent[unit] = rows[-1][0]
            self._believed.write_text(" ".join(f"{k} {v}" for k, v in self._sent.items()))
            self._send(connection, unit, None, rows)
            return
        if self._send(connection, unit, after, self._changed(rows)):
            if self._fault == "doubles_one":
                query = "INSERT INTO sabot.records VALUES (%s, %s, current_date, 0, %s, %s)"
                connection.execute(query, (id_, *rows[0]))
            if self._fault == "counts_again" and after:
                query = "UPDATE sabot.units SET records = records + 1 WHERE unit = %s"
                connection.execute(query, (unit,))
            if self._fault == "removes_at_the_site" and after:
                query = "DELETE FROM records WHERE unit = ? AND number = ?"
                self._log.connection.execute(query, (own, rows[0][0]))
            query = "SELECT count(*) FROM records WHERE unit = ? AND number <= ?"
            (count,) = self._log.connection.execute(query, (own, rows[-1][0])).fetchone()
            query = "INSERT INTO sabot.site_checkpoints VALUES (%s, %s, %s, %s, current_user, 0)"
            if self._fault not in ("skips_one", "removes_at_the_site"):
                connection.execute(query, (id_, rows[-1][0], rows[-1][2], count))

    def _changed(self, rows: list[Any]) -> list[Any]:
        if self._fault == "skips_one" and len(rows) > 2:
            return [*rows[:1], *rows[2:]]
        if self._fault == "swaps_two" and len(rows) > 2:
            return [(rows[0][0], *rows[1][1:]), (rows[1][0], *rows[0][1:]), *rows[2:]]
        return rows

    def _send(self, connection: Any, unit: str, after: int | None, rows: Sequence[Any]) -> bool:
        if self._fault == "sends_to_another_unit" and after is not None:
            unit = unit.replace("-1", "-0") if after else unit
        numbers, records, macs = (list(column) for column in zip(*rows, strict=True))
        data = b"".join(n.to_bytes(8, "big") + record + mac for n, record, mac in rows)
        digest = hashlib.sha256(data + unit.encode()).digest()
        if self._fault == "takes_any_bytes" and rows[0][0] > 1:
            records[0] = records[0][:-1] + b"?"
            data = b"".join(map(_joined, numbers, records, macs))
            digest = hashlib.sha256(data + unit.encode()).digest()
        if after is None or (self._fault == "sends_to_another_unit" and after):
            query = "SELECT newest FROM sabot.units WHERE unit = %s"
            (after,) = connection.execute(query, (unit,)).fetchone()
        batch = unit, after, numbers, records, macs, digest
        query = "SELECT sabot.naive_take(%s, %s, %s, %s, %s, %s)"
        answer = connection.execute(query, batch).fetchone()
        if self._fault == "hides_holes":
            query = "DELETE FROM sabot.holes h USING sabot.units u"
            connection.execute(f"{query} WHERE u.unit = %s AND u.id = h.unit", (unit,))
        return bool(answer == ("taken",))

    def _alarm(self, connection: Any, unit: str, number: int, kind: str) -> None:
        if kind == "set_back" and self._doubted.get((unit, number), connection) is connection:
            self._doubted[unit, number] = connection
            raise ValueError("the link may have changed the answer: ask again")
        query = "SELECT 1 FROM sabot.alarms WHERE (unit, number, kind) = (%s, %s, %s)"
        if connection.execute(query, (unit, number, kind)).fetchone() is None:
            query = "INSERT INTO sabot.alarms (unit, number, kind, detail) VALUES (%s, %s, %s, '')"
            connection.execute(query, (unit, number, kind))

    def _fetch_receipts(self, connection: Any, unit: str) -> None:
        own = self._log.unit_id(unit)
        if self._fault == "keeps_any_receipt":
            query = "SELECT u.unit, r.number, r.receipt FROM sabot.receipts r JOIN sabot.units u"
            rows = connection.execute(f"{query} ON u.id = r.unit").fetchall()
        else:
            query = (
                "SELECT u.unit, r.number, r.receipt FROM sabot.receipts r JOIN sabot.units u"
                " ON u.id = r.unit WHERE u.unit = %s AND r.number > %s"
            )
            last = "SELECT ifnull(max(number), 0) FROM receipts WHERE unit = ?"
            (after,) = self._log.connection.execute(last, (own,)).fetchone()
            rows = connection.execute(query, (unit, after)).fetchall()
        for name, number, data in rows:
            try:
                read_receipt(data, self._notary)
            except NotAReceipt:
                continue
            if self._fault == "forges_receipts":
                data = make_receipt(Ed25519PrivateKey.generate(), read_receipt(data, self._notary))
            row = self._log.unit_id(name), number, data
            self._log.connection.execute("INSERT OR IGNORE INTO receipts VALUES (?, ?, ?)", row)

    def _believing(self) -> Mapping[str, str]:
        if not self._believed.exists():
            return {}
        words = self._believed.read_text().split()
        return dict(zip(words[::2], words[1::2], strict=False))


_KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 1, "keepalives_interval": 1, "keepalives_count": 3,
    "tcp_user_timeout": 4000, "options": "-c statement_timeout=5000",
}  # fmt: skip


def _joined(number: int, record: bytes, mac: bytes) -> bytes:
    return number.to_bytes(8, "big") + record + mac


def _of_site(faults: Sequence[str], name: str) -> str:
    """The fault of a site, by its role or the name of one of its units."""
    return faults[int(name.lower().removeprefix("site_").partition("-")[0]) % len(faults)]


def _notary(faults: Sequence[str], address: str, key: Path) -> None:
    private = load_pem_private_key(key.read_bytes(), None)
    assert isinstance(private, Ed25519PrivateKey)
    while True:
        try:
            with psycopg.connect(address, connect_timeout=_TIMEOUT_S, **_KEEPALIVE) as connection:
                while True:
                    with connection.transaction():
                        _sign_all(faults, private, connection)
                    time.sleep(_NAP_S)
        except _LINK_ERRORS:
            time.sleep(_NAP_S)


def _sign_all(faults: Sequence[str], private: Ed25519PrivateKey, connection: Any) -> None:
    query = (
        "SELECT id, unit, newest, mac, records FROM sabot.units u WHERE newest > (SELECT"
        " coalesce(max(number), 0) FROM sabot.receipts r WHERE r.unit = u.id)"
    )
    for id_, unit, number, mac, records in connection.execute(query).fetchall():
        fault = _of_site(faults, unit)
        here = "SELECT count(*), max(number) FROM sabot.records WHERE unit = %s AND number <= %s"
        count, newest = connection.execute(here, (id_, number)).fetchone()
        last = "SELECT mac FROM sabot.records WHERE unit = %s AND number = %s"
        found = connection.execute(last, (id_, number)).fetchone()
        if (count, newest) != (records, number) or found != (mac,):
            if fault == RIGHT:
                continue  # the link has changed an answer
        if fault == "signs_too_much":
            number += 2
        if fault == "signs_before_the_commit":
            number += 5
        if fault == "signs_a_wrong_count" and records > 1:
            records -= 1
        checked = "numbers" if fault == "claims_a_checked_chain_of_numbers" else "chain"
        now_ms = time.time_ns() // 1_000_000
        receipt = make_receipt(private, Receipt(unit, number, mac, records, now_ms, checked))
        connection.execute("INSERT INTO sabot.receipts VALUES (%s, %s, %s)", (id_, number, receipt))


def main() -> None:
    """The programs."""
    listed, program, *given = sys.argv[1:]
    faults = listed.split(",")
    if program == "forward":
        fault = _of_site(faults, Path(given[0]).stem)
        _Forwarder(fault, Path(given[0]), given[1], Path(given[2])).run()
    else:
        _notary(faults, given[0], Path(given[1]))


if __name__ == "__main__":
    main()
