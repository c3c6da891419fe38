"""A table's line and page in a terminal, of a unit with hostile names."""

from datetime import UTC

from sabot.floor.table import Table
from sabot.floor.wall import Tile
from sabot.watch import table_text, tile_text

_HOSTILE = "[red]\x1b[2J\nevil"


def test_names_from_a_shoe_neither_control_the_terminal_nor_look_like_another_line() -> None:
    tile = Tile(Table(_HOSTILE, name=_HOSTILE, game=_HOSTILE, error=_HOSTILE), None)
    shown = [cell.plain for cell in tile_text.cells(tile, 0)]
    shown += table_text.heading(tile, 0).plain.split("\n")
    shown.append(table_text.last_rounds(tile, UTC).plain)
    assert any("[red]\\x1b[2J\\nevil" in each for each in shown)
    assert all(each.isprintable() for each in shown), shown
