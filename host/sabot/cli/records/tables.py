"""`sabot tables`: what each table of a log does now."""

import time

from rich.table import Table

from sabot.cli.chosen import Format, UnitsInLog, takes_options
from sabot.cli.view import Output, console, print_objects, problems
from sabot.floor.wall import Tile, by_need, tile_of
from sabot.log import boards
from sabot.log.store import open_store
from sabot.terminal import plain
from sabot.watch import tile_text


@takes_options
def tables(chosen: UnitsInLog, printed: Format) -> None:
    """Show what each table of a log does now: those that need a look come first.

    First those that an error stopped, then those that are in play and no log has their shoe, then
    those whose shoe holds events that do not arrive, then those whose service switch is on. Cards
    that must not show yet are not shown.
    """
    how, db = printed.output, chosen.db
    with open_store(db) as store, problems.status(plain(f"looking through {db}")):
        found = [tile_of(store, name) for name in boards.newest_of(chosen.units(store))]
    now_unix_ms = time.time_ns() // 1_000_000
    tiles = [
        tile for tile in by_need(found, now_unix_ms) if chosen.table in (None, tile.table.name)
    ]
    if how is not Output.TABLE:
        print_objects((tile.as_json(now_unix_ms) for tile in tiles), how)
    elif tiles:
        console.print(_table_of(tiles, now_unix_ms))
        for tile in tiles:
            if line := tile.line(now_unix_ms):
                console.print(plain(line), soft_wrap=True)
    else:
        console.print(f"{db}: no tables", soft_wrap=True)


def _table_of(shown: list[Tile], now_unix_ms: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in tile_text.COLUMNS:
        table.add_column(name, justify="right" if name in tile_text.NUMBERS else "left")
    for tile in shown:
        table.add_row(*tile_text.cells(tile, now_unix_ms))
    return table
