"""`sabot rounds` and `sabot events`: look at a log."""

import itertools
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.table import Table

from sabot.cli import options
from sabot.cli.view import Output, console, local_time, plain, print_objects, problems, rounds_table
from sabot.errors import DatabaseUnusable
from sabot.link.wire import Event, WireError
from sabot.log.rounds import Round, rounds_of, time_text
from sabot.log.store import DAMAGED, Filter, Row, Store
from sabot_protocol import cards
from sabot_protocol import events as event_shapes

_ROUND_KINDS = ("boot", "betting_open", "card", "result", "round_void", "shoe_ended", DAMAGED)
_KINDS = tuple(shape.name for shape in event_shapes.KINDS)


def rounds(
    db: options.Db = options.DEFAULT_DB,
    unit: options.Unit = None,
    shoe: options.Shoe = None,
    round_: options.Round = None,
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
        wanted = [
            ended
            for ended in all_rounds(store, unit, shoe)
            if (round_ is None or ended.round == round_) and _within(ended, begin, end)
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
    unit: options.Unit = None,
    shoe: options.Shoe = None,
    round_: options.Round = None,
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
        if name not in _KINDS:
            raise typer.BadParameter(f"no event is of kind {name!r}; kinds: {', '.join(_KINDS)}")
    begin, end = options.span_of(from_, to)
    wanted = Filter(unit, shoe, round_, kind or None, begin, end)
    with Store(db) as store:
        if how is Output.TABLE:
            console.print(_events_table(store.rows(wanted)))
        else:
            print_objects((_event_json(row) for row in store.rows(wanted)), how)


def all_rounds(store: Store, unit: str | None, shoe: int | None) -> Iterator[Round]:
    """The ended rounds in a log. Raises DatabaseUnusable where an event of one is damaged."""
    # The kinds that rounds are made of are few of all events: the others stay on the disk.
    rows = store.rows(Filter(unit=unit, shoe=shoe, kinds=_ROUND_KINDS))
    for each, group in itertools.groupby(rows, key=lambda row: row.unit):
        yield from rounds_of(each, (_event_in(row) for row in group))


def _event_in(row: Row) -> Event:
    try:
        return row.event()
    except WireError:
        raise DatabaseUnusable(
            f"event {row.number} of {row.unit} is damaged; `sabot verify` tells all that is"
        ) from None


def _within(ended: Round, begin: int | None, end: int | None) -> bool:
    if begin is None and end is None:
        return True
    at = ended.started_unix_ms
    return at is not None and (begin is None or at >= begin) and (end is None or at < end)


def _fields(row: Row) -> dict[str, Any]:
    event = _event_in(row)
    shape, named = event.shape, dict(event.fields)
    for name, kind in shape.fields:
        value = named[name]
        if value is None:
            continue
        if kind.startswith("card"):
            named[name] = cards.name_of(value)
        elif kind == "bytes":
            named[name] = value.hex()
    return named


def _event_json(row: Row) -> dict[str, Any]:
    event = _event_in(row)
    return {
        "unit": row.unit,
        "event": event.number,
        "kind": event.kind,
        "boot": event.boot,
        "t_ms": event.t_ms,
        "time": time_text(event.unix_ms),
        "shoe": event.shoe,
        "round": event.round,
        "fields": _fields(row),
    }


def _events_table(rows: Iterator[Row]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("unit", "event", "time", "shoe", "round", "kind", "what"):
        table.add_column(name, justify="right" if name in ("event", "shoe", "round") else "left")
    for row in rows:
        what = " ".join(f"{name}={value}" for name, value in _fields(row).items())
        numbers = [str(row.shoe), str(row.round)]
        when = local_time(row.unix_ms)
        table.add_row(plain(row.unit), str(row.number), when, *numbers, row.kind, plain(what))
    return table
