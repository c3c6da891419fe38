"""A site with its log, a centre in PostgreSQL, and what sees both without code of the forwarder."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.postgres import Database
from sabot.centre.alarms import Alarm
from sabot.centre.forwarder import Forwarder
from sabot.centre.postgres_centre import PostgresCentre
from sabot.centre.site_log import SiteLog
from sabot.keys.signing import public_of
from sabot.log.store import Store, open_store
from sabot.receipts import kept
from sabot.receipts.receipt import NUMBERS, make

NOTARY = Ed25519PrivateKey.from_private_bytes(b"notary.." * 4)
SIGNED_UNIX_MS = 1_795_000_000_000

Stored = list[tuple[int, bytes, bytes]]
"""Number, record and MAC of each record of a unit."""


class Noted:
    """A watcher that notes every call."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.alarms: list[Alarm] = []
        self.batches: list[tuple[str, int]] = []
        self.receipts: list[tuple[str, int]] = []
        self.waiting: dict[str, int] = {}
        self.links: list[bool] = []
        self.open: dict[str, int] = {}

    def said(self, line: str) -> None:
        self.lines.append(line)

    def connected(self, is_connected: bool) -> None:
        self.links.append(is_connected)

    def batch(self, unit: str, records: int, took_s: float) -> None:
        self.batches.append((unit, records))

    def reached(self, numbers: Mapping[str, int], newest: Mapping[str, int]) -> None:
        self.waiting = {unit: max(0, newest[unit] - numbers.get(unit, 0)) for unit in newest}

    def open_alarms(self, by_kind: Mapping[str, int]) -> None:
        self.open = dict(by_kind)

    def receipt(self, unit: str, number: int, unix_ms: int) -> None:
        self.receipts.append((unit, number))

    def alarm(self, alarm: Alarm) -> None:
        self.alarms.append(alarm)


class Centre:
    """A centre, and what its tables have."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def let(self, role: str, *units: str) -> None:
        """Give units to the role of a site, and to no other."""
        with self.database.connect("keeper") as session:
            for unit in units:
                session.execute(
                    "INSERT INTO sabot.sites (unit, role) VALUES (%s, %s)"
                    " ON CONFLICT (unit) DO UPDATE SET role = excluded.role",
                    (unit, role),
                )

    def sql(self, statement: str, *values: object) -> None:
        """Change the tables as a person can who has the server."""
        with self.database.connect("postgres") as session:
            session.execute("SET session_replication_role = replica")
            session.execute(statement, values)  # type: ignore[arg-type]

    def ask(self, query: str, *values: object) -> list[tuple[object, ...]]:
        with self.database.connect("postgres") as session:
            return session.execute(query, values).fetchall()  # type: ignore[arg-type]

    def stored(self, unit: str) -> Stored:
        return self.ask(  # type: ignore[return-value]
            "SELECT r.number, r.record, r.mac FROM sabot.records AS r"
            " JOIN sabot.units AS u ON u.id = r.unit WHERE u.unit = %s ORDER BY r.number",
            unit,
        )

    def alarms(self) -> list[tuple[str, int, str]]:
        return self.ask("SELECT unit, number, kind FROM sabot.alarms ORDER BY id")  # type: ignore[return-value]

    def sign(self, unit: str, number: int, key: Ed25519PrivateKey = NOTARY) -> bytes:
        """Sign a receipt for what the centre has, without the notary's checks."""
        ((mac, records),) = self.ask(
            "SELECT r.mac, (SELECT count(*) FROM sabot.records AS o WHERE o.unit = r.unit"
            " AND o.number <= r.number) FROM sabot.records AS r"
            " JOIN sabot.units AS u ON u.id = r.unit WHERE u.unit = %s AND r.number = %s",
            unit,
            number,
        )
        receipt = make(
            key,
            unit=unit,
            number=number,
            mac=mac,  # type: ignore[arg-type]
            records=records,  # type: ignore[arg-type]
            unix_ms=SIGNED_UNIX_MS,
            checked=NUMBERS,
        )
        self.give(unit, number, receipt)
        return receipt

    def give(self, unit: str, number: int, receipt: bytes) -> None:
        """Put a receipt into the centre's table."""
        with self.database.connect("notary") as session:
            session.execute(
                "INSERT INTO sabot.receipts SELECT id, %s, %s FROM sabot.units WHERE unit = %s",
                (number, receipt, unit),
            )


def site_stored(path: Path, unit: str) -> Stored:
    """What the log of a site has."""
    with open_store(path) as store:
        return list(store.raw(unit))


@contextmanager
def site_log(path: Path) -> Iterator[tuple[Store, SiteLog]]:
    with open_store(path) as store, closing(SiteLog(store)) as log:
        store.convert()
        kept.note_forwarding(store, "the centre")
        yield store, log


def forward(
    path: Path,
    database: Database,
    role: str = "site_1",
    notaries: Sequence[bytes] = (public_of(NOTARY),),
) -> tuple[Noted, Forwarder]:
    """Forward once what the log has."""
    noted = Noted()
    with site_log(path) as (_, log):
        forwarder = Forwarder(
            log,
            lambda: PostgresCentre(database.place(role)),
            notaries,
            noted,
            threading.Event(),
            once=True,
        )
        forwarder.run()
    return noted, forwarder
