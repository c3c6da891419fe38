"""Cuts the power at every operation on a board's flash while it is flashed, provisioned, and
provisioned again.

    python -m sabot_hil.sweeps.setup_cuts [--seed N] [--every N]

A bare simulated board is flashed over its prompt, provisioned over its link, and provisioned again
with its service switch on; its flash, with the file system on it, is traced. Then the board starts
on the flash as it was right after each operation, and as it was after a power cut in the middle:

- flashed: if `main.py` is there, all files of a shoe are there, byte for byte; if not, the board
  has its prompt. After some of the cuts it is flashed again and must start.
- provisioned: it starts as a board that waits to be provisioned, and becomes the unit; or it starts
  as the unit. Then no first key and no command key of another try is in its memories.
- provisioned again: it starts with the old settings or with the new ones, never with a mixture.

Prints what was done and each failure; exit code 1 if there is one.
"""

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from littlefs import LittleFS, UserContext

import sabot_firmware
from sabot.games.baccarat import catalogue
from sabot.keys import signing
from sabot.keys.chain_keys import Keys
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.events import ProvisionedEvent
from sabot.link.ports import Port
from sabot.release import layout
from sabot.release.build import Release
from sabot.release.flash import flash
from sabot.release.provision import KeyFiles, UnitSettings, provision
from sabot.sim.process import BOARD_FLASH, JOURNAL, SimulatedShoe, new_journal
from sabot_firmware.boards.sim.flash import BOARD_SECTORS, TRACE
from sabot_hil.kit import releases
from sabot_hil.kit.flash_image import SECTOR, ChipImage, FlashOperation, read_trace
from sabot_hil.kit.private_runtime import private_runtime
from sabot_hil.kit.runner import Seed, output, run
from sabot_hil.kit.secrets_left import epoch_of_chip, found_in, memories_of, secrets_left
from sabot_hil.sweeps.flash_cuts import FlashCut, check_cuts, cuts_at, flash_after
from sabot_protocol.chain import command_key

AGAIN_EVERY = 100
"""After one in this many cuts during flashing, the board is flashed again."""

_DOCUMENT_OPERATIONS = 200
"""Provisioning begins with about this many operations that write documents; thousands that
overwrite free blocks follow."""
_DOCUMENT_SHARE = 20  # of them this many times more are cut

FLASHED, PROVISIONED, AGAIN = "flashed", "provisioned", "provisioned again"

_BOARD, _UNIT = "BARE-1", "SHOE-9"
_HOUSE = signing.public_of(releases.HOUSE)
_FIRST = UnitSettings(_UNIT, "12", 3, "stop", catalogue.document("mini", {}), _HOUSE)
_SECOND = UnitSettings(_UNIT, "13", 7, "go_on", catalogue.document("ez-midi", {}), _HOUSE)
_WAITS, _UPDATE = "NOT PROVISIONED", "UPDATE"


@dataclass(frozen=True, slots=True)
class SetupStep:
    """A step: the flash before it, the operations on it, and the journal's chip and the house's key
    files at that time."""

    name: str
    before: bytes
    operations: Sequence[FlashOperation]
    journal: bytes
    chains: bytes
    commands: bytes


@dataclass(frozen=True, slots=True)
class SetupCut:
    """A power cut during a step, by its number."""

    step: int
    flash: FlashCut
    again: bool = False
    """Whether the board is flashed again afterwards."""


@dataclass(frozen=True, slots=True)
class RecordedSetup:
    """The three steps of a board."""

    seed: int
    steps: Sequence[SetupStep]
    release: Release


class _SetupBoard:
    """A simulated board and the house's files, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.chains, self.commands = folder / "keys", folder / "commands"
        known = CommandKeyFile.load(self.commands) if self.commands.exists() else CommandKeyFile()
        self._files = KeyFiles(self.chains, self.commands, known)
        self.shoe = SimulatedShoe(_BOARD, state=folder, files={}, flash_speed_permille=0)

    def flash(self, release: Release) -> None:
        flash(self.shoe.port, release, force=True, open_repl=_no_prompt)

    def provision(
        self, settings: UnitSettings, on_progress: Callable[[str], None] = lambda what: None
    ) -> None:
        provision(self._attached, settings, self._files, replaces=True, on_progress=on_progress)

    def service_on(self) -> None:
        self.shoe.bench.switch("service_on", True)
        self.shoe.bench.settle()

    def settings(self) -> tuple[str, str, object]:
        """Return the unit's id, its game, and the table of its last provisioning."""
        with self._attached() as client:
            client.begin(1)
            table, last = None, 0
            while last < client.welcome.last_held:
                for record in client.receive(1.0).records:
                    last = record.event.number
                    if isinstance(record.event, ProvisionedEvent):
                        table = record.event.table
            return client.unit, client.welcome.game, table

    def first_keys(self) -> list[bytes]:
        """Return the first key of each try to provision the board, the last one last."""
        keys = Keys.load(self.chains)
        return [keys.first_key(_UNIT, chain) or b"" for chain in keys.chains(_UNIT)]

    def secrets_left(self) -> list[str]:
        """Return the secrets that should be gone, of each try to provision the board."""
        memories, first_keys = memories_of(self.shoe.state), self.first_keys()
        board_flash = {BOARD_FLASH: memories[BOARD_FLASH]}
        left = found_in(board_flash, {key.hex(): key for key in first_keys})
        earlier = {f"earlier {key.hex()}": key for key in first_keys[:-1]}
        commands = {f"command key of {key.hex()}": command_key(key) for key in first_keys[:-1]}
        left += found_in(memories, earlier | commands)
        return left + secrets_left(memories, first_keys[-1], epoch_of_chip(self.shoe.state))

    @contextmanager
    def _attached(self) -> Iterator[Client]:
        with Port(self.shoe.port) as port:
            yield Client(port, keys=self._files.known)


def _no_prompt() -> None:
    raise AssertionError("a shoe runs there")


def _bytes_of(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def record_setup(seed: int, folder: Path) -> RecordedSetup:
    """Take a board through the steps, with its files in `folder`."""
    release = releases.changed("sim", releases.HOUSE, sabot_firmware.VERSION)
    flash_file, trace = folder / BOARD_FLASH, folder / (BOARD_FLASH + TRACE)
    board = _SetupBoard(folder)
    steps: list[SetupStep] = []

    def done(name: str, act: Callable[[], int | None]) -> None:
        """Record the operations of `act` on the flash: as many as it returns, or all."""
        trace.write_bytes(b"")
        before, journal = flash_file.read_bytes(), _bytes_of(folder / JOURNAL)
        keys = _bytes_of(board.chains), _bytes_of(board.commands)
        count = act()
        operations = read_trace(trace.read_bytes())[:count]
        if name == PROVISIONED:
            # The house keeps the keys before the board has them, and the journal's chip has the
            # first key before the board's flash is written.
            keys = _bytes_of(board.chains), _bytes_of(board.commands)
            journal = new_journal(board.first_keys()[-1])
            operations = operations[: _until_unit(before, operations)]
        steps.append(SetupStep(name, before, operations, journal, *keys))

    def provisioned(settings: UnitSettings) -> int:
        taken: list[int] = []

        def count_operations(what: str) -> None:
            if what.endswith("restarting as a unit"):
                taken.append(len(read_trace(trace.read_bytes())))

        board.provision(settings, count_operations)
        return taken[-1]  # power_cut.py tests the start after it, which uses the journal too

    try:
        board.shoe.power_on()  # makes a file system
        board.shoe.power_off()
        trace.touch()
        board.shoe.power_on()
        done(FLASHED, lambda: board.flash(release))
        done(PROVISIONED, lambda: board.provision(_FIRST))
        board.service_on()
        done(AGAIN, lambda: provisioned(_SECOND))
    finally:
        board.shoe.close()
    return RecordedSetup(seed, steps, release)


def _until_unit(before: bytes, operations: Sequence[FlashOperation]) -> int:
    """Return after how many operations the board is a unit; the later ones are of its start, which
    power_cut.py tests."""

    not_yet, unit = 0, len(operations)  # after how many it is not a unit, and after how many it is
    content = before
    while unit - not_yet > 1:
        middle = (not_yet + unit) // 2
        image = ChipImage(content, sectors=BOARD_SECTORS)
        image.apply_all(operations[not_yet:middle])
        if "state/unit.cbor" in _files_of(image.content):
            unit = middle
        else:
            not_yet, content = middle, image.content
    return unit


def setup_cuts(recorded: RecordedSetup, every: int = 1) -> Iterator[SetupCut]:
    """Yield the cuts after and in each `every`-th operation, from a random one on; more of them
    where documents are written."""
    chance = random.Random(recorded.seed)
    number = chance.randrange(AGAIN_EVERY)
    for at_step, step in enumerate(recorded.steps):
        places: Sequence[int] = range(chance.randrange(every), len(step.operations), every)
        if step.name != FLASHED:
            often = max(1, every // _DOCUMENT_SHARE)
            first = chance.randrange(often)
            head = range(first, min(_DOCUMENT_OPERATIONS, len(step.operations)), often)
            tail = range(max(0, len(step.operations) - 1 - first), len(step.operations), often)
            places = sorted({*head, *places, *tail})
        for cut in cuts_at(step.operations, places, chance):
            yield SetupCut(at_step, cut, number % AGAIN_EVERY == 0)
            number += 1


@private_runtime()  # boards of the same name are checked at the same time
def check_setup_cut(recorded: RecordedSetup, cut: SetupCut) -> str:
    """Return how the board starts after that cut. Raises AssertionError if that is not allowed."""
    step = recorded.steps[cut.step]
    rng = np.random.default_rng([recorded.seed, cut.step, cut.flash.at])
    image = flash_after(step.before, step.operations, cut.flash, rng)
    with tempfile.TemporaryDirectory(prefix="sabot-cut-") as name:
        folder = Path(name)
        image.save(folder / BOARD_FLASH)
        (folder / JOURNAL).write_bytes(step.journal)
        for path, content in (("keys", step.chains), ("commands", step.commands)):
            if content:
                (folder / path).write_bytes(content)
        if step.name == FLASHED:
            return _check_flashed(recorded, cut, folder)
        return _check_provisioned(step, folder)


def _check_flashed(recorded: RecordedSetup, cut: SetupCut, folder: Path) -> str:
    wanted = layout.flashed(recorded.release.files)
    found = _files_of((folder / BOARD_FLASH).read_bytes())
    whole = "main.py" in found
    if whole:
        assert found == wanted, "it starts, but its files are not as they should be"
    if cut.again:
        board = _SetupBoard(folder)
        try:
            board.shoe.power_on()
            if not whole:
                board.flash(recorded.release)
            shown = board.shoe.bench.wait_for(lambda outputs: bool(outputs.title), "started")
            assert shown.title == _WAITS, shown
        finally:
            board.shoe.close()
    return f"{FLASHED}: whole" if whole else f"{FLASHED}: its prompt"


def _check_provisioned(step: SetupStep, folder: Path) -> str:
    board = _SetupBoard(folder)
    try:
        board.shoe.power_on()
        shown = board.shoe.bench.wait_for(lambda outputs: bool(outputs.title), "started").title
        if step.name == PROVISIONED:
            if shown == _WAITS:
                board.provision(_FIRST)
            assert board.settings() == (_UNIT, "mini", "12"), board.settings()
            left = board.secrets_left()
            assert not left, left
            return f"{PROVISIONED}: {'waits for it' if shown == _WAITS else 'the unit'}"
        if shown == _UPDATE:  # it had accepted the new settings, and continues with a host
            board.service_on()
            board.provision(_SECOND)
        settings = board.settings()
        assert settings in ((_UNIT, "mini", "12"), (_UNIT, "ez-midi", "13")), settings
        return f"{AGAIN}: table {settings[2]}"
    finally:
        board.shoe.close()


def _files_of(flash_content: bytes) -> dict[str, bytes]:
    """Return all files of a board, by path."""
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


def main(
    seed: Seed = 1,
    every: Annotated[int, typer.Option(help="Cut at each N-th operation only.")] = 1,
) -> bool:
    """Cut the power at every operation on a board's flash while it is flashed and provisioned."""
    console = output()
    with tempfile.TemporaryDirectory(prefix="sabot-setup-") as name:
        recorded = record_setup(seed, Path(name))
    planned = list(setup_cuts(recorded, every))
    counted = ", ".join(f"{step.name} {len(step.operations)}" for step in recorded.steps)
    console.print(f"operations on the flash: {counted}; {len(planned)} cuts, seed {seed}")
    return check_cuts(partial(check_setup_cut, recorded), planned, console)


if __name__ == "__main__":
    run(main)
