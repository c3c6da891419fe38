"""How long a note of the desk takes while events are logged into a large log, and these meanwhile.

python -m sabot_hil.benchmarks.floor.noting --units 1000 --events 1500000
"""

import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from unittest.mock import patch

from host.tests.support.busy_floor import make_busy_floor
from sabot.desk.desk import Desk
from sabot.link.session import Record
from sabot.log.sqlite.store import SqliteStore
from sabot.log.store import Store, open_store
from sabot_hil.benchmarks import Benchmark
from sabot_hil.kit.runner import BUILD, print_figures, run

UNITS, EVENTS = 1000, 1_500_000
_LOGGED = 1000
_GAP_S = 1 / 200  # 200 events a second
_NOTED = 45
_NOTE_GAP_S = 0.1
_IDLE_EVERY = 20  # events after which the log has nothing else to do for a moment


@dataclass(frozen=True, slots=True)
class Noting:
    """Times in ms: that of one in two, and the longest."""

    alone_ms: tuple[float, float]
    """An event, without notes."""
    event_ms: tuple[float, float]
    """An event, while notes are written."""
    note_ms: tuple[float, float]
    checks: int
    """How often storing an event went through the whole log."""
    check_s: float
    """What that takes."""


def measure_noting(units: int = UNITS, events: int = EVENTS) -> Noting:
    """Make a log in build/, log into it while another process writes notes, and delete it."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        path = Path(folder) / "log.sqlite"
        more = make_busy_floor(path, units, events).more()
        with open_store(path) as store:
            Desk.make(store, Path(folder) / "keys", "ada", "four words of hers")
        checks: list[float] = []
        check = SqliteStore._check_contents

        def counted(store: SqliteStore) -> None:
            begin_s = time.perf_counter()
            check(store)
            checks.append(time.perf_counter() - begin_s)

        with (
            open_store(path, create=True) as store,
            multiprocessing.get_context("spawn").Pool(1) as pool,
            patch.object(SqliteStore, "_check_contents", counted),
        ):
            alone_ms = _logged(store, islice(more, _LOGGED))
            noting = pool.apply_async(_noted, (path,))
            event_ms = _logged(store, islice(more, _LOGGED))
            note_ms = noting.get()
            during = len(checks)
            assert isinstance(store, SqliteStore)
            counted(store)
        return Noting(alone_ms, event_ms, note_ms, during, checks[-1])


def noting() -> list[Benchmark]:
    """The figures for `make bench`."""
    done = measure_noting()
    busy = "200 events and 10 notes a second"
    through = f"the whole log gone through {done.checks} times, {done.check_s:.1f} s each"
    alone = f"{done.alone_ms[0]:.1f} without notes; longest {done.event_ms[1]:.0f}; {through}"
    return [
        Benchmark("desk: a note", done.note_ms[0], "ms", f"{busy}; longest {done.note_ms[1]:.0f}"),
        Benchmark("desk: an event meanwhile", done.event_ms[0], "ms", alone),
    ]


def _logged(store: Store, records: Iterator[tuple[str, Record]]) -> tuple[float, float]:
    """Store events at the pace of many tables, and do what a log does while it waits."""
    took: list[float] = []
    due_s = time.perf_counter()
    for at, (unit, record) in enumerate(records, 1):
        time.sleep(max(0.0, due_s - time.perf_counter()))
        begin_s = time.perf_counter()
        store.append(unit, [record])
        took.append(time.perf_counter() - begin_s)
        if at % _IDLE_EVERY == 0:
            store.derive()
            store.derive()
        due_s += _GAP_S
    return _ms(took)


def _noted(path: Path) -> tuple[float, float]:
    with open_store(path) as store:
        desk = Desk(store)
        took: list[float] = []
        for number in range(_NOTED):
            begin_s = time.perf_counter()
            desk.opened_round("U1", 1, number, by="ada")
            took.append(time.perf_counter() - begin_s)
            time.sleep(_NOTE_GAP_S)
    return _ms(took)


def _ms(took: list[float]) -> tuple[float, float]:
    return sorted(took)[len(took) // 2] * 1000, max(took) * 1000


def main(units: int = UNITS, events: int = EVENTS) -> None:
    """Measure, and print, how long notes and events take while both are written."""
    print_figures(measure_noting(units, events))


if __name__ == "__main__":
    run(main)
