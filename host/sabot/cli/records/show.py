"""`sabot rounds` and `sabot events`: look at a log."""

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from itertools import islice
from typing import Annotated, Any, Generic, TypeVar

import typer

from sabot.audit.table_names import Tables
from sabot.cli.chosen import Chosen, Format, takes_options
from sabot.cli.long_table import Cell
from sabot.cli.records.rounds_table import ROUND_COLUMNS, round_cells
from sabot.cli.view import (
    Output,
    print_objects,
    print_rows,
    problems,
    time_text,
)
from sabot.errors import DatabaseUnusable
from sabot.link.words import UNKNOWN
from sabot.log.found import UNKNOWN_KINDS
from sabot.log.reading.events import EVENT_KINDS, LogEvent
from sabot.log.reading.rounds import json_of
from sabot.log.rounds import Dealt
from sabot.log.store import Row, open_store
from sabot.reports.event_words import words_of
from sabot.table_time import iso_of
from sabot.terminal import name_text, plain
from sabot.text import counted

T = TypeVar("T")


@takes_options
def rounds(
    chosen: Chosen,
    *,
    with_void: Annotated[
        bool, typer.Option("--with-void", help="Voided rounds too; they have no winner.")
    ] = False,
    printed: Format,
) -> None:
    """List the rounds in a log that have a result. Options combine.

    A round with an event that cannot be read is left out; the exit code is then 8.
    """
    how, last, shown_in, db = printed.output, chosen.last, chosen.shown_in, chosen.db
    chosen.check()
    damaged, left_out, of_first = _Damaged(), 0, _OfFirstFamily()

    def with_result(found: Iterable[Dealt]) -> Iterator[Dealt]:
        nonlocal left_out
        for ended in found:
            if with_void or ended.void is None:
                yield ended
            else:
                left_out += 1

    with open_store(db) as store:
        selected = chosen.selection(store)
        units, tables = selected.units, selected.tables(store)

        def listed() -> Iterator[Dealt]:
            if last is None:
                yield from with_result(selected.rounds(store, tables, damaged.add))
                return
            for name in units:
                of_unit = selected.of_unit(name)
                newest = of_unit.rounds(store, tables, damaged.add, newest_first=True)
                yield from reversed(list(islice(with_result(newest), last)))

        found = _Counted(listed())
        if how is Output.TABLE:
            cells = (round_cells(each, _table_of(each, tables), shown_in) for each in found)
            print_rows(ROUND_COLUMNS, cells, _WIDEST_HANDS | _least(units, tables))
        else:
            objects = (json_of(each, _table_of(each, tables), shown_in) for each in found)
            print_objects(of_first.listed(objects) if how is Output.CSV else objects, how)
    if of_first.others:
        problems.print(
            f"rounds of another family of games left out: {of_first.others} (--json lists all)"
        )
    if left_out:
        problems.print(f"void rounds left out: {left_out} (--with-void shows them)")
    elif not found.count:
        problems.print(plain(f"{db}: no rounds match"))
    damaged.report("a round that it may be part of is not listed")


@takes_options
def events(
    chosen: Chosen,
    *,
    kind: Annotated[
        list[str] | None, typer.Option(help="Only this kind of event; may be repeated.")
    ] = None,
    printed: Format,
) -> None:
    """List the events in a log. Options combine.

    One that cannot be read is left out; the exit code is then 8. The table has hashes cut to eight
    digits; --json has all.
    """
    how, shown_in, db = printed.output, chosen.shown_in, chosen.db
    for name in kind or ():
        if name not in EVENT_KINDS and not name.startswith(UNKNOWN) and name != UNKNOWN_KINDS:
            raise typer.BadParameter(
                f"no event is of kind {name!r}; kinds: {', '.join(EVENT_KINDS)}; of those that "
                f"this version does not know: {UNKNOWN_KINDS}, or {UNKNOWN} and the number"
            )
    chosen.check()
    damaged = _Damaged()
    with open_store(db) as store:
        selected = chosen.selection(store, chosen.last)
        units, tables = selected.units, selected.tables(store)
        found = _Counted(selected.events(store, tables, kind or None, damaged.add))
        if how is Output.TABLE:
            newest = max((store.last_number(each) for each in units), default=0)
            least = {"event": len(str(newest)), **_least(units, tables)}
            cells = (
                _event_cells(each, tables[each.unit], chosen.where, shown_in) for each in found
            )
            print_rows(_EVENT_COLUMNS, cells, least)
        else:
            print_objects((_event_json(each, tables, shown_in) for each in found), how)
    if not found.count:
        problems.print(plain(f"{db}: no events match"))
    damaged.report("it is not listed")


class _Counted(Generic[T]):
    """Counts what is listed, while it is listed."""

    def __init__(self, found: Iterable[T]) -> None:
        self.count = 0
        self._found = found

    def __iter__(self) -> Iterator[T]:
        for each in self._found:
            self.count += 1
            yield each


class _OfFirstFamily:
    """Rounds of the family of the first one: in a table of CSV all rows have the same columns."""

    def __init__(self) -> None:
        self.others = 0
        """How many of other families came."""

    def listed(self, rounds: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield those of the family of the first one."""
        columns: list[str] | None = None
        for each in rounds:
            if columns is None:
                columns = list(each)
            if list(each) == columns:
                yield each
            else:
                self.others += 1


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
            more = f", with {counted(self._others, 'more event')}" if self._others else ""
            raise DatabaseUnusable(
                f"event {self._first.number} of {self._first.unit} is damaged{more}: {what}; "
                "`sabot verify` lists all that are"
            )


_WIDEST_HANDS = dict.fromkeys(("Player", "Banker"), len("9  10x  10x  10x"))

_EVENT_COLUMNS = ("unit", "table", "event", "time", "shoe", "round", "kind", "what")


def _event_cells(
    each: LogEvent, tables: Tables, where: tzinfo, shown_in: tzinfo | None
) -> list[Cell]:
    return [
        name_text(each.unit),
        name_text(tables.at(each.number)),
        str(each.number),
        time_text(each.unix_ms, shown_in),
        str(each.shoe),
        str(each.round),
        each.kind,
        plain(words_of(each.kind, each.fields, where)),
    ]


def _event_json(each: LogEvent, tables: dict[str, Tables], zone: tzinfo | None) -> dict[str, Any]:
    fields = {"unit": "", "table": tables[each.unit].at(each.number)} | each.as_json()
    if zone is not None:
        fields["time"] = iso_of(each.unix_ms, zone)
    return fields


def _table_of(ended: Dealt, tables: dict[str, Tables]) -> str:
    return tables[ended.unit].at(ended.first_event)


def _least(units: Iterable[str], tables: dict[str, Tables]) -> dict[str, int]:
    """Columns of a screen for the name of any of these units, and of any of their tables."""
    names = {name for each in tables.values() for name in each.names}
    return {"unit": _longest(units), "table": _longest(names)}


def _longest(names: Iterable[str]) -> int:
    return max((name_text(name).cell_len for name in names), default=0)
