"""A log of a file put into PostgreSQL, with the times at which the file received its events."""

from itertools import groupby
from pathlib import Path

from host.tests.support.postgres import Database
from sabot.log.postgres.store import PostgresStore
from sabot.log.postgres.taking import MOST
from sabot.log.sqlite.store import SqliteStore


def put(path: Path, database: Database) -> None:
    """Put the events, games and notes of a file's log into a database."""
    with SqliteStore(path) as file, PostgresStore(database.place(), create=True) as store:
        for unit in file.units():
            rows = file.rows()
            its = (row for row in rows if row.unit == unit)
            for received, some in groupby(its, lambda row: row.received_unix_ms):
                batch = list(some)
                for at in range(0, len(batch), MOST):
                    store.take(unit, batch[at : at + MOST], received_unix_ms=received)
            if spans := file.presence(unit):
                store.keep_presence(spans)
        with file.reading() as connection:
            for (document,) in connection.execute("SELECT document FROM games").fetchall():
                store.keep_game(document)
