"""How a floor of a thousand tables follows its log: without a browser, and without a server.

python -m sabot_hil.benchmarks.floor.following --units 1000 --events 1500000 --seconds 60
"""

import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from host.tests.support.busy_floor import BusyFloor, make_busy_floor
from sabot.floor.live import Floor
from sabot.floor.live_table import LiveTable
from sabot.log.reveal import ShownGames
from sabot.log.store import open_store
from sabot_hil.benchmarks import Benchmark
from sabot_hil.kit.runner import BUILD, print_figures, run

UNITS, EVENTS, SECONDS, EVENTS_PER_S = 1000, 1_500_000, 20.0, 200
_POLL_S = 0.005
_SETTLE_S = 2.0
_PAGE_BYTES = 4096
_PARTS = 6  # of the hour
_EVENTS_BEFORE = 1500  # of each unit: more than a shoe of cards

_Commit = tuple[str, int, float]
"""Unit and number of an event, and when it was durable, by the monotonic clock."""


@dataclass(frozen=True, slots=True)
class Following:
    """What a floor took for a log of many units."""

    first_tile_s: float
    all_tiles_s: float
    all_tiles_processor_s: float
    memory_bytes: int
    """Of the whole process, when all tables were loaded."""
    idle_share: float
    """Of one core, while nothing is stored."""
    events_per_s: float
    share: float
    """Of one core, while so many events a second are stored."""
    median_ms: float
    """From the end of a commit until a tile has its event."""
    most_ms_of_99: float


@dataclass(frozen=True, slots=True)
class Hour:
    """What the tables take for an hour of events."""

    events: int
    us_per_event: float
    """Processor time: decoded, followed, looked at for alerts, and its tile made."""
    memory_bytes: tuple[int, ...]
    """Of the process at each sixth of the hour, from its begin on."""


def measure_following(
    units: int = UNITS, events: int = EVENTS, seconds: float = SECONDS, per_s: int = EVENTS_PER_S
) -> Following:
    """Make a log in build/, follow it while another process writes to it, and delete it."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        path = Path(folder) / "log.sqlite"
        busy = make_busy_floor(path, units, events)
        here, there = multiprocessing.Pipe()
        # Copied before there are threads, with the units as they are now.
        writer = multiprocessing.get_context("fork").Process(
            target=_write, args=(path, busy, per_s, seconds, there)
        )
        writer.start()
        with open_store(path) as store:
            floor = Floor(store)
            begin_s, used_s = time.monotonic(), time.process_time()
            floor.start()
            first_s = _wait_for(floor, 1) - begin_s
            all_s = _wait_for(floor, units) - begin_s
            all_processor_s = time.process_time() - used_s
            memory = memory_bytes()
            time.sleep(_SETTLE_S)
            idle = _share(seconds / 4)
            seen: list[_Commit] = []
            at = floor.version

            def note(version: int) -> None:
                nonlocal at
                now_s = time.monotonic()
                tables = [tile.table for tile in floor.changed(at)]
                seen.extend((each.unit, each.last_event, now_s) for each in tables)
                at = version

            floor.listen(note)
            here.send("begin")
            share = _share(seconds)
            commits: list[_Commit] = here.recv()
            time.sleep(_SETTLE_S)
            floor.stop()
        writer.join()
        delays = list(_delays_ms(commits, seen))
    took_s = commits[-1][2] - commits[0][2]
    return Following(
        first_s,
        all_s,
        all_processor_s,
        memory,
        idle,
        len(commits) / took_s,
        share,
        float(np.median(delays)),
        float(np.percentile(delays, 99)),
    )


def following() -> list[Benchmark]:
    """The floor by itself, and an hour of its events."""
    done, hour = measure_following(), measure_hour()
    what = f"{UNITS:,} tables, {done.events_per_s:.0f} events/s"
    loaded = f"{UNITS:,} tables, {EVENTS:,} events, in the background"
    grown = (hour.memory_bytes[-1] - hour.memory_bytes[1]) / 1e6
    return [
        Benchmark("floor: first table", done.first_tile_s, "s", loaded),
        Benchmark("floor: all tables", done.all_tiles_s, "s", loaded),
        Benchmark("floor: from commit to tile, median", done.median_ms, "ms", what),
        Benchmark("floor: the same, 99 % within", done.most_ms_of_99, "ms", what),
        Benchmark("floor: its share", 100 * done.share, "% of a core", what),
        Benchmark("floor: an event", hour.us_per_event, "us", "aim: well below 1000"),
        Benchmark("floor: memory grown", grown, "MB", f"after 10 min, by {hour.events:,} events"),
    ]


def measure_hour(units: int = UNITS, events: int = EVENTS_PER_S * 3600) -> Hour:
    """Follow the events of an hour as fast as it goes, with the tables alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.sqlite"
        busy = make_busy_floor(path, units, units * _EVENTS_BEFORE)
        with open_store(path) as store:
            games = ShownGames(store.game)
            live = {unit.name: LiveTable(unit.name, games) for unit in busy.units}
            for unit, table in live.items():
                table.add(store.raw(unit))
                table.alerts(0)
    memory, used_s = [memory_bytes()], 0.0
    for count, (unit, record) in enumerate(islice(busy.more(), events), 1):
        begin_s = time.process_time()
        table = live[unit]
        table.add([(record.event.number, record.data, record.mac)])
        table.alerts(0)
        shown = table.table
        used_s += time.process_time() - begin_s
        assert shown.last_event == record.event.number
        if count % (events // _PARTS) == 0:
            memory.append(memory_bytes())
    return Hour(events, used_s / events * 1e6, tuple(memory))


def _write(path: Path, busy: BusyFloor, per_s: int, seconds: float, pipe: Connection) -> None:
    """Store events at a steady pace, each in a commit of its own, once it is begun."""
    pipe.recv()
    done: list[_Commit] = []
    with open_store(path, create=True) as store:
        begin_s = time.monotonic()
        for unit, record in islice(busy.more(), round(per_s * seconds)):
            time.sleep(max(0.0, begin_s + len(done) / per_s - time.monotonic()))
            store.append(unit, [record])
            done.append((unit, record.event.number, time.monotonic()))
    pipe.send(done)


def _wait_for(floor: Floor, units: int) -> float:
    while len(floor.tiles()) < units:
        time.sleep(_POLL_S)
    return time.monotonic()


def _share(seconds: float) -> float:
    """The share of one core that this process takes while so many seconds pass."""
    begin_s, used_s = time.monotonic(), time.process_time()
    time.sleep(seconds)
    return (time.process_time() - used_s) / (time.monotonic() - begin_s)


def _delays_ms(commits: list[_Commit], seen: list[_Commit]) -> Iterator[float]:
    tiles: dict[str, list[tuple[int, float]]] = {}
    for unit, number, at_s in seen:
        tiles.setdefault(unit, []).append((number, at_s))
    for unit, number, at_s in commits:
        shown = [seen_s for newest, seen_s in tiles.get(unit, ()) if newest >= number]
        assert shown, f"{unit}: event {number} was never shown"
        yield 1000 * max(0.0, shown[0] - at_s)


def memory_bytes() -> int:
    """The memory of this process that is in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES


def main(
    units: int = UNITS,
    events: int = EVENTS,
    seconds: float = SECONDS,
    per_s: int = EVENTS_PER_S,
    hour: Annotated[bool, typer.Option("--hour", help="Measure an hour of events, too.")] = False,
) -> None:
    """Measure, and print, how a floor loads and follows its log."""
    print_figures(measure_following(units, events, seconds, per_s))
    if hour:
        print_figures(measure_hour(units, per_s * 3600))


if __name__ == "__main__":
    run(main)
