"""How surely planted cheats are found, and how often honest cards are.

    python -m sabot_hil.sweeps.integrity.curves [--out FILE.png] [--reports N] [--seed N]

Shuffles of a few riffles, a missing ace and people who count cards are planted, and honest shoes of
cards are dealt by the ten thousand. A cheat counts as found if its chance is below the limit of a
report in which 10,000 tests were made. The figures are printed, and kept in build/integrity.json.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Annotated

import numpy as np
import typer

from sabot.integrity.analyses import Setting
from sabot.integrity.composition import Composition
from sabot.integrity.dealt_shoe import DealtShoe
from sabot.integrity.favourable import Favourable
from sabot.integrity.finding import LIMIT, Finding, Ledger
from sabot.integrity.neighbours import neighbours, shared
from sabot.integrity.over_log import Study
from sabot.integrity.shuffle import Shuffle
from sabot_hil.kit.runner import Advance, Seed, output, plain_table, progress, run, write_figures
from sabot_hil.sweeps.integrity.planted import (
    counted_rounds,
    dealt,
    new_cards,
    riffled_times,
    shuffled,
)

TESTS = 10_000
"""Tests of the report in which a cheat must be found."""
FOUND_BELOW = LIMIT / TESTS

RIFFLES = (0, 1, 2, 3, 4, 5, 6, 7)
GROUPS = (10, 20, 40)
"""Shoes of a machine that are judged together."""
MISSING = (1, 2, 3, 4, 6, 8, 12, 16)
PLAYED = (1, 2, 3, 4, 6, 8, 12)
"""Shoes of cards in which a person wagers."""
LIMITS = (0.001, 0.003, 0.01, 0.03, 0.1)
_SHOES_OF_REPORT = 20
_UNITS_OF_REPORT = ("SHOE-1", "SHOE-2")
_SHOES_OF_GROUP = 300
_POOL = 4000  # shoes of cards at which people play
_PEOPLE = 100


@dataclass(frozen=True, slots=True)
class Curves:
    """What was measured, each share from 0 to 1."""

    seed: int
    shared: dict[int, tuple[float, float]] = field(default_factory=dict)
    """By riffles: the mean of shared neighbours, and its standard deviation from shoe to shoe."""
    shared_random: tuple[float, float] = (0.0, 0.0)
    one_shoe: dict[int, float] = field(default_factory=dict)
    """By riffles: the share of shoes that were found alone."""
    machine: dict[int, dict[int, float]] = field(default_factory=dict)
    """By how many shoes were judged together, and by riffles: the share of machines found."""
    missing_ace: dict[int, float] = field(default_factory=dict)
    """By shoes of cards: the share of missing aces that were found."""
    counters: dict[int, float] = field(default_factory=dict)
    """By shoes played: the share of people who count cards that were found."""
    always: dict[int, float] = field(default_factory=dict)
    """The same of people who wager in every round of the last third of a shoe."""
    counted_units: tuple[float, float] = (0.0, 0.0)
    """Units that a counter wins in a shoe on average, and the standard error of that mean."""
    counted_wagers: float = 0.0
    """Wagers that a counter places in a shoe."""
    false_alarms: dict[float, float] = field(default_factory=dict)
    """By the limit: the share of reports about honest shoes with any finding."""
    honest_shoes: int = 0
    calibration: dict[str, dict[float, float]] = field(default_factory=dict)
    """By test: the share of its chances below each limit, over honest shoes; at most the limit, if
    the chance is what it says."""


def curves(seed: int, reports: int, repeats: int, advance: Callable[[], None]) -> Curves:
    """Measure everything; `advance` is called for each step (`steps`)."""
    found = Curves(seed)
    for riffles in RIFFLES:
        _shuffles(found, riffles, repeats, Random(f"{seed} shuffles {riffles}"))
        advance()
    found = _with_random(found, repeats, Random(f"{seed} random"))
    for shoes in MISSING:
        found.missing_ace[shoes] = _missing(shoes, repeats, Random(f"{seed} missing {shoes}"))
        advance()
    found = _with_people(found, Random(f"{seed} people"))
    advance()
    _calibrated(found, repeats, Random(f"{seed} calibration"))
    advance()
    return _with_honest(found, reports, seed, advance)


def steps(reports: int) -> int:
    """How often `curves` calls `advance`."""
    return len(RIFFLES) + len(MISSING) + 2 + reports


def _chances(
    analysis_of: Callable[[Ledger], Shuffle | Composition], shoes: Iterable[DealtShoe]
) -> dict[tuple[str, str], list[float]]:
    """The chances of all tests, by the test and what it was about."""
    ledger = _Everything()
    analysis = analysis_of(ledger)
    for shoe in shoes:
        analysis.take(shoe)
    analysis.close()
    return ledger.chances


class _Everything(Ledger):
    """A ledger that keeps the chance of every test."""

    def __init__(self) -> None:
        super().__init__(limit=0.0)
        self.chances: dict[tuple[str, str], list[float]] = defaultdict(list)

    def add(self, chance: float, finding: Callable[[], Finding]) -> None:
        """Note a test, unless what it found is what honest cards always show."""
        if chance < 1:
            made = finding()
            self.chances[made.test, made.about].append(chance)


def _shuffles(found: Curves, riffles: int, repeats: int, random: Random) -> None:
    alone: list[bool] = []
    together: dict[int, list[bool]] = {number: [] for number in GROUPS}
    counts: list[int] = []
    for _ in range(repeats):
        orders = [shuffled(random)]
        while len(orders) <= max(GROUPS):
            orders.append(riffled_times(orders[-1], riffles, random))
        pairs = [neighbours(np.array(order, dtype=np.int8)) for order in orders]
        counts += [shared(one, other) for one, other in pairwise(pairs)]
        shoes = [dealt(order, number, "U") for number, order in enumerate(orders)]
        for number in GROUPS:
            chances = _chances(Shuffle, shoes[: number + 1])
            together[number].append(
                min(chances["neighbours_of_group", "unit U"], default=1.0) < FOUND_BELOW
            )
        alone += [
            min(some) < FOUND_BELOW for (test, _), some in chances.items() if test == "neighbours"
        ]
    found.shared[riffles] = float(np.mean(counts)), float(np.std(counts))
    found.one_shoe[riffles] = float(np.mean(alone))
    for number, some in together.items():
        found.machine.setdefault(number, {})[riffles] = float(np.mean(some))


def _with_random(found: Curves, repeats: int, random: Random) -> Curves:
    counts = []
    for _ in range(40 * repeats):
        one, other = (np.array(shuffled(random), dtype=np.int8) for _ in range(2))
        counts.append(shared(neighbours(one), neighbours(other)))
    return _changed(found, shared_random=(float(np.mean(counts)), float(np.std(counts))))


def _missing(shoes: int, repeats: int, random: Random) -> float:
    hits = []
    for _ in range(5 * repeats):
        some = []
        for number in range(shoes):
            cards = new_cards()
            cards.remove(0)
            random.shuffle(cards)
            some.append(dealt(cards, number, "U"))
        chances = _chances(Composition, some)
        hits.append(min(chances["missing", "unit U"], default=1.0) < FOUND_BELOW)
    return float(np.mean(hits))


def _with_people(found: Curves, random: Random) -> Curves:
    shoes = [dealt(shuffled(random), number, "U", worth=True) for number in range(_POOL)]
    counted = [counted_rounds(shoe) for shoe in shoes]
    worth = [_dragon(shoe)[rounds].sum() for shoe, rounds in zip(shoes, counted, strict=True)]
    late = [list(range(2 * len(shoe.rounds) // 3, len(shoe.rounds))) for shoe in shoes]
    for played in PLAYED:
        found.counters[played] = _people(shoes, counted, played, random)
        found.always[played] = _people(shoes, late, played, random)
    mean, error = float(np.mean(worth)), float(np.std(worth)) / _POOL**0.5
    wagers = float(np.mean([len(rounds) for rounds in counted]))
    return _changed(found, counted_units=(mean, error), counted_wagers=wagers)


def _dragon(shoe: DealtShoe) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    assert shoe.expected is not None
    return shoe.expected.units[:, shoe.expected.wagers.index("dragon_7")]


def _people(
    shoes: Sequence[DealtShoe], rounds: Sequence[Sequence[int]], played: int, random: Random
) -> float:
    """The share of people who are found after `played` shoes in which they wagered so."""
    places = [place for place, some in enumerate(rounds) if len(some)]
    bets: dict[tuple[str, int], list[tuple[int, str, str]]] = defaultdict(list)
    for person in range(_PEOPLE):
        for place in random.sample(places, played):
            bets["U", shoes[place].shoe] += [
                (int(shoes[place].rounds[at, 0]), f"P{person}", "dragon_7") for at in rounds[place]
            ]
    ledger = _Everything()
    analysis = Favourable(ledger, bets)
    for shoe in shoes:
        analysis.take(shoe)
    analysis.close()
    return float(np.sum([min(some) < FOUND_BELOW for some in ledger.chances.values()])) / _PEOPLE


def _calibrated(found: Curves, repeats: int, random: Random) -> None:
    chances: dict[str, list[float]] = defaultdict(list)
    for _ in range(2 * repeats):
        shoes = [dealt(shuffled(random), number, "U") for number in range(_SHOES_OF_GROUP)]
        for analysis_of in (Shuffle, Composition):
            for (test, _), some in _chances(analysis_of, shoes).items():
                chances[test] += some
    for test, some in chances.items():
        found.calibration[test] = {
            limit: float(np.mean([each < limit for each in some])) for limit in LIMITS
        }


def _with_honest(found: Curves, reports: int, seed: int, advance: Callable[[], None]) -> Curves:
    smallest = []
    for report in range(reports):
        random = Random(f"{seed} honest {report}")
        study = Study(Setting(limit=1.0, bets=_honest_bets(random)))
        for number in range(_SHOES_OF_REPORT):
            unit = _UNITS_OF_REPORT[number % 2]
            study.take(dealt(shuffled(random), number, unit, worth=True))
        listed = study.outcome(_SHOES_OF_REPORT).findings
        smallest.append(listed[0].corrected if listed else 1.0)
        advance()
    for limit in LIMITS:
        found.false_alarms[limit] = float(np.mean([each < limit for each in smallest]))
    return _changed(found, honest_shoes=reports * _SHOES_OF_REPORT)


def _honest_bets(random: Random) -> Mapping[tuple[str, int], Sequence[tuple[int, str, str]]]:
    """Wagers of people who know nothing of the cards: always, now and then, and late."""
    bets = {}
    for number in range(_SHOES_OF_REPORT):
        of_shoe = [(round_, "always", "dragon_7") for round_ in range(1, 90)]
        of_shoe += [(round_, "late", "panda_8") for round_ in range(55, 90)]
        of_shoe += [(random.randrange(1, 80), "now and then", "dragon_7") for _ in range(10)]
        bets[_UNITS_OF_REPORT[number % 2], number] = of_shoe
    return bets


def _changed(found: Curves, **changed: object) -> Curves:
    fields = {name: getattr(found, name) for name in Curves.__slots__}
    return Curves(**(fields | changed))


def show(found: Curves) -> None:
    """Print the figures."""
    console = output()
    table = plain_table("Shuffles", ["riffles"], ["shared", "one shoe found", *map(str, GROUPS)])
    for riffles in RIFFLES:
        table.add_row(
            str(riffles), "{:.1f} +- {:.1f}".format(*found.shared[riffles]),
            f"{found.one_shoe[riffles]:.1%}",
            *(f"{found.machine[number][riffles]:.0%}" for number in GROUPS),
        )  # fmt: skip
    console.print(table)
    console.print("random order: {:.1f} +- {:.1f} shared".format(*found.shared_random))
    for title, shares in (
        ("missing ace", found.missing_ace), ("counters", found.counters), ("late", found.always)
    ):  # fmt: skip
        shown = ", ".join(f"{number}: {share:.0%}" for number, share in shares.items())
        console.print(f"{title}, found after so many shoes: {shown}")
    mean, error = found.counted_units
    console.print(
        f"the count wins {mean:.3f} +- {error:.3f} units a shoe with {found.counted_wagers:.1f} "
        "wagers"
    )
    title = "Tests of honest shoes with a chance below"
    table = plain_table(title, ["test"], [f"{limit:g}" for limit in LIMITS])
    for test, below in found.calibration.items():
        table.add_row(test, *(f"{below[limit]:.2%}" for limit in LIMITS))
    console.print(table)
    alarms = ", ".join(f"{limit:g}: {share:.2%}" for limit, share in found.false_alarms.items())
    console.print(f"reports with a finding, of {found.honest_shoes:,} honest shoes: {alarms}")


Out = Annotated[Path | None, typer.Option(metavar="FILE.png", help="Also draw the curves.")]


def main(out: Out = None, reports: int = 500, repeats: int = 20, seed: Seed = 38) -> None:
    """Measure how surely planted cheats are found, and how often honest cards are."""
    with progress("steps", steps(reports)) as bar:
        advance: Advance = bar
        found = curves(seed, reports, repeats, lambda: advance())
    show(found)
    write_figures("integrity.json", asdict(found))
    if out is not None:
        from sabot_hil.sweeps.integrity.picture import png

        out.write_bytes(png(found))


if __name__ == "__main__":
    run(main)
