"""The order of the cards of each shoe: new packs, the last shoes riffled, and runs of cards that
were dealt before, at the same unit or anywhere in the log.

The chance of each is bounded as while the cards are dealt (`sabot.order.chances`): honest cards
reach the number M with a chance of at most 1 / M.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sabot.integrity.dealt_shoe import UNKNOWN, DealtShoe, Place
from sabot.integrity.finding import Finding, Ledger
from sabot.order.chances import House
from sabot.order.finder import Finder
from sabot.order.past import PastShoe, RecentShoes
from sabot.order.repeats import Repeat, repeats
from sabot.order.run_index import RunIndex
from sabot.order.words import what_of
from sabot.text import counted

NAME = "order"
LEAST = 10_000.0
"""What a bound must reach before anything is said of it: with a hundred tests and more nothing less
is a finding."""
_LAST = 2
"""Shoes of the unit that may have been riffled."""


@dataclass(frozen=True, slots=True)
class OrderFigures:
    """How many shoes of cards there were, and how many reached each bound."""

    shoes: int
    reached: Sequence[int]
    """How many reached 10, 100, 1,000 and so on."""


class OrderOfCards:
    """The analysis."""

    name = NAME

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._last: dict[str, list[PastShoe]] = defaultdict(list)
        self._folder = TemporaryDirectory(prefix="sabot-")
        self._index = RunIndex(Path(self._folder.name))
        self._largest: list[float] = []

    def take(self, shoe: DealtShoe) -> None:
        """Take a shoe of cards."""
        past = PastShoe(
            shoe.unit, shoe.shoe, len(self._largest), shoe.known.astype(np.uint8).tobytes(),
            shoe.decks, shoe.began_unix_ms,
        )  # fmt: skip
        last = self._last[shoe.unit]
        house = House(House().least(max(1, shoe.decks)) / LEAST)
        finder = Finder(shoe.decks, RecentShoes(last), house=house)
        for card in past.cards:
            finder.add(card)
        self._largest.append(finder.largest)
        found = finder.side_by_side()
        # Runs of the last shoes are among those below.
        counts = found is not None and found.what != "table"
        self._ledger.add(1 / finder.largest if counts else 1.0, partial(_in_order, shoe, finder))
        self._judge_runs(shoe, past)
        self._last[shoe.unit] = [*last[1 - _LAST :], past]
        self._index.add([past], shoe.unit, len(self._largest))

    def close(self) -> None:
        """Nothing is tested of all shoes together."""
        self._index.close()
        self._folder.cleanup()

    def figures(self) -> OrderFigures:
        """What was measured."""
        bounds = [10.0**power for power in range(1, 7)]
        return OrderFigures(
            len(self._largest), [sum(each >= bound for each in self._largest) for bound in bounds]
        )

    def _judge_runs(self, shoe: DealtShoe, past: PastShoe) -> None:
        """Look for the cards, and for their ranks, among all shoes that were taken before."""
        by_card = _best(repeats(past, self._index, least=LEAST))
        self._ledger.add(
            1.0 if by_card is None else 1 / by_card.one_in, partial(_run, shoe, by_card, "card")
        )
        by_rank = None
        if by_card is None:  # else the ranks say nothing more
            by_rank = _best(repeats(past, self._index, by_rank=True, least=LEAST))
        self._ledger.add(
            1.0 if by_rank is None else 1 / by_rank.one_in, partial(_run, shoe, by_rank, "rank")
        )


def _best(found: Sequence[Repeat]) -> Repeat | None:
    return found[0] if found else None


def _in_order(shoe: DealtShoe, finder: Finder) -> Finding:
    found = finder.side_by_side()
    assert found is not None and finder.finding is not None
    card = finder.finding.place
    return Finding(
        NAME,
        {"packs": "new_packs", "riffled": "last_shoe"}.get(found.what, "repeated"),
        str(shoe.place),
        "bound that was reached",
        finder.largest,
        1.0,
        1 / finder.largest,
        f"In {shoe.place} {what_of(found, over=True)}; it shows from card {card + 1} on.",
        (_place(shoe, card),),
    )


def _run(shoe: DealtShoe, run: Repeat | None, kind: str) -> Finding:
    assert run is not None
    backwards = " backwards" if run.reversed else ""
    what = counted(len(run.pairs), "card" if kind == "card" else "card, by rank alone,")
    place = run.pairs[0][0]
    return Finding(
        NAME,
        f"run_by_{kind}",
        str(shoe.place),
        "cards in a row",
        len(run.pairs),
        0.0,
        1 / run.one_in,
        f"In {shoe.place} {what} from card {place + 1} on came in the order of cards "
        f"{min(at for _, at in run.pairs) + 1} to {max(at for _, at in run.pairs) + 1} of "
        f"{run.of.unit} shoe {run.of.shoe}{backwards}.",
        (_place(shoe, place), Place(run.of.unit, run.of.shoe)),
    )


def _place(shoe: DealtShoe, known: int) -> Place:
    """The round in which card `known`, of those that are known, came out."""
    return Place(
        shoe.unit, shoe.shoe, shoe.round_at(int(np.flatnonzero(shoe.cards != UNKNOWN)[known]))
    )
