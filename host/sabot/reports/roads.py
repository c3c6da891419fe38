"""The scoreboards of a baccarat table: bead plate and Big Road, as cells of a grid.

Columns and rows count from 0, to the right and down. Voided rounds are on neither.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sabot.log.rounds import Round
from sabot_firmware.table import rules
from sabot_protocol import cards

ROWS = 6

LETTERS = {"player": "P", "banker": "B", "tie": "T"}
"""How each winner is marked on a road."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a round was, as far as a road shows it."""

    winner: str
    """Of `sabot_protocol.enums.WINNERS`."""
    natural: bool = False
    player_pair: bool = False
    banker_pair: bool = False
    round: int = 0
    """Its number in the shoe of cards; 0 where it does not matter."""


@dataclass(frozen=True, slots=True)
class Bead:
    """A bead of the bead plate: one a round."""

    column: int
    row: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class BigCell:
    """A cell of the Big Road: a round that Player or Banker won, and the ties behind it.

    `outcome` is None only in a road of nothing but ties: they are marked on its first cell,
    which the first round that somebody wins then takes.
    """

    column: int
    row: int
    outcome: Outcome | None
    ties: int


def outcomes_of(rounds: Iterable[Round]) -> list[Outcome]:
    """The rounds that got a result. Pairs are read off the cards: a log tells them only where a
    wager depends on them."""
    return [
        Outcome(
            ended.winner, ended.natural, _is_pair(ended.player), _is_pair(ended.banker), ended.round
        )
        for ended in rounds
        if ended.winner is not None and ended.void is None
    ]


def bead_plate(outcomes: Sequence[Outcome]) -> list[Bead]:
    """Every round, down each column of six and then to the right."""
    return [Bead(place // ROWS, place % ROWS, each) for place, each in enumerate(outcomes)]


def big_road(outcomes: Sequence[Outcome]) -> list[BigCell]:
    """Player and Banker: down while the same one wins, a new column where the other does.

    A run that finds the floor, or a cell that is taken, below it goes on to the right in its row
    (the dragon's tail) and never down again. A new run begins in the first column whose top is
    free. A tie takes no cell: it is marked on the last one, those before the first winner on
    the first. Naturals and pairs are those of the round in the cell, not of its ties.
    """
    cells = list(_placed(outcomes))
    ties = [0] * max(1, len(cells))
    last = -1
    for each in outcomes:
        if each.winner == "tie":
            ties[max(last, 0)] += 1
        else:
            last += 1
    if not cells:
        return [BigCell(0, 0, None, ties[0])] if ties[0] else []
    return [
        BigCell(column, row, outcome, count)
        for (column, row, outcome), count in zip(cells, ties, strict=True)
    ]


def _placed(outcomes: Iterable[Outcome]) -> Iterator[tuple[int, int, Outcome]]:
    """Column and row of each round that somebody won."""
    taken: set[tuple[int, int]] = set()
    column = row = top = 0  # `top`: the first column whose top is free
    winner, tail = "", False
    for each in outcomes:
        if each.winner == "tie":
            continue
        if each.winner != winner:
            winner, tail = each.winner, False
            column, row = top, 0
        elif tail or row + 1 == ROWS or (column, row + 1) in taken:
            tail = True
            column += 1
        else:
            row += 1
        taken.add((column, row))
        if row == 0:
            top = column + 1
        yield column, row, each


def _is_pair(hand: Sequence[str]) -> bool:
    return len(hand) >= 2 and rules.is_pair([cards.number_of(card) for card in hand])
