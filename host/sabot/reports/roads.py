"""The scoreboards of a baccarat table: bead plate and Big Road, as cells of a grid.

Columns and rows count from 0, to the right and down. Voided rounds are not shown. The roads that
are derived from the Big Road are in `derived_roads`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from sabot.log.rounds import Round
from sabot_firmware.table import rules
from sabot_protocol import cards, enums

ROWS = 6

LETTERS = {"player": "P", "banker": "B", "tie": "T"}
"""The mark of each winner on a road."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a round, as far as a road shows it."""

    winner: str
    """One of `sabot_protocol.enums.WINNERS`."""
    natural: bool = False
    player_pair: bool = False
    banker_pair: bool = False
    round: int = 0
    """Its number in the shoe of cards; 0 if it does not matter."""
    hits: tuple[str, ...] = ()
    """Hits that wagers of its game depend on, from `sabot_protocol.enums.HITS`."""


@dataclass(frozen=True, slots=True)
class Bead:
    """A bead of the bead plate, one for each round."""

    column: int
    row: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class BigCell:
    """A cell of the Big Road: a round that Player or Banker won, and the ties after it.

    `outcome` is None only if all rounds so far are ties. They are marked on the first cell; the
    first round with a winner then takes this cell.
    """

    column: int
    row: int
    outcome: Outcome | None
    ties: int


def outcomes_of(rounds: Iterable[Round]) -> list[Outcome]:
    """The outcomes of the rounds with a result. Pairs are found from the cards, because a log has
    them only if a wager depends on them."""
    return [
        Outcome(
            ended.winner,
            ended.natural,
            _is_pair(ended.player),
            _is_pair(ended.banker),
            ended.round,
            ended.hits,
        )
        for ended in rounds
        if ended.winner in enums.WINNERS and ended.void is None  # not a word of a later version
    ]


def bead_plate(outcomes: Sequence[Outcome]) -> list[Bead]:
    """A bead for every round: down each column of six, then the next column."""
    return [Bead(place // ROWS, place % ROWS, each) for place, each in enumerate(outcomes)]


def big_road(outcomes: Sequence[Outcome]) -> list[BigCell]:
    """The Big Road: down while the same hand wins, a new column when the other hand wins.

    A tie takes no cell but is marked on the last one; ties before the first winner are marked
    on the first cell. Naturals and pairs are those of the round in the cell, not of its ties.
    """
    won = [each for each in outcomes if each.winner != "tie"]
    ties = [0] * max(1, len(won))
    last = -1
    for each in outcomes:
        if each.winner == "tie":
            ties[max(last, 0)] += 1
        else:
            last += 1
    if not won:
        return [BigCell(0, 0, None, ties[0])] if ties[0] else []
    return [
        BigCell(column, row, outcome, count)
        for (column, row), outcome, count in zip(
            places(each.winner for each in won), won, ties, strict=True
        )
    ]


def places(kinds: Iterable[object]) -> Iterator[tuple[int, int]]:
    """Yield column and row of each mark of a road. It goes down as long as marks are of one kind.

    A run that reaches the last row, or a taken cell below it, continues to the right in its row
    (the dragon's tail) and never down again. The next run begins in the first column whose top is
    free.
    """
    taken: set[tuple[int, int]] = set()
    top = 0  # the first column whose top is free
    for _, run in groupby(kinds):
        column, row, tail = top, -1, False
        for _ in run:
            if tail or row + 1 == ROWS or (column, row + 1) in taken:
                tail = True
                column += 1
            else:
                row += 1
            taken.add((column, row))
            if row == 0:
                top = column + 1
            yield column, row


def _is_pair(hand: Sequence[str]) -> bool:
    return len(hand) >= 2 and rules.is_pair([cards.number_of(card) for card in hand])
