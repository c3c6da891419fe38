"""How fast a log in PostgreSQL stores, returns, verifies and removes events, beside one in a file.

    python -m sabot_hil.benchmarks.centre.storing [--records N]

Server and client share the cores of this machine. Everything that is committed is synced.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from host.tests.support.postgres import Database, Server, make_template, new_log
from sabot.audit.verify import VerifyOptions, verify_log
from sabot.keys.chain_keys import Keys
from sabot.log.found import Filter, Row
from sabot.log.place import Place
from sabot.log.postgres.store import PostgresStore
from sabot.log.store import Removal, open_store
from sabot_hil.benchmarks import Benchmark
from sabot_hil.benchmarks.centre.running import SETTINGS
from sabot_hil.benchmarks.verifying import deal_long_log
from sabot_hil.kit.runner import print_figures, run

RECORDS = 200_000
"""Of each of two units."""
_UNITS = ("V0", "V1")
_SINGLES = 1000
_BATCHES = (100, 1000, 5000)
_DAYS, _MANY = 730, 1000
_FIRST_DAY = date(2024, 11, 21).toordinal()
_DAY_MS = 86_400_000
_RUNS = 5


@dataclass(frozen=True, slots=True)
class Storing:
    """Events per second, if nothing else is said."""

    single: float
    """A commit each, as `sabot log` does."""
    bare: float
    """A commit each of the same rows into a table of its own with one key: what the disk allows."""
    batches: dict[int, float]
    """By the size of a batch, over one session."""
    two_sessions: float
    """In the largest batches, over two sessions at once."""
    bytes_per_record: float
    """On the server's disk, with indexes."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Events per second of elapsed time."""

    raw: float
    rows: float
    verified: float
    """With keys, on all cores."""


@dataclass(frozen=True, slots=True)
class OldLog:
    """A log of two years of days and a thousand units."""

    open_ms: float
    poll_ms: float
    """Of a follower, when something is new: the newest event of all units."""
    idle_poll_ms: float
    round_ms: float
    first_question_ms: float
    """The same, as the first question of a session."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """Seconds for a day of which nothing stays, and of one of which a tenth stays; and for as many
    events of a day of which more stays."""

    dropped_s: float
    replaced_s: float
    deleted_s: float
    events: int


def measure(
    records: int = RECORDS,
) -> tuple[Storing, dict[str, Reading], OldLog, Pruning]:
    """Make the same log in a file and in PostgreSQL, measure both, and delete them."""
    with tempfile.TemporaryDirectory() as folder, Server(SETTINGS) as server:
        make_template(server)
        keys, path = Keys(), Path(folder) / "log.sqlite"
        deal_long_log(path, list(_UNITS), records, keys)
        with open_store(path) as file:
            rows = {unit: list(file.rows(Filter(unit))) for unit in _UNITS}
        with new_log(server) as database:
            storing = _storing(database, rows)
            with open_store(path) as file, open_store(database.place()) as store:
                for document in _games(path):
                    store.keep_game(document)
                assert store.count() == file.count()
            both = {"file": _reading(path, keys), "postgres": _reading(database.place(), keys)}
        with new_log(server) as database:
            old = _old_log(database, rows[_UNITS[0]][:1000])
        with new_log(server) as database:
            return storing, both, old, _pruning(database, rows[_UNITS[0]])


def _games(path: Path) -> Iterable[bytes]:
    with open_store(path) as file, file.reading() as connection:
        return [document for (document,) in connection.execute("SELECT document FROM games")]


def _storing(database: Database, rows: Mapping[str, Sequence[Row]]) -> Storing:
    size = "SELECT pg_database_size(current_database())"
    with PostgresStore(database.place("logger")) as store, database.connect("postgres") as session:
        (before,) = session.execute(size).fetchone() or (0,)
        singles = [row._replace(unit="S") for row in rows[_UNITS[0]][:_SINGLES]]
        session.execute(
            "CREATE TABLE public.bare (unit int, number bigint, record bytea, mac bytea,"
            " PRIMARY KEY (unit, number))"
        )
        single = bare = 0.0
        for row in singles:  # in turns, so that both meet the same disk
            single += _seconds(lambda: store.take("S", [row], row.number - 1))  # noqa: B023
            given = (row.number, row.data, row.mac)
            bare += _seconds(
                lambda: session.execute("INSERT INTO public.bare VALUES (1, %s, %s, %s)", given)  # noqa: B023
            )
        batches = {
            batch: _take(store, f"B{batch}", rows[_UNITS[0]][: 20 * batch], batch)
            for batch in _BATCHES
        }
        total = sum(map(len, rows.values()))
        at_once_s = _seconds(
            lambda: _all_at_once(
                lambda unit=unit, its=its: _take(store, unit, its, _BATCHES[-1])  # type: ignore[misc]
                for unit, its in rows.items()
            )
        )
        (after,) = session.execute(size).fetchone() or (0,)
        stored = total + _SINGLES + sum(20 * batch for batch in _BATCHES)
        for unit in ("S", *(f"B{batch}" for batch in _BATCHES)):
            session.execute(
                "DELETE FROM sabot.records USING sabot.units"
                " WHERE records.unit = units.id AND units.unit = %s",
                (unit,),
            )
            session.execute(
                "DELETE FROM sabot.days USING sabot.units WHERE days.unit = id AND units.unit = %s",
                (unit,),
            )
            session.execute("DELETE FROM sabot.units WHERE unit = %s", (unit,))
    return Storing(
        _SINGLES / single, _SINGLES / bare, batches, total / at_once_s, (after - before) / stored
    )


def _take(store: PostgresStore, unit: str, rows: Sequence[Row], batch: int) -> float:
    """Store rows in batches; return how many a second."""
    begin_s = time.perf_counter()
    for at in range(0, len(rows), batch):
        store.take(unit, rows[at : at + batch], at)
    return len(rows) / (time.perf_counter() - begin_s)


def _all_at_once(calls: Iterable[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _reading(place: Place, keys: Keys) -> Reading:
    with open_store(place) as store:
        count = store.count()
        raw_s = _seconds(lambda: [sum(1 for _ in store.raw(unit)) for unit in _UNITS])
        rows_s = _seconds(lambda: sum(1 for _ in store.rows()))
    begin_s = time.perf_counter()
    findings, summary = verify_log(place, VerifyOptions(keys=keys))
    verified_s = time.perf_counter() - begin_s
    assert not findings, findings[:3]
    return Reading(count / raw_s, count / rows_s, summary.events / verified_s)


def _old_log(database: Database, rows: Sequence[Row]) -> OldLog:
    """A thousand units, of which one has an event on each day of two years."""
    with PostgresStore(database.place()) as store:
        for day in range(_DAYS):
            received = (_FIRST_DAY + day - date(1970, 1, 1).toordinal()) * _DAY_MS
            row = rows[day]._replace(shoe=1 + day, round=1)
            store.take("OLD", [row], day, received_unix_ms=received)
        for unit in range(_MANY):
            store.take(f"U{unit}", rows[:1])
        open_s = min(_seconds(lambda: open_store(database.place()).close()) for _ in range(_RUNS))
        follower = store.follower()
        follower.poll()

        def polled() -> float:
            store.take("NEW", [rows[0]])
            store.take("NEW", [rows[len(follower.poll())]])
            return _seconds(follower.poll)

        poll_s = min(polled() for _ in range(_RUNS))
        idle_s = min(_seconds(follower.poll) for _ in range(_RUNS))
        wanted = Filter("OLD", shoe=500, round=1)
        with open_store(database.place()) as other:
            first_s = _seconds(lambda: list(other.rows(wanted)))
        round_s = min(_seconds(lambda: list(store.rows(wanted))) for _ in range(_RUNS))
    return OldLog(*(1000 * each for each in (open_s, poll_s, idle_s, round_s, first_s)))


def _pruning(database: Database, rows: Sequence[Row]) -> Pruning:
    """Three days of as many events."""
    share = min(len(rows) // 3, 50_000)
    with PostgresStore(database.place()) as store:
        for day in range(3):
            its = rows[day * share : (day + 1) * share]
            for at in range(0, share, 5000):
                store.take(
                    "U", its[at : at + 5000], received_unix_ms=1_760_000_000_000 + day * _DAY_MS
                )
            if day == 2:  # more stays of this day
                for unit in ("STAYS", "TOO"):
                    for at in range(0, share, 5000):
                        store.take(
                            unit, rows[at : at + 5000],
                            received_unix_ms=1_760_000_000_000 + day * _DAY_MS,
                        )  # fmt: skip
        ends = (share, share + 9 * share // 10, 3 * share)
        begins = (1, share + 1, 2 * share + 1)
        seconds = [
            _seconds(lambda: store.prune_all([Removal("U", begin, end, b"stone")]))  # noqa: B023
            for begin, end in zip(begins, ends, strict=True)
        ]
    dropped_s, replaced_s, deleted_s = seconds
    return Pruning(dropped_s, replaced_s, deleted_s, share)


def _seconds(call: Callable[[], object]) -> float:
    begin_s = time.perf_counter()
    call()
    return time.perf_counter() - begin_s


def storing() -> list[Benchmark]:
    """The figures of `make bench`."""
    stored, reading, old, pruning = measure()
    file, here = reading["file"], reading["postgres"]
    largest = _BATCHES[-1]
    return [
        Benchmark(
            "events into PostgreSQL, a commit each", stored.single, "events/s",
            f"{stored.single / stored.bare:.0%} of a bare loop, {stored.bare:,.0f}",
        ),
        Benchmark(
            f"events into PostgreSQL, {largest:,} a commit", stored.batches[largest], "events/s",
            f"aim: 30,000; over two sessions {stored.two_sessions:,.0f}",
        ),
        Benchmark(
            "an event in PostgreSQL", stored.bytes_per_record, "bytes", "on disk, with indexes"
        ),
        Benchmark(
            "events out of PostgreSQL, raw", here.raw, "events/s", f"of a file {file.raw:,.0f}"
        ),
        Benchmark(
            "verify, two units in PostgreSQL", here.verified, "records/s",
            f"in a file {file.verified:,.0f}",
        ),
        Benchmark(
            f"PostgreSQL, {_DAYS} days and {_MANY:,} units: opened", old.open_ms, "ms",
            f"the newest of all units {old.poll_ms:.1f}, a round {old.round_ms:.1f}",
        ),
        Benchmark(
            f"PostgreSQL: {pruning.events:,} events pruned", pruning.dropped_s, "s",
            f"a tenth stays {pruning.replaced_s:.2f}, most stay {pruning.deleted_s:.2f}",
        ),
    ]  # fmt: skip


def main(
    records: Annotated[int, typer.Option(help="Of each of two units.")] = RECORDS,
) -> None:
    """Measure, and print, how fast a centre stores, reads and prunes."""
    stored, reading, old, pruning = measure(records)
    print_figures(stored)
    for each in reading.values():
        print_figures(each)
    print_figures(old)
    print_figures(pruning)


if __name__ == "__main__":
    run(main)
