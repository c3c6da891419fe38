"""A site's log with the tables of the specification, and no more (naive_centre.py).

python -m host.tests.support.naive_log LOG SEED
"""

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sabot_hil.kit.centre.chained import Chained
from sabot_hil.kit.centre.log_server import serve


class NaiveLog:
    """The log in a file, which is made if there is none."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None, timeout=30)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.executescript(
            "BEGIN IMMEDIATE;"
            "CREATE TABLE IF NOT EXISTS units (id INTEGER PRIMARY KEY, unit TEXT UNIQUE);"
            "CREATE TABLE IF NOT EXISTS"
            " records (unit, number, record, mac, PRIMARY KEY (unit, number));"
            "CREATE TABLE IF NOT EXISTS"
            " receipts (unit, number, receipt, PRIMARY KEY (unit, number));"
            "COMMIT;"
        )

    def units(self) -> list[str]:
        """The units that have logged."""
        return [unit for (unit,) in self.connection.execute("SELECT unit FROM units").fetchall()]

    def unit_id(self, unit: str) -> int:
        """The id of a unit; a new one gets one."""
        self.connection.execute("INSERT OR IGNORE INTO units (unit) VALUES (?)", (unit,))
        query = "SELECT id FROM units WHERE unit = ?"
        return int(self.connection.execute(query, (unit,)).fetchone()[0])

    def last_number(self, unit: str) -> int:
        query = "SELECT ifnull(max(number), 0) FROM records WHERE unit = ?"
        return int(self.connection.execute(query, (self.unit_id(unit),)).fetchone()[0])

    def append(self, unit: str, events: Sequence[Chained]) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            unit_id = self.unit_id(unit)
            self.connection.executemany(
                "INSERT INTO records VALUES (?, ?, ?, ?)", [(unit_id, *each) for each in events]
            )
            self.connection.execute("COMMIT")
        except sqlite3.Error:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise


def main() -> None:
    """The program."""
    log = NaiveLog(Path(sys.argv[1]))
    with closing(log.connection):
        serve(log.append, log.last_number, int(sys.argv[2]))


if __name__ == "__main__":
    main()
