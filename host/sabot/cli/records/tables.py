"""`sabot tables`: what each table of a log does now."""

import time
from typing import Any

from rich.table import Table as Columns
from rich.text import Text

from sabot.cli import options
from sabot.cli.view import Output, console, print_objects, problems
from sabot.floor.wall import Tile, by_need, tile_of
from sabot.log.rounds import Round
from sabot.log.store import Store
from sabot.reports.incident import spaced
from sabot.reports.table_time import duration_text
from sabot.reports.terminal.roads import letters_text
from sabot.reports.terminal.rounds import name_text, plain
from sabot.text import counted

_LETTERS = 20  # of the last rounds


def tables(
    db: options.Db = options.DEFAULT_DB,
    unit: options.UnitNames = None,
    table: options.TableName = None,
    as_json: options.Json = False,
    as_csv: options.Csv = False,
) -> None:
    """Show what each table of a log does now: those that need a look come first.

    First those that an error stopped, then those that are in play and no log has their shoe, then
    those whose service switch is on. Cards that must not show yet are not shown.
    """
    how = options.output_of(as_json, as_csv)
    with Store(db) as store, problems.status(plain(f"looking through {db}")):
        found = [tile_of(store, name) for name in options.units_named(store, unit)]
    now_unix_ms = time.time_ns() // 1_000_000
    tiles = [
        tile for tile in by_need(found, now_unix_ms) if table is None or tile.table.name == table
    ]
    if how is not Output.TABLE:
        print_objects((_json_of(tile, now_unix_ms) for tile in tiles), how)
    elif tiles:
        console.print(_columns(tiles, now_unix_ms))
    else:
        console.print(f"{db}: no tables", soft_wrap=True)


def _json_of(tile: Tile, now_unix_ms: int) -> dict[str, Any]:
    table = tile.table
    return {
        "table": table.name,
        "unit": table.unit,
        "game": table.game,
        "need": tile.need(now_unix_ms),
        "state": table.state,
        "error": table.error,
        "cut_card": table.cut_card,
        "lid_open": table.lid_open,
        "key_on": table.key_on,
        "service_on": table.service_on,
        "shoe": table.shoe,
        "round": table.round,
        "rounds": len(table.rounds),
        "winners": _winners(tile),
        "rounds_an_hour": table.rounds_an_hour(now_unix_ms),
        "without_log_s": tile.silent_ms(now_unix_ms) // 1000,
        "last_event": table.last_event,
    }


def _winners(tile: Tile) -> list[str]:
    """The winners of the rounds of baccarat of this shoe of cards."""
    return [
        dealt.winner
        for dealt in tile.table.rounds
        if isinstance(dealt, Round) and dealt.winner is not None
    ]


def _columns(tiles: list[Tile], now_unix_ms: int) -> Columns:
    columns = Columns(box=None, padding=(0, 2, 0, 0))
    for name in ("table", "unit", "game", "state"):
        columns.add_column(name)
    for name in ("shoe", "round", "an hour"):
        columns.add_column(name, justify="right")
    for name in ("last rounds", ""):
        columns.add_column(name)
    for tile in tiles:
        table = tile.table
        columns.add_row(
            name_text(table.name),
            name_text(table.unit),
            name_text(table.game),
            _state(tile),
            str(table.shoe or ""),
            str(table.round or ""),
            str(table.rounds_an_hour(now_unix_ms)),
            letters_text(_winners(tile)[-_LETTERS:]),
            plain(", ".join(_notes(tile, now_unix_ms))),
        )
    return columns


def _state(tile: Tile) -> Text:
    if not tile.table.error:
        return plain(spaced(tile.table.state))
    stopped = plain(f"STOPPED: {spaced(tile.table.error)}")
    stopped.stylize("bold red")
    return stopped


def _notes(tile: Tile, now_unix_ms: int) -> list[str]:
    table = tile.table
    silent_ms = tile.silent_ms(now_unix_ms)
    notes = [f"no log for {duration_text(silent_ms)}"] if silent_ms else []
    void = sum(dealt.void is not None for dealt in table.rounds)
    notes += [counted(void, "void round")] * bool(void)
    marks = (
        (table.cut_card, "cut card drawn"),
        (table.lid_open, "lid open"),
        (table.key_on, "key on"),
        (table.service_on, "service"),
    )
    return notes + [note for on, note in marks if on]
