"""The power is cut at every operation on a board's flash while it is flashed, provisioned, and told
anew what it is.

    python -m sabot_hil.sweeps.setup_cuts [--seed N] [--every N]

A bare simulated board is flashed over its prompt, provisioned over its link, and provisioned again
with its service switch on; its flash, with the file system on it, is listened to. Then, for each
operation, the flash as it was right after it, and as it was when the power went in the middle:

- flashed: with a `main.py` all that makes a shoe is there, byte for byte; without one it has its
  prompt. Each so-many-th is flashed again and comes up.
- provisioned: it comes up as a board that waits for that, and becomes the unit, or as the unit.
- provisioned again: it comes up as what it was told before, or as what it is told now, never as a
  mixture.

Prints what was done and each failure; exit code 1 where there is one.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from littlefs import LittleFS, UserContext
from rich.console import Console

import sabot_firmware
from sabot.games import catalogue
from sabot.keys import signing
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeys
from sabot.link.events import Provisioned
from sabot.link.ports import Port
from sabot.release import layout
from sabot.release.build import Release
from sabot.release.flash import flash
from sabot.release.provision import KeyFiles, UnitSettings, provision
from sabot.sim.process import BOARD_FLASH, JOURNAL, SimulatedShoe
from sabot_firmware.boards.sim.flash import BOARD_SECTORS, TRACE
from sabot_hil.kit import releases
from sabot_hil.kit.flash_image import SECTOR, ChipImage, FlashOperation, read_trace
from sabot_hil.sweeps.sweep import sweep

AGAIN_EVERY = 100
"""Of the cuts while it is flashed: how many are flashed again."""

_SHORT_STEPS = 20  # times fewer operations than flashing has

FLASHED, PROVISIONED, AGAIN = "flashed", "provisioned", "provisioned again"

_BOARD, _UNIT = "BARE-1", "SHOE-9"
_HOUSE = signing.public_of(releases.HOUSE)
_FIRST = UnitSettings(_UNIT, "12", 3, "stop", catalogue.document("mini", {}), _HOUSE)
_SECOND = UnitSettings(_UNIT, "13", 7, "go_on", catalogue.document("ez-midi", {}), _HOUSE)
_WAITS, _UPDATE = "NOT PROVISIONED", "UPDATE"


@dataclass(frozen=True, slots=True)
class SetupStep:
    """What was done to the flash `before`, and what else there was: the journal's chip, the key
    files of the house."""

    name: str
    before: bytes
    operations: Sequence[FlashOperation]
    journal: bytes
    chains: bytes
    commands: bytes


@dataclass(frozen=True, slots=True)
class SetupCut:
    """The power goes in the operation `at` of that step, `how` as in flashimage.py, or right after
    it."""

    step: int
    at: int
    how: str = ""
    again: bool = False


@dataclass(frozen=True, slots=True)
class RecordedSetup:
    """A board's three steps."""

    seed: int
    steps: Sequence[SetupStep]
    release: Release


class _SetupBoard:
    """A simulated board and the house's files, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.chains, self.commands = folder / "keys", folder / "commands"
        known = CommandKeys.load(self.commands) if self.commands.exists() else CommandKeys()
        self._files = KeyFiles(self.chains, self.commands, known)
        self.shoe = SimulatedShoe(_BOARD, state=folder, files={}, flash_speed_permille=0)

    def flash(self, release: Release) -> None:
        flash(self.shoe.port, release, force=True, open_repl=_no_prompt)

    def provision(
        self, told: UnitSettings, tell: Callable[[str], None] = lambda what: None
    ) -> None:
        provision(self._attached, told, self._files, replaces=True, tell=tell)

    def service_on(self) -> None:
        self.shoe.bench.switch("service_on", True)
        self.shoe.bench.settle()

    def says(self) -> tuple[str, str, object]:
        """Its id, the game that it deals, and the table that it was told last."""
        with self._attached() as client:
            client.begin(1)
            table, last = None, 0
            while last < client.welcome.last_held:
                for record in client.receive(1.0).records:
                    last = record.event.number
                    if isinstance(record.event, Provisioned):
                        table = record.event.table
            return client.unit, client.welcome.game, table

    @contextmanager
    def _attached(self) -> Iterator[Client]:
        with Port(self.shoe.port) as port:
            yield Client(port, keys=self._files.known)


def _no_prompt() -> None:
    raise AssertionError("a shoe runs there")


def _bytes_of(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def record_setup(seed: int, folder: Path) -> RecordedSetup:
    """Take a board through the steps in `folder`."""
    release = releases.changed("sim", releases.HOUSE, sabot_firmware.VERSION)
    flash_file, trace = folder / BOARD_FLASH, folder / (BOARD_FLASH + TRACE)
    board = _SetupBoard(folder)
    steps: list[SetupStep] = []

    def done(name: str, act: Callable[[], int | None]) -> None:
        """Note what it does to the flash, up to the operation that it gives or all of it."""
        trace.write_bytes(b"")
        before, journal = flash_file.read_bytes(), _bytes_of(folder / JOURNAL)
        keys = _bytes_of(board.chains), _bytes_of(board.commands)
        count = act()
        operations = read_trace(trace.read_bytes())[:count]
        # Keys are kept by the house before the board has them.
        keys = (_bytes_of(board.chains), _bytes_of(board.commands)) if name == PROVISIONED else keys
        steps.append(SetupStep(name, before, operations, journal, *keys))

    def told(what: UnitSettings) -> int:
        taken: list[int] = []

        def tell(said: str) -> None:
            if said.endswith("restarting as a unit"):
                taken.append(len(read_trace(trace.read_bytes())))

        board.provision(what, tell)
        return taken[-1]  # what the start behind it does is for powercut.py: the journal is in it

    try:
        board.shoe.power_on()  # makes a file system
        board.shoe.power_off()
        trace.touch()
        board.shoe.power_on()
        done(FLASHED, lambda: board.flash(release))
        done(PROVISIONED, lambda: told(_FIRST))
        board.service_on()
        done(AGAIN, lambda: told(_SECOND))
    finally:
        board.shoe.close()
    return RecordedSetup(seed, steps, release)


def setup_cuts(recorded: RecordedSetup, every: int = 1) -> Iterator[SetupCut]:
    """Each `every`th operation's cuts, beginning with one by chance: behind it, and in it. Of the
    short steps more of them."""
    chance = random.Random(recorded.seed)
    number = chance.randrange(AGAIN_EVERY)
    for at_step, step in enumerate(recorded.steps):
        stride = every if step.name == FLASHED else max(1, every // _SHORT_STEPS)
        for at in range(chance.randrange(stride), len(step.operations), stride):
            for how in ("", chance.choice(step.operations[at].cuts)):
                yield SetupCut(at_step, at, how, number % AGAIN_EVERY == 0)
                number += 1


def check_setup_cut(recorded: RecordedSetup, cut: SetupCut) -> str:
    """How the board comes up behind that cut. Raises AssertionError where it is none of what it may
    be."""
    step = recorded.steps[cut.step]
    image = ChipImage(step.before, sectors=BOARD_SECTORS)
    image.apply_all(step.operations[: cut.at])
    if cut.how:
        rng = np.random.default_rng([recorded.seed, cut.step, cut.at])
        image.cut(step.operations[cut.at], cut.how, rng)
    else:
        image.apply(step.operations[cut.at])
    with tempfile.TemporaryDirectory(prefix="sabot-cut-") as name:
        folder = Path(name)
        image.save(folder / BOARD_FLASH)
        (folder / JOURNAL).write_bytes(step.journal)
        for path, content in (("keys", step.chains), ("commands", step.commands)):
            if content:
                (folder / path).write_bytes(content)
        if step.name == FLASHED:
            return _check_flashed(recorded, cut, folder)
        return _check_told(step, folder)


def _check_flashed(recorded: RecordedSetup, cut: SetupCut, folder: Path) -> str:
    wanted = layout.flashed(recorded.release.files)
    found = _files_of((folder / BOARD_FLASH).read_bytes())
    whole = "main.py" in found
    if whole:
        assert found == wanted, "it starts, and something is not as it should be"
    if cut.again:
        board = _SetupBoard(folder)
        try:
            board.shoe.power_on()
            if not whole:
                board.flash(recorded.release)
            shown = board.shoe.bench.wait_for(lambda outputs: bool(outputs.title), "come up")
            assert shown.title == _WAITS, shown
        finally:
            board.shoe.close()
    return f"{FLASHED}: whole" if whole else f"{FLASHED}: its prompt"


def _check_told(step: SetupStep, folder: Path) -> str:
    board = _SetupBoard(folder)
    try:
        board.shoe.power_on()
        shown = board.shoe.bench.wait_for(lambda outputs: bool(outputs.title), "come up").title
        if step.name == PROVISIONED:
            if shown == _WAITS:
                board.provision(_FIRST)
            assert board.says() == (_UNIT, "mini", "12"), board.says()
            return f"{PROVISIONED}: {'waits for it' if shown == _WAITS else 'the unit'}"
        if shown == _UPDATE:  # it had been told to take it, and goes on with a host
            board.service_on()
            board.provision(_SECOND)
        said = board.says()
        assert said in ((_UNIT, "mini", "12"), (_UNIT, "ez-midi", "13")), said
        return f"{AGAIN}: table {said[2]}"
    finally:
        board.shoe.close()


def _files_of(flash_content: bytes) -> dict[str, bytes]:
    """All files of a board, by path."""
    context = UserContext(buffsize=len(flash_content))
    context.buffer[:] = flash_content
    system = LittleFS(context=context, block_size=SECTOR, block_count=BOARD_SECTORS, mount=False)
    system.mount()
    found = {}
    for folder, _, names in system.walk("/"):
        for name in names:
            path = f"{folder.rstrip('/')}/{name}"
            with system.open(path, "rb") as file:
                found[path.lstrip("/")] = file.read()
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="of how an operation is cut")
    parser.add_argument("--every", type=int, default=1, help="cut at each N-th operation only")
    options = parser.parse_args(arguments)
    console = Console()
    with tempfile.TemporaryDirectory(prefix="sabot-setup-") as name:
        recorded = record_setup(options.seed, Path(name))
    planned = list(setup_cuts(recorded, options.every))
    counted = ", ".join(f"{step.name} {len(step.operations)}" for step in recorded.steps)
    console.print(f"operations on the flash: {counted}; {len(planned)} cuts, seed {options.seed}")
    failed = sweep(partial(check_setup_cut, recorded), planned, console)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
