"""What the order of cards costs: a card at many tables, and the index of all shoes of a log.

    python -m sabot_hil.benchmarks.order.cost [--shoes N] [--tables N] [--seed N]

Fills an index with honest shoes, and then deals at many tables in turn, each with a hundred shoes
before it. The index is made in build/, and deleted.
"""

import re
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sabot.order.finder import Finder
from sabot.order.past import LAST, PastShoe, RecentShoes
from sabot.order.run_index import RUN, RunIndex
from sabot_hil.benchmarks.order.planted import CUT, DECKS, Dice
from sabot_hil.benchmarks.order.rates import Logged
from sabot_hil.kit.runner import BUILD, Seed, print_figures, progress, run, write_figures

_TOGETHER = 256  # shoes that are made and added at once
_CARDS = DECKS * 52 - CUT
_AFTER = 12  # cards that each table has dealt before it is measured: it then looks in the index
_MEASURED = 24
"""Cards of each table; so many are dealt while the index is asked after each."""
_QUERIES = 20  # shoes whose every run is looked for


@dataclass(frozen=True, slots=True)
class Cost:
    """What was measured; times are those of the processor."""

    shoes: int
    """In the index."""
    tables: int
    card_us: float
    """Of a card among the first, each of which is looked for in the index."""
    later_card_us: float
    """Of a card after these, of which every fourth is."""
    table_bytes: int
    """Memory of a table, with its last shoes."""
    add_ms: float
    """Of a shoe that is added to the index."""
    bytes_a_card: float
    """On disk."""
    query_ms: float
    """Of a shoe all of whose runs are looked for, by card."""
    own_bytes: int
    """Memory of this process at the end that is its own."""
    memory_bytes: int
    """The largest of this process, with the pages of the index that the system keeps in it."""


def _shoes(dice: Dice, count: int) -> list[bytes]:
    packs = np.tile(np.arange(52, dtype=np.uint8), DECKS)
    made = dice.permuted(np.tile(packs, (count, 1)), axis=1)
    return [row[:_CARDS].tobytes() for row in made]


def measured(shoes: int, tables: int, seed: int, tick: Callable[[], None] = lambda: None) -> Cost:
    """Measure with so many shoes in the index, at so many tables; `tick` is called for each
    thousandth of the shoes."""
    dice = np.random.default_rng(seed)
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder, RunIndex(Path(folder)) as index:
        begun_s, ticks = time.process_time(), 0
        made_s = 0.0
        while len(index) < shoes:
            count = min(_TOGETHER, shoes - len(index))
            made_s -= time.process_time()
            some = _shoes(dice, count)
            made_s += time.process_time()
            unit, first = f"SHOE-{len(index) // _TOGETHER % 1000}", len(index)
            past = [PastShoe(unit, first + n, first + n, each) for n, each in enumerate(some)]
            index.add(past, unit, first)
            while ticks < 1000 * len(index) // shoes:
                ticks += 1
                tick()
        add_ms = 1000 * (time.process_time() - begun_s - made_s) / shoes
        index.keep()
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        query_ms = _query_ms(index, _shoes(dice, _QUERIES))
        before = _resident()
        finders = [_table(dice, index) for _ in range(tables)]
        table_bytes = (_resident() - before) // tables
        dealt = _shoes(dice, tables)
        _deal(finders, dealt, 0, _AFTER)
        first_us = _deal(finders, dealt, _AFTER, _MEASURED)
        later_us = _deal(finders, dealt, _MEASURED, _MEASURED + _AFTER)
        memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return Cost(
            shoes, tables, first_us, later_us, table_bytes, add_ms, size / (shoes * _CARDS),
            query_ms, _own(), memory,
        )  # fmt: skip


def _table(dice: Dice, index: RunIndex) -> Finder:
    past = [PastShoe("T", n, n, cards) for n, cards in enumerate(_shoes(dice, LAST))]
    return Finder(DECKS, RecentShoes(past), Logged(index, 0))


def _deal(finders: list[Finder], dealt: list[bytes], first: int, end: int) -> float:
    """Deal these cards at all tables in turn; return the microseconds that a card takes."""
    begun_s = time.process_time()
    for at in range(first, end):
        for finder, cards in zip(finders, dealt, strict=True):
            finder.add(cards[at])
    return 1e6 * (time.process_time() - begun_s) / ((end - first) * len(finders))


def _query_ms(index: RunIndex, shoes: list[bytes]) -> float:
    begun_s = time.process_time()
    for cards in shoes:
        for at in range(len(cards) - RUN + 1):
            list(index.places(cards[at : at + RUN]))
    return 1000 * (time.process_time() - begun_s) / len(shoes)


def _own() -> int:
    """Without pages of files, which the system takes back when it needs them."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (size_kb,) = re.findall(r"RssAnon:\s*(\d+) kB", status)
    return 1024 * int(size_kb)


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def measure(
    shoes: Annotated[int, typer.Option(help="Shoes in the index.", min=1)] = 100_000,
    tables: Annotated[int, typer.Option(help="Tables that deal.", min=1)] = 1000,
    seed: Seed = 38,
) -> None:
    """Measure what the order of cards costs."""
    with progress("thousandths of the index", 1000) as advance:
        cost = measured(shoes, tables, seed, advance)
    print_figures(cost)
    write_figures("order-cost.json", asdict(cost))


if __name__ == "__main__":
    run(measure)
