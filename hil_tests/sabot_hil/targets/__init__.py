"""All targets. A new target is a module here and a line in TARGETS; no test changes."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import sabot_firmware
from sabot.errors import SabotError, did_you_mean
from sabot_hil.capabilities import Prompt, Target, Unable, session_with

if TYPE_CHECKING:  # what makes and asks a target is imported when one is made or asked
    from sabot_hil.kit.witness import Witness


BOARD, BARE = "board", "pico"
"""The targets that are followed by a serial number: a whole shoe, and a Pico on its own."""

EMULATED = "emulator"
"""In place of a bare Pico's serial number: the emulated one."""


@dataclass(frozen=True, slots=True)
class TargetChoice:
    """Which target is tested, and its options."""

    name: str = "sim"
    """One of TARGETS."""
    serial: str = ""
    """For a board: the shoe's USB serial number. For a bare Pico: its own, or "emulator"."""
    bench: str = ""
    """For a board: the USB serial number of the bench board that it is wired to. For an emulated
    Pico: "emulator" if it is wired to an emulated bench board."""
    image: Path | None = None
    """MicroPython for an emulated Pico; None: SABOT_UF2, or else one that is found or fetched."""
    seed: int = 0
    """For an emulated Pico: the same seed gives the same times."""


class NoSuchTarget(SabotError):
    """No target has this name."""

    exit_code = 2


def choice_of(
    text: str, image: Path | None = None, seed: int | None = None, bench: str | None = None
) -> TargetChoice:
    """Return the choice that `--target` stands for. Raises NoSuchTarget."""
    name, colon, serial = text.partition(":")
    if name not in TARGETS or bool(colon) != (name in (BOARD, BARE)):
        raise NoSuchTarget(f"no target has the name {text!r}; {did_you_mean(text, _SPELT)}")
    if name == "board" and not (serial and bench):
        raise NoSuchTarget(
            "a board needs its serial number and its bench: board:SERIAL --bench SERIAL"
        )
    if name == BARE and (not serial or bench):
        raise NoSuchTarget("a bare Pico needs its serial number and no bench: pico:SERIAL")
    if name == "emulator" and bench not in (None, "emulator"):
        raise NoSuchTarget(
            f"an emulated shoe has no bench {bench!r}; use --bench emulator, or leave it out"
        )
    return TargetChoice(name, serial, bench or "", image, seed or 0)


def make_target(
    choice: TargetChoice, unit: str, folder: Path, witness: "Witness | None" = None
) -> Target:
    """Return the chosen target, powered off. It keeps its files in `folder` and reports to
    `witness` what happens around it. Raises SabotError if it cannot be made.
    """
    from sabot_hil.kit.witness import Witness

    return TARGETS[choice.name](choice, unit, folder, witness or Witness())


def make_prompt(choice: TargetChoice) -> Prompt:
    """Return the chosen bare Pico, at its prompt. Raises Unable for another target, and SabotError
    if no board answers there, or if it has Sabot."""
    if choice.name != BARE:
        raise Unable("this is for a Pico on its own: --target pico:SERIAL")
    if choice.serial == EMULATED:
        from sabot_hil.emulation.uf2 import find_image, read_image
        from sabot_hil.targets.emulated_prompt import EmulatedPrompt

        return EmulatedPrompt(read_image(find_image(choice.image)))
    from sabot_hil.targets.bare_prompt import RealPrompt

    return RealPrompt(choice.serial, patience_s=_RESTART_S)


def handed_in(choice: TargetChoice) -> dict[str, str]:
    """Return what is to be judged, for the report: `Firmware` and `Board`, and of a real shoe its
    `Unit`.

    A simulated or an emulated shoe is made for each test, from the firmware of this installation.
    A real shoe is switched on and asked, and switched off again. Raises BrokenRig, SabotError.
    """
    from sabot.release.layout import build_of
    from sabot_hil.kit import releases
    from sabot_hil.kit.witness import firmware_text

    if choice.name == BARE:
        return {}  # no firmware of ours is on it
    if choice.name == BOARD:
        return _asked(choice)
    board = _BOARDS[choice.name]
    build = build_of(releases.compiled(board))
    return {"Firmware": firmware_text(sabot_firmware.VERSION, build), "Board": board}


def _asked(choice: TargetChoice) -> dict[str, str]:
    from sabot_hil.kit.witness import firmware_text

    with tempfile.TemporaryDirectory() as folder:
        target = make_target(choice, choice.serial, Path(folder))
        try:
            target.power.on()
            with session_with(target.shoe) as client:
                welcome = client.welcome
        finally:
            target.close()
    return {
        "Unit": client.unit,
        "Firmware": firmware_text(welcome.firmware, welcome.build),
        "Board": welcome.board,
    }


def _sim_target(choice: TargetChoice, unit: str, folder: Path, witness: "Witness") -> Target:
    from sabot_hil.targets.sim import SimTarget

    return SimTarget(unit, folder, witness)


def _emulator_target(choice: TargetChoice, unit: str, folder: Path, witness: "Witness") -> Target:
    if choice.bench:
        from sabot_hil.targets.wired import WiredTarget

        return WiredTarget(unit, folder, witness, image=choice.image, seed=choice.seed)
    from sabot_hil.targets.emulator import EmulatorTarget

    return EmulatorTarget(unit, folder, witness, image=choice.image, seed=choice.seed)


def _board_target(choice: TargetChoice, unit: str, folder: Path, witness: "Witness") -> Target:
    from sabot_hil.targets.bench_shoe import BoardTarget

    return BoardTarget(choice.serial, choice.bench, witness)


def _no_shoe(choice: TargetChoice, unit: str, folder: Path, witness: "Witness") -> Target:
    raise Unable("a bare Pico is no shoe: this test needs one")


TARGETS: dict[str, Callable[[TargetChoice, str, Path, "Witness"], Target]] = {
    "sim": _sim_target,
    "emulator": _emulator_target,
    BOARD: _board_target,
    BARE: _no_shoe,
}
_RESTART_S = 10.0
"""The command has examined a bare Pico, and restarted it, just before its tests."""
_BOARDS = {"sim": "sim", "emulator": "pico"}
_SPELT = ("sim", "emulator", "board:SERIAL", "pico:SERIAL")
