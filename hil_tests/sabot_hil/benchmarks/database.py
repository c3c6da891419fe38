"""How fast a log stores and returns events, compared with what its disk allows."""

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sabot.link.session import Record
from sabot.log.store import open_store

BATCH = 500
_TURN = 50  # commits of the log and the bare loop in turns, so both run on an equally busy machine
_UNIT = "U"


@dataclass(frozen=True, slots=True)
class Rates:
    """Events per second. `bare` is for commits of the same rows by SQLite alone, in a separate
    table with pages of the same size: what disk and SQLite allow.
    """

    single: float
    bare: float
    batch: float
    derived: float
    raw: float


def measure_store(folder: Path, singles: Sequence[Record], rest: Sequence[Record]) -> Rates:
    """Store `singles` with a commit each and `rest` in batches, in a new log in `folder`."""
    path = folder / "log.sqlite"
    with open_store(path, create=True) as store:
        with closing(sqlite3.connect(path)) as connection:
            (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        single, bare = _in_turns(
            lambda record: store.append(_UNIT, [record]),
            _bare_loop(folder / "bare.sqlite", page_bytes),
            singles,
        )
        begin_s = time.perf_counter()
        for at in range(0, len(rest), BATCH):
            store.append(_UNIT, rest[at : at + BATCH])
        batch = len(rest) / (time.perf_counter() - begin_s)
        count = len(singles) + len(rest)
        begin_s = time.perf_counter()
        store.derive()
        derived = count / (time.perf_counter() - begin_s)
        begin_s = time.perf_counter()
        assert sum(1 for _ in store.raw(_UNIT)) == count
        raw = count / (time.perf_counter() - begin_s)
    return Rates(single, bare, batch, derived, raw)


def _bare_loop(path: Path, page_bytes: int) -> Callable[[Record], object]:
    connection = sqlite3.connect(path, isolation_level=None)
    for setting in (f"page_size={page_bytes}", "journal_mode=WAL", "synchronous=FULL"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute(
        "CREATE TABLE records (unit INTEGER, number INTEGER, received_unix_ms INTEGER,"
        " record BLOB, mac BLOB, PRIMARY KEY (unit, number)) WITHOUT ROWID"
    )

    def commit(record: Record) -> None:
        connection.execute("BEGIN IMMEDIATE")
        row = (1, record.event.number, 1_795_000_000_000, record.data, record.mac)
        connection.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?)", row)
        connection.execute("COMMIT")

    return commit


def _in_turns(
    one: Callable[[Record], object], other: Callable[[Record], object], records: Sequence[Record]
) -> tuple[float, float]:
    """Return how many records per second each of the two stores."""
    seconds = [0.0, 0.0]
    for at in range(0, len(records), _TURN):
        for which, take in enumerate((one, other)):
            begin_s = time.perf_counter()
            for record in records[at : at + _TURN]:
                take(record)
            seconds[which] += time.perf_counter() - begin_s
    return len(records) / seconds[0], len(records) / seconds[1]
