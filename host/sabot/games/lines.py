"""What a command prints for people: lines and tables."""

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from sabot.terminal import LongLine

Line = str | Text | Table | LongLine


def new_table(*names: str, right: Sequence[str] = ()) -> Table:
    """Return an empty table with these columns, those in `right` to the right."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, justify="right" if name in right else "left")
    return table


def sums_table(rows: Iterable[tuple[str, str]]) -> Table:
    """Return a table of names and amounts."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, cents in rows:
        table.add_row(name, cents)
    return table
