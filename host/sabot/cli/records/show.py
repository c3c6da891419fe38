"""`sabot rounds` and `sabot events`: look at a log."""

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from sabot.cli import options
from sabot.cli.long_table import Cell
from sabot.cli.view import (
    ROUND_COLUMNS,
    Output,
    name_text,
    plain,
    print_objects,
    print_rows,
    problems,
    round_cells,
)
from sabot.errors import DatabaseUnusable
from sabot.library import EVENT_KINDS, LogEvent, logged_events, logged_rounds
from sabot.log.rounds import Round
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
    damaged, left_out = _Damaged(), 0

    def listed(store: Store) -> Iterator[Round]:
        nonlocal left_out
        for ended in logged_rounds(store, unit, shoe, begin, end, damaged.add):
            if round_ in (None, ended.round):
                if with_void or ended.void is None:
                    yield ended
                else:
                    left_out += 1

    with Store(db) as store:
        least = {"unit": _longest(options.units_of(store, unit))}
        if how is Output.TABLE:
            print_rows(ROUND_COLUMNS, map(round_cells, listed(store)), least)
        else:
            print_objects((ended.as_json() for ended in listed(store)), how)
    if left_out:
        problems.print(f"void rounds left out: {left_out} (--with-void shows them)")
    damaged.report("a round that it may be part of is not listed")


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
    damaged = _Damaged()
    with Store(db) as store:
        units = options.units_of(store, unit)
        found = logged_events(store, wanted, damaged.add)
        if how is Output.TABLE:
            newest = max((store.last_number(each) for each in units), default=0)
            least = {"unit": _longest(units), "event": len(str(newest))}
            print_rows(_EVENT_COLUMNS, map(_event_cells, found), least)
        else:
            print_objects((each.as_json() for each in found), how)
    damaged.report("it is not listed")


class _Damaged:
    """Counts the events that cannot be read."""

    def __init__(self) -> None:
        self._first: Row | None = None
        self._others = 0

    def add(self, row: Row) -> None:
        """Take one of them."""
        if self._first is None:
            self._first = row
        else:
            self._others += 1

    def report(self, what: str) -> None:
        """Raise DatabaseUnusable, after all that can be read was listed, if there were any."""
        if self._first is not None:
            more = f", and so are {self._others} more" if self._others else ""
            raise DatabaseUnusable(
                f"event {self._first.number} of {self._first.unit} is damaged{more}: {what}; "
                "`sabot verify` lists all that are"
            )


_EVENT_COLUMNS = ("unit", "event", "time", "shoe", "round", "kind", "what")


def _event_cells(each: LogEvent) -> list[Cell]:
    what = " ".join(f"{name}={value}" for name, value in each.fields.items())
    when = local_time(each.unix_ms)
    return [
        name_text(each.unit), str(each.number), when, str(each.shoe), str(each.round),
        each.kind, plain(what),
    ]  # fmt: skip


def _longest(units: Iterable[str]) -> int:
    """Columns of a screen for the name of any of these units."""
    return max((name_text(unit).cell_len for unit in units), default=0)
