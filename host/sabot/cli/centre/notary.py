"""`sabot notary`: signs receipts for what the centre has."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TextColumn

from sabot.centre.alarms import Alarm
from sabot.centre.checks.checkers import Checkers
from sabot.centre.notary import Notary
from sabot.centre.pace import BackOff
from sabot.centre.postgres_centre import PostgresCentre
from sabot.cli import options
from sabot.cli.centre.stopping import ctrl_c_stops
from sabot.cli.interrupted import left_by
from sabot.cli.key_files import default_keys, load_private_key
from sabot.cli.measured import Metrics, measured
from sabot.cli.view import console, problems, progress
from sabot.errors import (
    FINDINGS,
    DatabaseLocked,
    DatabaseUnusable,
    DiskFull,
    Interrupted,
    NoDatabaseServer,
)
from sabot.keys.chain_keys import Keys
from sabot.keys.signing import PrivateKey, fingerprint, public_of
from sabot.log.place import Address
from sabot.log.postgres.store import PostgresStore
from sabot.log.store import open_store
from sabot.metrics.forward_metrics import NotaryMetrics
from sabot.metrics.log_metrics import LogMetrics
from sabot.terminal import plain
from sabot.text import counted, local_time

_MOST_S = 86_400


def notary(
    key: Annotated[
        Path, typer.Option(metavar="NAME.pem", help="Private key that signs the receipts.")
    ],
    db: options.Db = options.DEFAULT_DB,
    keys: options.KeyFile = None,
    every: Annotated[
        int, typer.Option(min=1, max=_MOST_S, metavar="SECONDS", help="How often to sign.")
    ] = 60,
    once: Annotated[
        bool, typer.Option("--once", help="Sign for what is there now, then end.")
    ] = False,
    metrics: Metrics = None,
) -> None:
    """Check what the centre has taken of each unit, and sign a receipt for it.

    The numbers of all events are checked, and with the units' keys the audit chain. What is wrong
    becomes an alarm of the centre; with --once the exit code is then 1. Ctrl-C ends it.
    """
    if not isinstance(db, Address):
        raise typer.BadParameter("--db must be the address of the centre: postgresql://host/name")
    private = load_private_key(key)
    known = default_keys(keys)
    shown = _Shown()
    with ctrl_c_stops() as stopping:
        if once:
            _look_once(db, private, known, shown, stopping.is_set)
        else:
            signer = fingerprint(public_of(private))
            console.print(plain(f"{db}: signing with {signer}"), soft_wrap=True)
            _go_on(db, private, known, shown, every, metrics, stopping)
    if stopping.is_set() and once:
        raise Interrupted(f"interrupted: {db}: {left_by('notary')}")
    if not once:
        problems.print(plain(f"{db}: {left_by('notary')}"))
    elif shown.alarms:
        raise typer.Exit(FINDINGS)


def _look_once(
    db: Address,
    private: PrivateKey,
    keys: Keys | None,
    shown: "_Shown",
    stopped: Callable[[], bool],
) -> None:
    with PostgresStore(db) as store, Checkers(db, keys) as checkers, PostgresCentre(db) as centre:
        maker = Notary(store, private, keys, checkers, centre, shown)
        signed = maker.look()
        while maker.is_behind and not stopped():
            signed += maker.look()
    console.print(plain(f"{db}: {counted(signed, 'receipt')} signed"), soft_wrap=True)


def _go_on(
    db: Address,
    private: PrivateKey,
    keys: Keys | None,
    shown: "_Shown",
    every_s: int,
    metrics: str | None,
    stopping: threading.Event,
) -> None:
    """Sign until stopped. A server that is gone, or is not there yet, is waited for."""
    back_off, was_connected, is_lost = BackOff(), False, False
    with Checkers(db, keys) as checkers, shown, ExitStack() as served:
        while not stopping.is_set():
            try:
                with PostgresStore(db) as store, PostgresCentre(db) as centre:
                    if not was_connected:
                        _serve(db, metrics, shown, served)
                        was_connected = True
                    maker = Notary(store, private, keys, checkers, centre, shown)
                    while not stopping.is_set():
                        begun_s = time.monotonic()
                        maker.look()
                        shown.looked(time.monotonic() - begun_s)
                        shown.figures.alarms.open_now(centre.open_alarms() or {})
                        back_off.worked()
                        is_lost = False
                        if not maker.is_behind:
                            stopping.wait(max(0.0, every_s - (time.monotonic() - begun_s)))
            except (DatabaseUnusable, DiskFull) as error:
                if not was_connected and not isinstance(error, NoDatabaseServer | DatabaseLocked):
                    raise
                if not is_lost:
                    is_lost = True
                    problems.print(plain(f"{error}; trying again"))
                stopping.wait(back_off.next_s())


def _serve(db: Address, metrics: str | None, shown: "_Shown", served: ExitStack) -> None:
    """Serve the metrics, if they are wanted, until `served` ends."""
    if metrics is not None:
        store = served.enter_context(open_store(db))
        shown.figures.receipts.know(store)
        served.enter_context(measured(metrics, LogMetrics(store), shown.figures))


class _Shown:
    """What the notary does, on a screen all the time; alarms always."""

    def __init__(self) -> None:
        self.figures = NotaryMetrics()
        self.alarms: set[Alarm] = set()
        self._bar = progress(TextColumn("{task.description}"))
        self._task = self._bar.add_task("checking", total=None)
        self._signed = 0
        self._unix_ms: int | None = None

    def __enter__(self) -> "_Shown":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def looked(self, took_s: float) -> None:
        """All units were looked at once."""
        self.figures.looked(took_s)
        last = "none yet" if self._unix_ms is None else local_time(self._unix_ms)
        line = f"{counted(self._signed, 'receipt')} signed, the last {last}"
        self._bar.update(self._task, description=line)

    def receipt(self, unit: str, number: int, unix_ms: int) -> None:
        self.figures.receipts.receipt(unit, number, unix_ms)
        self._signed, self._unix_ms = self._signed + 1, unix_ms

    def alarm(self, alarm: Alarm) -> None:
        if alarm not in self.alarms:  # also of the notary before a lost connection
            self.alarms.add(alarm)
            self.figures.alarms.alarm(alarm.kind)
            what = f"{alarm.kind}: {alarm.detail}"
            problems.print(plain(f"ALARM {alarm.unit} event {alarm.number}: {what}"))
