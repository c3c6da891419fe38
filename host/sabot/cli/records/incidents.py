"""`sabot incidents`: what a surveillance officer looks for in a log."""

from collections.abc import Iterable, Mapping
from datetime import tzinfo
from itertools import chain
from typing import Annotated, Any

import typer
from rich.table import Table

from sabot import table_time
from sabot.audit.table_names import Tables
from sabot.cli import options
from sabot.cli.chosen import Format, InTime, takes_options
from sabot.cli.view import Output, console, events_progress, print_objects, problems
from sabot.desk import tables as desk_tables
from sabot.desk.roster import TASKS, Roster
from sabot.log.store import Store, open_store
from sabot.notable.absences import of_host
from sabot.notable.incident import Incident, Limits
from sabot.notable.incident_search import Wanted
from sabot.notable.incident_spans import search_file
from sabot.notable.kinds import LISTED
from sabot.notable.orders import are_wanted, orders_in
from sabot.terminal import name_text, plain

_DEFAULTS = Limits()


@takes_options
def incidents(
    chosen: InTime,
    *,
    kind: Annotated[
        list[str] | None, typer.Option(help="Only this kind of incident; may be repeated.")
    ] = None,
    long_round_s: Annotated[
        int,
        typer.Option(
            min=0, help="A round that takes longer from no more bets to the result is long."
        ),
    ] = _DEFAULTS.round_s,
    long_reveal_s: Annotated[
        int,
        typer.Option(min=0, help="A reveal that takes longer from the last card is long."),
    ] = _DEFAULTS.reveal_s,
    false_alarms: options.FalseAlarms = 1.0,
    printed: Format,
) -> None:
    """List what surveillance may want to see on the video: the event, its time, what happened."""
    how, where, db = printed.output, chosen.where, chosen.db
    for name in kind or ():
        if name not in LISTED:
            raise typer.BadParameter(f"no incident is of kind {name!r}; kinds: {', '.join(LISTED)}")
    limits = Limits(long_round_s, long_reveal_s)
    wanted = Wanted(chosen.shoe, *chosen.span, limits)
    with open_store(db) as store, events_progress() as bar:
        tables = chosen.tables(store)
        roster = Roster(desk_tables.notes(store))
        units = list(tables)
        total = sum(map(store.last_number, units))
        task = bar.add_task("events", total=total)
        in_log, damaged = search_file(
            db, units, wanted, lambda done: bar.update(task, completed=min(done, total))
        )
        of_cards: dict[str, list[Incident]] = {}
        if are_wanted(kind):
            cards = bar.add_task("cards", total=total)
            of_cards = orders_in(
                store, units, wanted, false_alarms, lambda done: bar.update(cards, completed=done)
            )
        found = [
            each
            for name in units
            for each in (
                *_by_event(in_log[name], of_cards.get(name, ())),
                *_of_host(store, name, wanted),
            )
            if (not kind or each.kind in kind) and chosen.table in (None, _table_of(each, tables))
        ]
    if how is not Output.TABLE:
        print_objects((_as_json(each, tables, where, roster) for each in found), how)
    elif found:
        console.print(_table(found, tables, where, roster))
    else:
        console.print(f"{db}: no incidents", soft_wrap=True)
    timeless = sum(each.unix_ms is None for each in found)
    if timeless and (wanted.begin, wanted.end) != (None, None):
        problems.print(f"incidents without a clock, perhaps from another time: {timeless}")
    if damaged:
        problems.print(f"records that cannot be read: {damaged}; `sabot verify` shows why")


incidents.__doc__ = (
    f"{incidents.__doc__}\n\n\b\n"
    + "\n".join(f"{name:<12} {kind.words}" for name, kind in LISTED.items())
    + "\n\nA time is marked as reckoned if it was computed from a clock that was set later in the "
    "same start of the unit. Incidents without any time are listed despite --from and --to."
)


def _by_event(*found: Iterable[Incident]) -> list[Incident]:
    """The incidents in the events of a unit and those in the order of its cards."""
    return sorted(chain(*found), key=lambda each: each.event or 0)


def _of_host(store: Store, unit: str, wanted: Wanted) -> list[Incident]:
    """When the unit was not logged, and when its board was replaced. With a shoe of cards none: no
    event says in which it was."""
    if wanted.shoe is not None:
        return []
    return [each for each in of_host(store, unit) if wanted.has(each)]


def _table_of(each: Incident, tables: Mapping[str, Tables]) -> str:
    """The table where the unit stood; for a note of the host's own the last one."""
    of_unit = tables[each.unit]
    return of_unit.last if each.event is None else of_unit.at(each.event)


def _as_json(
    each: Incident, tables: Mapping[str, Tables], zone: tzinfo, roster: Roster
) -> dict[str, Any]:
    shown = {"unit": "", "table": _table_of(each, tables)} | each.as_json(zone)
    if not roster.all:
        return shown
    on_duty = _on_duty(each, tables, roster)
    return shown | {"on_duty": {task: on_duty.get(task) for task in TASKS}}


def _on_duty(each: Incident, tables: Mapping[str, Tables], roster: Roster) -> dict[str, str]:
    """Who was on duty at its table, by task, when it was over: an error when it was cleared."""
    if each.unix_ms is None:
        return {}
    return roster.on(_table_of(each, tables), each.unix_ms + (each.lasted_ms or 0))


def _table(
    found: Iterable[Incident], tables: Mapping[str, Tables], zone: tzinfo, roster: Roster
) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    names = ["unit", "table", "event", "time", "shoe", "round", "kind", "lasted", "what"]
    names += ["on duty"] * bool(roster.all)
    for name in names:
        table.add_column(name, justify="right" if name in ("event", "shoe", "round") else "left")
    for each in found:
        numbers = _number(each.shoe), _number(each.round)
        when = _when_text(each, zone)
        what = plain(each.what(zone))
        table.add_row(
            name_text(each.unit),
            name_text(_table_of(each, tables)),
            _number(each.event),
            when,
            *numbers,
            each.kind,
            each.lasted_text(),
            what,
            *([plain(_duty_text(_on_duty(each, tables, roster)))] * bool(roster.all)),
        )
    return table


def _duty_text(on_duty: Mapping[str, str]) -> str:
    return ", ".join(f"{task} {person}" for task, person in on_duty.items())


def _number(number: int | None) -> str:
    return "" if number is None else str(number)


def _when_text(incident: Incident, zone: tzinfo) -> str:
    """The time at which to look for an incident on the video."""
    if incident.unix_ms is None:
        assert incident.t_ms is not None  # the host's own notes always have a time
        return f"no clock, boot {incident.boot} + {incident.t_ms / 1000:.1f} s"
    reckoned = " (reckoned)" if incident.reckoned else ""
    return table_time.text_of(incident.unix_ms, zone) + reckoned
