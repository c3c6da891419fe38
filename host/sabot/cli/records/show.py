"""`sabot rounds` and `sabot events`: look at a log."""

from collections.abc import Iterable, Sequence
from typing import Annotated

import typer
from rich.table import Table

from sabot.cli import options
from sabot.cli.view import Output, console, name_text, plain, print_objects, problems, rounds_table
from sabot.errors import DatabaseUnusable
from sabot.library import EVENT_KINDS, LogEvent, logged_events, logged_rounds
from sabot.log.store import Filter, Row, Store
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
    """List the rounds in a log that have a result.

    A round with an event that cannot be read is left out; the exit code is then 8.
    """
    how = options.output_of(as_json, as_csv)
    begin, end = options.span_of(from_, to)
    damaged: list[Row] = []
    with Store(db) as store:
        options.units_of(store, unit)
        wanted = [
            ended
            for ended in logged_rounds(store, unit, shoe, begin, end, damaged.append)
            if round_ in (None, ended.round)
        ]
        found = [ended for ended in wanted if with_void or ended.void is None]
        if how is Output.TABLE:
            console.print(rounds_table(found))
        else:
            print_objects((ended.as_json() for ended in found), how)
    if len(found) < len(wanted):
        problems.print(f"void rounds left out: {len(wanted) - len(found)} (--with-void shows them)")
    _report(damaged, "a round that it may be part of is not listed")


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
    """List the events in a log. One that cannot be read is left out; the exit code is then 8."""
    how = options.output_of(as_json, as_csv)
    for name in kind or ():
        if name not in EVENT_KINDS:
            raise typer.BadParameter(
                f"no event is of kind {name!r}; kinds: {', '.join(EVENT_KINDS)}"
            )
    begin, end = options.span_of(from_, to)
    wanted = Filter(unit, shoe, round_, kind or None, begin, end)
    damaged: list[Row] = []
    with Store(db) as store:
        options.units_of(store, unit)
        found = logged_events(store, wanted, damaged.append)
        if how is Output.TABLE:
            console.print(_events_table(found))
        else:
            print_objects((each.as_json() for each in found), how)
    _report(damaged, "it is not listed")


def _report(damaged: Sequence[Row], what: str) -> None:
    """Raise DatabaseUnusable, after all that can be read was listed, if any event was damaged."""
    if damaged:
        first, *others = damaged
        more = f", and so are {len(others)} more" if others else ""
        raise DatabaseUnusable(
            f"event {first.number} of {first.unit} is damaged{more}: {what}; `sabot verify` lists "
            "all that are"
        )


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
