"""Tables of any length, with a few rows in memory: the first rows decide how wide the columns are.

A column becomes wider when a later row needs it. On a screen the last column gets the rest of the
line, and a text that is wider is continued below. In a pipe or a file each row is one line, however
long. Nothing is ever cut.
"""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from sabot.text import printable

HELD = 500
"""Rows that are in memory at once, to measure them before the first is printed."""

Cell = str | Text

_NUMBERS = ("event", "shoe", "round")  # columns whose cells end below each other
_BETWEEN = 2  # spaces after each column
_LEAST_REST = 20


def table_of(names: Sequence[str], widths: Sequence[int | None] = ()) -> Table:
    """An empty table with these columns, each at least so wide."""
    table = Table(box=None, padding=(0, _BETWEEN, 0, 0))
    for name, width in zip(names, widths or [None] * len(names), strict=True):
        justify = "right" if name in _NUMBERS else "left"
        table.add_column(name, justify=justify, min_width=width, overflow="fold")  # type: ignore[arg-type]
    return table


class Columns:
    """The widths of the columns of a table that is printed row by row."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._needed = [cell_len(name) for name in names]
        self._right = [name in _NUMBERS for name in names]

    def measure(self, cells: Sequence[Cell]) -> None:
        """Make each column wide enough for its cell of one row."""
        for at, cell in enumerate(cells):
            self._widen(at, _width_of(printable(str(cell))))

    def widen(self, least: Mapping[str, int]) -> None:
        """Make columns, by name, at least so wide."""
        for name, width in least.items():
            self._widen(self.names.index(name), width)

    def widths(self, line: int) -> list[int] | None:
        """The width of each column on a line of `line` characters; None if they are too wide for
        it, even with only a few characters for the last one."""
        rest = line - sum(self._needed[:-1]) - _BETWEEN * len(self.names)
        last = self._needed[-1]
        return None if rest < min(_LEAST_REST, last) else [*self._needed[:-1], min(rest, last)]

    def row(self, cells: Sequence[Cell]) -> str:
        """One row as one line, without styles."""
        texts = [printable(str(cell)) for cell in cells]
        line = ""
        for at, text in enumerate(texts):
            width = _width_of(text)
            self._widen(at, width)
            padding = " " * (self._needed[at] - width)
            line += (padding + text if self._right[at] else text + padding) + " " * _BETWEEN
        return line.rstrip()

    def _widen(self, at: int, width: int) -> None:
        if width > self._needed[at]:
            self._needed[at] = width


def _width_of(text: str) -> int:
    """Columns of a screen that a text takes."""
    return len(text) if text.isascii() else cell_len(text)
