"""A table's line and page in a terminal, of a unit with hostile names."""

from datetime import UTC

from sabot.floor.order_shown import OrderShown
from sabot.floor.table import Table
from sabot.floor.wall import Tile
from sabot.log.families.cards import Card
from sabot.watch import table_text, tile_text

_HOSTILE = "[red]\x1b[2J\nevil"


def test_names_from_a_shoe_neither_control_the_terminal_nor_look_like_another_line() -> None:
    tile = Tile(Table(_HOSTILE, name=_HOSTILE, game=_HOSTILE, error=_HOSTILE), None)
    shown = [cell.plain for cell in tile_text.cells(tile, 0)]
    shown += table_text.heading(tile, 0).plain.split("\n")
    shown.append(table_text.last_rounds(tile, UTC).plain)
    assert any("[red]\\x1b[2J\\nevil" in each for each in shown)
    assert all(each.isprintable() for each in shown), shown


def test_cards_that_were_dealt_before_lie_beside_the_earlier_ones() -> None:
    pairs = tuple((Card(f"{rank}H"), Card(f"{rank}S")) for rank in "A23456789T")
    tile = Tile(Table("U1"), None, order=OrderShown("repeated", "10 cards repeat", pairs))
    assert "dealt before" in tile_text.notes(tile, 0)
    first, these, before = table_text.order(tile, 30).plain.split("\n")
    assert first == "dealt before: 10 cards repeat"
    assert these.split() == ["these", "cards", "7♥", "8♥", "9♥", "10♥"]
    assert before.split() == ["before", "7♠", "8♠", "9♠", "10♠"]
    assert table_text.order(Tile(Table("U1"), None), 30).plain == ""
