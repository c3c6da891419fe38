"""Tables of any length, with a few rows in memory: the first rows decide how wide the columns are.

A column becomes wider when a later row needs it. The last column gets the rest of the line, and a
text that is wider is continued below.
"""

from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
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
        table.add_column(name, justify=justify, min_width=width)  # type: ignore[arg-type]
    return table


class Columns:
    """The columns of a table that is printed row by row on lines of `width` characters."""

    def __init__(self, names: Sequence[str], width: int) -> None:
        self.names = names
        self._width = width
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

    def widths(self) -> list[int] | None:
        """The width of each column; None if they are too wide for the line, even with only a few
        characters for the last one."""
        rest = self._rest()
        return None if rest < min(_LEAST_REST, self._needed[-1]) else self._widths(rest)

    def lines(self, cells: Sequence[Cell], console: Console) -> Iterator[str]:
        """The lines of one row, as `console` prints a table without styles."""
        texts = [printable(str(cell)) for cell in cells]
        for at, text in enumerate(texts):
            self._widen(at, _width_of(text))
        widths = self._widths(max(self._rest(), _LEAST_REST))
        below: Sequence[str] = ()
        if self._needed[-1] > widths[-1] and _width_of(texts[-1]) > widths[-1]:
            wrapped = Text(texts[-1]).wrap(console, widths[-1], overflow="ellipsis")
            texts[-1], *below = (line.plain.rstrip() for line in wrapped)
        yield self._line(texts, widths)
        for text in below:
            yield self._line([""] * (len(texts) - 1) + [text], widths)

    def _widen(self, at: int, width: int) -> None:
        if width > self._needed[at]:
            self._needed[at] = width

    def _rest(self) -> int:
        return self._width - sum(self._needed[:-1]) - _BETWEEN * len(self.names)

    def _widths(self, rest: int) -> list[int]:
        return [*self._needed[:-1], min(rest, self._needed[-1])]

    def _line(self, texts: Sequence[str], widths: Sequence[int]) -> str:
        line = ""
        for text, width, right in zip(texts, widths, self._right, strict=True):
            padding = " " * (width - _width_of(text))
            line += (padding + text if right else text + padding) + " " * _BETWEEN
        return line


def _width_of(text: str) -> int:
    """Columns of a screen that a text takes."""
    return len(text) if text.isascii() else cell_len(text)
