"""Roads as text for a terminal, a letter for each mark."""

from collections.abc import Iterable, Sequence

from rich.text import Text

from sabot.reports.roads import LETTERS, ROWS, Outcome, bead_plate
from sabot.reports.terminal.rounds import WINNER_STYLE


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
