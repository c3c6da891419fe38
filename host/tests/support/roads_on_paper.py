"""Roads of baccarat as a player keeps them on paper with a red and a blue pen.

The Big Road is on a sheet without a bottom, so that a streak goes straight down. A round that
continues a streak is judged by the cells to its left (World Gaming Magazine 56); one that begins a
streak adds the reverse of what the other winner would have added (baccarat-engine's comment).
"""

from itertools import count, groupby

ROWS = 6
REVERSED = {"r": "b", "b": "r", "": ""}


def pen_marks(winners: str, distance: int) -> str:
    """The marks, "r" or "b", of a derived road. `winners` are "P" and "B", without ties."""
    sheet: set[tuple[int, int]] = set()
    column = row = 0
    marks = ""
    for number, winner in enumerate(winners):
        if number:
            mark = _pen(sheet, column - distance, row + 1)
            if winner == winners[number - 1]:
                row += 1
                marks += mark
            else:
                column, row = column + 1, 0
                marks += REVERSED[mark]
        sheet.add((column, row))
    return marks


def _pen(sheet: set[tuple[int, int]], column: int, row: int) -> str:
    if column < 0:
        return ""
    left_is_full = (column, row) in sheet
    above_left_is_full = (column, row - 1) in sheet
    return "b" if above_left_is_full and not left_is_full else "r"


def drawn_on_board(marks: str) -> list[tuple[int, int, str]]:
    """Column, row and mark of each, on a board of six rows: run after run, each as a whole."""
    board: dict[tuple[int, int], str] = {}
    for mark, run in groupby(marks):
        start = next(column for column in count() if (column, 0) not in board)
        free_rows = next((row for row in range(ROWS) if (start, row) in board), ROWS)
        for place, _ in enumerate(run):
            row = min(place, free_rows - 1)
            board[start + place - row, row] = mark
    assert len(board) == len(marks), "two marks in one cell"
    return [(column, row, mark) for (column, row), mark in board.items()]
