"""`sabot units`: what a log shows about each unit."""

from datetime import tzinfo

from rich.table import Table

from sabot.audit.context import kept_of_removed
from sabot.cli.chosen import Format, UnitsInLog, takes_options
from sabot.cli.view import Output, console, print_objects, problems
from sabot.log import boards
from sabot.log.store import open_store
from sabot.reports.units import UnitSummary, unit_of
from sabot.table_time import text_of
from sabot.terminal import name_text, plain

_BUILD_DIGITS = 8


@takes_options
def units(chosen: UnitsInLog, printed: Format) -> None:
    """List every unit in a log: its firmware, when it was last seen, how long it has run, how many
    cards it read and could not read, when it was calibrated, and its updates.

    A unit whose shoe holds events that do not arrive has a line below.

    A unit whose board was replaced has a line for each board; who replaced it, when and with which
    key comes below.

    If more than 2 cards in 10,000 were not read, check the sensors: `sabot health`.
    """
    how, where, db = printed.output, chosen.where, chosen.db
    with open_store(db) as store, problems.status(plain(f"looking through {db}")):
        found = [
            unit_of(name, store, kept_of_removed(store, name))
            for name, tables in chosen.tables(store).items()
            if chosen.table in (None, tables.last)
        ]
    if how is not Output.TABLE:
        print_objects((each.as_json(where) for each in found), how)
    elif found:
        console.print(_table(found, where))
        for each in found:
            if each.seam is not None:
                console.print(plain(f"{each.seam.unit}: {each.seam.text()}"), soft_wrap=True)
        for each in found:
            if each.flow is not None and each.flow.stopped:
                console.print(plain(each.flow.text(boards.unit_of(each.unit))), soft_wrap=True)
    else:
        console.print(f"{db}: no units", soft_wrap=True)
    damaged = sum(each.damaged for each in found)
    if damaged:
        problems.print(f"records that cannot be read: {damaged}; `sabot verify` shows why")


def _table(found: list[UnitSummary], zone: tzinfo) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("unit", "table", "Sabot", "build", "board", "game", "last seen"):
        table.add_column(name)
    for name in ("hours", "starts", "cards", "unread per 10,000"):
        table.add_column(name, justify="right")
    for name in ("calibrated", "updates"):
        table.add_column(name)
    for each in found:
        rate = each.faults_per_10000
        table.add_row(
            name_text(each.unit),
            name_text(each.table),
            name_text(each.firmware),
            each.build[:_BUILD_DIGITS],
            name_text(each.board),
            name_text(each.game),
            text_of(each.last_seen_unix_ms, zone),
            f"{each.up_ms / 3_600_000:.1f}",
            str(each.starts),
            str(each.cards),
            "" if rate is None else f"{rate:.1f}",
            _calibrated(each, zone),
            _updates(each),
        )
    return table


def _calibrated(unit: UnitSummary, zone: tzinfo) -> str:
    when = "never" if unit.calibrated_unix_ms is None else text_of(unit.calibrated_unix_ms, zone)
    return f"{when}, clean {unit.dirty}" if unit.dirty else when


def _updates(unit: UnitSummary) -> str:
    return f"{unit.updates}, {unit.undone} given up" if unit.undone else str(unit.updates)
