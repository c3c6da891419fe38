"""What `sabot rounds` and `sabot events` list, and the reading of it.

Options combine: what is listed fits all of them. Units, numbers, kinds and times select in the
database; winner, naturals and cards are known only when a round has been put together.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from sabot.audit.table_names import Tables
from sabot.errors import DatabaseUnusable
from sabot.log import boards
from sabot.log.families.boxes import BlackjackRound
from sabot.log.families.hands import Hand
from sabot.log.reading.events import LogEvent, logged_events
from sabot.log.reading.rounds import rounds_between
from sabot.log.rounds import Dealt, Round, as_dealt
from sabot.log.store import Filter, Row, Store

_BLOCK = 50  # rounds that are read at once, from the newest on

Damaged = Callable[[Row], None]


@dataclass(frozen=True, slots=True)
class RoundsWanted:
    """What --winner, --natural and --cards select."""

    winner: str | None = None
    natural: bool = False
    cards: tuple[str, ...] = ()

    @property
    def all(self) -> bool:
        """Whether every round is wanted."""
        return self == RoundsWanted()

    def selects(self, ended: Dealt) -> bool:
        """Whether a round has the winner, a natural, and the cards one after the other: in a hand,
        or as they came out of the shoe. Only a round of baccarat has a winner and a natural."""
        if isinstance(ended, Round):
            if self.winner not in (None, ended.winner) or (self.natural and not ended.natural):
                return False
        elif self.winner is not None or self.natural:
            return False
        return any(_has_sequence(each, self.cards) for each in _SEQUENCES[type(ended)](ended))


@dataclass(frozen=True, slots=True)
class Selection:
    """What to list. Times are UTC milliseconds; None means any."""

    units: Sequence[str]
    shoe: int | None = None
    round: int | None = None
    begin_unix_ms: int | None = None
    end_unix_ms: int | None = None
    at_unix_ms: int | None = None
    table: str | None = None
    wanted: RoundsWanted = RoundsWanted()
    last: int | None = None
    """Only the last ones of each unit."""

    def tables(self, store: Store) -> dict[str, Tables]:
        """Return at which tables the units stood. Raises as `tables_of`."""
        return tables_of(store, self.units, self.table)

    def of_unit(self, unit: str) -> "Selection":
        """The same of one unit only."""
        return replace(self, units=(unit,))

    def rounds(
        self,
        store: Store,
        tables: dict[str, Tables],
        damaged: Damaged,
        *,
        newest_first: bool = False,
    ) -> Iterator[Dealt]:
        """The rounds, with those that were voided. A round is in a time span if any part of it
        is."""
        for unit in self.units:
            place = self._place(store, unit, tables[unit])
            if place is not None:
                read = _backwards if newest_first else rounds_between
                for ended in read(store, replace(place, round=None), damaged):
                    if (
                        place.round in (None, ended.round)
                        and self._within(ended)
                        and self.table in (None, tables[unit].at(ended.first_event))
                        and self.wanted.selects(ended)
                    ):
                        yield ended

    def events(
        self, store: Store, tables: dict[str, Tables], kinds: Sequence[str] | None, damaged: Damaged
    ) -> Iterator[LogEvent]:
        """The events of these kinds; of the rounds that are wanted, if not all are."""
        for unit in self.units:
            found = self.of_unit(unit)._events(store, tables, kinds, damaged)
            if self.last is None:
                yield from found
            else:
                yield from reversed(list(islice(found, self.last)))

    def _events(
        self, store: Store, tables: dict[str, Tables], kinds: Sequence[str] | None, damaged: Damaged
    ) -> Iterator[LogEvent]:
        """The events of one unit; with `last` in the other order."""
        (unit,) = self.units
        newest_first = self.last is not None
        place = self._place(store, unit, tables[unit], spans=False)
        if place is None:
            return
        place = replace(
            place,
            kinds=kinds,
            from_unix_ms=self.begin_unix_ms,
            to_unix_ms=self.end_unix_ms,
            newest_first=newest_first,
        )
        if self.wanted.all:
            found = logged_events(store, place, damaged)
        else:
            rounds = self.rounds(store, tables, damaged, newest_first=newest_first)
            found = logged_events(store, place, lambda row: None)  # `rounds` finds the damaged ones
            found = _of_rounds(found, rounds, newest_first=newest_first)
        for event in found:
            if self.table in (None, tables[unit].at(event.number)):
                yield event

    def _place(
        self, store: Store, unit: str, tables: Tables, *, spans: bool = True
    ) -> Filter | None:
        """Where in a unit's events to read: its shoe of cards, round, first and last event. None if
        there is nothing to read."""
        place = Filter(unit, self.shoe, self.round)
        if self.at_unix_ms is not None:
            found = store.place_at(unit, self.at_unix_ms)
            if found is None or any(
                wanted not in (None, there)
                for wanted, there in zip((self.shoe, self.round), found, strict=True)
            ):
                return None
            place = replace(place, shoe=found[0], round=found[1])
        if self.table is not None:
            if self.table not in tables.names:
                return None
            place = replace(place, first=tables.first_at(self.table))
        span = self.begin_unix_ms, self.end_unix_ms
        if spans and span != (None, None):
            events = store.rounds_within(unit, *span)
            if events is None:
                return None
            place = replace(place, first=max(place.first or 0, events[0]), last=events[1])
        return place

    def _within(self, ended: Dealt) -> bool:
        """Whether any part of a round is in the time span. What has no clock never is."""
        if (self.begin_unix_ms, self.end_unix_ms) == (None, None):
            return True
        times = [each for each in (ended.started_unix_ms, ended.ended_unix_ms) if each is not None]
        if not times:
            return False
        before_end = self.end_unix_ms is None or min(times) < self.end_unix_ms
        return before_end and (self.begin_unix_ms is None or max(times) >= self.begin_unix_ms)


def units_of(store: Store, unit: str | None) -> list[str]:
    """Return the boards of a unit (log/boards.py), in order, or the one board that `unit` names;
    for None all. Raises DatabaseUnusable if the log does not have it."""
    names = store.units()
    if unit is None:
        return names
    chosen = boards.chosen(unit, names)
    if not chosen:
        store.check_unit(unit)
    return chosen


def units_named(store: Store, names: Sequence[str] | None) -> list[str]:
    """Return the boards of several units, in order; all if there are no names. Raises
    DatabaseUnusable as `units_of`."""
    if not names:
        return store.units()
    return boards.in_order(unit for name in names for unit in units_of(store, name))


def tables_of(store: Store, units: Sequence[str], table: str | None) -> dict[str, Tables]:
    """Return at which tables units stood. Raises DatabaseUnusable if no unit of the log ever stood
    at `table`."""
    tables = {unit: Tables(store, unit) for unit in units}
    if table is not None and not any(table in each.names for each in tables.values()):
        known = {name for unit in store.units() for name in Tables(store, unit).names}
        if table not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise DatabaseUnusable(f"{store.place}: has no table {table}; there are: {listed}")
    return tables


def _backwards(store: Store, wanted: Filter, damaged: Damaged) -> Iterator[Dealt]:
    """The rounds of `rounds_between` from the newest on, a few in memory at a time."""
    last = wanted.last
    opened = store.rows(replace(wanted, kinds=("betting_open",), newest_first=True))
    while block := list(islice(opened, _BLOCK)):
        part = replace(wanted, first=block[-1].number, last=last)
        yield from reversed(list(rounds_between(store, part, damaged)))
        last = block[-1].number - 1


def _of_rounds(
    events: Iterable[LogEvent], rounds: Iterator[Dealt], *, newest_first: bool
) -> Iterator[LogEvent]:
    """The events that belong to rounds; both in the same order, of one unit."""
    ended = next(rounds, None)
    for event in events:
        while ended is not None and (
            event.number < ended.first_event if newest_first else event.number > ended.last_event
        ):
            ended = next(rounds, None)
        if ended is None:
            return
        if ended.first_event <= event.number <= ended.last_event:
            yield event


def _of_baccarat(ended: Round) -> Sequence[Sequence[str]]:
    return ended.player, ended.banker, as_dealt(ended)


def _of_boxes(ended: BlackjackRound) -> Sequence[Sequence[str]]:
    of_boxes = [hand.cards for box in ended.boxes for hand in box]
    return *of_boxes, ended.dealer, ended.dealt


def _of_seats(ended: Hand) -> Sequence[Sequence[str]]:
    return *ended.hands, ended.board, ended.second, ended.dealt


_SEQUENCES: Mapping[type[Dealt], Callable[[Any], Sequence[Sequence[str]]]] = {
    Round: _of_baccarat,
    BlackjackRound: _of_boxes,
    Hand: _of_seats,
}
"""The sequences of cards in a round: in each hand, and as they came out of the shoe."""


def _has_sequence(hand: Sequence[str], cards: Sequence[str]) -> bool:
    starts = range(len(hand) - len(cards) + 1)
    return any(tuple(hand[at : at + len(cards)]) == tuple(cards) for at in starts)
