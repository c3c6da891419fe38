"""A unit of the index of rounds: read as a whole or in spans, then kept up with what comes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sabot.audit.table_names import Tables
from sabot.floor.rounds.index_spans import Games, RawRecord, RoundsReader, SpanRead
from sabot.floor.rounds.index_tables import IndexTables
from sabot.floor.rounds.indexed_round import IndexedRound
from sabot.log.follow import Follower
from sabot.log.reveal import hidden_round
from sabot.log.store import Store
from sabot.notable.absences import of_host
from sabot.notable.incident import Incident
from sabot.notable.incident_finder import IncidentFinder
from sabot.notable.incident_search import Decoded, Shoe, decoded, shoes_in, shoes_of, take
from sabot.notable.incident_spans import notable_of_records
from sabot_protocol import events

_SETTLED_S = 5.0
"""So long after an event that is rarely an incident they are looked for."""
_NOTES_S = 60.0  # absences, and whether records were removed, are looked for so often
_QUIET = [
    shape.number
    for shape in (
        events.BUTTON, events.BETTING_OPEN, events.BETTING_CLOSED, events.CARD, events.SEAL,
        events.SEALED_CARD, events.UNSEALED, events.DECISION, events.RESULT, events.LOCK,
        events.PLAY, events.LOOKED, events.HAND_RESULT, events.BLACKJACK_RESULT,
        events.HAND_BEGUN, events.BETTING_ENDED, events.HAND_ENDED, events.CHECKPOINT,
        events.SEAT_SEAL, events.SEAT_UNSEALED, events.SEAL_ESCROW,
    )
]  # fmt: skip
"""Kinds of events that are rarely an incident, and come often."""


@dataclass(frozen=True, slots=True)
class UnitState:
    """What must be known of a unit to go on after its last record. It can be sent to another
    process."""

    tables: Tables
    stones: Sequence[Any]
    """The rows of its tombstones."""
    hidden: tuple[int, int] | None
    """Shoe of cards and round that must not show yet."""
    reader: dict[str, Any]
    last: RawRecord | None
    finder: dict[str, Any]
    """Of incidents, before the last shoe of cards."""
    last_shoe: int | None
    """The first record of the last shoe of cards; None for the first of all."""
    incidents: Sequence[Incident]
    """Those of events."""


def read_unit(
    store: Store, unit: str, games: Games, count: Callable[[int], None] = lambda more: None
) -> tuple[UnitState, list[IndexedRound]]:
    """Read all records of a unit in one pass; return its state, and its rounds. `count` gets the
    number of records just read."""
    tables, stones = Tables(store, unit), store.tombstone_rows(unit)
    reader = RoundsReader(unit, games)

    def followed() -> Iterator[Decoded]:
        for rows in store.raw_chunks(unit):
            some = decoded(rows)
            reader.take(some)
            yield some
            count(len(rows))

    finder = games.search.finder(unit)
    last_shoe = _take_up_to_last(unit, games, finder, shoes_in(followed()))
    incidents = _incidents(store, unit, games, finder, last_shoe)
    hidden = hidden_round(store, unit)  # now: a round may have ended face down since the begin
    state = UnitState(
        tables, stones, hidden, reader.state(), reader.last, finder.state(), last_shoe, incidents
    )
    return state, [*reader.ended.values()]


def join_spans(
    store: Store, unit: str, games: Games, spans: Sequence[SpanRead]
) -> UnitState | None:
    """Join all spans of a unit, in order. None if they are not what one pass reads."""
    as_one = all(one.ends == other.begins for one, other in pairwise(spans))
    if not as_one or any(each.part is None for each in spans):
        return None
    about = Tables(store, unit), store.tombstone_rows(unit), hidden_round(store, unit)
    finder = games.search.finder(unit)
    held: list[RawRecord] = []
    for each in spans:
        part = each.part
        assert part is not None
        held += part.head
        if part.tail is not None:
            for notable in notable_of_records(unit, games.search, held, part.until):
                take(finder, notable)
            for notable in part.shoes:
                take(finder, notable)
            held = [*part.tail]
    last_shoe = _take_up_to_last(unit, games, finder, shoes_of([held]))
    incidents = _incidents(store, unit, games, finder, last_shoe)
    return UnitState(*about, spans[-1].ends, spans[-1].last, finder.state(), last_shoe, incidents)


class IndexedUnit:
    """A unit that is kept up; `found` shows what it has. All is called from the thread of the
    index."""

    def __init__(
        self, store: Store, unit: str, found: IndexTables, games: Games, state: UnitState
    ) -> None:
        self.tables = state.tables
        self._store = store
        self._unit = unit
        self._found = found
        self._games = games
        self._stones = state.stones
        self._hidden = state.hidden
        self._waiting: dict[int, IndexedRound] = {}
        """Rounds that have ended and must not show yet."""
        self._reader = RoundsReader(unit, games)
        self._reader.resume(state.reader, state.last)
        self._finder = games.search.finder(unit)  # up to the last shoe of cards
        self._finder.resume(state.finder)
        self._last_shoe = state.last_shoe
        self._of_events = state.incidents
        self._absent: Sequence[Incident] | None = None
        self._due_s: float | None = None  # when incidents are looked for; None if nothing is new
        self._notes_due_s = 0.0
        self._show_incidents()

    def show(self, rounds: Iterable[IndexedRound]) -> None:
        """Show rounds that have ended, but for the one that must not show yet."""
        shown = []
        for each in rounds:
            if (each.shoe, each.round) == self._hidden:
                self._waiting[each.first_event] = each
            else:
                shown.append(each)
        if shown:
            self._found.put_rounds(self._unit, shown, self.tables.at)

    def keep_up(self, follower: Follower, now_s: float) -> bool:
        """Take what has come. Return False if the log is not the one that was read: then the unit
        is to be read again."""
        last = self._reader.last
        records = follower.records(self._unit, 0 if last is None else last[0] - 1)
        if last is not None and next(records, None) != last:
            return False
        new = decoded(list(records))
        if not new[0]:
            return True
        if any(values and values[0] == events.PROVISIONED.number for values in new[1]):
            self.tables = Tables(self._store, self._unit)
        self._reader.ended.clear()
        self._reader.may_be_hidden = False
        self._reader.take(new)
        if self._reader.may_be_hidden or self._waiting:
            self._hidden = hidden_round(self._store, self._unit)
        elif self._reader.ended:
            self._hidden = None
        waiting, self._waiting = self._waiting, {}
        self.show((waiting | self._reader.ended).values())
        quiet = all(values is not None and values[0] in _QUIET for values in new[1])
        due_s = now_s + _SETTLED_S * quiet
        self._due_s = due_s if self._due_s is None else min(self._due_s, due_s)
        return True

    def is_due(self, now_s: float) -> bool:
        """Whether something is to be settled."""
        return now_s >= self._notes_due_s or (self._due_s is not None and now_s >= self._due_s)

    def settle(self, now_s: float) -> bool:
        """Look for incidents and absences, if that is due. Return False if records were removed
        meanwhile: then the unit is to be read again."""
        if self._due_s is not None and now_s >= self._due_s:
            self._due_s = None
            self._find_incidents()
        if now_s >= self._notes_due_s:
            self._notes_due_s = now_s + _NOTES_S
            absent = of_host(self._store, self._unit)
            if absent != self._absent:
                self._absent = absent
                self._show_incidents()
            return self._store.tombstone_rows(self._unit) == self._stones
        return True

    def _find_incidents(self) -> None:
        records = self._store.raw_chunks(self._unit, self._last_shoe)
        shoes = list(shoes_of(records))
        self._last_shoe = _take_up_to_last(
            self._unit, self._games, self._finder, shoes, self._last_shoe
        )
        finder = self._finder.copy()
        for shoe in shoes[-1:]:
            take(finder, self._games.search.notable(self._unit, *shoe))
        self._of_events = finder.incidents()
        self._show_incidents()

    def _show_incidents(self) -> None:
        incidents = [*self._of_events, *(self._absent or ())]
        self._found.put_incidents(self._unit, incidents, self._table_of)

    def _table_of(self, incident: Incident) -> str:
        return self.tables.last if incident.event is None else self.tables.at(incident.event)


def _take_up_to_last(
    unit: str,
    games: Games,
    finder: IncidentFinder,
    shoes: Iterable[tuple[Shoe, int | None]],
    first: int | None = None,
) -> int | None:
    """Look through shoes of cards, but for the last one, which may go on. Return its first record,
    `first` if there is none."""
    before: tuple[Shoe, int | None] | None = None
    for each in shoes:
        if before is not None:
            take(finder, games.search.notable(unit, *before))
        before = each
        first = each[0].records[0][0]
    return first


def _incidents(
    store: Store, unit: str, games: Games, finder: IncidentFinder, last_shoe: int | None
) -> list[Incident]:
    """All incidents; `finder` has taken those before the last shoe of cards."""
    finder = finder.copy()
    for shoe in shoes_of(store.raw_chunks(unit, last_shoe)):
        take(finder, games.search.notable(unit, *shoe))
    return finder.incidents()
