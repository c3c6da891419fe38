"""The wall of a large floor in a real browser: how long from a commit to what is seen.

    python -m sabot_hil.benchmarks.floor.screens --tables 1000 --minutes 60

measures the memory of the server over an hour, too.
"""

import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from host.tests.support.browser import Browser, NoBrowser, browser
from host.tests.support.busy_floor import BusyFloor, make_busy_floor
from sabot.desk.desk import Desk
from sabot.log.store import open_store
from sabot_hil.benchmarks import Benchmark
from sabot_hil.kit.runner import print_figures, run

TABLES, EVENTS_PER_S, MINUTES = 1000, 200, 1.0
_EVENTS_BEFORE = 150  # of each table
_WARM_UP_S = 5.0
_LOAD_S = 180.0
_STOP_S = 10.0
_PASSWORD = "a password of the benchmark"
_KIB = 1024
_SABOT = str(Path(sys.executable).with_name("sabot"))

# Notes for each tile that is put on the page which event it shows and when it is painted, by the
# clock of this machine. Tiles are put there in an animation frame; the message comes after it.
_WATCH = """() => {
  window.seen = [];
  let put = [];
  const painted = new MessageChannel();
  painted.port1.onmessage = () => {
    const now = performance.timeOrigin + performance.now();
    for (const { unit, event } of put) window.seen.push([unit, Number(event), now]);
    put = [];
  };
  const wall = document.getElementById("wall");
  const note = (node) => {
    if (!put.length) painted.port2.postMessage(0);
    put.push({ ...node.dataset });
  };
  new MutationObserver((changes) => {
    for (const { target } of changes) note(target);
  }).observe(wall, { attributes: true, attributeFilter: ["data-event"], subtree: true });
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes)
      if (node.dataset?.event) note(node);
  }).observe(wall, { childList: true });
}"""
_IS_PAINTED = "() => performance.getEntriesByName('first-contentful-paint').length"
_FIRST_PAINT = """() => {
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  const [page] = performance.getEntriesByType("navigation");
  return [paint.startTime, page.domContentLoadedEventEnd, page.transferSize, page.decodedBodySize];
}"""


@dataclass(frozen=True, slots=True)
class ScreensMeasured:
    """What a browser with the wall of a floor saw."""

    commits: int
    events_per_s: float
    median_ms: float
    """From the end of a commit to the frame in which the tile is painted."""
    most_ms_of_99: float
    """The same: 99 % took at most so long."""
    longest_ms: float
    lost: int
    """Commits after which no tile was painted that shows the event or a later one."""
    loaded_s: float
    """From the start of the server until it had all tables."""
    first_paint_s: float
    """From the request of the wall until its first paint."""
    whole_page_s: float
    """Until all its tiles were there."""
    page_bytes: float
    """Of the wall, on the wire: its document alone, with the head of the answer."""
    unpacked_bytes: float
    """The same document as the browser reads it."""
    memory_begin_bytes: int
    memory_end_bytes: int
    server_share: float
    """Of one core, that the server took."""


def measure_screens(
    tables: int = TABLES, events_per_s: int = EVENTS_PER_S, minutes: float = MINUTES
) -> ScreensMeasured:
    """Serve a floor to a browser while events come. Raises NoBrowser without one."""
    with browser() as shown_in, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "floor.sqlite"
        floor = make_busy_floor(path, units=tables, events=tables * _EVENTS_BEFORE)
        with open_store(path, create=True) as store:
            Desk.make(store, path.with_suffix(".keys"), "admin", _PASSWORD)
        with _served(path) as (server, url):
            begin_s = time.monotonic()
            _sign_in(shown_in, url)
            _wait_until_loaded(shown_in, tables)
            loaded_s = time.monotonic() - begin_s
            page = shown_in.page
            page.goto(url)
            page.wait_for_function(_IS_PAINTED)
            first_ms, whole_ms, page_bytes, unpacked_bytes = page.evaluate(_FIRST_PAINT)
            page.evaluate(_WATCH)
            commits = _Commits(path, floor, events_per_s)
            commits.start()
            time.sleep(_WARM_UP_S)
            memory = _memory_bytes(server.pid)
            used_s, begin_s = _processor_s(server.pid), time.monotonic()
            time.sleep(60 * minutes)
            share = (_processor_s(server.pid) - used_s) / (time.monotonic() - begin_s)
            commits.stop()
            page.wait_for_timeout(2000)
            seen: list[tuple[str, int, float]] = page.evaluate("() => window.seen")
            ms, lost = _delays(commits.done, seen)
            return ScreensMeasured(
                len(commits.done),
                len(commits.done) / commits.took_s,
                float(np.median(ms)),
                float(np.percentile(ms, 99)),
                float(np.max(ms)),
                lost,
                loaded_s,
                first_ms / 1000,
                whole_ms / 1000,
                page_bytes,
                unpacked_bytes,
                memory,
                _memory_bytes(server.pid),
                share,
            )


def screens() -> list[Benchmark]:
    """The wall in a browser; only if there is one."""
    try:
        done = measure_screens()
    except NoBrowser as why:
        Console(stderr=True).print(f"screens left out: {why}")
        return []
    what = f"{TABLES:,} tables, {done.events_per_s:.0f} events/s, {done.lost} lost"
    return [
        Benchmark("wall: from commit to pixel, median", done.median_ms, "ms", f"aim: 100; {what}"),
        Benchmark("wall: the same, 99 % within", done.most_ms_of_99, "ms", "aim: 500"),
        Benchmark("wall: first paint", done.first_paint_s, "s", "aim: 1"),
        Benchmark(
            "wall: the page on the wire",
            done.page_bytes / 1000,
            "KB",
            f"aim: 200; {done.unpacked_bytes / 1000:,.0f} KB as the browser reads it",
        ),
        Benchmark("wall: all tables loaded", done.loaded_s, "s", "in the background"),
        Benchmark("wall: the server", 100 * done.server_share, "% of a core", what),
    ]


class _Commits:
    """Stores the events of a floor, each in a commit of its own, at a steady pace."""

    def __init__(self, path: Path, floor: BusyFloor, events_per_s: int) -> None:
        self.done: list[tuple[str, int, float]] = []
        """Unit and number of each event, and when it was durable, in ms since 1970."""
        self.took_s = 0.0
        self._path, self._floor, self._every_s = path, floor, 1 / events_per_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait until the last commit is done."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        begin_s = due_s = time.monotonic()
        with open_store(self._path, create=True) as store:
            for unit, record in self._floor.more():
                if self._ended.wait(max(0.0, due_s - time.monotonic())):
                    break
                due_s += self._every_s
                store.append(unit, [record])
                self.done.append((unit, record.event.number, time.time() * 1000))
        self.took_s = time.monotonic() - begin_s


def _delays(
    commits: list[tuple[str, int, float]], seen: list[tuple[str, int, float]]
) -> tuple[list[float], int]:
    """The time from each commit to the first tile that shows its event or a later one, in ms, and
    how many commits have none."""
    tiles: dict[str, list[tuple[int, float]]] = {}
    for unit, event, at_ms in seen:
        tiles.setdefault(unit, []).append((event, at_ms))
    found, lost = [], 0
    for unit, event, at_ms in commits:
        shown = [painted for number, painted in tiles.get(unit, ()) if number >= event]
        if shown:
            found.append(max(0.0, min(shown) - at_ms))
        else:
            lost += 1
    return found, lost


def _sign_in(shown_in: Browser, url: str) -> None:
    page = shown_in.page
    page.goto(f"{url}sign-in")
    page.fill("input[name=name]", "admin")
    page.fill("input[type=password]", _PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector("#wall")


def _wait_until_loaded(shown_in: Browser, tables: int) -> None:
    """Wait, on the wall, until each table has appeared."""
    shown_in.page.wait_for_function(
        "count => document.querySelectorAll('.tile').length === count",
        arg=tables,
        timeout=1000 * _LOAD_S,
    )


@contextmanager
def _served(path: Path) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """`sabot serve` of a log: the process, and its address."""
    printed = path.with_suffix(".out")
    command = [_SABOT, "serve", "--db", str(path), "--listen", "127.0.0.1:0"]
    with (
        printed.open("wb") as out,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out) as server,
    ):
        try:
            give_up_s = time.monotonic() + _LOAD_S
            while not (found := re.findall(r"http://\S+/", printed.read_text())):
                assert server.poll() is None and time.monotonic() < give_up_s, printed.read_text()
                time.sleep(0.05)
            yield server, found[0]
        finally:
            server.terminate()
            server.wait(_STOP_S)


def _memory_bytes(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    (kib,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
    return int(kib) * _KIB


def _processor_s(process: int) -> float:
    """Processor time of a process so far (proc(5), fields 14 and 15, in hundredths)."""
    fields: list[Any] = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def main(tables: int = TABLES, events_per_s: int = EVENTS_PER_S, minutes: float = MINUTES) -> None:
    """Measure, and print, how long the screens of a large floor take."""
    print_figures(measure_screens(tables, events_per_s, minutes))


if __name__ == "__main__":
    run(main)
