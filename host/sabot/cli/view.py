"""What a terminal shows: long tables, progress, data.

All output of the commands goes through this module, the door for text that came from outside: from
a shoe, a log, a file, or the name of one. `console` and `problems` make every string one printable
line, without markup; `plain` (terminal.py) does it for a `Text`, `print_rows` for
rows of a table, and `print_json` and `print_objects` for data.
"""

import csv
import json
import math
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import tzinfo
from enum import StrEnum
from itertools import chain
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.style import Style
from rich.text import Text

from sabot.cli.long_table import HELD, Cell, Columns, table_of
from sabot.errors import FINDINGS
from sabot.table_time import text_of
from sabot.terminal import LongLine
from sabot.text import local_time, printable

_PIPE_WIDTH = 200


def _on_a_screen() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


class Door(Console):
    """A console that makes every string that it gets, also in a table, one printable line."""

    def on_broken_pipe(self) -> None:
        """Leave it to the end of the command line, where it is no error."""
        raise BrokenPipeError

    def render_str(  # all strings come here
        self, text: str, *, style: str | Style = "", **_: Any
    ) -> Text:
        """The text, without markup and without characters that control a terminal."""
        return Text(printable(text), style=style)


# A pipe or a file has no screen: its lines are wide, so that they are not folded.
console = Door(highlight=False, width=None if _on_a_screen() else _PIPE_WIDTH)
problems = Door(stderr=True, highlight=False, soft_wrap=True)

_AT_ONCE = 50  # rows on a screen, in a few hundredths of a second
_SOON_S = 0.5
"""After this time what has come is printed, also if it is little."""
# Spreadsheets take a cell for a formula if it begins so, or if it does after a separator that a
# spreadsheet of another language uses. OWASP, "CSV Injection".
_FORMULA = re.compile(r"(^|[;|])(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")


class Output(StrEnum):
    """How a command prints what it lists."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def time_text(unix_ms: int | None, zone: tzinfo | None) -> str:
    """A time on the clock of `zone` with its offset, or without one on that of this machine."""
    return local_time(unix_ms) if zone is None else text_of(unix_ms, zone)


def print_rows(
    names: Sequence[str], rows: Iterable[Sequence[Cell]], least: Mapping[str, int]
) -> None:
    """Print a table as its rows come, with at most long_table.HELD of them in memory.

    `names` are those of the columns. If there are more rows, or they come slowly, the columns that
    `least` names are at least so wide: then they need not become wider on the way.
    """
    columns, rows, begin_s = Columns(names), iter(rows), time.monotonic()
    held = _some(rows, HELD)
    for cells in held:
        columns.measure(cells)
    if len(held) == HELD or time.monotonic() - begin_s >= _SOON_S:
        columns.widen(least)
    if not console.is_terminal:  # a hundred thousand rows take seconds, as tables minutes
        for cells in chain([names], held):
            print(columns.row(cells))
        sys.stdout.flush()
        _print_soon(columns.row(cells) for cells in rows)
        return
    begun = False
    pieces = (held[at : at + _AT_ONCE] for at in range(0, max(1, len(held)), _AT_ONCE))
    for some in chain(pieces, iter(lambda: _some(rows, _AT_ONCE), [])):
        for cells in some:
            columns.measure(cells)
        table = table_of(names, columns.widths(console.width) or ())
        table.show_header, begun = not begun, True
        for cells in some:
            table.add_row(*cells)
        console.print(table)


def _some(rows: Iterator[Sequence[Cell]], most: int) -> list[Sequence[Cell]]:
    """The next rows: at most so many, and fewer if they come slowly."""
    begin_s, some = time.monotonic(), []
    for cells in rows:
        some.append(cells)
        if len(some) == most or time.monotonic() - begin_s >= _SOON_S:
            break
    return some


def _print_soon(lines: Iterable[str]) -> None:
    """Print lines as they come; those that come slowly do not wait in the buffer of a pipe."""
    flushed_s = -math.inf
    for line in lines:
        print(line)
        if time.monotonic() - flushed_s >= _SOON_S:
            sys.stdout.flush()
            flushed_s = time.monotonic()


def progress(*columns: ProgressColumn) -> Progress:
    """A bar on the screen; nothing if there is none.

    What is printed meanwhile to this module's `console`, or to the bar's own, comes above the bar.
    """
    shown_on = console if console.is_terminal else problems
    return Progress(*columns, console=shown_on, transient=True, disable=not shown_on.is_terminal)


def events_progress() -> Progress:
    """A bar for events that are gone through."""
    return progress(TextColumn("events"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


def print_json(value: object) -> None:
    """Print data as JSON, on one line of ASCII."""
    print(json.dumps(value), flush=True)


@contextmanager
def verdict(found: object) -> Iterator[None]:
    """Print what was found. If it is anything, the command ends with the exit code FINDINGS, also
    if the reader of a pipe is gone: it may only want the code."""
    with suppress(BrokenPipeError):
        yield
    if found:
        raise typer.Exit(FINDINGS)


def print_the_rest() -> None:
    """Print what is still buffered. Raises BrokenPipeError if the reader of a pipe is gone."""
    print(end="", flush=True)


def print_lines(lines: Iterable[RenderableType | LongLine]) -> None:
    """Print lines and tables for people."""
    for line in lines:
        if isinstance(line, LongLine):
            console.print(line.text, soft_wrap=True)
        else:
            console.print(line)


def print_page(html: str) -> None:
    """Print a page, whose texts `sabot.html` has made safe."""
    print(html, end="", flush=True)


def print_objects(objects: Iterable[Mapping[str, Any]], how: Output) -> None:
    """Print one object a line: as JSON, or as CSV after a line of names."""
    if how is Output.JSON:
        _print_soon(json.dumps(each) for each in objects)
        return
    writer = None
    for each in objects:
        if writer is None:
            writer = csv.DictWriter(sys.stdout, list(each), lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: cell_of(value) for name, value in each.items()})


def cell_of(value: object) -> object:
    """Return a value as a cell of CSV: printable, and no formula for a spreadsheet."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = " ".join(value)
    elif isinstance(value, (dict, list, bool)):
        value = json.dumps(value)
    return _FORMULA.sub(r"\1'", printable(value)) if isinstance(value, str) else value
