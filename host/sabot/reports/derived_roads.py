"""The derived roads of a baccarat table: Big Eye Boy, Small Road and Cockroach Pig.

They show whether the Big Road repeats itself, not who won. Each round that Player or Banker won
adds one mark to each of them, red or blue, from the starting point on. A tie adds nothing.

The rule, with columns and rows counted from 1. Each road compares with a column of the Big Road to
the left: Big Eye Boy with the next one, Small Road with the second, Cockroach Pig with the third.

- The round continues a column. Blue if the compared column ends in the row just above: the column
  has become one longer than it. Red if the compared column has a cell in this row, or has a cell
  neither in this row nor in the row above.
- The round begins a column. Red if the column before it is as long as the column that this one
  compares with, else blue.
- Without a column to compare with there is no mark. So Big Eye Boy starts in column 2, row 2, or in
  column 3, row 1, if column 2 has one cell only. Small Road starts one column later, Cockroach Pig
  two.

The sources:

- World Gaming Magazine (Macau) 56, March 2018, page 22: a round that continues a streak is red if
  the cell on its left is full, blue if that cell is empty and the one above it is full, red if both
  are empty.
- "Road Map", help page of the live tables of OG Plus: the starting points; a new column is blue if
  the two columns before it have not the same number of records.
- baccarat-engine (npm), the comment in `derivedRoad` of its roadmapGenerator.js: row m against the
  p cells of the compared column is red for m <= p, blue for m = p + 1, red for m > p + 1; in row 1
  it is the reverse of what the other winner would have added. (The code below that comment leaves
  out the first column, which the comment does not.)

A column is a streak, however it is drawn: the dragon's tail counts to the length of its column. So
it is in the sources: the magazine speaks of a streak that is "one hand longer than the previous
streak", and baccarat-engine counts by "logical columns". If drawn cells counted, a mark would
depend on where an older tail lies and on how many rows the display has.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from sabot.reports.roads import Outcome, places


class Mark(Enum):
    """A mark of a derived road.

    Named for what it means, because red and blue stand for Banker and Player on the other roads.
    The value is the colour by which the field calls it.
    """

    REGULAR = "red"
    """The Big Road repeats itself here."""
    CHOPPY = "blue"
    """It does not."""


@dataclass(frozen=True, slots=True)
class DerivedCell:
    """A cell of a derived road."""

    column: int
    row: int
    mark: Mark
    round: int
    """The number of the round that added it; 0 if it does not matter."""


def big_eye_boy(outcomes: Iterable[Outcome]) -> list[DerivedCell]:
    """Big Eye Boy: each column of the Big Road against the next one to its left."""
    return _derived(outcomes, 1)


def small_road(outcomes: Iterable[Outcome]) -> list[DerivedCell]:
    """Small Road: each column of the Big Road against the second to its left."""
    return _derived(outcomes, 2)


def cockroach_pig(outcomes: Iterable[Outcome]) -> list[DerivedCell]:
    """Cockroach Pig: each column of the Big Road against the third to its left."""
    return _derived(outcomes, 3)


def _derived(outcomes: Iterable[Outcome], distance: int) -> list[DerivedCell]:
    marked = list(_marked(outcomes, distance))
    return [
        DerivedCell(column, row, mark, each.round)
        for (column, row), (each, mark) in zip(
            places(mark for _, mark in marked), marked, strict=True
        )
    ]


def _marked(outcomes: Iterable[Outcome], distance: int) -> Iterator[tuple[Outcome, Mark]]:
    """Yield each round that adds a mark, with it. `distance` is that to the compared column."""
    lengths: list[int] = []  # of the columns so far
    winner = ""
    for each in outcomes:
        if each.winner == "tie":
            continue
        begins = each.winner != winner
        if not begins:
            lengths[-1] += 1
        if len(lengths) > distance:
            longer = lengths[-1] - lengths[-1 - distance]
            regular = longer == 0 if begins else longer != 1
            yield each, Mark.REGULAR if regular else Mark.CHOPPY
        if begins:
            winner = each.winner
            lengths.append(1)
