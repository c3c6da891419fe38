"""One shoe at a table and the commands of a host: what the cells of the matrix are made of."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sabot.link.session import Introduction
from sabot_hil.capabilities import session_with
from sabot_hil.kit.dealer import BenchDealer, Hand, check_cards, shuffled_shoe
from sabot_hil.kit.versions.old_host import HostVersion
from sabot_hil.kit.waiting import wait_until
from sabot_hil.kit.witness import Witness
from sabot_hil.sweeps.matrix.judging import logged, recorded
from sabot_hil.sweeps.matrix.versions_made import Version
from sabot_hil.targets.sim import SimTarget

UNIT = "SHOE-7"

SHORT = 380
"""Cards after the cut card in a short shoe of cards: it has about six rounds."""

_BETWEEN = 2  # the round after which `Table.deal` stops for a while
_PATIENCE_S = 90.0
_UPDATE = """\
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.ports import Port, lasting_names
from sabot.release import build, update

unit, folder, dies = sys.argv[1:]
lasting = lasting_names([unit])[unit]
said = ""

@contextmanager
def attached():
    if said == dies:
        os._exit(0)
    with Port(unit, lasting) as port:
        yield Client(port, keys=CommandKeyFile.load(None))

def report(progress):
    global said
    said = progress.what
    print(progress.done, progress.whole, progress.what, flush=True)

print("done", update.update(attached, build.load(Path(folder)), report), flush=True)
"""
"""`sabot update` of one unit, which prints its progress also without a terminal. It ends at once,
as if it was killed, when it would attach again after it has said that it does `dies`."""


class Table:
    """A shoe that runs `shoe`, with its files and those of its house in `folder`. Use it as a
    context manager; then it is powered on."""

    def __init__(self, shoe: Version, folder: Path, seed: int, cut_from_end: int = SHORT) -> None:
        self.house = folder / "house"
        self.house.mkdir(exist_ok=True)
        self.keys = self.house / "sabot.keys"
        self.db = self.house / "sabot.sqlite"
        self.output = folder / "output"
        self.output.touch()
        self.state = folder / "shoe"
        self.target = SimTarget(UNIT, self.state, Witness(), files=shoe.flashed(), keys=self.keys)
        self.hands: list[Hand] = []
        """The rounds that were dealt."""
        self._cards = shuffled_shoe(seed, cut_from_end)

    def __enter__(self) -> "Table":
        self.target.power.on()
        return self

    def __exit__(self, *_: object) -> None:
        self.target.close()

    def deal(self, between: Callable[[], object] | None = None) -> None:
        """Deal a shoe of cards. `between` is called between its second round and its third, while
        the shoe is at rest."""
        results = 0

        def step(where: str) -> None:
            nonlocal results
            results += where == "result"
            if between is not None and where == "result" and results == _BETWEEN:
                between()

        dealing = BenchDealer(self.target.bench, self._cards, step)
        dealing.deal_shoe()
        assert results >= _BETWEEN, "the shoe of cards was too short"
        self.hands += dealing.hands

    @contextmanager
    def logged_by(self, host: HostVersion) -> "Iterator[subprocess.Popen[bytes]]":
        """Let a host log the shoe, with `sabot log`; at the end it gets Ctrl-C, unless it has
        ended."""
        process = host.start("log", UNIT, "--db", self.db, cwd=self.house, output=self.output)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait(_PATIENCE_S)

    def wait_for_all(self, process: "subprocess.Popen[bytes]", name: str = UNIT) -> None:
        """Wait until the log has all events of the shoe, under this name."""

        def has_all() -> bool:
            assert process.poll() is None, f"sabot log has ended: {self.printed()}"
            return len(logged(self.db, name)) == len(recorded(self.state))

        assert wait_until(has_all, _PATIENCE_S, lambda: self.target.clock.pass_ms(100)), (
            f"the log has {len(logged(self.db, name))} of {len(recorded(self.state))} events: "
            f"{self.printed()}"
        )

    def log_all(self, host: HostVersion, name: str = UNIT) -> None:
        """Let a host log all that the shoe has; the log has it under this name."""
        with self.logged_by(host) as process:
            self.wait_for_all(process, name)

    def printed(self) -> str:
        """What the commands that went on have printed so far."""
        return self.output.read_text(errors="replace")[-2000:]

    def runs(self) -> Introduction:
        """What the shoe says to a host of today that attaches."""
        with session_with(self.target.shoe) as client:
            return client.welcome

    def update(self, host: HostVersion, version: Version, before: Version) -> None:
        """Let the shoe, which runs `before`, take a version, with `sabot update`."""
        release = version.release_for(before)
        done = host.run("update", UNIT, "--release", release, cwd=self.house)
        assert "updated" in done.stdout, done.stdout + done.stderr
        self.check_runs(version)

    def check_runs(self, version: Version) -> None:
        """Check that the shoe runs a version, all of it."""
        says = self.runs()
        assert (says.firmware, says.build) == (version.host.firmware, version.build), says

    @contextmanager
    def updating(
        self, host: HostVersion, release: Path, dies: str = "never"
    ) -> "Iterator[Iterator[tuple[float, str]]]":
        """Let a host send a release. Yield its progress: the share that is sent, and what it does.
        It ends as if it was killed when it would attach again after doing `dies`."""
        with self.output.open("ab") as errors:
            process = subprocess.Popen(
                host.command("-c", _UPDATE, UNIT, release, dies),
                cwd=self.house,
                env=host.environment(),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert process.stdout is not None

        def progress(lines: Iterator[str]) -> Iterator[tuple[float, str]]:
            for line in lines:
                done, whole, what = line.split(None, 2)
                share = int(done) / int(whole) if done != "done" and int(whole) else 0.0
                yield share, line.strip() if done == "done" else what.strip()

        try:
            yield progress(iter(process.stdout))
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def cut_power(self, off_ms: float = 300) -> None:
        """Take the power away for some time."""
        self.target.power.off()
        self.target.clock.pass_ms(off_ms)
        self.target.power.on()
        check_cards(self.target.bench)  # an older shoe asks nothing
