"""Kills the host many times while cards are dealt: no event may be lost or doubled.

    python -m sabot_hil.sweeps.kills [--kills N] [--seed N] [--target sim]

Each time SIGKILL ends a real `sabot log`, between its attachment and half a second of logging; the
dealing goes on meanwhile. The log is checked against the dealer's own record and by the audit
chain. host/tests/support/killed_logger.py kills only the library, much faster, and between chosen
steps.
"""

import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from sabot.link.client import Client
from sabot.link.ports import Port
from sabot.log.store import open_store
from sabot_hil.capabilities import Target
from sabot_hil.kit import dealer
from sabot_hil.kit.dealer import Hand
from sabot_hil.kit.logbook import check_log
from sabot_hil.kit.runner import Seed, output, progress, run
from sabot_hil.kit.waiting import wait_until_still
from sabot_hil.targets import choice_of, make_target

_LOG = "from sabot.cli import run; print(flush=True); input(); run()"
_WAITING = 3  # hosts that import their modules while others run
_LONGEST_LIFE_S = 0.5
_MOST_ROUNDS_UNREAD = 20  # that no host has taken yet: a full shoe stops dealing
_QUIET_S = 3.0  # more than a heartbeat, which shows a host which events it lacks
_TIMEOUT_S = 60.0


class KilledHost:
    """A `sabot log` in another process: it imports its modules, then waits for `log`."""

    def __init__(self, target: Target, db: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LOG, "log", target.shoe.port, "--db", str(db)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def log(self) -> None:
        """Let it begin, as soon as it is ready."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdout.readline()
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """End it by SIGKILL. It must not have ended before."""
        ended = self._process.poll()
        self._process.send_signal(signal.SIGKILL)
        _, problems = self._process.communicate()
        assert ended is None, f"sabot log ended by itself with {ended}: {problems.decode()}"


class _RoundByRound:
    """Deals one shoe of cards after the other, as many rounds as are allowed."""

    def __init__(self, target: Target, seed: int) -> None:
        self.hands: list[Hand] = []
        self.failure: BaseException | None = None
        self._target = target
        self._seed = seed
        self._allowed = threading.Semaphore(0)
        self._ending = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def allow(self) -> None:
        """Allow one more round."""
        self._allowed.release()

    def stop(self) -> None:
        """Stop after the current round, and wait for that."""
        self._ending = True
        self.allow()
        self._thread.join(_TIMEOUT_S)
        assert not self._thread.is_alive(), "the dealer does not end"
        assert self.failure is None, self.failure

    def _run(self) -> None:
        try:
            while not self._ending:
                self._deal_shoe()
        except BaseException as error:
            self.failure = error

    def _deal_shoe(self) -> None:
        dealing = dealer.BenchDealer(self._target.bench, dealer.shuffled_shoe(self._seed))
        self._seed += 1
        dealing.load()
        while not dealing.ended:
            self._allowed.acquire()
            if self._ending:
                return
            self.hands.append(dealing.deal_round())


def kill_many(
    target: Target,
    folder: Path,
    *,
    kills: int,
    seed: int,
    progress: Callable[[], None] = lambda: None,
) -> tuple[int, int]:
    """Kill `kills` hosts of `target`, then check the log. Return how many rounds and events there
    were. `progress` is called after each kill.

    The database is in `folder`, and so is the target's own folder.
    """
    rng = random.Random(seed)
    db = folder / "log.sqlite"
    dealing = _RoundByRound(target, seed)
    last, hands_then = 0, 0
    hosts = [KilledHost(target, db) for _ in range(_WAITING)]
    try:
        for _ in range(kills):
            hosts.append(KilledHost(target, db))
            hosts[0].log()
            for _ in range(rng.randrange(3)):
                if len(dealing.hands) - hands_then < _MOST_ROUNDS_UNREAD:
                    dealing.allow()
            time.sleep(rng.uniform(0, _LONGEST_LIFE_S))
            hosts.pop(0).kill()
            assert dealing.failure is None, dealing.failure
            progress()
            if (stored := _last_number(db, target.shoe.unit)) > last:
                last, hands_then = stored, len(dealing.hands)
        hosts[0].log()
        dealing.stop()
        events = _wait_for_all(target, db)
    finally:
        for host in hosts:
            host.kill()
    with open_store(db) as store:
        assert check_log(store, target.shoe.unit, dealing.hands, folder) == events
    with Port(target.shoe.port) as port:
        held = Client(port).welcome.last_held
        assert held == events, f"the shoe has recorded {held} events, the log has {events}"
    return len(dealing.hands), events


def _last_number(db: Path, unit: str) -> int:
    if not db.exists() or not db.stat().st_size:
        return 0  # the host was killed before it made the file
    with open_store(db) as store:
        return store.last_number(unit)


def _wait_for_all(target: Target, db: Path) -> int:
    """Wait until the log has stopped growing; return the number of its last event."""
    last = wait_until_still(
        lambda: _last_number(db, target.shoe.unit), _QUIET_S, _TIMEOUT_S, lambda: time.sleep(0.1)
    )
    assert last is not None, "the log does not stop growing"
    return last


def main(kills: int = 500, seed: Seed = 1, target: str = "sim") -> None:
    """Kill the host many times while cards are dealt, and print that nothing is lost or doubled."""
    begin_s = time.monotonic()
    with tempfile.TemporaryDirectory() as name, progress("hosts killed", kills) as advance:
        folder = Path(name)
        shoe = make_target(choice_of(target), "KILLS", folder / "flash")
        try:
            shoe.power.on()
            rounds, events = kill_many(shoe, folder, kills=kills, seed=seed, progress=advance)
        finally:
            shoe.close()
    output().print(
        f"{kills} kills in {time.monotonic() - begin_s:.0f} s: {rounds} rounds and "
        f"{events} events, none lost, none doubled, the audit chain unbroken. Seed {seed}."
    )


if __name__ == "__main__":
    run(main)
