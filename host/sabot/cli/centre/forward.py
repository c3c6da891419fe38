"""`sabot forward`: sends the log of a site to the centre."""

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TextColumn

from sabot.centre.alarms import Alarm
from sabot.centre.forwarder import Forwarder
from sabot.centre.postgres_centre import PostgresCentre
from sabot.centre.progress import Progress
from sabot.centre.site_log import SiteLog
from sabot.cli import options
from sabot.cli.centre.stopping import ctrl_c_stops
from sabot.cli.interrupted import left_by
from sabot.cli.measured import Metrics, measured
from sabot.cli.view import console, problems, progress
from sabot.errors import Interrupted, SabotError
from sabot.keys import signing
from sabot.log.place import Address, place_of
from sabot.log.store import open_store
from sabot.metrics.forward_metrics import ForwardMetrics
from sabot.metrics.log_metrics import LogMetrics
from sabot.receipts import kept
from sabot.silences import FORWARDING
from sabot.terminal import plain
from sabot.text import counted, local_time

_RATE_OVER_S = 10.0
_SAID_EVERY_S = 60.0
_LOOK_S = 5.0


def forward(
    to: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The centre: postgresql://role@host/name.")
    ],
    notary: Annotated[
        list[Path],
        typer.Option(
            metavar="NAME.pub.pem",
            help="Public key of the centre's notary; may be repeated when the key changes.",
        ),
    ],
    db: options.Db = options.DEFAULT_DB,
    once: Annotated[
        bool,
        typer.Option("--once", help="Send what is in the log now, wait for its receipts, end."),
    ] = False,
    metrics: Metrics = None,
) -> None:
    """Send the log of a site to the centre, over a link that may fail, and keep the receipts.

    Each event is sent in order, and stored at the centre once. What the two sides have under the
    same number must be equal: if it is not, both stay as they are, the centre has an alarm, and
    other units go on (exit code 38 with --once). Ctrl-C ends it between two batches.
    """
    centre = place_of(to)
    if not isinstance(centre, Address):
        raise typer.BadParameter(f"{to} is not the address of a PostgreSQL database")
    notaries = [signing.load_public(path) for path in notary]
    figures = ForwardMetrics()
    with open_store(db) as store, closing(SiteLog(store)) as log, ctrl_c_stops() as stopping:
        store.convert()
        store.watch()
        kept.note_forwarding(store, str(centre))
        if metrics is not None:
            figures.receipts.know(store)
        with ExitStack() as ends:
            progress_ = ends.enter_context(closing(Progress(store)))
            ends.enter_context(measured(metrics, LogMetrics(store), figures))
            figures.progress = progress_
            shown = ends.enter_context(_Shown(centre, figures, progress_))
            ends.enter_context(_told_if_stuck(progress_))
            forwarder = Forwarder(
                log, lambda: PostgresCentre(centre), notaries, shown, stopping, once=once
            )
            forwarder.run()
        console.print(plain(f"{db}: {shown.summary()}"), soft_wrap=True)
    if stopping.is_set():
        if once:
            raise Interrupted(f"interrupted: {db}: {left_by('forward')}")
        problems.print(plain(f"{db}: {left_by('forward')}"))
        return
    forwarder.check()


@contextmanager
def _told_if_stuck(of: Progress) -> Iterator[None]:
    """Within, say so once for each time in which events wait and none goes, whatever the forwarder
    waits for meanwhile."""
    ended = threading.Event()

    def look() -> None:
        said = False
        while not ended.wait(_LOOK_S):
            try:
                events, for_s = of.stuck()
            except SabotError:
                continue  # the forwarder says what is wrong with the log
            if for_s < FORWARDING.after_s:
                said = False
            elif not said:
                said = True
                problems.print(plain(FORWARDING.say(events=f"{events:,}", seconds=f"{for_s:.0f}")))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class _Shown:
    """What the forwarder does, on a screen all the time, else a line now and then; and for
    Prometheus."""

    def __init__(self, centre: Address, figures: ForwardMetrics, progress_: Progress) -> None:
        self._centre = centre
        self._figures = figures
        self._progress = progress_
        self._bar = progress(TextColumn("{task.description}"))
        self._task = self._bar.add_task("connecting", total=None)
        self._left = 0
        self._sent = 0
        self._units: set[str] = set()
        self._receipts: dict[str, int] = {}
        self._receipted_unix_ms: int | None = None
        self._recent: deque[tuple[float, int]] = deque()
        self._said_s = -_SAID_EVERY_S
        self._caught_up = False
        self._has_begun = False

    def __enter__(self) -> "_Shown":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def summary(self) -> str:
        """What was done, for people."""
        units = counted(len(self._units), "unit")
        receipted = counted(len(self._receipts), "unit")
        return (
            f"{counted(self._sent, 'event')} of {units} sent, "
            f"{counted(self._left, 'event')} left; "
            f"new receipts of {receipted}"
        )

    def said(self, line: str) -> None:
        problems.print(plain(line))

    def connected(self, is_connected: bool) -> None:
        self._figures.connected(is_connected)
        if is_connected and not self._has_begun:
            self._has_begun = True
            self.said(f"forwarding to {self._centre}")
        if not is_connected:
            self._bar.update(self._task, description="no connection to the centre; trying again")

    def batch(self, unit: str, records: int, took_s: float) -> None:
        self._figures.batch(records, took_s)
        self._sent += records
        self._units.add(unit)
        self._recent.append((time.monotonic(), records))

    def open_alarms(self, by_kind: Mapping[str, int]) -> None:
        self._figures.alarms.open_now(by_kind)

    def reached(self, numbers: Mapping[str, int], newest: Mapping[str, int]) -> None:
        self._progress.reached(numbers)
        there = [unit for unit, number in numbers.items() if number > 0]
        self._figures.receipts.awaited(there, time.time_ns() // 1_000_000)
        waiting = sum(max(0, last - numbers.get(unit, 0)) for unit, last in newest.items())
        self._left = waiting
        self._bar.update(self._task, description=self._line(waiting))
        now_s = time.monotonic()
        if self._bar.disable and now_s - self._said_s >= _SAID_EVERY_S:
            if waiting or not self._caught_up:
                self._said_s = now_s
                self.said(self._line(waiting))
        self._caught_up = not waiting

    def receipt(self, unit: str, number: int, unix_ms: int) -> None:
        self._figures.receipts.receipt(unit, number, unix_ms)
        self._receipts[unit] = number
        self._receipted_unix_ms = max(unix_ms, self._receipted_unix_ms or 0)

    def alarm(self, alarm: Alarm) -> None:
        self._figures.alarms.alarm(alarm.kind)
        self.said(f"ALARM {alarm.unit} event {alarm.number}: {alarm.kind}: {alarm.detail}")

    def _line(self, waiting: int) -> str:
        now_s = time.monotonic()
        while self._recent and now_s - self._recent[0][0] > _RATE_OVER_S:
            self._recent.popleft()
        in_s = max(1.0, now_s - self._recent[0][0]) if self._recent else 1.0
        rate = sum(records for _, records in self._recent) / in_s
        left = f", {_duration(waiting / rate)} to go" if waiting and rate > 0 else ""
        signed = self._receipted_unix_ms
        receipt = "no receipt yet" if signed is None else f"last receipt {local_time(signed)}"
        return f"{counted(waiting, 'event')} to send, {rate:,.0f} a second{left}; {receipt}"


def _duration(seconds: float) -> str:
    minutes, hours = seconds / 60, seconds / 3600
    if hours >= 2:
        return f"{hours:.0f} hours"
    return f"{minutes:.0f} min" if minutes >= 2 else f"{seconds:.0f} s"
