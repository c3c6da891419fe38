"""Rounds as the rows of a table on a terminal."""

from collections.abc import Sequence
from datetime import tzinfo

from rich.table import Table

from sabot.cli.long_table import Cell, table_of
from sabot.cli.view import time_text
from sabot.log.rounds import Dealt
from sabot.reports.terminal.rounds import cells_of_hands
from sabot.terminal import name_text

_OF_A_SHOE = 3
"""The first column that differs between the rounds of a shoe of cards."""
ROUND_COLUMNS = ("unit", "table", "shoe", "round", "ended", "Player", "Banker", "result")


def round_cells(ended: Dealt, table: str = "", zone: tzinfo | None = None) -> list[Cell]:
    """Return the cells of a round for a table with ROUND_COLUMNS. `table` is where the unit stood;
    the time is in `zone`, or without one that of this machine."""
    return [
        name_text(ended.unit),
        name_text(table),
        str(ended.shoe),
        str(ended.round),
        time_text(ended.ended_unix_ms, zone),
        *cells_of_hands(ended),
    ]


def rounds_table(rounds: Sequence[Dealt]) -> Table:
    """Return a table of a few rounds of one unit and shoe of cards, one below the other."""
    table = table_of(ROUND_COLUMNS[_OF_A_SHOE:])
    for ended in rounds:
        table.add_row(*round_cells(ended)[_OF_A_SHOE:])
    return table
