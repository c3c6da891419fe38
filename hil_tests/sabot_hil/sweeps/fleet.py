"""Updates a fleet of two versions while it deals and is logged: nothing may be lost or doubled.

    python -m sabot_hil.sweeps.fleet [--shoes N] [--seed N]

Half of the simulated shoes run the released version, from the golden data, half run today's. One
`sabot log` of today has them all, from the beginning to the end. While cards are dealt at every
table, one `sabot update` puts a later release on all of them: the log lends it each shoe and goes
on with the shoe afterwards. Each table deals on as soon as its shoe is ready. At the end the log is
compared with every shoe's journal and with what was dealt.

Prints what was done; exit code 1 after a failure.
"""

import json
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sabot.keys import signing
from sabot.release import build as releases
from sabot_hil.capabilities import session_with
from sabot_hil.kit.dealer import BenchDealer, shuffled_shoe
from sabot_hil.kit.private_runtime import private_runtime
from sabot_hil.kit.releases import changed
from sabot_hil.kit.runner import Seed, output, run
from sabot_hil.kit.versions.old_host import PASSPHRASE
from sabot_hil.kit.waiting import wait_until
from sabot_hil.kit.witness import Witness
from sabot_hil.sweeps.matrix.judging import (
    check_rounds,
    check_whole,
    logged,
    recorded,
    verified,
)
from sabot_hil.sweeps.matrix.versions_made import HOUSE, RELEASED, TODAY, Version, all_versions
from sabot_hil.targets.sim import SimTarget

NEXT = "0.3.1"
"""The release that all shoes get: today's firmware under a later version."""

_ROUNDS_LOGGED, _ROUNDS_MEANWHILE = 2, 1
_SHORT = 380  # cards after the cut card: about eight rounds
_PATIENCE_S = 600.0
_END_S = 60.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """What was done with a fleet."""

    shoes: Mapping[str, int]
    """How many shoes ran each version at first."""
    rounds: int
    events: int
    update_s: float


class _Table:
    """A shoe, and a dealer who deals one shoe of cards in a thread of its own, as many rounds as
    are allowed."""

    def __init__(self, unit: str, version: Version, folder: Path, keys: Path, seed: int) -> None:
        self.unit = unit
        self.version = version
        self.state = folder / unit
        files = version.flashed()
        self.target = SimTarget(unit, self.state, Witness(), files=files, keys=keys)
        self.waiting = threading.Semaphore(0)
        """Released whenever the dealer waits, at rest between two rounds."""
        self.failure: BaseException | None = None
        self._allowed = threading.Semaphore(0)
        self.dealing = BenchDealer(self.target.bench, shuffled_shoe(seed, _SHORT), self._step)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Switch the shoe on, and begin to deal."""
        self.target.power.on()
        self._thread.start()

    def allow(self, rounds: int) -> None:
        """Allow more rounds."""
        self._allowed.release(rounds)

    def finish(self) -> None:
        """Wait until the shoe of cards has been dealt."""
        self._thread.join(_PATIENCE_S)
        assert self.failure is None, f"{self.unit}: {self.failure!r}"
        assert self.dealing.ended, f"{self.unit}: the dealer does not end"

    def _step(self, where: str) -> None:
        if where == "result":
            self.waiting.release()
            self._allowed.acquire()

    def _run(self) -> None:
        try:
            self._allowed.acquire()
            self.dealing.deal_shoe()
        except BaseException as error:
            self.failure = error


def update_fleet(versions: Mapping[str, Version], folder: Path, shoes: int, seed: int) -> Fleet:
    """Update a fleet while it deals and is logged; return what was done. Raises AssertionError."""
    rng = random.Random(seed)
    house, output = folder / "house", folder / "output"
    house.mkdir()
    db, keys = house / "sabot.sqlite", house / "sabot.keys"
    today = versions[TODAY].host
    release = house / "release"
    private = signing.load_private(HOUSE / "releases.pem", PASSPHRASE.encode)
    releases.save(changed("sim", private, NEXT), release)
    tables = []
    for nth in range(shoes):
        version = versions[RELEASED if nth % 2 else TODAY]
        table = _Table(f"SHOE-{nth + 1}", version, folder, keys, rng.randrange(1 << 30))
        tables.append(table)
    units = [table.unit for table in tables]
    log = None
    try:
        for table in tables:
            table.start()
        log = today.start("log", *units, "--db", db, cwd=house, output=output)
        for table in tables:
            table.allow(_ROUNDS_LOGGED)
        _wait_for_dealers(tables, _ROUNDS_LOGGED)
        attached = [f"{unit} attached" for unit in units]
        assert wait_until(lambda: all(each in output.read_text() for each in attached), _PATIENCE_S)
        for table in tables:
            table.allow(_ROUNDS_MEANWHILE)
        begun_s = time.monotonic()
        _update_all(today.command("-m", "sabot"), house, tables, release)
        update_s = time.monotonic() - begun_s
        assert log.poll() is None, output.read_text()
        for table in tables:
            table.finish()
        _wait_for_log(tables, db, log, output)
        log.send_signal(signal.SIGINT)
        assert log.wait(_END_S) == 0, output.read_text()
        events = sum(_check(table, db) for table in tables)
    finally:
        for table in tables:
            table.target.close()
        if log is not None:
            log.kill()
            log.wait()
    found = verified(today, db, keys, house)
    rounds = sum(len(table.dealing.hands) for table in tables)
    assert (found["units"], found["events"], found["rounds"]) == (shoes, events, rounds), found
    for table in tables:
        check_rounds(today, db, table.unit, table.dealing.hands, house)
    return Fleet(
        {name: sum(table.version.name == name for table in tables) for name in versions},
        rounds,
        events,
        update_s,
    )


def _wait_for_dealers(tables: Sequence[_Table], rounds: int) -> None:
    for table in tables:
        for _ in range(rounds):
            waits = table.waiting.acquire(timeout=_PATIENCE_S)
            assert waits and table.failure is None, f"{table.unit}: {table.failure!r}"


def _update_all(
    command: Sequence[str], house: Path, tables: Sequence[_Table], release: Path
) -> None:
    """Update all shoes with one command; a table deals on as soon as its shoe is updated."""
    units = {table.unit: table for table in tables}
    given = "update", *units, "--release", str(release), "--json"
    with subprocess.Popen(
        [*command, *given], cwd=house, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as updating:
        assert updating.stdout is not None
        said = []
        for line in updating.stdout:
            said.append(line)
            done = json.loads(line) if line.startswith("{") else {}
            if "unit" in done:
                units[done["unit"]].allow(1 << 10)
    assert updating.returncode == 0, "".join(said)
    assert sum("updated" in line for line in said) == len(tables), "".join(said)


def _wait_for_log(
    tables: Sequence[_Table], db: Path, log: "subprocess.Popen[bytes]", output: Path
) -> None:
    """Wait until the log has the newest event of every shoe."""

    def has_all() -> bool:
        assert log.poll() is None, output.read_text()
        return all(len(logged(db, each.unit)) == len(recorded(each.state)) for each in tables)

    assert wait_until(has_all, _PATIENCE_S, lambda: time.sleep(1.0)), output.read_text()


def _check(table: _Table, db: Path) -> int:
    """Check the records of a shoe, and that it runs the release; return how many there are."""
    events = recorded(table.state)
    check_whole(logged(db, table.unit), events)
    with session_with(table.target.shoe) as client:
        assert client.welcome.firmware == NEXT, client.welcome
    return len(events)


@private_runtime()
def main(shoes: int = 50, seed: Seed = 1) -> bool:
    """Update a fleet of shoes of two versions, and print how it went."""
    console = output()
    with tempfile.TemporaryDirectory(prefix="sabot-fleet-") as name, all_versions() as versions:
        try:
            done = update_fleet(versions, Path(name), shoes, seed)
        except AssertionError as error:
            console.print(f"failed: {error}", markup=False)
            return False
    of_each = ", ".join(f"{count} of {name}" for name, count in done.shoes.items() if count)
    console.print(
        f"{of_each}: all updated to {NEXT} in {done.update_s:.0f} s; {done.rounds} rounds and "
        f"{done.events} events, none lost, none doubled, every audit chain unbroken. Seed {seed}."
    )
    return True


if __name__ == "__main__":
    run(main)
