"""What `sabot database status` costs a log of many days: the whole, and each of its questions.

    python -m sabot_hil.benchmarks.centre.status [--days N] [--units N] [--records N]

Every unit has events on every day. Server and client share the cores of this machine; the start of
the command is not in it. The least of several runs counts.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Annotated, Any
from unittest.mock import patch

import typer

from host.tests.support.naive_shoe import naive_event, recorded
from host.tests.support.postgres import Database, Server, make_template, new_log
from sabot.log.found import Row
from sabot.log.postgres.sessions import PostgresConnection
from sabot.log.postgres.status import status_of
from sabot.log.postgres.store import PostgresStore
from sabot_hil.benchmarks.centre.running import SETTINGS
from sabot_hil.kit.runner import output, run

_FIRST_MS = 1_782_000_000_000
_DAY_MS = 86_400_000
_RUNS = 7
_WORDS = 70  # characters of a question


def _fill(database: Database, days: int, units: int, records: int) -> None:
    """Give each unit so many events on each day."""
    record = recorded(naive_event(1))
    with PostgresStore(database.place(), create=True) as store:
        for day in range(days):
            received = _FIRST_MS + day * _DAY_MS
            for unit in range(units):
                rows = [
                    Row(f"SHOE-{unit}", 1 + day * records + at, "card", received, 1 + day, 1,
                        received, record.data, record.mac)
                    for at in range(records)
                ]  # fmt: skip
                store.take(f"SHOE-{unit}", rows, day * records, received_unix_ms=received)
    with database.connect("postgres") as session:
        session.execute("ANALYZE")


@contextmanager
def _questions(took_s: dict[str, float]) -> Iterator[None]:
    """Add up how long each question takes until its answer is there."""
    execute = PostgresConnection.execute

    def timed(self: PostgresConnection, query: str, *values: Any) -> Any:
        begin_s = time.perf_counter()
        cursor = execute(self, query, *values)
        took_s[" ".join(query.split())[:_WORDS]] += time.perf_counter() - begin_s
        return cursor

    with patch.object(PostgresConnection, "execute", timed):
        yield


def main(
    days: Annotated[int, typer.Option(help="Days with events.")] = 152,
    units: Annotated[int, typer.Option(help="Units, each with events on each day.")] = 20,
    records: Annotated[int, typer.Option(help="Events of a unit and day.")] = 100,
) -> None:
    """Measure, and print, what the status of a log of many days costs."""
    with Server(SETTINGS) as server:
        make_template(server)
        with new_log(server) as database:
            _fill(database, days, units, records)
            runs = []
            for _ in range(_RUNS):
                took_s: dict[str, float] = defaultdict(float)
                begin_s = time.perf_counter()
                with _questions(took_s):
                    found = status_of(database.place())
                runs.append((time.perf_counter() - begin_s, took_s))
            assert found.days == days and len(found.units) == units
    whole_s, took_s = min(runs, key=lambda each: each[0])
    console = output()
    last = f"{date.fromordinal(found.last_day.toordinal())}" if found.last_day else ""
    console.print(f"{days} days to {last}, {units} units, {days * units * records:,} events")
    console.print(f"{1000 * whole_s:8.1f} ms  all, of it {1000 * sum(took_s.values()):.1f} asked")
    for question, its_s in sorted(took_s.items(), key=lambda each: -each[1]):
        if its_s >= 0.001:
            console.print(f"{1000 * its_s:8.1f} ms  {question}", soft_wrap=True)


if __name__ == "__main__":
    run(main)
