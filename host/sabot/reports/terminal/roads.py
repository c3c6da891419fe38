"""Roads as text for a terminal, a letter for each mark."""

from collections.abc import Iterable, Mapping, Sequence

from rich.text import Text

from sabot.reports.derived_roads import DerivedCell, Mark
from sabot.reports.roads import LETTERS, ROWS, Outcome, bead_plate, big_road
from sabot.reports.terminal.rounds import WINNER_STYLE

_MOST_TIES = 9  # that one digit shows
_EMPTY = Text("  ")


def letters_text(winners: Iterable[str]) -> Text:
    """A letter for each round, in a line."""
    return Text(" ").join(Text(LETTERS[winner], style=WINNER_STYLE[winner]) for winner in winners)


def bead_plate_text(winners: Sequence[str], columns: int) -> Text:
    """The newest `columns` columns of the bead plate, a letter for each round."""
    beads = bead_plate([Outcome(winner) for winner in winners])
    first = beads[-1].column - columns + 1 if beads else 0
    rows = [Text() for _ in range(ROWS)]
    for bead in beads:
        if bead.column >= first:
            winner = bead.outcome.winner
            rows[bead.row].append(f"{LETTERS[winner]} ", style=WINNER_STYLE[winner])
    return Text("\n").join(rows)


def big_road_text(outcomes: Sequence[Outcome], columns: int) -> Text:
    """The newest `columns` columns of the Big Road: P or B, and the number of ties after it."""
    cells = big_road(outcomes)
    marks = {}
    for cell in cells:
        winner = "tie" if cell.outcome is None else cell.outcome.winner
        ties = str(min(cell.ties, _MOST_TIES)) if cell.ties else " "
        mark = Text(LETTERS[winner], style=WINNER_STYLE[winner])
        marks[cell.column, cell.row] = mark.append(ties, style=WINNER_STYLE["tie"])
    return _grid(marks, columns)


def derived_road_text(cells: Sequence[DerivedCell], columns: int) -> Text:
    """The newest `columns` columns of a derived road: a full mark where the Big Road repeats
    itself, an open one where it does not."""
    styles = {Mark.REGULAR: ("● ", "red"), Mark.CHOPPY: ("○ ", "blue")}
    return _grid({(cell.column, cell.row): Text(*styles[cell.mark]) for cell in cells}, columns)


def _grid(marks: Mapping[tuple[int, int], Text], columns: int) -> Text:
    """Marks of two letters by column and row, the newest columns, row by row."""
    width = max((column + 1 for column, _ in marks), default=0)
    shown = range(max(0, width - columns), width)
    rows = [Text().join(marks.get((at, row), _EMPTY) for at in shown) for row in range(ROWS)]
    return Text("\n").join(rows)
