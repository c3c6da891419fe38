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

import argparse
import functools
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from sabot.sim.process import SimulatedShoe
from sabot_hil.kit.flash_image import SECTOR, ChipImage
from sabot_hil.kit.journal_image import KEY_SECTORS, SLOT, entries_in
from sabot_hil.kit.private_runtime import private_runtime
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
_PIPE_WIDTH = 120
_LINES = 20  # lines that show the progress if there is no terminal for a bar
_KEPT = Path(__file__).resolve().parents[3] / "build" / "powercut"


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

    def add(self, cut: JournalCut, kind: str, boots: int, failure: str) -> None:
        """Count a cut; `failure` is empty if there was none."""
        self.cuts[kind, cut.how] += 1
        self.boots += boots
        if failure:
            self.failures.append((cut, failure))


@functools.cache
def _checker(run: Path, folder: Path) -> Checker:
    return Checker(RecordedRun.load(run), folder)


def _check_in_worker(run: Path, folder: Path, cut: JournalCut) -> tuple[JournalCut, int, str]:
    checker = _checker(run, folder)
    before = checker.boots
    failure = ""
    try:
        checker.check(cut)
    except Exception as error:  # any failure: the other cuts are still checked
        at = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})"
    return cut, checker.boots - before, failure


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the process with the progress


def sweep_cuts(
    run: Path,
    cuts: Sequence[JournalCut],
    kind_of: Callable[[JournalCut], str],
    progress: Callable[[CutTally], None],
) -> CutTally:
    """Check the cuts of the run that is kept in `run`, on all cores. `progress` is called after
    each.

    On Ctrl-C the running checks finish, and no files or processes stay.
    """
    tally = CutTally()
    with tempfile.TemporaryDirectory(prefix="sabot-powercut-") as name:
        folder = Path(name)
        with ProcessPoolExecutor(initializer=_begin_worker) as pool:
            try:
                for done in as_completed(
                    [pool.submit(_check_in_worker, run, folder, cut) for cut in cuts]
                ):
                    cut, boots, failure = done.result()
                    tally.add(cut, kind_of(cut), boots, failure)
                    progress(tally)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
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
    table = Table(title=title, box=None, padding=(0, 1, 0, 0))
    for name in ("operation", "in the run", "cut", "cuts"):
        table.add_column(name, justify="right" if name in ("in the run", "cuts") else "left")
    kinds: Counter[str] = Counter(operation.kind for operation in run.operations)
    for kind, how in sorted(tally.cuts):
        way = "right after it" if how == DONE else how
        table.add_row(kind, f"{kinds[kind]:,}", way, f"{tally.cuts[kind, how]:,}")
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


@private_runtime()
def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sabot_hil.sweeps.power_cut")
    parser.add_argument("--run", choices=RUNS, help="a new unit, or an old one; both otherwise")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--thorough", action="store_true", help="each operation in every way")
    parser.add_argument("--again", action="store_true", help="use the kept runs, record no new one")
    parser.add_argument("--only", type=int, help="this operation only, in every way")
    parser.add_argument("--every", type=int, default=1, help="only every N-th cut")
    options = parser.parse_args()
    console = Console(stderr=True)
    failed = False
    try:
        for name in [options.run] if options.run else RUNS:
            failed |= _sweep_run(console, name, options)
    except KeyboardInterrupt:
        console.print("stopped before the end")
        return 130
    return 1 if failed else 0


def _sweep_run(console: Console, name: str, options: argparse.Namespace) -> bool:
    """Record a run, or load the kept one, and check its cuts. Return whether any failed."""
    began_s = time.monotonic()
    kept = _KEPT / name
    if not options.again:
        console.print(f"seed {options.seed}, {name} unit: dealing")
        RUNS[name](options.seed).save(kept)
    run = RecordedRun.load(kept)
    every_way = options.thorough or options.only is not None
    cuts = list(cuts_of(run, CutPlan(run), thorough=every_way))
    if options.only is not None:
        cuts = [cut for cut in cuts if cut.operation == options.only]
    cuts = cuts[:: options.every]
    tally = _with_progress(console, kept, run, cuts)
    _report(tally, name, run, cuts, (time.monotonic() - began_s) / 60)
    return bool(tally.failures)


def _with_progress(
    console: Console, kept: Path, run: RecordedRun, cuts: Sequence[JournalCut]
) -> CutTally:
    columns = (
        TextColumn("cuts"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[failures]} failures"),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("cuts", total=len(cuts), failures=0)
        step = max(1, len(cuts) // _LINES)

        def show(tally: CutTally) -> None:
            count = tally.cuts.total()
            progress.update(task, completed=count, failures=len(tally.failures))
            if not console.is_terminal and count % step == 0:
                console.print(f"{count} of {len(cuts)} cuts, {len(tally.failures)} failures")

        return sweep_cuts(kept, cuts, lambda cut: run.operations[cut.operation].kind, show)


def _report(
    tally: CutTally, name: str, run: RecordedRun, cuts: Sequence[JournalCut], minutes: float
) -> None:
    console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
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
    sys.exit(main())
