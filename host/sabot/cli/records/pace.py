"""`sabot pace`: how tables are dealt, by hour, shift and person, and what changed."""

from collections.abc import Iterable, Mapping
from datetime import tzinfo
from typing import Annotated, Any

import typer

from sabot.cli.chosen import InTime, takes_options
from sabot.cli.options import Json
from sabot.cli.view import console, print_json, print_rows, problems
from sabot.conduct import of_log
from sabot.conduct.changes import LEAST, RATE
from sabot.conduct.of_log import GROUPS, FoundChange, changes_of, grouped, measured
from sabot.conduct.pace import Figures
from sabot.desk import tables as desk_tables
from sabot.desk.roster import Roster
from sabot.log.boards import fields as board_fields
from sabot.log.store import open_store
from sabot.table_time import iso_of, text_of
from sabot.terminal import name_text, plain
from sabot.text import counted

_COLUMNS = (
    "table", "group", "rounds", "an hour", "result s", "reveal s", "long", "by hand", "errors",
    "void", "misdeals", "below cut",
)  # fmt: skip


@takes_options
def pace(
    chosen: InTime,
    *,
    by: Annotated[
        str, typer.Option(help=f"By what rounds are put together: {', '.join(GROUPS)}.")
    ] = "table",
    as_json: Json = False,
) -> None:
    """Show how each table is dealt: rounds an hour of play, seconds from no more bets to the result
    and from the last card to it, cards by hand, errors, voids, misdeals, and how many cards lay
    below the cut card. Times are medians. Of a shoe of cards in play nothing is said of its cards.

    Below it stands what changed at a table, also within all bounds. `--by person` needs the house's
    word on who was on duty: `sabot roster`.
    """
    if by not in GROUPS:
        raise typer.BadParameter(f"rounds are not put together by {by!r}; by: {', '.join(GROUPS)}")
    if chosen.shoe is not None:
        raise typer.BadParameter("a pace is that of many shoes of cards; leave --shoe out")
    where = chosen.where
    with open_store(chosen.db) as store, problems.status(plain(f"looking through {chosen.db}")):
        roster = Roster(desk_tables.notes(store))
        found = [
            each
            for each in measured(store, chosen.tables(store), roster, chosen.span)
            if chosen.table in (None, each.table)
        ]
    figures = grouped(found, by, where)
    changes, tested = changes_of(found)
    if as_json:
        print_json(as_object(figures, changes, tested, where))
        return
    if not figures:
        console.print(plain(f"{chosen.db}: no rounds"), soft_wrap=True)
        return
    print_rows(_COLUMNS, (_cells(*key, each) for key, each in figures.items()), {})
    for change in changes:
        console.print(plain(_change_text(change, where)), soft_wrap=True)
    series = counted(tested, "series", "series")
    console.print(
        f"{series} of at least {LEAST} shoes of cards looked through for a change: "
        f"{len(changes)} found. One report in {round(1 / RATE)} of tables without a change finds "
        "one.",
        soft_wrap=True,
    )


def as_object(
    figures: Mapping[tuple[str, str], Figures],
    changes: Iterable[FoundChange],
    tested: int,
    zone: tzinfo,
) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "groups": [_figures_json(*key, each) for key, each in figures.items()],
        "changes": [_change_json(each, zone) for each in changes],
        "tested": tested,
        "rate": RATE,
    }


def _cells(table: str, group: str, of: Figures) -> list[Any]:
    return [
        name_text(table),
        name_text(group),
        str(of.rounds),
        _number(of.an_hour, 0),
        _seconds(of.result_ms),
        _seconds(of.reveal_ms),
        *(str(each or "") for each in (of.long_reveals, of.by_hand, of.errors, of.voids)),
        str(of.misdeals or ""),
        _number(of.cut_depth, 0),
    ]


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _seconds(ms: float | None) -> str:
    return _number(None if ms is None else ms / 1000, 1)


def _figures_json(table: str, group: str, of: Figures) -> dict[str, Any]:
    return {
        "table": table,
        "group": group,
        **{name: getattr(of, name) for name in of.__slots__},
    }


def _change_json(found: FoundChange, zone: tzinfo) -> dict[str, Any]:
    change = found.change
    return {
        "table": found.table,
        "measure": found.measure,
        **board_fields(found.unit),
        "event": found.event,
        "time": iso_of(found.unix_ms, zone),
        "before": change.before,
        "after": change.after,
        "statistic": change.statistic,
        "likeness": change.likeness,
        "chance": change.chance,
        "shoes_before": change.at,
        "shoes": change.values,
        "persons_before": list(found.persons[0]),
        "persons_after": list(found.persons[1]),
    }


def _change_text(found: FoundChange, zone: tzinfo) -> str:
    change = found.change
    who = ""
    if any(found.persons):
        before, after = (", ".join(each) or "not known" for each in found.persons)
        who = f"; on duty before: {before}; after: {after}"
    return (
        f"table {found.table}: {of_log.MEASURES[found.measure]}: {change.before:.1f} in "
        f"{counted(change.at, 'shoe')} of cards, {change.after:.1f} in the "
        f"{change.values - change.at} that ended from {text_of(found.unix_ms, zone)} on "
        f"(event {found.event}); chance {change.chance:.1g}{who}"
    )
