"""One unit of the index of rounds: its spans joined, and then kept up with what comes."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from sabot.audit.checks.chain_events import RawRecord
from sabot.audit.table_names import Tables
from sabot.floor.rounds.index_spans import (
    RoundsReader,
    SpanRead,
    indexing_of,
    search_of,
)
from sabot.floor.rounds.index_tables import IndexTables
from sabot.floor.rounds.indexed_round import IndexedRound
from sabot.log.follow import Follower
from sabot.log.reveal import hidden_round
from sabot.log.store import Store
from sabot.reports.absences import absences_of
from sabot.reports.incident import Incident
from sabot.reports.incident_search import (
    Decoded,
    Notable,
    Shoe,
    decoded,
    shoes_in,
    shoes_of,
    take,
)
from sabot.reports.incident_spans import notable_of_records
from sabot_protocol import events

_SETTLED_S = 10.0
"""So long after an event that is no incident itself the lengths of incidents that go on are made
again."""
_NOTES_S = 30.0  # absences are looked for so often
_QUIET = [
    shape.number
    for shape in (
        events.BUTTON, events.BETTING_OPEN, events.BETTING_CLOSED, events.CARD, events.SEAL,
        events.SEALED_CARD, events.DECISION, events.LOCK, events.PLAY, events.LOOKED,
        events.HAND_RESULT, events.HAND_BEGUN, events.BETTING_ENDED, events.CHECKPOINT,
    )
]  # fmt: skip
"""Kinds of events that end no round and are rarely an incident: those are found a little later."""


class IndexedUnit:
    """A unit; `found` shows what it has. All is called from the thread of the index."""

    def __init__(self, store: Store, unit: str, found: IndexTables) -> None:
        self.tables = Tables(store, unit)
        self._store = store
        self._unit = unit
        self._found = found
        self._reader = RoundsReader(unit, indexing_of(store))
        self._search = search_of(store)
        self._stones = store.tombstone_rows(unit)
        self._hidden = hidden_round(store, unit)
        self._waiting: dict[int, IndexedRound] = {}
        """Rounds that have ended and must not show yet."""
        self._finder = self._search.finder(unit)  # up to the last shoe of cards
        self._last_shoe: int | None = None
        """The first record of the last shoe of cards; None for the first of all."""
        self._due_s: float | None = 0.0  # when incidents are looked for; None if nothing is new
        self._notes_due_s = 0.0

    def show(self, rounds: Iterable[IndexedRound]) -> None:
        """Show rounds that have ended, but for the one that must not show yet."""
        shown = []
        for each in rounds:
            if (each.shoe, each.round) == self._hidden:
                self._waiting[each.first_event] = each
            else:
                shown.append(each)
        self._found.put_rounds(self._unit, shown, self.tables.at)

    def join(self, spans: Sequence[SpanRead]) -> None:
        """Take all spans of the unit, in order: what can be known only then."""
        as_one = all(one.ends == other.begins for one, other in pairwise(spans))
        if not as_one or any(each.part is None for each in spans):
            self._read_in_one_pass()
            return
        self._reader.resume(spans[-1].ends, spans[-1].last)
        held: list[RawRecord] = []
        for each in spans:
            part = each.part
            assert part is not None
            held += part.head
            if part.tail is not None:
                for notable in notable_of_records(self._unit, self._search, held, part.until):
                    take(self._finder, notable)
                for notable in part.shoes:
                    take(self._finder, notable)
                held = [*part.tail]
        self._take_up_to_last(shoes_of([held]))

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
        self._reader.take(new)
        if self._reader.ended or self._waiting:
            self._hidden = hidden_round(self._store, self._unit)
            waiting, self._waiting = self._waiting, {}
            self.show((waiting | self._reader.ended).values())
        quiet = all(values is not None and values[0] in _QUIET for values in new[1])
        due_s = now_s + _SETTLED_S * quiet
        self._due_s = due_s if self._due_s is None else min(self._due_s, due_s)
        return True

    def settle(self, now_s: float) -> bool:
        """Look for incidents, if that is due. Return False if records were removed meanwhile: then
        the unit is to be read again."""
        of_notes = now_s >= self._notes_due_s
        if of_notes and self._store.tombstone_rows(self._unit) != self._stones:
            return False
        if of_notes or (self._due_s is not None and now_s >= self._due_s):
            self._notes_due_s = now_s + _NOTES_S if of_notes else self._notes_due_s
            self._due_s = None
            self._find_incidents()
        return True

    def _find_incidents(self) -> None:
        records = self._store.raw_chunks(self._unit, self._last_shoe)
        last: Notable | None = None
        for shoe, until in shoes_of(records):
            if last is not None:
                take(self._finder, last)
            last = self._search.notable(self._unit, shoe, until)
            self._last_shoe = shoe.records[0][0]
        finder = self._finder.copy()
        if last is not None:
            take(finder, last)
        absent = absences_of(self._unit, self._store.presence(self._unit))
        self._found.put_incidents(self._unit, [*finder.incidents(), *absent], self._table_of)

    def _read_in_one_pass(self) -> None:
        self._found.drop(self._unit)
        self._reader = RoundsReader(self._unit, indexing_of(self._store))

        def followed() -> Iterator[Decoded]:
            for rows in self._store.raw_chunks(self._unit):
                some = decoded(rows)
                self._reader.take(some)
                yield some

        self._take_up_to_last(shoes_in(followed()))
        self.show(self._reader.ended.values())

    def _take_up_to_last(self, shoes: Iterable[tuple[Shoe, int | None]]) -> None:
        """Look through shoes of cards, but for the last one, which may go on."""
        before: tuple[Shoe, int | None] | None = None
        for each in shoes:
            if before is not None:
                take(self._finder, self._search.notable(self._unit, *before))
            before = each
            self._last_shoe = each[0].records[0][0]

    def _table_of(self, incident: Incident) -> str:
        return self.tables.last if incident.event is None else self.tables.at(incident.event)
