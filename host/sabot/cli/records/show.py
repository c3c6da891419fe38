"""`sabot rounds` and `sabot events`: look at a log."""

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.table import Table

from sabot.cli import options
from sabot.cli.view import Output, console, name_text, plain, print_objects, problems, rounds_table
from sabot.library import EVENT_KINDS, LogEvent, logged_events, logged_rounds
from sabot.log.store import Filter, Store
from sabot.text import local_time


def rounds(
    db: options.Db = options.DEFAULT_DB,
    unit: options.UnitName = None,
    shoe: options.Shoe = None,
    round_: options.RoundNumber = None,
    from_: options.From = None,
    to: options.To = None,
    as_json: options.Json = False,
    as_csv: options.Csv = False,
    with_void: Annotated[
        bool, typer.Option("--with-void", help="Voided rounds too; they have no winner.")
    ] = False,
) -> None:
    """List the rounds in a log that have a result."""
    how = options.output_of(as_json, as_csv)
    begin, end = options.span_of(from_, to)
    with Store(db) as store:
        options.units_of(store, unit)
        wanted = [
            ended
            for ended in logged_rounds(store, unit, shoe, begin, end)
            if round_ in (None, ended.round)
        ]
        found = [ended for ended in wanted if with_void or ended.void is None]
        if how is Output.TABLE:
            console.print(rounds_table(found))
        else:
            print_objects((ended.as_json() for ended in found), how)
    if len(found) < len(wanted):
        problems.print(f"void rounds left out: {len(wanted) - len(found)} (--with-void shows them)")


def events(
    db: options.Db = options.DEFAULT_DB,
    unit: options.UnitName = None,
    shoe: options.Shoe = None,
    round_: options.RoundNumber = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="Only this kind of event; may be repeated.")
    ] = None,
    from_: options.From = None,
    to: options.To = None,
    as_json: options.Json = False,
    as_csv: options.Csv = False,
) -> None:
    """List the events in a log."""
    how = options.output_of(as_json, as_csv)
    for name in kind or ():
        if name not in EVENT_KINDS:
            raise typer.BadParameter(
                f"no event is of kind {name!r}; kinds: {', '.join(EVENT_KINDS)}"
            )
    begin, end = options.span_of(from_, to)
    wanted = Filter(unit, shoe, round_, kind or None, begin, end)
    with Store(db) as store:
        options.units_of(store, unit)
        if how is Output.TABLE:
            console.print(_events_table(logged_events(store, wanted)))
        else:
            print_objects((each.as_json() for each in logged_events(store, wanted)), how)


def _events_table(found: Iterable[LogEvent]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("unit", "event", "time", "shoe", "round", "kind", "what"):
        table.add_column(name, justify="right" if name in ("event", "shoe", "round") else "left")
    for each in found:
        what = " ".join(f"{name}={value}" for name, value in each.fields.items())
        numbers = str(each.shoe), str(each.round)
        when = local_time(each.unix_ms)
        table.add_row(
            name_text(each.unit), str(each.number), when, *numbers, each.kind, plain(what)
        )
    return table
