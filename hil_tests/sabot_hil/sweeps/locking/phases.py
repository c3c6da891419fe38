"""Pulls cards that are due in every phase of what the shoe does, on the emulated Pico, and looks at
the lock: `python -m sabot_hil.sweeps.locking.phases`, or `make lockphases`.

Last cards and other cards that are due; 30 to 330 ms after the card before, and at any time after a
pause; with and without a host that asks without a pause; with the flash's cost and a tenth more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby, product
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sabot.errors import ImageUnusable
from sabot_hil.emulation.uf2 import find_image
from sabot_hil.kit.runner import BUILD, check_all, output, plain_table, run, write_figures
from sabot_hil.sweeps.locking import picture
from sabot_hil.sweeps.locking.scenes import Pulled, Scene, pull_all

SPEEDS_MM_S = (180.0, 300.0, 600.0, 1000.0, 1800.0, 3000.0)
FLASH_PERCENTS = (100, 110)
_GAP_MS = (30.0, 330.0)
_PAUSE_MS = (0.0, 1000.0)
"""Garbage is collected once in this time while the shoe is idle."""
_PAUSE_STEPS = 3  # in one step the gaps go on by a third of this


def scenes(
    speeds_mm_s: Sequence[float] = SPEEDS_MM_S, percents: Sequence[int] = FLASH_PERCENTS
) -> list[Scene]:
    """Return all scenes, those that take longest first."""
    either = (True, False)
    return [
        Scene(last, gap, flooded, speed_mm_s, percent)
        for flooded, percent, speed_mm_s, last, gap in product(
            either, percents, speeds_mm_s, either, either
        )
    ]


def steps_ms(scene: Scene, step_ms: float) -> list[float]:
    """Return when the cards of a scene come."""
    begin_ms, end_ms = _GAP_MS if scene.gap else _PAUSE_MS
    each_ms = step_ms if scene.gap else step_ms * _PAUSE_STEPS
    return [begin_ms + n * each_ms for n in range(int((end_ms - begin_ms) / each_ms) + 1)]


def _pull(scene: Scene, step_ms: float, image: Path) -> list[Pulled]:
    return pull_all(scene, steps_ms(scene, step_ms), image)


def table_of(pulled: Iterable[Pulled]) -> Table:
    """Return the figures of each kind of scene: cards, what was wrong, and the longest times."""
    table = plain_table(
        "The lock, and the cards that are due",
        ["scene", "flash"],
        [
            "cards",
            "late",
            "reopened",
            "found it shut",
            "last mark to shut, ms",
            "to open again, ms",
        ],
    )
    ordered = sorted(pulled, key=_kind)
    for (name, percent), group in groupby(ordered, key=_kind):
        cards = list(group)
        last = cards[0].scene.last
        settled_ms = [card.outcome.settled_ms or 0.0 for card in cards]
        longest = f"{max(settled_ms):.1f}"
        table.add_row(
            name,
            f"{percent} %",
            str(len(cards)),
            str(sum(card.outcome.late(last) for card in cards)),
            str(sum(card.outcome.reopened for card in cards)),
            str(sum(card.outcome.found_shut_ms is not None for card in cards)),
            longest if last else "",
            "" if last else longest,
        )
    return table


def _kind(card: Pulled) -> tuple[str, int]:
    return card.scene.name, card.scene.flash_percent


def main(
    step_ms: Annotated[float, typer.Option(help="From one gap to the next.")] = 6.0,
    speed: Annotated[
        list[float], typer.Option(help="Of the cards, in mm/s; may be given more than once.")
    ] = list(SPEEDS_MM_S),  # noqa: B006 - typer copies it
    percent: Annotated[
        list[int], typer.Option(help="What a miss of the flash's cache costs; may be repeated.")
    ] = list(FLASH_PERCENTS),  # noqa: B006
    uf2: Annotated[Path | None, typer.Option(help="MicroPython's image; else SABOT_UF2.")] = None,
    out: Annotated[Path, typer.Option(help="The picture.")] = BUILD / "lock-phases.png",
) -> bool:
    """Pull cards that are due in every phase, and look whether the lock was right."""
    try:
        image = find_image(uf2)
    except ImageUnusable as error:
        raise typer.BadParameter(str(error)) from None
    pulled: list[Pulled] = []
    good = True
    all_scenes = scenes(speed, percent)
    for checked in check_all(partial(_pull, step_ms=step_ms, image=image), all_scenes, "scenes"):
        if checked.result is None:
            good = False
            output().print(f"{checked.case.name}: {checked.failure}")
        else:
            pulled += checked.result
    output().print(table_of(pulled))
    for card in [card for card in pulled if card.faults]:
        good = False
        scene = card.scene
        output().print(
            f"{scene.name}, flash {scene.flash_percent} %, {scene.speed_mm_s:.0f} mm/s, "
            f"{card.step_ms:.1f} ms: {'; '.join(card.faults)}"
        )
    write_figures("lock-phases.json", [asdict(card) for card in pulled])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(picture.png(pulled))
    return good


if __name__ == "__main__":
    run(main)
