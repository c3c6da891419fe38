"""A thousand shoes in twenty sites, and what a centre of them takes.

    python -m sabot_hil.benchmarks.centre.load [--shoes N] [--sites N] [--events N] [--seconds N]

Everything runs on this machine: the sites' forwarders, the server and the notary share its cores.
The records are dealt by the firmware's code, with right MACs (`chained_floor.py`).
"""

import multiprocessing
import random
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sabot.log.store import open_store
from sabot_hil.benchmarks import Benchmark
from sabot_hil.benchmarks.centre.chained_floor import Floor
from sabot_hil.benchmarks.centre.running import Centre
from sabot_hil.kit.centre.postgres import server_folder
from sabot_hil.kit.centre.programs import NOTARY_ROLE, run_sabot
from sabot_hil.kit.runner import print_figures, run

SHOES, SITES = 1000, 20
EVENTS = 600  # of each shoe, that wait at the sites
_PER_S = 444  # events of a thousand tables
_LAG_S = 30.0
_POLL_S = 0.01
_SETTLE_S = 2.0

_Commit = tuple[str, int, float]
"""Unit and number of an event, and when it was durable at its site, by the monotonic clock."""


@dataclass(frozen=True, slots=True)
class Sustained:
    """How quickly records that wait at the sites come to the centre."""

    shoes: int
    records: int
    per_s: float
    """From the start of the forwarders until the last of them."""
    forwarders_us: float
    """Processor time for each record, and so for the next two."""
    server_us: float
    notary_us: float
    bytes_per_record: float
    """On the centre's disk, with indexes."""


@dataclass(frozen=True, slots=True)
class ChainSpeed:
    """Records a second whose chains are checked, on all cores."""

    notary_per_s: float
    verify_per_s: float
    """Of `sabot verify` over the log of one site, which checks the play as well."""


@dataclass(frozen=True, slots=True)
class Lag:
    """From the end of a commit at a site until the centre has committed it too."""

    events_per_s: float
    median_ms: float
    most_ms_of_99: float
    most_ms: float


def sustained(centre: Centre, records: int, shoes: int) -> Sustained:
    """Let the sites send `records` that wait there to a centre that has none."""
    before = centre.processor_s()
    bytes_before = centre.size_bytes()
    centre.start_notary(keys=False)
    centre.start_forwarders()
    seen = centre.wait_for(records)
    after = centre.processor_s()
    us = {name: 1e6 * (after[name] - before[name]) / records for name in after}
    return Sustained(
        shoes, records, rate(seen), us["forwarders"], us["server"], us["notary"],
        (centre.size_bytes() - bytes_before) / records,
    )  # fmt: skip


def rate(seen: Sequence[tuple[float, int]]) -> float:
    """Records a second from the first look until the last, with the start of each site."""
    (begin_s, first), (end_s, last) = seen[0], seen[-1]
    return (last - first) / (end_s - begin_s)


def chain_speed(centre: Centre, floor: Floor, records: int) -> ChainSpeed:
    """Check the chains of what a centre has, and verify the log of a site."""
    assert centre.notary is not None
    centre.notary.kill()
    centre.server.sql("TRUNCATE sabot.receipts")
    address = centre.server.address(NOTARY_ROLE)
    begin_s = time.perf_counter()
    run_sabot("notary", "--db", address, "--key", centre.key, "--keys", floor.keys, "--once")
    notary_s = time.perf_counter() - begin_s
    log = next(iter(floor.logs.values()))
    begin_s = time.perf_counter()
    run_sabot("verify", "--db", log, "--keys", floor.keys, "--elsewhere", "*")
    verify_s = time.perf_counter() - begin_s
    return ChainSpeed(records / notary_s, records / len(floor.logs) / verify_s)


def lag(centre: Centre, floor: Floor, *, per_s: float, seconds: float) -> Lag:
    """Let all sites log so many events a second, and look when each is at the centre."""
    here, there = multiprocessing.Pipe()
    writer = multiprocessing.get_context("fork").Process(
        target=_log_evenly, args=(floor, per_s, seconds, there)
    )
    writer.start()
    arrived: list[tuple[float, dict[str, int]]] = []
    commits: list[_Commit] = []
    before = dict(centre.heads())
    try:
        while True:
            if not commits and here.poll():
                commits = here.recv()
                wanted = {unit: number for unit, number, _ in commits}
            heads = centre.heads()
            now_s = time.monotonic()
            arrived.append((now_s, {u: n for u, n in heads.items() if before.get(u) != n}))
            before.update(arrived[-1][1])
            if commits and all(before.get(unit, 0) >= number for unit, number in wanted.items()):
                break
            time.sleep(_POLL_S)
    finally:
        writer.join(10)
        writer.kill()
    lags = np.sort(_lags(commits, arrived)) * 1000
    spent_s = max(at for *_, at in commits) - min(at for *_, at in commits)
    return Lag(
        len(commits) / spent_s, float(np.median(lags)), float(np.quantile(lags, 0.99)),
        float(lags[-1]),
    )  # fmt: skip


def _lags(
    commits: Sequence[_Commit], arrived: Sequence[tuple[float, dict[str, int]]]
) -> Sequence[float]:
    """For each commit the time until the first look that saw it."""
    waiting: dict[str, list[tuple[int, float]]] = {}
    for unit, number, at_s in commits:
        waiting.setdefault(unit, []).append((number, at_s))
    lags = []
    for now_s, heads in arrived:
        for unit, newest in heads.items():
            left = waiting.get(unit, [])
            while left and left[0][0] <= newest:
                lags.append(now_s - left.pop(0)[1])
    return lags


def _log_evenly(floor: Floor, per_s: float, seconds: float, done: Connection) -> None:
    """Log at every site one event after the other, of any shoe; send when each was durable."""
    commits: list[_Commit] = []
    begin_s = time.monotonic() + _SETTLE_S
    share = per_s / len(floor.logs)

    def log_at(role: str, log: Path) -> None:
        rng = random.Random(role)
        with open_store(log, create=True) as store:
            for at in range(round(share * seconds)):
                early_s = begin_s + (at + rng.random()) / share - time.monotonic()
                if early_s > 0:
                    time.sleep(early_s)
                shoe = rng.choice(floor.shoes[role])
                (record,) = shoe.take(1)
                store.append(shoe.name, [record])
                commits.append((shoe.name, record.event.number, time.monotonic()))

    with ThreadPoolExecutor(len(floor.logs)) as pool:
        for each in [pool.submit(log_at, *site) for site in floor.logs.items()]:
            each.result()
    done.send(commits)


def measure_load(
    shoes: int = SHOES, sites: int = SITES, events: int = EVENTS, lag_s: float = _LAG_S
) -> tuple[Sustained, ChainSpeed, Lag]:
    """Make a floor and a centre, measure all of it, and delete them."""
    with tempfile.TemporaryDirectory() as own, server_folder() as folder:
        floor = Floor(Path(own), sites=sites, shoes=shoes)
        records = floor.log_more(events)
        with Centre(folder, floor) as centre:
            first = sustained(centre, records, shoes)
            chain = chain_speed(centre, floor, records)
            centre.start_notary(keys=True)
            return first, chain, lag(centre, floor, per_s=_PER_S, seconds=lag_s)


def centre_load() -> list[Benchmark]:
    """The figures of `make bench`."""
    taken, chain, late = measure_load()
    name = f"centre of {taken.shoes} shoes"
    return [
        Benchmark(f"{name}: taken", taken.per_s, "events/s", "aim: at least 10,000"),
        Benchmark(f"{name}: a forwarder", taken.forwarders_us, "us/event", "of one core"),
        Benchmark(f"{name}: the server", taken.server_us, "us/event", "of one core"),
        Benchmark(
            f"{name}: chains checked", chain.notary_per_s, "events/s",
            f"`verify` of a site's log: {chain.verify_per_s:,.0f}",
        ),
        Benchmark(
            f"{name}: from shoe to centre", late.most_ms_of_99, "ms, 99 of 100",
            f"aim: 2,000 at {_PER_S} events/s; median {late.median_ms:.0f}",
        ),
    ]  # fmt: skip


def main(
    shoes: int = SHOES,
    sites: int = SITES,
    events: Annotated[int, typer.Option(help="Of each shoe.")] = EVENTS,
    seconds: Annotated[float, typer.Option(help="Of logging evenly.")] = _LAG_S,
) -> None:
    """Measure, and print, how a centre takes the records of many shoes, and how far it lags."""
    for each in measure_load(shoes, sites, events, seconds):
        print_figures(each)


if __name__ == "__main__":
    run(main)
