"""`make powercut`: cuts the power at every operation on the journal chip during a shoe of cards.

    python -m sabot_hil.sweeps.power_cut [--seed N] [--run new|old] [--thorough] [--again]
        [--only N]

A full shoe of cards is dealt on a new simulated shoe whose chip is traced (recorded_run.py), and
the first part of one on a shoe whose chip has long been full. Then, for each operation, the real
firmware is started on the chip as it was right after the operation, and as it was after a power cut
in the middle of it. It must start in its last state: what it shows, and what a host gets
from it, is compared with the recorded run. Some cuts go further: the power is cut again at every
operation of the start, or dealing goes on.

Prints what was done and each failure; exit code 1 if there is one. The run is kept in
build/powercut, so that a failure can be repeated: --again --run new --only N.
"""

import functools
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from rich.table import Table

from sabot.sim.process import SimulatedShoe
from sabot_hil.kit.flash_image import SECTOR, ChipImage
from sabot_hil.kit.journal_image import KEY_SECTORS, SLOT, entries_in
from sabot_hil.kit.runner import BUILD, Checked, Seed, check_all, output, plain_table, run
from sabot_hil.sweeps.aged_journal import RING, aged_image
from sabot_hil.sweeps.cut_checker import Checker, middles
from sabot_hil.sweeps.cut_plan import DONE, CutPlan, JournalCut
from sabot_hil.sweeps.recorded_run import UNIT, RecordedRun, record_run

GO_ON_EVERY = 40
"""One in this many cuts is followed by more dealing,"""
GO_ON_STEPS = 40
"""of this many actions; every tenth time to the end of the shoe of cards."""
AGAIN_EVERY = 50
"""After one in this many cuts, the power is cut again at every operation of the start."""

_SECTORS_LEFT = 3  # in the ring, before its first sector is used again
_SLOTS_LEFT = 13
_KEPT = BUILD / "powercut"


def cuts_of(run: RecordedRun, plan: CutPlan, *, thorough: bool) -> Iterator[JournalCut]:
    """Yield every cut: after each operation, and in the middle of it once, or in every way if
    `thorough`."""
    rng = np.random.default_rng(run.seed)
    number = 0
    for at, operation in enumerate(run.operations):
        ways = middles(operation)
        hows = ways if thorough else [str(rng.choice(ways))]
        for how in (DONE, *hows):
            go_on = 0
            if number % GO_ON_EVERY == 0:
                to_the_end = number // GO_ON_EVERY % 10 == 5
                go_on = len(run.steps) if to_the_end else GO_ON_STEPS
            yield JournalCut(at, how, go_on, number % AGAIN_EVERY == 0)
            number += 1


# ---- all of them


@dataclass
class CutTally:
    """The results of the cuts, counted."""

    cuts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The number of cuts by kind of operation and way of the cut."""
    boots: int = 0
    failures: list[tuple[JournalCut, str]] = field(default_factory=list)

    def add(self, kind: str, done: Checked[JournalCut, int]) -> None:
        """Count the cut of an operation of this kind; its result is how often the shoe started."""
        self.cuts[kind, done.case.how] += 1
        self.boots += done.result or 0
        if done.failure:
            self.failures.append((done.case, done.failure))


@functools.cache
def _checker(run: Path, folder: Path) -> Checker:
    return Checker(RecordedRun.load(run), folder)


def _boots_after(run: Path, folder: Path, cut: JournalCut) -> int:
    """Check a cut, and return how often the firmware was started for it."""
    checker = _checker(run, folder)
    before = checker.boots
    checker.check(cut)
    return checker.boots - before


def sweep_cuts(kept: Path, run: RecordedRun, cuts: Sequence[JournalCut]) -> CutTally:
    """Check the cuts of a run, which is also in the folder `kept`, on all cores."""
    tally = CutTally()
    with tempfile.TemporaryDirectory(prefix="sabot-powercut-") as name:
        for done in check_all(partial(_boots_after, kept, Path(name)), cuts, "cuts"):
            tally.add(run.operations[done.case.operation].kind, done)
    return tally


def sample(
    cuts: Sequence[JournalCut], kind_of: Callable[[JournalCut], str], count: int
) -> list[JournalCut]:
    """Return `count` of the cuts, spread from the first to the last, a third of them in erases."""
    erases = [cut for cut in cuts if kind_of(cut) == "erase"]
    programs = [cut for cut in cuts if kind_of(cut) == "program"]
    return _spread(erases, count // 3) + _spread(programs, count - count // 3)


def _spread(cuts: Sequence[JournalCut], count: int) -> list[JournalCut]:
    return [cuts[len(cuts) * at // count] for at in range(min(count, len(cuts)))]


def summary_of(tally: CutTally, run: RecordedRun, title: str) -> Table:
    """Return a table of what was done, for people."""
    table = plain_table(title, ["operation", "cut"], ["in the run", "cuts"])
    kinds: Counter[str] = Counter(operation.kind for operation in run.operations)
    for kind, how in sorted(tally.cuts):
        way = "right after it" if how == DONE else how
        table.add_row(kind, way, f"{kinds[kind]:,}", f"{tally.cuts[kind, how]:,}")
    return table


def record_new(seed: int) -> RecordedRun:
    """Record a new unit's first shoe of cards, from its first power-on to the last card."""
    return record_run(seed)


def record_old(seed: int) -> RecordedRun:
    """Record a short shoe of cards on a full chip, where old sectors are erased for new entries."""
    first_key = random.Random(seed).randbytes(32)
    with tempfile.TemporaryDirectory(prefix="sabot-run-") as name:
        with SimulatedShoe(UNIT, state=Path(name), flash_speed_permille=0) as shoe:
            shoe.power_on()
        entries = entries_in(ChipImage.load(Path(name) / "journal.nor"))
    state = next(entry.payload for entry in entries if entry.kind == "state")
    last_sector, newest_slot = RING - _SECTORS_LEFT, KEY_SECTORS * SECTOR // SLOT - _SLOTS_LEFT
    image = aged_image(
        first_key,
        last_sector=last_sector,
        newest_slot=newest_slot,
        state=state,
        acknowledged=last_sector + 1,
    )
    aged = first_key, image, last_sector + 2
    return record_run(seed, short=True, aged=aged)


RUNS: dict[str, Callable[[int], RecordedRun]] = {"new": record_new, "old": record_old}


def main(
    which: Annotated[
        Literal["new", "old"] | None,
        typer.Option("--run", help="A new unit, or an old one; both otherwise."),
    ] = None,
    seed: Seed = 1,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Each operation in every way.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Use the kept runs, record no new one.")
    ] = False,
    only: Annotated[int | None, typer.Option(help="This operation only, in every way.")] = None,
    every: Annotated[int, typer.Option(help="Only every N-th cut.")] = 1,
) -> bool:
    """Cut the power at every operation on the journal chip during a shoe of cards."""
    good = True
    for name in [which] if which else RUNS:
        began_s = time.monotonic()
        kept = _KEPT / name
        if not again:
            print(f"seed {seed}, {name} unit: dealing", file=sys.stderr)
            RUNS[name](seed).save(kept)
        recorded = RecordedRun.load(kept)
        every_way = thorough or only is not None
        cuts = list(cuts_of(recorded, CutPlan(recorded), thorough=every_way))
        if only is not None:
            cuts = [cut for cut in cuts if cut.operation == only]
        cuts = cuts[::every]
        tally = sweep_cuts(kept, recorded, cuts)
        _report(tally, name, recorded, cuts, (time.monotonic() - began_s) / 60)
        good &= not tally.failures
    return good


def _report(
    tally: CutTally, name: str, run: RecordedRun, cuts: Sequence[JournalCut], minutes: float
) -> None:
    console = output()
    console.print(summary_of(tally, run, f"seed {run.seed}: power cuts, {name} unit"))
    again = sum(cut.again for cut in cuts)
    gone_on = sum(cut.go_on > 0 for cut in cuts)
    console.print(
        f"{len(run.operations):,} operations, {len(run.steps):,} actions, "
        f"{len(run.events):,} events; "
        f"{len(cuts):,} cuts, {again:,} of them followed by cuts at every operation of the start, "
        f"{gone_on:,} followed by more dealing; {tally.boots:,} starts in {minutes:.1f} minutes"
    )
    for cut, failure in sorted(tally.failures, key=lambda failed: failed[0].operation):
        console.print(f"{cut}: {failure}", markup=False, highlight=False, soft_wrap=True)
        console.print(
            "  to repeat: python -m sabot_hil.sweeps.power_cut --again "
            f"--run {name} --only {cut.operation}"
        )
    console.print(
        f"{len(tally.failures):,} failures" if tally.failures else "Every start was right."
    )


if __name__ == "__main__":
    run(main)
