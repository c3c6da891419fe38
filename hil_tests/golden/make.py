"""Makes the golden journals that are missing (README.md): python -m hil_tests.golden.make"""

import json
import lzma
import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sabot.link.client import Client
from sabot.link.messages import StatusCommand
from sabot.link.ports import Port
from sabot.sim.process import SimulatedShoe, new_journal
from sabot_firmware import VERSION
from sabot_hil.kit.flash_image import ChipImage, read_trace
from sabot_hil.kit.journal_image import entries_in
from sabot_hil.kit.used_unit import write_key_files
from sabot_hil.sweeps.recorded_run import GOES_ON, Action, play
from sabot_hil.targets.sim import SimulatedBench
from sabot_protocol import enums

FOLDER = Path(__file__).resolve().parent
UNIT = "GOLDEN"
FIGURES = ("lock_released", "shoe", "round", "cards")
"""Fields of the message `status_report` that are compared, besides phase and error."""
HANDS = slice(1, 4)
"""The display's lines with the round and its cards."""

_PASSING_MM = 40.0


def _pull(*cards: str) -> list[Action]:
    return [("pull", card) for card in cards]


_LOAD: list[Action] = [("switch", "lid_open", "1"), ("switch", "lid_open", "0")]
_BURN = _pull("AC", "2C")
_ROUND = _pull("4C", "7D", "4H", "2S")
_NEXT: list[Action] = [("press", "next")]


@dataclass(frozen=True, slots=True)
class Scene:
    """The actions before the power cut. `passing` is a card that is in the head at that time."""

    actions: Sequence[Action]
    passing: str = ""
    torn: bool = False
    """Whether the power is cut in the largest program of the last action."""


SCENES = {
    "mid-round": Scene(
        [*_LOAD, *_BURN, *_ROUND, ("power",), *_NEXT, *_NEXT, *_pull("KD", "9S", "3H")]
    ),
    "error-shown": Scene(
        [
            *_LOAD, *_BURN, *_pull("4C"), ("blank",),
            ("switch", "key_on", "1"), *_NEXT, *_NEXT, ("press", "burn"),
        ]
    ),
    "card-passing": Scene([*_LOAD, *_BURN, *_ROUND, *_NEXT, *_pull("KD")], passing="9S"),
    "torn-tail": Scene([*_LOAD, *_BURN, *_ROUND], torn=True),
    "shoe-ended": Scene([*_LOAD, *_BURN, *_pull("4C", "7D", "4H", "CUT", "2S"), *_NEXT, *_ROUND]),
}  # fmt: skip


def status_of(shoe: SimulatedShoe) -> dict[str, object]:
    """Return the state that a shoe reports, and the hands that it shows."""
    with Port(shoe.port) as port:
        report = Client(port).ask(StatusCommand())
    return {
        "phase": enums.PHASES.index(report.phase),
        "error": enums.ERRORS.index(report.error),
        **{name: getattr(report, name) for name in FIGURES},
        "hands": list(shoe.bench.outputs.display[HANDS]),
    }


def start_on(shoe: SimulatedShoe, switches: Sequence[str]) -> None:
    """Power on, with these switches on."""
    for switch in switches:
        shoe.bench.switch(switch, True)
    shoe.power_on(GOES_ON)


def make_golden(name: str, scene: Scene) -> None:
    """Play a scene to a new shoe, and keep its chip."""
    first_key = random.Random(name).randbytes(32)
    with tempfile.TemporaryDirectory(prefix="sabot-golden-") as made:
        folder = Path(made)
        trace = folder / "trace"
        (folder / "first").mkdir()
        (folder / "first" / "journal.nor").write_bytes(new_journal(first_key))
        write_key_files(folder / "first", UNIT, first_key)
        with SimulatedShoe(
            UNIT, state=folder / "first", flash_speed_permille=0, trace=trace
        ) as shoe:
            shoe.power_on()
            for action in scene.actions:
                before = len(read_trace(trace.read_bytes()))
                play(shoe, action)
            if scene.passing:
                SimulatedBench(shoe).pull_part(scene.passing, _PASSING_MM)
            switches = ["key_on"] if shoe.bench.switch_bits() else []
        operations = read_trace(trace.read_bytes())
        image = ChipImage(new_journal(first_key))
        if scene.torn:
            sizes = [len(operation.data) for operation in operations]
            at = max(range(before, len(sizes)), key=sizes.__getitem__)
            image.apply_all(operations[:at])
            image.cut(operations[at], "first bytes", np.random.default_rng(1))
        else:
            image.apply_all(operations)
        second = folder / "second"
        second.mkdir()
        image.save(second / "journal.nor")
        chip = (second / "journal.nor").read_bytes()
        write_key_files(second, UNIT, first_key)
        with SimulatedShoe(UNIT, state=second, flash_speed_permille=0) as shoe:
            start_on(shoe, switches)
            says = status_of(shoe)
    events = [[entry.record.hex(), entry.mac.hex()] for entry in entries_in(image) if entry.number]
    expected = {
        "firmware": VERSION,
        "first_key": first_key.hex(),
        "switches_on": switches,
        "says": says,
        "events": events,
    }
    (FOLDER / f"{name}.nor.xz").write_bytes(lzma.compress(chip))
    (FOLDER / f"{name}.json").write_text(json.dumps(expected, indent=1) + "\n")


def main() -> int:
    for name, scene in SCENES.items():
        if not (FOLDER / f"{name}.json").exists():
            make_golden(name, scene)
            print(f"made {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
