"""Tampers with the file of a log in ways chosen at random, with SQL or byte by byte.

Only a forged tombstone is made with code of the project. A way may find nothing to change, and may
fail: SQLite refuses some changes. `tamper` then tries another one.
"""

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

from host.tests.adversary import log_bytes, log_rows, log_schema

Way = Callable[[Path, random.Random], None]


WAYS: dict[Way, int] = {
    log_rows.cell: 4,
    log_rows.unconstrained_cell: 4,
    log_rows.deleted_rows: 1,
    log_rows.events_and_records_deleted: 1,
    log_rows.doubled_row: 2,
    log_rows.second_unit: 1,
    log_rows.names_swapped: 1,
    log_rows.moved_rows: 1,
    log_rows.forged_events: 1,
    log_rows.forged_tombstone: 1,
    log_rows.forged_game: 1,
    log_rows.forged_presence: 1,
    log_rows.forged_receipt: 1,
    log_rows.everything_of_a_kind: 2,
    log_rows.lowered_version: 1,
    log_rows.facts: 2,
    log_schema.altered_schema: 2,
    log_schema.view_in_place: 1,
    log_schema.statistics: 1,
    log_schema.described_otherwise: 2,
    log_schema.schema_row: 2,
    log_schema.stale_index: 2,
    log_bytes.pragma: 1,
    log_bytes.any_pragma: 1,
    log_bytes.other_encoding: 1,
    log_bytes.left_over_wal: 1,
    log_bytes.left_over_journal: 1,
    log_bytes.changed_bytes: 2,
    log_bytes.btree_cell: 3,
    log_bytes.other_length: 1,
}
"""Each way, and how often it is chosen."""

REFUSED = (sqlite3.Error, IndexError, OverflowError, ValueError, TypeError)
"""What a way raises if SQLite refuses the change, or earlier changes left nothing to change."""


def tamper(path: Path, rng: random.Random) -> list[str]:
    """Change the file in one to three ways; return their names."""
    done: list[str] = []
    wanted = rng.choice((1, 1, 1, 2, 3))
    while len(done) < wanted:
        (way,) = rng.choices(list(WAYS), list(WAYS.values()))
        before = path.read_bytes()
        try:
            way(path, rng)
        except REFUSED:
            path.write_bytes(before)
            for suffix in ("-wal", "-shm", "-journal"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            if done:  # the file may be beyond what SQLite opens
                break
            continue
        done.append(way.__name__)
    return done
