"""`make accuracy`: tests the reader with generated passes against its targets.

    python -m sabot_hil.sweeps.accuracy [--passes N] [--faults N] [--seed N]

Cards: N passes each at the noise levels clean, nominal and harsh, spread over the six kinds of
pulls; faults: N of each at every kind. All cores are used. Prints a confusion matrix for each kind,
and a table of what was read right. Writes build/accuracy.json, and for passes with a wrong outcome
pictures to build/accuracy-NAME.png. Exit code 1 if a target is missed.
"""

import functools
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import sabot_hil
from sabot.service.picture import png
from sabot.sim import pulls, waveform
from sabot.sim.disturbed import NOISE, noisy_pass
from sabot.sim.faulty import FAULTS, faulty_pass
from sabot.sim.process import environment, interpreter
from sabot_firmware.cards.health import NOTHING, Health
from sabot_hil.kit.runner import Seed, check_all, output, plain_table, run, write_figures
from sabot_protocol import cards, enums

R = TypeVar("R")

_PACKAGES = Path(sabot_hil.__file__).resolve().parent.parent
_BATCH = 250
_FAULT = 100  # reader_under_micropython.py adds this to a fault's number
_KEPT_FAILURES = 2
_FAULT_NOISE = "nominal"

_RIGHT_AT_LEAST = {"clean": 1.0, "nominal": 0.9995, "harsh": 0.99}
_FAULT_RIGHT_AT_LEAST = 0.99

MADE = (*NOISE, *FAULTS)
"""What is made: cards at a noise level, and faults."""

What = tuple[str, str]
"""One of `MADE`, and one of `pulls.KINDS`."""


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
        self.permille = [0] * len(enums.CHANNELS)
        """How each channel saw the last pass, as in `sabot_firmware.cards.reader.Pass`."""

    def read(self, recordings: Iterable[tuple[int, bytes]]) -> Iterator[list[str]]:
        """Yield the names of cards and faults for each recording, given with the shoe's set.

        Raises RuntimeError if the process has ended.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        for card_set, samples in recordings:
            head = bytes([card_set]) + len(samples).to_bytes(4, "little")
            with suppress(BrokenPipeError):  # then it has no answer either
                self._process.stdin.write(head + samples)
                self._process.stdin.flush()
            answer = self._process.stdout.readline().decode()
            if not answer:
                raise RuntimeError("the firmware's reader has ended: start it by itself to see why")
            outcomes, channels = answer.split(";")
            self.permille = [int(each) for each in channels.split()]
            yield [
                cards.name_of(number) if number < _FAULT else enums.FAULTS[number - _FAULT]
                for number in map(int, outcomes.split())
            ]


@functools.cache
def _reader() -> FirmwareReader:
    return FirmwareReader()


def run_batch(task: tuple[What, int, int]) -> tuple[What, PassTally]:
    """Generate and read `count` passes of one kind."""
    what, count, seed = task
    random = np.random.default_rng([seed, *"".join(what).encode()])
    made = [_made(random, *what) for _ in range(count)]
    tally = PassTally()
    found_in = _reader().read((card_set, samples) for _, card_set, samples in made)
    for (wanted, _, samples), found in zip(made, found_in, strict=True):
        right = found == [wanted]
        is_card = [name for name in found if name not in enums.FAULTS]
        tally.wrong_cards += any(name != wanted for name in is_card)
        outcome = wanted if right else "+".join(found) or "nothing"
        if what[0] in NOISE:
            outcome = "right" if right else outcome
        tally.outcomes[outcome] += 1
        if not right and len(tally.failures) < _KEPT_FAILURES:
            tally.failures.append((f"{what[1]}: {wanted} read as {outcome}", samples))
    return what, tally


def false_notices(task: tuple[What, int, int]) -> tuple[What, int]:
    """Pull `count` cards one after another through a head that stays clean; return how often the
    shoe would ask for a sensor to be cleaned."""
    what, count, seed = task
    random = np.random.default_rng([seed, *"".join(what).encode()])
    made = (_made(random, *what) for _ in range(count))
    health, notices = Health(), 0
    reader = _reader()
    for found in reader.read((card_set, samples) for _, card_set, samples in made):
        if not set(found) & set(enums.FAULTS):
            notices += health.add(reader.permille) != NOTHING
    return what, notices


def _made(random: np.random.Generator, made: str, kind: str) -> tuple[str, int, bytes]:
    """Generate a pass: the right outcome, the set of the shoe, the samples."""
    card_set = int(random.integers(cards.SET_COUNT))
    if made in NOISE:
        card = int(random.integers(cards.CARD_COUNT))
        levels = noisy_pass(random, NOISE[made], card, card_set, kind)
        return cards.name_of(card), card_set, waveform.pack(levels)
    levels = faulty_pass(random, NOISE[_FAULT_NOISE], made, card_set, kind)
    return made, card_set, waveform.pack(levels)


def batches(passes: int, faults: int, seed: int) -> Iterator[tuple[What, int, int]]:
    """Yield the work in pieces that keep every core busy; `passes` are spread over the kinds."""
    for made in MADE:
        for place, kind in enumerate(pulls.KINDS):
            rest = place < passes % len(pulls.KINDS)
            total = passes // len(pulls.KINDS) + rest if made in NOISE else faults
            for n, begin in enumerate(range(0, total, _BATCH)):
                yield (made, kind), min(_BATCH, total - begin), seed + n


def judge_passes(passes: int, faults: int, seed: int) -> dict[What, PassTally]:
    """Run all batches on all cores; return the tallies."""
    tallies = {(made, kind): PassTally() for made in MADE for kind in pulls.KINDS}
    for what, tally in _all_of(run_batch, [*batches(passes, faults, seed)], "batches of passes"):
        tallies[what].add(tally)
    return tallies


def judge_health(count: int, seed: int) -> dict[What, int]:
    """Run `false_notices` for every kind of pull with noise, on all cores; return the notices."""
    tasks = [((made, kind), count, seed) for made in ("nominal", "harsh") for kind in pulls.KINDS]
    return dict(_all_of(false_notices, tasks, "kinds of pulls for sensor health"))


def _all_of(
    work: Callable[[tuple[What, int, int]], R], tasks: Sequence[tuple[What, int, int]], what: str
) -> Iterator[R]:
    for done in check_all(work, tasks, what):
        if done.result is None:
            raise RuntimeError(done.failure)
        yield done.result


def missed(tallies: dict[What, PassTally]) -> list[str]:
    """Return the targets that were missed, in words."""
    lines = []
    for (made, kind), tally in tallies.items():
        if not tally.passes:
            continue
        share = tally.share("right" if made in NOISE else made)
        wanted = _RIGHT_AT_LEAST.get(made, _FAULT_RIGHT_AT_LEAST)
        if share < wanted:
            lines.append(f"{made}, {kind}: {share:.4%} right, must be at least {wanted:.4%}")
        if tally.wrong_cards:
            lines.append(f"{made}, {kind}: {tally.wrong_cards} read as a card that was not there")
    return lines


def shares(tallies: dict[What, PassTally], title: str) -> Table:
    """Return the shares that were read right: a row for each of `MADE`, a column for each kind."""
    kinds = (kind.replace("_", " ") for kind in pulls.KINDS)
    table = plain_table(title, ["made"], ["each", *kinds, "wrong cards"])
    for made in MADE:
        row = [tallies[made, kind] for kind in pulls.KINDS]
        right = "right" if made in NOISE else made
        shown = [f"{each.share(right):.3%}" if each.passes else "-" for each in row]
        wrong = sum(each.wrong_cards for each in row)
        table.add_row(made, f"{row[0].passes:,}", *shown, f"{wrong:,}" if wrong else "·")
    return table


def matrix(tallies: dict[str, PassTally], title: str) -> Table:
    """Return the confusion matrix: a row for each of `MADE`, a column for each outcome."""
    outcomes = ("right card", "wrong card", *FAULTS, "several or none")
    stacked = (name.replace("_", "\n").replace(" ", "\n") for name in outcomes)
    table = plain_table(title, ["made"], ["passes", *stacked, "right"])
    for made, tally in tallies.items():
        rest = tally.outcomes.copy()
        cells = [rest.pop("right", 0), tally.wrong_cards, *(rest.pop(name, 0) for name in FAULTS)]
        cells.append(max(0, rest.total() - tally.wrong_cards))
        right = "right" if made in NOISE else made
        share = f"{tally.share(right):.4%}" if tally.passes else "-"
        shown = [f"{count:,}" if count else "·" for count in cells]
        table.add_row(made, f"{tally.passes:,}", *shown, share)
    return table


def main(
    passes: Annotated[int, typer.Option(help="Passes of each noise level.")] = 100_000,
    faults: Annotated[int, typer.Option(help="Passes of each fault and kind.")] = 10_000,
    health: Annotated[int, typer.Option(help="Cards of each kind for sensor health.")] = 10_000,
    seed: Seed = 1,
) -> bool:
    """Test the reader with generated passes against its targets; return whether it meets them."""
    console = output()
    tallies = judge_passes(passes, faults, seed)
    for kind in pulls.KINDS:
        of_kind = {made: tallies[made, kind] for made in MADE}
        console.print(matrix(of_kind, f"{kind}: passes, and what they were read as"))
        console.print()
    console.print(shares(tallies, f"seed {seed}: shares read right"))
    _write_outcomes(tallies, seed, console)
    lines = missed(tallies)
    notices = judge_health(health, seed)
    console.print(
        f"Clean sensors, {health:,} cards of each kind at nominal and harsh noise: "
        f"{sum(notices.values())} false notices"
    )
    for (made, kind), count in notices.items():
        if count:
            lines.append(f"{made}, {kind}: {count} notices that a clean sensor is dirty")
    for line in lines:
        console.print(line)
    console.print("Targets missed." if lines else "All targets met.")
    return not lines


def _write_outcomes(tallies: dict[What, PassTally], seed: int, console: Console) -> None:
    figures = {
        made: {kind: dict(tallies[made, kind].outcomes) for kind in pulls.KINDS} for made in MADE
    }
    folder = write_figures("accuracy.json", {"seed": seed, "outcomes": figures}).parent
    for made in MADE:
        failures = [each for kind in pulls.KINDS for each in tallies[made, kind].failures]
        if failures:
            picture = folder / f"accuracy-{made}.png"
            picture.write_bytes(png(failures))
            console.print(f"Pictures of wrong outcomes: {picture.relative_to(folder.parent)}")


if __name__ == "__main__":
    run(main)
