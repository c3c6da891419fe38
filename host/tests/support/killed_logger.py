"""Kills loggers at random moments. Each logger, and the shoe that they log, is a forked process.

    python -m host.tests.support.killed_logger [--kills N] [--seed N]

A forked logger starts in milliseconds. Only the library runs here: the store, the client and the
logger; `sabot_hil.sweeps.kills` kills the whole command. The shoe drops acknowledged events, so an
event that was acknowledged but not stored is found missing. A killed process loses nothing that it
has handed to the operating system; test_store.py tests whether it is also on the disk.
"""

import argparse
import os
import random
import select
import signal
import sqlite3
import sys
import tempfile
import time
import tty
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rich.progress import track

from host.tests.support.naive_shoe import KEYS, NaiveShoe, fake_mac, naive_event
from sabot.link.client import Client
from sabot.log.logger import Logger, LogWatcher
from sabot.log.sqlite.store import SqliteStore
from sabot.log.store import open_store

_UNIT = "U1"
_LONGEST_LIFE_S = 3.0
_MAX_HELD = 1000  # far fewer events than those after which the shoe gives up old ones
_FEW_PAGES = 8  # write-ahead log pages before a checkpoint, so that kills hit checkpoints too
MOMENTS = ("anywhere", "statement", "deriving", "stored", "acknowledged")
"""When a logger dies: at a random time; before a random step of SQLite's virtual machine, either of
all steps or only of those that derive; after a commit, before its acknowledgement; after the
acknowledgement."""


class ShoeProcess:
    """A naive shoe at a pseudo-terminal, `port`, that keeps running when loggers are killed."""

    def __init__(self) -> None:
        ours, self._theirs = os.openpty()
        tty.setraw(self._theirs)
        os.set_blocking(ours, False)
        self.port = os.ttyname(self._theirs)
        self._control, far_end = Pipe()
        self._pid = os.fork()
        if not self._pid:
            try:
                _serve(ours, far_end)
            finally:
                os._exit(0)
        os.close(ours)

    def record(self, count: int) -> tuple[int, int]:
        """Record `count` events, unless the shoe holds too many already.

        Returns the numbers of the last event and of the last acknowledged one.
        """
        self._control.send(count)
        last, acknowledged = self._control.recv()
        return last, acknowledged

    def close(self) -> None:
        """Kill the process and close its port."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._theirs)
        self._control.close()


def _serve(port: int, control: Connection) -> None:
    shoe = NaiveShoe(1, forgets=True)
    while True:
        ready, _, _ = select.select([port, control], [], [], 0.005)
        if control in ready:
            count = control.recv()
            shoe.record(count if len(shoe.held) < _MAX_HELD else 0)
            control.send((shoe.next_number - 1, shoe.acknowledged))
        data = os.read(port, 4096) if port in ready else b""
        for frame in shoe.step(data, time.monotonic()):
            try:
                os.write(port, frame)
            except BlockingIOError:
                break  # no one reads, and the terminal's buffer is full


class Kills:
    """Kills loggers one after the other, and checks the database after each."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.moments: Counter[str] = Counter()
        """Number of deaths by moment."""
        self.path = folder / "log.sqlite"
        self._rng = rng
        self._shoe = ShoeProcess()

    def __enter__(self) -> "Kills":
        return self

    def __exit__(self, *_: object) -> None:
        self._shoe.close()

    def kill(self) -> None:
        """Start a logger while the shoe records, kill it, and check the database."""
        rng = self._rng
        moment = rng.choice(MOMENTS)
        steps = moment in ("statement", "deriving")
        count = round(10 ** rng.uniform(0, 3.5 if steps else 1))
        pages = rng.choice((_FEW_PAGES, 1000))
        self._shoe.record(rng.randrange(30))
        child = os.fork()
        if not child:
            _log(self._shoe.port, self.path, lambda: _die_at(moment, count, pages))
        life_s = rng.uniform(0, 0.06) if moment == "anywhere" else _LONGEST_LIFE_S
        begin_s = time.monotonic()
        while time.monotonic() - begin_s < life_s:
            self._shoe.record(rng.randrange(3))
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            time.sleep(min(rng.uniform(0, 0.004), life_s))
        else:
            moment = "anywhere"
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"the logger ended by itself, {moment} {count}"
        self.moments[moment] += 1
        self._check()

    def end(self) -> int:
        """Log to the end; compare all stored events with all recorded ones; return their number."""
        child = os.fork()
        if not child:
            _log(self._shoe.port, self.path, lambda: None)
        last, acknowledged = self._shoe.record(1)
        deadline = time.monotonic() + 200
        while acknowledged < last:
            assert time.monotonic() < deadline, f"{acknowledged} of {last} events"
            time.sleep(0.01)
            last, acknowledged = self._shoe.record(0)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        records = {number: naive_event(number) for number in range(1, last + 1)}
        wanted = [(number, data, fake_mac(data)) for number, data in records.items()]
        with open_store(self.path, create=True) as store:
            assert list(store.raw(_UNIT)) == wanted
            assert [row.number for row in store.rows()] == list(range(1, last + 1))
            assert {row.kind for row in store.rows()} == {"identified"}
            store.derive()
        with closing(sqlite3.connect(self.path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            derived = connection.execute("SELECT number FROM events").fetchall()
            assert derived == [(number,) for number, *_ in wanted]
        return last

    def _check(self) -> None:
        _, acknowledged = self._shoe.record(0)
        if not self.path.exists() or not self.path.stat().st_size:
            assert not acknowledged
            return
        with open_store(self.path) as store:
            last = store.last_number(_UNIT)
            assert store.count() == last, f"{store.count()} events up to number {last}"
            assert acknowledged <= last, f"{acknowledged} acknowledged, {last} stored"


def _log(port: str, path: Path, arm: Callable[[], None]) -> None:
    """Log for ever, in the child process, which must never return to the parent's code. `arm` is
    called first.
    """
    try:
        arm()
        logger = Logger(open_store(path, create=True), [port], LogWatcher(), keys=KEYS)
        logger.start()
        logger.wait()
        print(f"logger: {logger.failures}", file=sys.stderr)
    except BaseException as error:
        print(f"logger: {error!r}", file=sys.stderr)
    finally:
        os._exit(1)


def _die_at(moment: str, count: int, pages: int) -> None:
    """Let this process die after it has reached `moment` `count` times."""
    left = [count]
    counting = [moment == "statement"]

    def die() -> bool:
        left[0] -= counting[0]
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return False

    connect = sqlite3.connect

    def connected(*given: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*given, **options)
        connection.set_progress_handler(die, 1)
        connection.execute(f"PRAGMA wal_autocheckpoint={pages}")
        return connection

    sqlite3.connect = connected  # type: ignore[assignment]
    acknowledge, derive = Client.acknowledge, SqliteStore.derive

    def acknowledged(client: Client) -> None:
        counting[0] = True
        if moment == "stored":
            die()
        acknowledge(client)
        if moment == "acknowledged":
            die()
        counting[0] = False

    def deriving(store: SqliteStore, most: int | None = None) -> None:
        counting[0] = moment in ("statement", "deriving")
        derive(store, most)
        counting[0] = moment == "statement"

    if moment in ("stored", "acknowledged"):
        Client.acknowledge = acknowledged  # type: ignore[method-assign]
    SqliteStore.derive = deriving  # type: ignore[method-assign]


def main() -> int:
    """Kill many loggers and print a summary."""
    parser = argparse.ArgumentParser(prog="python -m host.tests.support.killed_logger")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begin_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        with Kills(Path(folder), random.Random(options.seed)) as kills:
            for _ in track(range(options.kills), "killing loggers", auto_refresh=False):
                kills.kill()
            events = kills.end()
    moments = ", ".join(f"{count} {moment}" for moment, count in kills.moments.most_common())
    print(f"{options.kills} kills in {time.monotonic() - begin_s:.0f} s: {moments}")
    print(f"{events} events: none lost, none doubled. Seed {options.seed}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
