"""The rounds of a log, read step by step with few events in memory at a time."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import tzinfo
from itertools import chain
from typing import Any

from sabot.errors import DatabaseUnusable
from sabot.link import seals
from sabot.link.events import Event
from sabot.link.wire import WireError
from sabot.log.found import UNKNOWN_KINDS
from sabot.log.reading.shoe_game import game_in_shoe
from sabot.log.reveal import hidden_round
from sabot.log.rounds import Dealt, dealt_of
from sabot.log.store import DAMAGED, Filter, Row, Store
from sabot.table_time import iso_of

_ROUND_KINDS = (
    "boot", "betting_open", "ghost_hand", "card", *seals.KINDS, "result",
    "round_void", "shoe_ended", DAMAGED, "hand_begun", "run_twice", "hand_ended",
    "play", "looked", "hand_result", "blackjack_result", "shoe_loaded", UNKNOWN_KINDS,
)  # fmt: skip


def refuse_damaged(row: Row) -> None:
    """Raise DatabaseUnusable: an event that cannot be read ends the reading."""
    raise DatabaseUnusable(
        f"event {row.number} of {row.unit} is damaged; `sabot verify` lists all that are"
    )


def logged_rounds(
    store: Store,
    unit: str | None = None,
    shoe: int | None = None,
    begin_unix_ms: int | None = None,
    end_unix_ms: int | None = None,
    damaged: Callable[[Row], None] = refuse_damaged,
) -> Iterator[Dealt]:
    """The ended rounds of any family in a log whose betting was opened at or after `begin_unix_ms`
    and before `end_unix_ms`.

    `damaged` is called with each event that cannot be read; the round that it may be part of is
    left out. Without `damaged` such an event raises DatabaseUnusable.
    """
    span = begin_unix_ms, end_unix_ms
    for each in [unit] if unit is not None else store.units():
        wanted = Filter(each, shoe)
        if span != (None, None):
            events = store.rounds_within(each, *span)
            if events is None:
                continue
            wanted = replace(wanted, first=events[0], last=events[1])
        for ended in rounds_between(store, wanted, damaged):
            if _within(ended.started_unix_ms, *span):
                yield ended


def rounds_between(
    store: Store, wanted: Filter, damaged: Callable[[Row], None] = refuse_damaged
) -> Iterator[Dealt]:
    """The rounds of one unit that ended and are whole in the events that a filter selects by unit,
    shoe of cards, round, first and last event. `damaged` as for `logged_rounds`."""
    # Only the kinds of events that make rounds are read: they are a small part of all.
    rows = iter(store.rows(replace(wanted, kinds=_ROUND_KINDS)))
    unit = wanted.unit or ""
    first = next(rows, None)
    if first is None:
        return
    game = game_in_shoe(store, unit, first.number)
    hidden: tuple[int, int] | None = None
    begun = False
    events = (event_in(row, damaged) for row in chain((first,), rows))
    for ended in dealt_of(unit, events, game):
        if not begun:
            hidden, begun = hidden_round(store, unit), True
        if (ended.shoe, ended.round) != hidden:
            yield ended


def event_in(row: Row, damaged: Callable[[Row], None]) -> Event | None:
    """Return the event of a row. If it cannot be read, call `damaged` and return None."""
    try:
        return row.event()
    except WireError:
        damaged(row)
        return None


def _within(unix_ms: int | None, begin: int | None, end: int | None) -> bool:
    if begin is None and end is None:
        return True
    return (
        unix_ms is not None
        and (begin is None or unix_ms >= begin)
        and (end is None or unix_ms < end)
    )


def json_of(ended: Dealt, table: str, zone: tzinfo | None = None) -> dict[str, Any]:
    """Return a round of any family, dealt at `table`, as `sabot rounds --json` prints it: in UTC,
    or on the clock of `zone`."""
    fields = {"unit": "", "table": table} | ended.as_json()
    if zone is not None:
        fields["started"] = iso_of(ended.started_unix_ms, zone)
        fields["ended"] = iso_of(ended.ended_unix_ms, zone)
    return fields
