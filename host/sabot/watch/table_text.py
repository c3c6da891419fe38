"""A table of the floor as text for a terminal: what it does, its roads, its last rounds."""

from collections.abc import Mapping
from datetime import tzinfo
from itertools import zip_longest

from rich.text import Text

from sabot.desk.alerts import RaisedAlert
from sabot.floor.wall import Tile
from sabot.log.boards import unit_of
from sabot.log.rounds import Dealt, Round
from sabot.reports.derived_roads import big_eye_boy, cockroach_pig, small_road
from sabot.reports.roads import outcomes_of
from sabot.reports.terminal.roads import bead_plate_text, big_road_text, derived_road_text
from sabot.reports.terminal.rounds import cells_of_hands, open_round_text
from sabot.table_time import text_of, time_of_day
from sabot.terminal import name_text, plain
from sabot.text import card_symbol, counted, spaced
from sabot.watch import tile_text

_LAST_ROUNDS = 12
_PLATE_COLUMNS = 16


def heading(tile: Tile, now_unix_ms: int) -> Text:
    """The table, its unit and game, what it does, and what else there is to know."""
    table = tile.table
    text = plain(table.name or "no table name").append("   ")
    text.stylize("bold")
    text.append_text(plain(f"{unit_of(table.unit)}   {table.game}   "))
    text.append_text(tile_text.state_text(tile)).append("\n")
    facts = [
        f"shoe {table.shoe}, round {table.round}" if table.shoe else "no shoe of cards yet",
        f"{counted(table.rounds_an_hour(now_unix_ms), 'round')} in the last hour",
        *tile_text.notes(tile, now_unix_ms),
    ]
    return text.append_text(plain(", ".join(facts)))


def current(tile: Tile) -> Text:
    """The round that is dealt now, as far as it may show."""
    dealt = tile.table.open_round
    if dealt is None:
        return Text("between two rounds")
    return Text(f"round {dealt.round}   ").append_text(open_round_text(dealt))


def order(tile: Tile, width: int) -> Text:
    """What was found in the order of the cards, and the last of them beside those that they repeat,
    in lines of at most `width` letters; empty for nothing."""
    found = tile.order
    if found is None:
        return Text()
    text = plain(f"{found.mark}: {found.detail}")
    text.stylize("bold red")
    last = found.pairs[-max(1, (width - 14) // 4) :]
    for name, at in (("these cards", 0), ("before", 1)) if last else ():
        text.append(f"\n{name:<14}")
        text.append(" ".join(f"{card_symbol(pair[at]):>3}" for pair in last))
    return text


def roads(tile: Tile, width: int) -> Text:
    """The five roads of baccarat with their names, in lines of at most `width` letters; empty for a
    table that deals another game, or has dealt nothing."""
    dealt = [
        *tile.table.rounds,
        *([] if tile.table.open_round is None else [tile.table.open_round]),
    ]
    rounds = [each for each in tile.table.rounds if isinstance(each, Round)]
    if not all(isinstance(each, Round) for each in dealt) or not rounds:
        return Text()
    outcomes = outcomes_of(rounds)
    plate = max(1, min(_PLATE_COLUMNS, width // 6))
    wide, third = max(1, width // 2 - plate - 2), max(1, (width - 8) // 6)
    above = [
        ("Bead plate", bead_plate_text([each.winner for each in outcomes], plate), 2 * plate),
        ("Big Road", big_road_text(outcomes, wide), 2 * wide),
    ]
    below = [
        (name, derived_road_text(cells, third), 2 * third)
        for name, cells in (
            ("Big Eye Boy", big_eye_boy(outcomes)),
            ("Small Road", small_road(outcomes)),
            ("Cockroach Pig", cockroach_pig(outcomes)),
        )
    ]
    return _side_by_side(above).append("\n\n").append_text(_side_by_side(below))


def _side_by_side(blocks: list[tuple[str, Text, int]]) -> Text:
    """Blocks of lines with their names above them, each as wide as it says."""
    columns = []
    for name, block, width in blocks:
        lines = [Text(name, style="bold"), *block.split("\n", allow_blank=True)]
        for line in lines:
            line.pad_right(max(0, width + 4 - len(line)))
        columns.append(lines)
    rows = (Text().join(parts) for parts in zip_longest(*columns, fillvalue=Text()))
    return Text("\n").join(rows)


def last_rounds(tile: Tile, zone: tzinfo) -> Text:
    """The last rounds of this shoe of cards, the newest first."""
    newest = tile.table.rounds[::-1][:_LAST_ROUNDS]
    lines = [_round_text(each, zone) for each in newest]
    return Text("\n").join(lines) if lines else Text("no round has ended in this shoe of cards")


def alert_line(raised: RaisedAlert, names: Mapping[str, str], zone: tzinfo) -> Text:
    """An alert: when, at which table, what. `names` has the names of the tables, by unit."""
    alert = raised.alert
    unit = unit_of(alert.unit)
    return Text("  ").join(
        (
            Text(text_of(alert.unix_ms, zone)),
            name_text(names.get(unit) or unit),
            Text(spaced(alert.kind), style="bold"),
            plain(alert.detail),
        )
    )


def _round_text(dealt: Dealt, zone: tzinfo) -> Text:
    at = "no clock" if dealt.ended_unix_ms is None else time_of_day(dealt.ended_unix_ms, zone)
    line = Text(f"{dealt.round:>3}  {at}  ")
    first, second, end = cells_of_hands(dealt)
    for part, width in ((first, 26), (second, 26)):
        part.pad_right(max(0, width - len(part)))
        line.append_text(part).append(" ")
    return line.append_text(end)
