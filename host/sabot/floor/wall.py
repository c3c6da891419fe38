"""All tables of a log, as they are now: those that need a look come first."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, TypedDict

from sabot.desk.alerts import RaisedAlert
from sabot.floor.order_shown import OrderShown
from sabot.floor.table import PACE_MS, STATES, Table, TableFold
from sabot.link.events import Event
from sabot.link.flow import Flow
from sabot.link.wire import WireError
from sabot.log.boards import board_of, unit_of
from sabot.log.presence import ATTACHED
from sabot.log.reveal import ShownGames, deciding_before, place_before
from sabot.log.rounds import Round
from sabot.log.store import Filter, Row, Store
from sabot.numbers import LARGEST, whole
from sabot_protocol import enums

SILENT_MS = 15_000
"""A log notes every five seconds that it has its shoe (sabot/log/presence.py). After so long
without a note it has not."""

_LASTING = ("provisioned", "lid", "key", "service")
"""Kinds of events whose newest one says how things are, however old it is."""

_WITHOUT_CLOCK = 1000  # newest events: a unit has a clock again soon after a restart

NEEDS = ("stopped", "silent", "held", "alert", "service", "plays", "waits")
"""How much a table needs a look, most first: an error stopped play; no log has its shoe, although
a shoe of cards is in play; its shoe holds events that do not arrive, so that what is shown is old;
an alert is open; its service switch is on; it plays; it has no
cards."""


class TileFields(TypedDict):
    """A table as `sabot tables --json` prints it."""

    table: str
    unit: str
    game: str
    need: Annotated[str, NEEDS]
    state: Annotated[str, (*STATES,)]
    error: str
    cut_card: bool
    lid_open: bool
    key_on: bool
    service_on: bool
    shoe: int
    round: int
    rounds: int
    winners: list[str]
    rounds_an_hour: int
    without_log_s: int
    newest_on_shoe: int | None
    newest_stored_s: int | None
    held: int
    held_s: int
    damaged_from_shoe: int
    damaged_to_shoe: int
    line: str
    last_event: int
    board_number: int


@dataclass(frozen=True, slots=True)
class Tile:
    """A table of the wall."""

    table: Table
    with_log_unix_ms: int | None
    """When a log last had its shoe, by the host's clock; None if none has noted it."""
    version: int = 0
    """The version of a live floor (floor/live.py) since which it is so."""
    open_alerts: tuple[RaisedAlert, ...] = ()
    """Of a live floor: those that no one has acknowledged, the newest first."""
    order: OrderShown | None = None
    """Of a live floor: what was found in the order of its cards; None for nothing."""
    flow: Flow | None = None
    """How its events come; None if no log has noted it."""

    def silent_ms(self, now_unix_ms: int) -> int:
        """Return for how long no log has had its shoe; 0 while one has it."""
        if self.with_log_unix_ms is None:
            return 0
        silent = now_unix_ms - self.with_log_unix_ms
        return silent if silent > SILENT_MS else 0

    def line(self, now_unix_ms: int) -> str:
        """Return that its events have stopped, for people; empty while they come, or if no log has
        its shoe."""
        if self.flow is None or not self.flow.stopped or self.silent_ms(now_unix_ms):
            return ""
        return self.flow.text(unit_of(self.table.unit))

    def short_line(self, now_unix_ms: int) -> str:
        """Return `line` without a reason."""
        if self.flow is None or not self.line(now_unix_ms):
            return ""
        return self.flow.words(unit_of(self.table.unit))

    def need(self, now_unix_ms: int) -> str:
        """Return how much it needs a look: one of NEEDS."""
        if self.table.state == "stopped":
            return "stopped"
        plays = self.table.state != "no_cards"
        if plays and self.silent_ms(now_unix_ms):
            return "silent"
        if self.line(now_unix_ms):
            return "held"
        if self.open_alerts:
            return "alert"
        if self.table.service_on:
            return "service"
        return "plays" if plays else "waits"

    @property
    def winners(self) -> list[str]:
        """The winners of the rounds of baccarat of this shoe of cards."""
        rounds = (dealt for dealt in self.table.rounds if isinstance(dealt, Round))
        return [each.winner for each in rounds if each.winner in enums.WINNERS]

    def as_json(self, now_unix_ms: int) -> TileFields:
        """The tile as `sabot tables --json` prints it."""
        table, flow = self.table, self.flow
        return {
            "table": table.name,
            "unit": unit_of(table.unit),
            "game": table.game,
            "need": self.need(now_unix_ms),
            "state": table.state,
            "error": table.error,
            "cut_card": table.cut_card,
            "lid_open": table.lid_open,
            "key_on": table.key_on,
            "service_on": table.service_on,
            "shoe": table.shoe,
            "round": table.round,
            "rounds": len(table.rounds),
            "winners": self.winners,
            "rounds_an_hour": table.rounds_an_hour(now_unix_ms),
            "without_log_s": self.silent_ms(now_unix_ms) // 1000,
            "newest_on_shoe": None if flow is None else flow.newest_on_shoe,
            "newest_stored_s": None if flow is None else flow.stored_s_ago(now_unix_ms),
            "held": 0 if flow is None else flow.held,
            "held_s": 0 if flow is None else flow.held_s,
            "damaged_from_shoe": 0 if flow is None else flow.damaged_from_shoe,
            "damaged_to_shoe": 0 if flow is None else flow.damaged_to_shoe,
            "line": self.line(now_unix_ms),
            "last_event": table.last_event,
            "board_number": board_of(table.unit),
        }


def tile_of(store: Store, unit: str) -> Tile:
    """Return the tile of a unit in a log."""
    ends = [span.end_unix_ms for span in store.presence(unit) if span.state == ATTACHED]
    flow = store.flows().get(unit)
    return Tile(_fold_of(store, unit).table, max(ends, default=None), flow=flow)


def by_need(tiles: Iterable[Tile], now_unix_ms: int) -> list[Tile]:
    """Return the tiles in the order in which they need a look; those that need the same, by
    table and unit."""
    return sorted(
        tiles,
        key=lambda tile: (
            NEEDS.index(tile.need(now_unix_ms)),
            natural(tile.table.name),
            natural(tile.table.unit),
        ),
    )


def natural(name: str) -> list[str | int]:
    """Return a key by which "table 2" comes before "table 10"."""
    parts = re.split(r"([0-9]+)", name)  # a text, digits, a text, and so on
    return [_number(part) if at % 2 else part for at, part in enumerate(parts)]


def _number(digits: str) -> int:
    number = whole(digits)
    return LARGEST if number is None else number


def _fold_of(store: Store, unit: str) -> TableFold:
    fold = TableFold(unit, ShownGames(store.game))
    before, begin = context_of(store, unit)
    for event in before:
        fold.add(event)
    for row in store.rows(Filter(unit, first=begin)):
        if (read := _readable(row)) is not None:
            fold.add(read)
    return fold


def context_of(store: Store, unit: str) -> tuple[list[Event], int]:
    """Return the number of the first event from which on a table needs all of its unit, and the
    events before that still matter then, in order."""
    with store.at_one_moment():
        return _context_of(store, unit)


def _context_of(store: Store, unit: str) -> tuple[list[Event], int]:
    begin = _begin(store, unit)
    before = {event.number: event for event in deciding_before(store, unit, begin)}
    lasting: dict[str, Event] = {}
    for row in store.rows(Filter(unit, last=begin - 1, kinds=_LASTING, newest_first=True)):
        event = None if row.kind in lasting else _readable(row)
        if event is not None:
            before[event.number] = lasting[event.kind] = event
        if len(lasting) == len(_LASTING):
            break
    return [before[number] for number in sorted(before)], begin


def _begin(store: Store, unit: str) -> int:
    """Return the number of the first event that the table depends on, but for those that last: of
    the shoe of cards in play, or of the one that was an hour before the newest event."""
    shoe, _ = place_before(store, unit)
    some = islice(store.rows(Filter(unit, newest_first=True)), _WITHOUT_CLOCK)
    newest_unix_ms = next((row.unix_ms for row in some if row.unix_ms is not None), None)
    if newest_unix_ms is not None:
        hour_before = store.place_at(unit, newest_unix_ms - PACE_MS)
        if hour_before is None:
            return 1
        shoe = min(shoe, hour_before[0])
    first = next(iter(store.rows(Filter(unit, shoe=shoe))), None)
    return 1 if first is None else first.number


def _readable(row: Row) -> Event | None:
    try:
        event = row.event()
    except WireError:
        return None
    return event if event.number == row.number else None
