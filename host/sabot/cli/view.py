"""What people look at: cards, rounds as lines and tables, the bead plate."""

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from sabot.log.rounds import Round

BEAD_ROWS = 6
_STYLE = {"player": "bold blue", "banker": "bold red", "tie": "bold green"}
_LETTER = {"player": "P", "banker": "B", "tie": "T"}
_SUITS = {"C": "♣", "D": "♦", "H": "♥", "S": "♠"}

_PIPE_WIDTH = 200


def _on_a_screen() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


# Into a pipe or a file nothing is folded to the width of a screen that is not there.
console = Console(highlight=False, width=None if _on_a_screen() else _PIPE_WIDTH)
problems = Console(stderr=True, highlight=False, soft_wrap=True)


class Output(StrEnum):
    """How a command prints what it lists."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def card_text(card: str) -> Text:
    """A card such as "7H" as people write it, hearts and diamonds in red."""
    if card[1:] not in _SUITS:
        return Text(card)
    rank = "10" if card[0] == "T" else card[0]
    return Text(rank + _SUITS[card[1]], style="red" if card[1] in "DH" else "")


def hand_text(hand: Sequence[str], total: int | None) -> Text:
    """A hand with its total in front."""
    text = Text("-" if total is None else str(total), style="bold")
    for card in hand:
        text.append("  ").append_text(card_text(card))
    return text


def outcome_text(ended: Round) -> Text:
    """Who won, a star for a natural, what else it was; or that the round was voided. Cards entered
    by hand."""
    if ended.winner is None:
        text = Text(f"void ({ended.void})", style="yellow")
    else:
        won = ended.winner + (" *" if ended.natural else "")
        hits = [hit.replace("_", " ") for hit in ended.hits]
        text = Text(", ".join([won, *hits]), style=_STYLE[ended.winner])
    if ended.by_hand:
        text.append("  by hand:", style="yellow")
    for card in ended.by_hand:
        text.append(" ").append_text(card_text(card))
    return text


def plain(text: str) -> Text:
    """What a shoe said of itself: no markup in it, and nothing that steers a terminal."""
    return Text("".join(c if c.isprintable() else repr(c)[1:-1] for c in text))


def round_line(ended: Round) -> Text:
    """A round as one line."""
    line = plain(f"{ended.unit} shoe {ended.shoe} round {ended.round:>2}  ")
    line.append_text(_padded(Text("P ") + hand_text(ended.player, ended.player_total), 20))
    line.append_text(_padded(Text("B ") + hand_text(ended.banker, ended.banker_total), 20))
    return line.append_text(outcome_text(ended))


def rounds_table(rounds: Sequence[Round], *, units: bool = True) -> Table:
    """Rounds one below the other."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    columns = ["unit", "shoe", "round", "ended", "Player", "Banker", "result"]
    for name in columns if units else columns[2:]:
        table.add_column(name, justify="right" if name in ("shoe", "round") else "left")
    for ended in rounds:
        cells: list[RenderableType] = [
            plain(ended.unit),
            str(ended.shoe),
            str(ended.round),
            local_time(ended.ended_unix_ms),
            hand_text(ended.player, ended.player_total),
            hand_text(ended.banker, ended.banker_total),
            outcome_text(ended),
        ]
        table.add_row(*(cells if units else cells[2:]))
    return table


def bead_plate(winners: Sequence[str], columns: int) -> Text:
    """The bead plate: a bead a round, down each column and then to the right.

    Shows the newest `columns` columns.
    """
    first = max(0, -(-len(winners) // BEAD_ROWS) - columns) * BEAD_ROWS
    shown = winners[first:]
    plate = Text()
    for row in range(BEAD_ROWS):
        for winner in shown[row::BEAD_ROWS]:
            plate.append(f"{_LETTER[winner]} ", style=_STYLE[winner])
        plate.append("\n" if row < BEAD_ROWS - 1 else "")
    return plate


def local_time(unix_ms: int | None) -> str:
    """A time in the zone of this machine, to the second."""
    if unix_ms is None:
        return "no clock"
    try:
        return datetime.fromtimestamp(unix_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):  # a host may have set any clock
        return f"{unix_ms} ms"


def print_objects(objects: Iterable[Mapping[str, Any]], how: Output) -> None:
    """Print objects one a line: as JSON, or as CSV with a line of names first."""
    if how is Output.JSON:
        for each in objects:
            print(json.dumps(each))
        return
    writer = None
    for each in objects:
        if writer is None:
            writer = csv.DictWriter(sys.stdout, list(each), lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: _cell(value) for name, value in each.items()})


def _cell(value: object) -> object:
    if isinstance(value, list):
        return " ".join(value)
    return json.dumps(value) if isinstance(value, (dict, bool)) else value


def _padded(text: Text, width: int) -> Text:
    text.pad_right(max(0, width - len(text)))
    return text
