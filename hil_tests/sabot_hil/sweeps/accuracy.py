"""`make accuracy`: tests the reader with generated passes against its targets.

    python -m sabot_hil.sweeps.accuracy [--passes N] [--faults N] [--seed N]

Cards: N passes each at the noise levels clean, nominal and harsh; faults: N of each. All cores are
used. Prints the confusion matrix and writes build/accuracy.json, and for passes with a wrong
outcome pictures to build/accuracy-NAME.png. Exit code 1 if a target is missed.
"""

import argparse
import functools
import json
import multiprocessing
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import sabot_hil
from sabot.service.picture import png
from sabot.sim import waveform
from sabot.sim.disturbed import NOISE, noisy_pass
from sabot.sim.faulty import FAULTS, faulty_pass
from sabot.sim.process import environment, interpreter
from sabot_protocol import cards, enums

_ROOT = Path(__file__).resolve().parents[3]
_PACKAGES = Path(sabot_hil.__file__).resolve().parent.parent
_BATCH = 250
_FAULT = 100  # reader_under_micropython.py adds this to a fault's number
_KEPT_FAILURES = 6
_PIPE_WIDTH = 120
_FAULT_NOISE = "nominal"

_RIGHT_AT_LEAST = {"clean": 1.0, "nominal": 0.9995, "harsh": 0.99}
_FAULT_RIGHT_AT_LEAST = 0.99


@dataclass
class PassTally:
    """The outcomes of passes of one kind, counted, and some of the wrong ones."""

    outcomes: Counter[str] = field(default_factory=Counter)
    wrong_cards: int = 0
    failures: list[tuple[str, bytes]] = field(default_factory=list)

    def add(self, other: "PassTally") -> None:
        """Add another tally of the same kind."""
        self.outcomes += other.outcomes
        self.wrong_cards += other.wrong_cards
        self.failures = (self.failures + other.failures)[:_KEPT_FAILURES]

    @property
    def passes(self) -> int:
        """The number of passes."""
        return self.outcomes.total()

    def share(self, outcome: str) -> float:
        """The share of passes with this outcome, 0 to 1."""
        return self.outcomes[outcome] / self.passes


class FirmwareReader:
    """The firmware's reader, in a MicroPython process."""

    def __init__(self) -> None:
        program = "sabot_hil.sweeps.reader_under_micropython"
        self._process = subprocess.Popen(
            [*interpreter(), "-m", program],
            cwd=_PACKAGES,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C goes to the process that shows the progress
        )

    def read(self, recordings: Iterable[tuple[int, bytes]]) -> Iterator[list[str]]:
        """Yield the names of cards and faults for each recording, given with the shoe's set."""
        assert self._process.stdin is not None and self._process.stdout is not None
        for card_set, samples in recordings:
            head = bytes([card_set]) + len(samples).to_bytes(4, "little")
            self._process.stdin.write(head + samples)
            self._process.stdin.flush()
            numbers = map(int, self._process.stdout.readline().split())
            yield [
                cards.name_of(number) if number < _FAULT else enums.FAULTS[number - _FAULT]
                for number in numbers
            ]


@functools.cache
def _reader() -> FirmwareReader:
    return FirmwareReader()


def run_batch(task: tuple[str, int, int]) -> tuple[str, PassTally]:
    """Generate and read `count` passes of one kind: a noise level or a fault."""
    kind, count, seed = task
    random = np.random.default_rng([seed, *kind.encode()])
    made = [_made(random, kind) for _ in range(count)]
    tally = PassTally()
    found_in = _reader().read((card_set, samples) for _, card_set, samples in made)
    for (wanted, _, samples), found in zip(made, found_in, strict=True):
        right = found == [wanted]
        is_card = [name for name in found if name not in enums.FAULTS]
        tally.wrong_cards += any(name != wanted for name in is_card)
        outcome = wanted if right else "+".join(found) or "nothing"
        if kind in NOISE:
            outcome = "right" if right else outcome
        tally.outcomes[outcome] += 1
        if not right and len(tally.failures) < _KEPT_FAILURES:
            tally.failures.append((f"{wanted} read as {outcome}", samples))
    return kind, tally


def _made(random: np.random.Generator, kind: str) -> tuple[str, int, bytes]:
    """Generate a pass: the right outcome, the set of the shoe, the samples."""
    card_set = int(random.integers(cards.SET_COUNT))
    if kind in NOISE:
        card = int(random.integers(cards.CARD_COUNT))
        levels, wanted = noisy_pass(random, NOISE[kind], card, card_set), cards.name_of(card)
    else:
        levels, wanted = faulty_pass(random, NOISE[_FAULT_NOISE], kind, card_set), kind
    return wanted, card_set, waveform.pack(levels)


def batches(passes: int, faults: int, seed: int) -> Iterator[tuple[str, int, int]]:
    """Yield the work in pieces that keep every core busy."""
    for kind, total in [
        *((level, passes) for level in NOISE),
        *((fault, faults) for fault in FAULTS),
    ]:
        for n, begin in enumerate(range(0, total, _BATCH)):
            yield kind, min(_BATCH, total - begin), seed + n


def judge_passes(passes: int, faults: int, seed: int, console: Console) -> dict[str, PassTally]:
    """Run all batches on all cores; return the tallies by kind."""
    tallies = {kind: PassTally() for kind in (*NOISE, *FAULTS)}
    columns = TextColumn("passes"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("passes", total=passes * len(NOISE) + faults * len(FAULTS))
        with multiprocessing.Pool() as pool:
            for kind, tally in pool.imap_unordered(run_batch, batches(passes, faults, seed)):
                tallies[kind].add(tally)
                progress.advance(task, tally.passes)
    return tallies


def missed(tallies: dict[str, PassTally]) -> list[str]:
    """Return the targets that were missed, in words."""
    lines = []
    for kind, tally in tallies.items():
        if not tally.passes:
            continue
        right = "right" if kind in NOISE else kind
        wanted = _RIGHT_AT_LEAST.get(kind, _FAULT_RIGHT_AT_LEAST)
        if tally.share(right) < wanted:
            lines.append(f"{kind}: {tally.share(right):.4%} right, must be at least {wanted:.4%}")
        if tally.wrong_cards:
            lines.append(f"{kind}: {tally.wrong_cards} read as a card that was not there")
    return lines


def matrix(tallies: dict[str, PassTally], title: str) -> Table:
    """Return the confusion matrix: a row for each kind of pass, a column for each outcome."""
    table = Table(title=title, box=None, padding=(0, 1, 0, 0))
    table.add_column("made")
    table.add_column("passes", justify="right")
    for name in ("right card", "wrong card", *FAULTS, "several or none"):
        table.add_column(name.replace("_", "\n").replace(" ", "\n"), justify="right")
    table.add_column("right", justify="right")
    for kind, tally in tallies.items():
        rest = tally.outcomes.copy()
        cells = [rest.pop("right", 0), tally.wrong_cards, *(rest.pop(name, 0) for name in FAULTS)]
        cells.append(max(0, rest.total() - tally.wrong_cards))
        right = "right" if kind in NOISE else kind
        share = f"{tally.share(right):.4%}" if tally.passes else "-"
        shown = [f"{count:,}" if count else "·" for count in cells]
        table.add_row(kind, f"{tally.passes:,}", *shown, share)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sabot_hil.sweeps.accuracy")
    parser.add_argument("--passes", type=int, default=100_000, help="passes per noise level")
    parser.add_argument("--faults", type=int, default=10_000, help="passes per fault")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    tallies = judge_passes(options.passes, options.faults, options.seed, console)
    console.print(matrix(tallies, f"seed {options.seed}: passes, and what they were read as"))
    _write_outcomes(tallies, options.seed, console)
    lines = missed(tallies)
    for line in lines:
        console.print(line)
    console.print("Targets missed." if lines else "All targets met.")
    return 1 if lines else 0


def _write_outcomes(tallies: dict[str, PassTally], seed: int, console: Console) -> None:
    out = _ROOT / "build"
    out.mkdir(exist_ok=True)
    figures = {kind: dict(tally.outcomes) for kind, tally in tallies.items()}
    report = {"seed": seed, "outcomes": figures}
    (out / "accuracy.json").write_text(json.dumps(report, indent=1) + "\n")
    for kind, tally in tallies.items():
        if tally.failures:
            picture = out / f"accuracy-{kind}.png"
            picture.write_bytes(png(tally.failures))
            console.print(f"Pictures of wrong outcomes: {picture.relative_to(_ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
