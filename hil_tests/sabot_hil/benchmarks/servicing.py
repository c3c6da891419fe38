"""How long a technician waits for a full flash, an update and a start, on the simulated board and
on an emulated bare Pico, in seconds of the target's time."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import sabot_firmware
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.ports import Port
from sabot.release.flash import flash
from sabot.release.provision import KeyFiles, provision
from sabot.release.update import update
from sabot.sim.process import SimulatedShoe
from sabot_hil.emulation.uf2 import find_image, read_image
from sabot_hil.kit import releases
from sabot_hil.targets.bare_board import BareBoard, settings_of

_UNIT = "BENCH-2"


@dataclass(frozen=True, slots=True)
class Seconds:
    """Seconds of the target's time. `start` is from power on until the shoe has started."""

    flash: float
    update: float
    start: float


def on_simulator() -> Seconds:
    """Measure the simulated board, with this machine's time."""
    first = releases.changed("sim", releases.HOUSE, sabot_firmware.VERSION)
    newer = releases.changed("sim", releases.HOUSE, releases.NEWER)
    known = CommandKeyFile()
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        files = KeyFiles(state / "sabot.keys", state / "sabot.commands", known)
        with SimulatedShoe("BARE-2", state=state / "board", files={}) as board:
            board.power_on()

            @contextmanager
            def attached() -> Iterator[Client]:
                with Port(board.port) as port:
                    yield Client(port, keys=known)

            flashed_s = _seconds_taken(
                monotonic, lambda: flash(board.port, first, open_repl=lambda: None)
            )
            provision(attached, settings_of(_UNIT), files)
            updated_s = _seconds_taken(monotonic, lambda: update(attached, newer))
            board.power_off()
            started_s = _seconds_taken(monotonic, board.power_on)
    return Seconds(flashed_s, updated_s, started_s)


def on_emulator() -> Seconds:
    """Measure an emulated Pico, with emulated time. Raises ImageUnusable, ImportError."""
    image = read_image(find_image())
    first = releases.changed("pico", releases.HOUSE, sabot_firmware.VERSION)
    newer = releases.changed("pico", releases.HOUSE, releases.NEWER)
    board = BareBoard(image)
    with tempfile.TemporaryDirectory() as folder:
        try:
            flashed_s = _seconds_taken(board.now_s, lambda: board.flash(first))
            board.provision(_UNIT, Path(folder))
            updated_s = _seconds_taken(board.now_s, lambda: board.update(newer))
            board.bench.settle()
            board.power.off()
            begun_s = board.now_s()
            board.pico.power_on()
            board.pico.run_until(lambda: bool(board.bench.outputs.title), 20e6)
            started_s = board.now_s() - begun_s
        finally:
            board.shoe.close()
            board.power.off()
    return Seconds(flashed_s, updated_s, started_s)


def _seconds_taken(now_s: Callable[[], float], work: Callable[[], object]) -> float:
    begun_s = now_s()
    work()
    return now_s() - begun_s
