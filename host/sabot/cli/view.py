"""What a terminal shows: cards, rounds as lines and tables, the bead plate.

All output of the commands goes through this module, the door for text that came from outside: from
a shoe, a log, a file, or the name of one. `console` and `problems` make every string one printable
line, without markup; `plain` does it for a `Text`, `print_rows` for rows of a table, and
`print_json` and `print_objects` for data.
"""

import csv
import json
import math
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import tzinfo
from enum import StrEnum
from itertools import chain
from types import TracebackType
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.style import Style
from rich.table import Table
from rich.text import Text

from sabot.cli.long_table import HELD, Cell, Columns, table_of
from sabot.errors import FINDINGS
from sabot.log.families.boxes import BlackjackRound, BoxHand
from sabot.log.families.hands import Hand
from sabot.log.rounds import Dealt, Round
from sabot.reports.roads import LETTERS, ROWS, Outcome, bead_plate
from sabot.reports.table_time import text_of
from sabot.text import card_symbol, counted, local_time, printable, shortened

_STYLE = {"player": "bold blue", "banker": "bold red", "tie": "bold green"}

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

_MOST_IN_NAME = 64
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


def card_text(card: str) -> Text:
    """A card such as "7H" as people write it, hearts and diamonds in red."""
    return Text(card_symbol(card), style="red" if card[1:] in ("D", "H") else "")


def hand_text(hand: Sequence[str], total: int | None) -> Text:
    """A hand's total and its cards."""
    text = Text("-" if total is None else str(total), style="bold")
    for card in hand:
        text.append("  ").append_text(card_text(card))
    return text


def outcome_text(ended: Round) -> Text:
    """The winner, a star for a natural, and other hits; or why the round was voided. Then cards
    entered by hand."""
    if ended.winner is None:
        text = Text(f"void ({ended.void})", style="yellow")
    else:
        won = ended.winner + (" *" if ended.natural else "")
        hits = [hit.replace("_", " ") for hit in ended.hits]
        text = Text(", ".join([won, *hits]), style=_STYLE[ended.winner])
    if ended.ghost_hand is not None:
        text.append(f", ghost hand {ended.ghost_hand}")
    if ended.sealed:
        text.append(f", {counted(ended.sealed, 'sealed card')}")
    if ended.by_hand:
        text.append("  by hand:", style="yellow")
    for card in ended.by_hand:
        text.append(" ").append_text(card_text(card))
    return text


def plain(text: str) -> Text:
    """A text, without markup and without characters that control a terminal."""
    return Text(printable(text))


def name_text(name: str) -> Text:
    """A name for a column of a table: so short that no part of it looks like a row."""
    return plain(shortened(name, _MOST_IN_NAME))


def round_line(ended: Dealt) -> Text:
    """A round as one line."""
    line = plain(
        f"{shortened(ended.unit, _MOST_IN_NAME)} shoe {ended.shoe} round {ended.round:>2}  "
    )
    if isinstance(ended, BlackjackRound):
        line.append_text(_dealer_text(ended)).append("  ").append_text(_boxes_text(ended))
        return line.append("  ").append_text(_end_of_boxes(ended))
    if isinstance(ended, Hand):
        return line.append_text(_boards_text(ended)).append("  ").append_text(_end_text(ended))
    line.append_text(_padded(Text("P ") + hand_text(ended.player, ended.player_total), 20))
    line.append_text(_padded(Text("B ") + hand_text(ended.banker, ended.banker_total), 20))
    return line.append_text(outcome_text(ended))


_OF_A_SHOE = 3
"""The first column that differs between the rounds of a shoe of cards."""
ROUND_COLUMNS = ("unit", "table", "shoe", "round", "ended", "Player", "Banker", "result")


def round_cells(ended: Dealt, table: str = "", zone: tzinfo | None = None) -> list[Cell]:
    """A round for a table with ROUND_COLUMNS. `table` is where the unit stood; the time is in
    `zone`, or without one that of this machine."""
    return [
        name_text(ended.unit),
        name_text(table),
        str(ended.shoe),
        str(ended.round),
        time_text(ended.ended_unix_ms, zone),
        *_cells_of_hands(ended),
    ]


def _cells_of_hands(ended: Dealt) -> list[Cell]:
    """What is in the columns Player, Banker, result: of hold'em the seats, the board, the end;
    of blackjack the boxes, the dealer, the outcomes."""
    if isinstance(ended, BlackjackRound):
        return [_boxes_text(ended), _dealer_text(ended), _end_of_boxes(ended)]
    if isinstance(ended, Hand):
        return [Text(counted(ended.seats, "seat")), _boards_text(ended), _end_text(ended)]
    return [
        hand_text(ended.player, ended.player_total),
        hand_text(ended.banker, ended.banker_total),
        outcome_text(ended),
    ]


_OUTCOMES = {
    "wins": "win",
    "loses": "lose",
    "pushes": "push",
    "blackjack": "blackjack",
    "surrendered": "surrender",
}


def _boxes_text(dealt: BlackjackRound) -> Text:
    """The totals of the boxes; those of a box's hands after a split with a slash."""
    boxes = ["/".join(map(_total_of, box)) for box in dealt.boxes]
    return Text(f"{counted(len(boxes), 'box', 'boxes')} {' '.join(boxes)}".rstrip())


def _total_of(hand: BoxHand) -> str:
    total = "-" if hand.total is None else str(hand.total)
    return total + "x2" * hand.doubled


def _dealer_text(dealt: BlackjackRound) -> Text:
    return Text("dealer ").append_text(hand_text(dealt.dealer, dealt.dealer_total))


def _end_of_boxes(dealt: BlackjackRound) -> Text:
    """How many hands ended in which way, or why the round was voided; then cards entered by
    hand."""
    if dealt.void is not None:
        text = Text(f"void ({dealt.void})", style="yellow")
    else:
        ends = Counter(hand.outcome for box in dealt.boxes for hand in box)
        ended = [f"{ends[outcome]} {word}" for outcome, word in _OUTCOMES.items() if ends[outcome]]
        text = Text(", ".join(ended))
    if dealt.sealed:
        text.append(f", {counted(dealt.sealed, 'sealed card')}")
    if dealt.by_hand:
        text.append("  by hand:", style="yellow")
    for card in dealt.by_hand:
        text.append(" ").append_text(card_text(card))
    return text


def _boards_text(hand: Hand) -> Text:
    text = Text("board ")
    for place, board in enumerate(each for each in (hand.board, hand.second) if each):
        text.append(" and " if place else "")
        text.append_text(Text(" ").join(map(card_text, board)))
    return text if hand.board else text.append("not dealt")


def _end_text(hand: Hand) -> Text:
    """Whether the hand was run twice, or why it was voided; then cards entered by hand."""
    text = Text("hand ended" if hand.void is None else f"void ({hand.void})")
    if hand.run_twice is not None:
        text.append(f", run twice from the {hand.run_twice}")
    if hand.by_hand:
        text.append("  by hand:", style="yellow")
    for card in hand.by_hand:
        text.append(" ").append_text(card_text(card))
    return text


def time_text(unix_ms: int | None, zone: tzinfo | None) -> str:
    """A time on the clock of `zone` with its offset, or without one on that of this machine."""
    return local_time(unix_ms) if zone is None else text_of(unix_ms, zone)


def rounds_table(rounds: Sequence[Dealt]) -> Table:
    """A few rounds of one unit and shoe of cards, one below the other."""
    table = table_of(ROUND_COLUMNS[_OF_A_SHOE:])
    for ended in rounds:
        table.add_row(*round_cells(ended)[_OF_A_SHOE:])
    return table


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


def letters_text(winners: Iterable[str]) -> Text:
    """A letter for each round, in a line."""
    return Text(" ").join(Text(LETTERS[winner], style=_STYLE[winner]) for winner in winners)


def bead_plate_text(winners: Sequence[str], columns: int) -> Text:
    """The newest `columns` columns of the bead plate, a letter for each round."""
    beads = bead_plate([Outcome(winner) for winner in winners])
    first = beads[-1].column - columns + 1 if beads else 0
    rows = [Text() for _ in range(ROWS)]
    for bead in beads:
        if bead.column >= first:
            winner = bead.outcome.winner
            rows[bead.row].append(f"{LETTERS[winner]} ", style=_STYLE[winner])
    return Text("\n").join(rows)


def progress(*columns: ProgressColumn) -> Progress:
    """A bar on the screen; nothing if there is none.

    What is printed meanwhile to this module's `console`, or to the bar's own, comes above the bar.
    """
    shown_on = console if console.is_terminal else problems
    return Progress(*columns, console=shown_on, transient=True, disable=not shown_on.is_terminal)


def events_progress() -> Progress:
    """A bar for events that are gone through."""
    return progress(TextColumn("events"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


def print_fault(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print the traceback of an error that no command expects, as `sys.excepthook` does."""
    for part in traceback.format_exception(kind, error, trace):
        for line in part.splitlines():
            problems.print(line)


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


def print_page(html: str) -> None:
    """Print a page, whose texts `sabot.reports.html` has made safe."""
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
        writer.writerow({name: _cell(value) for name, value in each.items()})


def _cell(value: object) -> object:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = " ".join(value)
    elif isinstance(value, (dict, list, bool)):
        value = json.dumps(value)
    return _FORMULA.sub(r"\1'", printable(value)) if isinstance(value, str) else value


def _padded(text: Text, width: int) -> Text:
    text.pad_right(max(0, width - len(text)))
    return text
