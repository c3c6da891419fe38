"""How long the index of rounds takes to be made, and each kind of query in it, in a large log.

python -m sabot_hil.benchmarks.floor.searching --units 1000 --events 1500000
"""

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from host.tests.support.busy_floor import make_busy_floor
from sabot.floor.rounds.index import RoundIndex
from sabot.floor.rounds.proof import Prover
from sabot.floor.rounds.round_view import Sources
from sabot.floor.rounds.search import Query
from sabot.floor.rounds.search_line import Known, read_line
from sabot.log.store import Store, open_store
from sabot.table_time import zone_of
from sabot_hil.benchmarks import Benchmark
from sabot_hil.kit.runner import BUILD, run

UNITS, EVENTS = 1000, 1_500_000
_RUNS = 5
_AT_ONCE = 50  # as on a page
_POLL_S = 0.02
_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Searching:
    """What an index took for a log of `events` events."""

    events: int
    rounds: int
    first_rounds_s: float
    """Until the first rounds could be searched."""
    elapsed_s: float
    """Until all could."""
    own_s: float
    """Processor time of this process, which serves meanwhile."""
    helpers_s: float
    """Processor time of the processes that help."""
    memory_bytes: int
    """Of this process, more than before."""
    queries_ms: Mapping[str, float]
    """By what is asked: the longest of some runs."""
    round_ms: float
    """A whole round with its proof, the longest of some."""


def measure_searching(units: int = UNITS, events: int = EVENTS) -> Searching:
    """Make a log in build/, index it in a process of its own, search it, and delete it."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        path = Path(folder) / "log.sqlite"
        make_busy_floor(path, units, events)
        # Not a `Pool`: its processes may have no helpers of their own.
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            return pool.submit(_measure, path).result()


def searches() -> list[Benchmark]:
    """The figures for `make bench`."""
    done = measure_searching()
    what = f"{done.events:,} events, {done.rounds:,} rounds"
    work = f"{done.own_s:.1f} s of the server's processor time, {done.helpers_s:.0f} s of others"
    return [
        Benchmark("index of rounds: complete", done.elapsed_s, "s", f"{what}; {work}"),
        Benchmark("index of rounds: its memory", done.memory_bytes / 1e6, "MB", what),
        *(
            Benchmark(f"search: {name}", ms, "ms", "aim: 1,000; the longest of five")
            for name, ms in done.queries_ms.items()
        ),
        Benchmark("a round with its proof", done.round_ms, "ms", "the longest of five"),
    ]


def _measure(path: Path) -> Searching:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open_store(path) as store:
        events = store.count()
        begin_s, own_s, first_s = time.perf_counter(), time.process_time(), 0.0
        with RoundIndex(store) as index:
            while not index.progress.complete:
                time.sleep(_POLL_S)
                if not first_s and index.counts()[0]:
                    first_s = time.perf_counter() - begin_s
            elapsed_s = time.perf_counter() - begin_s
            own_s = time.process_time() - own_s
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            queries = {name: _longest_ms(index, query) for name, query in _queries(index).items()}
            round_ms = _round_ms(store, index)
            rounds, _ = index.counts()
    helpers = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Searching(
        events, rounds, first_s, elapsed_s, own_s, helpers.ru_utime + helpers.ru_stime,
        1024 * memory, queries, round_ms,
    )  # fmt: skip


def _queries(index: RoundIndex) -> dict[str, Query]:
    """A query of each kind."""
    now, zone = time.time_ns() // 1_000_000, zone_of("UTC")
    known = Known(index.tables(), index.units())
    hour = Query(begin_unix_ms=now - 2 * _HOUR_MS, end_unix_ms=now - _HOUR_MS)
    where = f'table "{known.tables[0]}"' if known.tables else f'unit "{known.units[0]}"'
    asked = {
        "table": where,
        "round": "shoe 1 round 12",
        "cards": "7H 9D KS",
        "ranks": "cards 7 9 A 2",
        "winner": "tie",
        "outcome": "player pair, tie",
        "incident": "by hand, any incident",
        "entered by hand": "by hand",
        "void": "void",
        "nothing": f"{where}, 7H 7H 7H 7H",
    }
    queries = {name: read_line(text, known, zone, now) for name, text in asked.items()}
    return {"all": Query(), "table time": hour, **queries}


def _longest_ms(index: RoundIndex, query: Query) -> float:
    """How long a page of results takes, the longest of some."""
    longest = 0.0
    for _ in range(_RUNS):
        begin_s = time.perf_counter()
        found, _ = index.rounds(query, _AT_ONCE)
        index.kinds_of(found)
        if query.incident is not None:
            index.incidents(query, _AT_ONCE)
        longest = max(longest, 1000 * (time.perf_counter() - begin_s))
    return longest


def _round_ms(store: Store, index: RoundIndex) -> float:
    sources = Sources(store, index, Prover(), zone_of("UTC"))
    found, _ = index.rounds(Query(), _RUNS)
    longest = 0.0
    for each in found:
        begin_s = time.perf_counter()
        assert sources.view(each.unit, each.row.shoe, each.row.round) is not None
        longest = max(longest, 1000 * (time.perf_counter() - begin_s))
    return longest


def main(
    units: int = UNITS,
    events: int = EVENTS,
    db: Annotated[Path | None, typer.Option(help="A log that is there already.")] = None,
) -> None:
    """Measure, and print, how long the index of rounds takes, and each kind of query in it."""
    done = measure_searching(units, events) if db is None else _measure(db)
    print(
        f"{done.events:,} events, {done.rounds:,} rounds: the first after {done.first_rounds_s:.1f}"
        f" s, all after {done.elapsed_s:.1f} s; {done.own_s:.1f} s of the server's processor time,"
        f" {done.helpers_s:.1f} s of others, {done.memory_bytes / 1e6:.0f} MB"
    )
    for name, ms in done.queries_ms.items():
        print(f"{name:16} {ms:6.0f} ms")
    print(f"{'a round':16} {done.round_ms:6.0f} ms")


if __name__ == "__main__":
    run(main)
