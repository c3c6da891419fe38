"""Power cuts on the flash of a board: which ones are made, and the flash that each leaves."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from rich.console import Console

from sabot_firmware.boards.sim.flash import BOARD_SECTORS
from sabot_hil.kit.flash_image import ChipImage, FlashOperation
from sabot_hil.kit.runner import check_all

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class FlashCut:
    """A power cut in the operation `at`, in the way `how` of flash_image.py, or right after it if
    `how` is empty."""

    at: int
    how: str = ""


def cuts_at(
    operations: Sequence[FlashOperation], places: Iterable[int], chance: random.Random
) -> Iterator[FlashCut]:
    """Yield two cuts for each of the places: right after the operation, and in it in one way."""
    for at in places:
        for how in ("", chance.choice(operations[at].cuts)):
            yield FlashCut(at, how)


def flash_after(
    before: bytes, operations: Sequence[FlashOperation], cut: FlashCut, rng: np.random.Generator
) -> ChipImage:
    """Return the board's flash after a cut in one of the operations on it."""
    image = ChipImage(before, sectors=BOARD_SECTORS)
    image.apply_all(operations[: cut.at])
    if cut.how:
        image.cut(operations[cut.at], cut.how, rng)
    else:
        image.apply(operations[cut.at])
    return image


def check_cuts(check: Callable[[C], str], cuts: Sequence[C], console: Console) -> bool:
    """Check all cuts, print each failure and how many shoes started in which way, and return
    whether all were right. `check` returns how a shoe starts after a cut, or raises."""
    starts: Counter[str] = Counter()
    for done in check_all(check, cuts, "cuts"):
        starts["failed" if done.result is None else done.result] += 1
        if done.failure:
            console.print(f"{done.case}: {done.failure}", markup=False)
    console.print("\n".join(f"{what}: {count}" for what, count in sorted(starts.items())))
    return "failed" not in starts
