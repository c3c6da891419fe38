"""A good log of one unit as rows that an adversary can change, and what `verify` finds in it."""

import random
import sqlite3
from contextlib import closing
from copy import copy
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.helpers import (
    TEST_KEY,
    FirmwareLog,
    mac_of,
    new_log,
    parsed,
    shuffled_names,
)
from sabot.audit import tombstone
from sabot.audit.checks.chain_events import RawRecord
from sabot.audit.checks.findings import Summary
from sabot.audit.verify import VerifyOptions, verify
from sabot.keys import signing
from sabot.keys.chain_keys import Keys
from sabot.log.store import open_store

OPERATOR = Ed25519PrivateKey.from_private_bytes(b"\5" * 32)

EVENT_KINDS = {"incomplete", "rules", "cards", "game", "time", "damaged", "checkpoint"}
"""Findings that a changed event causes besides those of the chain."""

GAP = range(800, 831)
REMOVED = range(1, 306)  # the first shoe of cards
NOW_UNIX_MS = 1_800_000_000_001


def tombstone_of(rows: list[RawRecord], unit: str = "U1", **changed: Any) -> bytes:
    """The tombstone of REMOVED events."""
    removed = [row for row in rows if row[0] in REMOVED]
    start = max(at for at, (_, data, _) in enumerate(removed) if parsed(data).kind == "boot")
    before = removed[start - 1][2] if start else b""
    given: dict[str, Any] = {
        "unit": unit, "first": REMOVED[0], "last": REMOVED[-1], "before": b"",
        "shoes": [tombstone.RemovedShoe(1, 13, len(removed))], "after": removed[-1][2],
        "sha256": sha256(b"".join(data + mac for _, data, mac in removed)).digest(),
        "removed_unix_ms": 1_800_000_000_000, "keep_days": 90,
        "context": [tombstone.ContextRecord(removed[start][0], before, *removed[start][1:])],
    }  # fmt: skip
    return tombstone.make(OPERATOR, **given | changed)


class EditableLog:
    """A log that is good except for a gap and a tombstone, as rows that can be changed."""

    def __init__(self, folder: Path) -> None:
        log = FirmwareLog()
        for shoe in range(5):
            log.deal_shoe(shuffled_names(shoe, cut_from_end=310))
            log.power_on()
            if shoe == 3:
                self.gap_number = log.record_gap(GAP[0], GAP[-1])
        log.load().draw("AS", "2C", "9S", "KC").power_on(passing=True)
        log.draw("!drawn_again", "KD", "7D")
        self.whole = rows_of(log)
        self.rows = [row for row in self.whole if row[0] not in GAP and row[0] not in REMOVED]
        self.tombstones = [tombstone_of(self.whole)]
        self.last = log.last_number
        self.folder = folder
        self.summary = Summary()
        self.details: list[str] = []

    def copy(self) -> "EditableLog":
        """Another log with the same rows."""
        other = copy(self)
        other.rows, other.tombstones = self.rows.copy(), self.tombstones.copy()
        return other

    def store(self) -> Path:
        """Write a new database with these rows, and without derived tables."""
        path = self.folder / f"{next(FILE_NUMBERS)}.sqlite"
        new_log(path).close()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("INSERT INTO units VALUES (1, 'U1')")
            insert = "INSERT INTO records VALUES (1, ?, 0, ?, ?)"
            connection.executemany(insert, self.rows)
            for data in self.tombstones:
                insert = "INSERT INTO tombstones VALUES (1, ?, ?, ?)"
                connection.execute(insert, (REMOVED[0], REMOVED[-1], data))
            connection.commit()
        return path

    def found(self, key: bytes | None = TEST_KEY, **options: Any) -> list[tuple[int, str]]:
        """Event and kind of the findings of the chain, without the gap."""
        return self.found_in_file(self.store(), key, **options)

    def found_in_file(self, path: Path, key: bytes | None = TEST_KEY, **given: Any) -> Any:
        """The same for a database file."""
        keys = Keys()
        if key is not None:
            keys.put("U1", key)
        self.summary = Summary()
        options = {"operator": signing.public_of(OPERATOR), "now_unix_ms": NOW_UNIX_MS} | given
        with open_store(path) as store:
            findings = list(verify(store, self.summary, VerifyOptions(keys=keys, **options)))
        self.details = [each.detail for each in findings if each.kind not in EVENT_KINDS]
        found = [(each.event, each.kind) for each in findings if each.kind not in EVENT_KINDS]
        return [each for each in found if each != (GAP[0], "gap")]

    def random_number(self, rng: random.Random, first: int = 0, last: int = 0) -> int:
        """A random event with two good ones before it and two after it."""
        good = {row for row, _, _ in self.rows}
        good.discard(self.gap_number)  # without it the event after the gap is `changed` too
        number = rng.choice([n for n in good if n >= first and n <= (last or self.last)])
        beside = set(range(number - 2, number + 3))
        return number if beside <= good else self.random_number(rng, first, last)

    def row(self, number: int) -> tuple[bytes, bytes]:
        """Record and MAC in a row."""
        return next((data, mac) for row, data, mac in self.rows if row == number)

    def put(self, number: int, data: bytes, mac: bytes) -> None:
        """Overwrite a row."""
        self.rows = [
            (row, data, mac) if row == number else (row, *rest) for row, *rest in self.rows
        ]

    def remove(self, first: int, last: int) -> list[tuple[bytes, bytes]]:
        """Remove rows, and return their records and MACs."""
        taken = [(data, mac) for row, data, mac in self.rows if first <= row <= last]
        self.rows = [each for each in self.rows if not first <= each[0] <= last]
        return taken

    def insert(self, at: int, *records: tuple[bytes, bytes]) -> None:
        """Insert records before row `at`; that row and later ones get higher numbers."""
        moved = [(r + len(records) * (r >= at), *rest) for r, *rest in self.rows]
        self.rows = sorted(moved + [(at + n, *each) for n, each in enumerate(records)])

    def close_up(self, at: int, by: int) -> None:
        """Lower the number of row `at` and later rows by `by`."""
        self.rows = [(row - by * (row >= at), *rest) for row, *rest in self.rows]

    def before(self, number: int) -> bytes:
        """The MAC of the event before event `number`."""
        return self.whole[number - 2][2]


def rows_of(log: FirmwareLog) -> list[Any]:
    """A log as rows."""
    return [(parsed(bytes(each)).number, bytes(each), mac_of(each)) for each in log.records]


FILE_NUMBERS = count()
