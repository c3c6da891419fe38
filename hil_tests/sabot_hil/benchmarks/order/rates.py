"""How often the order of honest cards gives a false alarm, and how soon planted cheats are found.

    python -m sabot_hil.benchmarks.order.rates [--shoes N] [--planted N] [--seed N] [--out FILE.png]

Tables deal honest shoes one after the other; each is weighed against the last hundred of its table
and all earlier ones of all tables, as `sabot serve` does. Then shoes with a cheat in them, N of
each. Prints both; `--out` draws them. Exit code 1 if an honest shoe gives an alarm.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from sabot.order.chances import House
from sabot.order.dealt_order import LoggedBefore
from sabot.order.finder import Finder
from sabot.order.past import LAST, PastShoe, RecentShoes
from sabot.order.run_index import RunIndex
from sabot_hil.benchmarks.order.planted import (
    CUT,
    DECKS,
    Dice,
    honest,
    new_packs,
    planted,
    riffled,
    with_noise,
)
from sabot_hil.kit.runner import Seed, output, plain_table, progress, run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TABLES = 10
_DEALT = DECKS * 52 - CUT
_TOGETHER = 50  # shoes that are added to the index at once
_NOISE = 0.03
SLUGS = (8, 10, 12, 15, 20, 30, 40, 60)
RIFFLES = (0, 1, 2, 3, 4, 5)
_STEPS = 2 * len(RIFFLES) + 4 * len(SLUGS) + 2
BOUNDS = (10.0, 100.0, 1000.0, 10_000.0)


@dataclass
class Rates:
    """What came of honest shoes and of cheats."""

    largest: list[float] = field(default_factory=list)
    """Of each honest shoe: the largest value of its martingale."""
    alarms: int = 0
    found: dict[str, dict[int, list[int | None]]] = field(default_factory=dict)
    """By cheat and its number (riffles, cards of a run): with which card each was found, counted
    from the first that is part of it; None: not at all."""


class Logged(LoggedBefore):
    """All shoes of an index, as if there were at least so many."""

    def __init__(self, index: RunIndex, at_least: int) -> None:
        self._index, self._at_least = index, at_least

    def count(self) -> int:
        return max(self._at_least, super().count())

    def _is_before(self, shoe: PastShoe) -> bool:
        return True


def honest_shoes(rates: Rates, shoes: int, dice: Dice, index: RunIndex) -> Iterator[None]:
    """Deal honest shoes at some tables, and weigh each."""
    tables: list[list[PastShoe]] = [[] for _ in range(_TABLES)]
    new: list[PastShoe] = []
    for number in range(shoes):
        table = number % _TABLES
        recent = RecentShoes(tables[table])
        finder = Finder(DECKS, recent, Logged(index, 0))
        cards = honest(dice)[:_DEALT]
        for card in cards:
            finder.add(card)
        rates.largest.append(finder.largest)
        rates.alarms += finder.finding is not None
        shoe = PastShoe(f"T{table}", number, number, bytes(cards), DECKS)
        tables[table] = [*tables[table], shoe][-LAST:]
        new.append(shoe)
        if len(new) == _TOGETHER:
            index.add(new, "T", number)
            new.clear()
        yield


def cheats(
    dice: Dice, whole: Sequence[int], last: Sequence[PastShoe], logged: Sequence[PastShoe]
) -> "Cheats":
    """How each cheat makes a shoe: the cards, and where the cheat begins in them. `whole` are all
    cards of the last shoe."""

    def slug(of: Sequence[PastShoe], length: int, *, exact: bool = False) -> tuple[list[int], int]:
        shoe = of[int(dice.integers(len(of)))].cards
        begin = int(dice.integers(len(shoe) - length))
        run = list(shoe[begin : begin + length])
        at = int(dice.integers(20, 300))
        return planted(run if exact else with_noise(run, _NOISE, dice), at, dice), at

    return {
        "new packs, riffled": (RIFFLES, lambda n: (riffled(new_packs(), n, dice), 0)),
        "last shoe, riffled": (RIFFLES, lambda n: (riffled(whole, n, dice), 0)),
        "run of the table's last hundred": (SLUGS, lambda n: slug(last, n, exact=True)),
        "the same with noise": (SLUGS, lambda n: slug(last, n)),
        "run of one of a million shoes": (SLUGS, lambda n: slug(logged, n, exact=True)),
        "the same of those with noise": (SLUGS, lambda n: slug(logged, n)),
        "whole, one of a million shoes": ((0,), lambda n: (_any(logged, dice), 0)),
        "whole, one of the table's last hundred": ((0,), lambda n: (_any(last, dice), 0)),
    }


def _any(shoes: Sequence[PastShoe], dice: Dice) -> list[int]:
    return list(shoes[int(dice.integers(len(shoes)))].cards)


Cheats = dict[str, tuple[Sequence[int], Callable[[int], tuple[list[int], int]]]]


def planted_shoes(rates: Rates, each: int, dice: Dice, index: RunIndex) -> Iterator[None]:
    """Deal shoes with cheats, and weigh each."""
    whole = honest(dice)
    earlier = [honest(dice) for _ in range(LAST - 1)]
    last = [
        PastShoe("T", n, n, bytes(shoe[:_DEALT]), DECKS) for n, shoe in enumerate((*earlier, whole))
    ]
    logged = [PastShoe("L", n, n, bytes(honest(dice)[:_DEALT]), DECKS) for n in range(LAST)]
    index.add(logged, "L", LAST)
    recent = RecentShoes(last)
    for name, (numbers, make) in cheats(dice, whole, last, logged).items():
        rates.found[name] = {}
        for number in numbers:
            rates.found[name][number] = [
                _found_at(make(number), recent, Logged(index, 1 << 20)) for _ in range(each)
            ]
            yield


def _found_at(made: tuple[list[int], int], recent: RecentShoes, logged: LoggedBefore) -> int | None:
    cards, begin = made
    finder = Finder(DECKS, recent, logged)
    for at, card in enumerate(cards[:_DEALT]):
        if finder.add(card) is not None:
            return at - begin + 1
    return None


def png(rates: Rates) -> bytes:
    """Return the curves as a PNG."""
    from matplotlib.figure import Figure  # half a second that the figures do not need

    figure = Figure(figsize=(13, 8), layout="constrained")
    axes = figure.subplots(2, 2)
    false, packs, shoe, runs = axes.flat
    count = len(rates.largest)
    reached = np.sort(rates.largest)[::-1]
    false.loglog(reached, np.arange(1, count + 1) / count, drawstyle="steps-post", label="measured")
    bound = np.array([1.0, House().least(DECKS)])
    false.loglog(bound, 1 / bound, "k--", label="bound: 1/M")
    false.axvline(bound[1], color="tab:red", label="an alarm")
    false.set_xlabel("M")
    false.set_ylabel("part of the shoes that reach M")
    false.set_title(f"{count:,} honest shoes: {rates.alarms} alarms", loc="left")
    false.legend(frameon=False)
    for axis, name in ((packs, "new packs, riffled"), (shoe, "last shoe, riffled")):
        for number, found in rates.found[name].items():
            _curve(axis, found, f"{number} riffles")
        axis.set_xlabel("cards dealt")
        axis.set_ylabel("part that is found")
        axis.set_title(name.capitalize(), loc="left")
        axis.legend(frameon=False)
    for name, by_number in rates.found.items():
        if len(by_number) == len(SLUGS):
            parts = [sum(at is not None for at in each) / len(each) for each in by_number.values()]
            runs.plot([*by_number], parts, marker="o", label=name)
    runs.set_xlabel("cards of the run")
    runs.set_ylabel("part that is found")
    runs.set_title(
        f"Runs of an earlier shoe; noise: {_NOISE:.0%} missing, added, exchanged each", loc="left"
    )
    runs.legend(frameon=False)
    out = BytesIO()
    figure.savefig(out, format="png", dpi=80)
    return out.getvalue()


def _curve(axis: "Axes", found: Sequence[int | None], label: str) -> None:
    known = sorted(at for at in found if at is not None)
    parts = [(n + 1) / len(found) for n in range(len(known))]
    axis.plot(
        [1, *known, _DEALT],
        [0, *parts, parts[-1] if parts else 0],
        drawstyle="steps-post",
        label=label,
    )


def measured(shoes: int, each: int, seed: int, tick: Callable[[], None] = lambda: None) -> Rates:
    """Weigh honest shoes, and `each` of every cheat; `tick` is called after each step."""
    rates = Rates()
    with tempfile.TemporaryDirectory() as folder:
        dice = np.random.default_rng(seed)
        with RunIndex(Path(folder) / "honest") as index:
            for _ in honest_shoes(rates, shoes, dice, index):
                tick()
        dice = np.random.default_rng(seed + 1)
        with RunIndex(Path(folder) / "planted") as index:
            for _ in planted_shoes(rates, each, dice, index):
                tick()
    return rates


def measure(
    shoes: Annotated[int, typer.Option(help="Honest shoes.", min=0)] = 20_000,
    each: Annotated[int, typer.Option("--planted", help="Shoes of each cheat.", min=1)] = 100,
    seed: Seed = 38,
    out: Annotated[Path | None, typer.Option(help="A picture of the curves, as PNG.")] = None,
) -> bool:
    """Measure false alarms of the order of cards, and what is found of planted cheats."""
    with progress("shoes and cheats", shoes + _STEPS) as advance:
        rates = measured(shoes, each, seed, advance)
    table = plain_table(None, ["cheat"], ["number", "found", "median card", "95 % by card"])
    for name, by_number in rates.found.items():
        for number, found in by_number.items():
            by = sorted(_DEALT + 1 if at is None else at for at in found)
            middle, late = by[len(by) // 2], by[int(0.95 * (len(by) - 1))]
            table.add_row(
                name,
                str(number),
                f"{sum(at is not None for at in found)} of {len(found)}",
                str(middle) if middle <= _DEALT else "",
                str(late) if late <= _DEALT else "",
            )
    show = output()
    show.print(table)
    for bound in BOUNDS:
        part = sum(largest >= bound for largest in rates.largest)
        show.print(f"{part} of {shoes} honest shoes reach {bound:,.0f}, of {shoes / bound:,.1f}")
    show.print(f"{rates.alarms} of {shoes} honest shoes give an alarm; seed {seed}")
    if out is not None:
        out.write_bytes(png(rates))
    return rates.alarms == 0


if __name__ == "__main__":
    run(measure)
