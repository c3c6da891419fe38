"""A table of the floor as a line of text for a terminal."""

from rich.text import Text

from sabot.floor.wall import Tile
from sabot.log.boards import board_of, unit_of
from sabot.reports.terminal.roads import letters_text
from sabot.table_time import duration_text
from sabot.terminal import name_text, plain
from sabot.text import counted, spaced

COLUMNS = ("table", "unit", "game", "state", "shoe", "round", "an hour", "last rounds", "")
NUMBERS = ("shoe", "round", "an hour")
"""Columns that are written to the right."""

_LETTERS = 20  # of the last rounds


def cells(tile: Tile, now_unix_ms: int) -> list[Text]:
    """A tile for a table with COLUMNS."""
    table = tile.table
    return [
        name_text(table.name),
        name_text(unit_of(table.unit)),
        name_text(table.game),
        state_text(tile),
        Text(str(table.shoe or "")),
        Text(str(table.round or "")),
        Text(str(table.rounds_an_hour(now_unix_ms))),
        letters_text(tile.winners[-_LETTERS:]),
        plain(", ".join(notes(tile, now_unix_ms))),
    ]


def state_text(tile: Tile) -> Text:
    """What the table does, or the error that stopped it."""
    if not tile.table.error:
        return plain(spaced(tile.table.state))
    stopped = plain(f"STOPPED: {spaced(tile.table.error)}")
    stopped.stylize("bold red")
    return stopped


def notes(tile: Tile, now_unix_ms: int) -> list[str]:
    """What else there is to know: no log, alerts, void rounds, cut card, lid, switches."""
    table = tile.table
    silent_ms = tile.silent_ms(now_unix_ms)
    board = board_of(table.unit)
    found = [f"board {board}"] * (board > 1)
    found += [f"no log for {duration_text(silent_ms)}"] if silent_ms else []
    found += [line] if (line := tile.short_line(now_unix_ms)) else []
    found += [tile.order.mark] if tile.order is not None else []
    alerts = len(tile.open_alerts)
    found += [counted(alerts, "open alert")] * bool(alerts)
    void = sum(dealt.void is not None for dealt in table.rounds)
    found += [counted(void, "void round")] * bool(void)
    marks = (
        (table.cut_card, "cut card drawn"),
        (table.lid_open, "lid open"),
        (table.key_on, "key on"),
        (table.service_on, "service"),
    )
    return found + [note for on, note in marks if on]
