"""Makes the messages of one unit, from any of its events on.

A unit's messages are those of its shoes of cards, one after the other, and each begins from what
`Before` says. So all who make them, live or from the middle of an old log, makes the same ones.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from sabot.audit.checks.decoding import UNKNOWN, event_of, values_of
from sabot.audit.context import kept_of_removed
from sabot.feeds.message import Message, Position
from sabot.feeds.shoe_messages import Before, Held, ShoeMessages
from sabot.link.events import (
    DECIDED,
    BootEvent,
    Event,
    GameLoadedEvent,
    LidEvent,
    ProvisionedEvent,
    UnknownEvent,
)
from sabot.link.wire import WireError
from sabot.log.follow import RawRecord
from sabot.log.found import LARGEST
from sabot.log.reading.remainder import is_replaced
from sabot.log.reveal import Reveal, ShownGames, place_before
from sabot.log.store import Filter, Store

_CHUNK = 500  # records decoded together
_WARM_UP = 50  # records before a shoe of cards: between two there are about ten
_FAR = 5000  # events before a shoe of cards that are looked through: three shoes of cards
_NUMBER, _SHOE = 1, 5
"""Indexes in a record's values."""


class UnitMessages:
    """Takes the records of one unit, in order, from the first of a shoe of cards on, which is event
    `begin`."""

    def __init__(
        self,
        context: "Context",
        unit: str,
        begin: int,
        *,
        with_incidents: bool = True,
        with_held: bool = False,
    ) -> None:
        self._context, self._unit = context, unit
        self._with_incidents, self._with_held = with_incidents, with_held
        self._any = False
        self._shoe = self._made_for(begin, None, ())

    def _made_for(self, begin: int, held: Held | None, in_play: Sequence[Message]) -> ShoeMessages:
        context, unit = self._context, self._unit
        before = context.before(unit, begin)
        return ShoeMessages(
            unit, context.games, before, held, in_play,
            with_incidents=self._with_incidents, with_held=self._with_held,
        )  # fmt: skip

    def add(self, records: Sequence[RawRecord]) -> Iterator[Message]:
        """Take the next records; yield their messages, in order."""
        decoded = values_of([record for _, record, _ in records])
        for (number, *_), values in zip(records, decoded, strict=True):
            if values is None or values[_NUMBER] != number:
                self._shoe.add_damaged()
                continue
            known = values[0] != UNKNOWN  # else its header is not believed
            if self._any and known and values[_SHOE] not in (0, self._shoe.shoe):
                self._shoe = self._made_for(number, self._shoe.held, self._shoe.in_play)
            self._any = True
            yield from self._shoe.add(event_of(values), values)

    def end(self, event: int) -> list[Message]:
        """As `ShoeMessages.end`; `event` is the number after the board's last one."""
        return self._shoe.end(event)


def unit_messages(
    context: "Context",
    unit: str,
    after: int,
    *,
    with_incidents: bool = True,
    with_held: bool = False,
) -> tuple[UnitMessages, int]:
    """Return what makes the messages of the events of `unit` after event `after`, and the number of
    the first event that it must be given, which may come before: then it makes messages of earlier
    events too."""
    begin = begin_for(context.store, unit, after)
    made = UnitMessages(context, unit, begin, with_incidents=with_incidents, with_held=with_held)
    return made, begin


def messages_between(
    context: "Context",
    unit: str,
    after: Position,
    last: int,
    *,
    with_incidents: bool = True,
    with_held: bool = False,
) -> Iterator[Message]:
    """Yield the messages of `unit` after a position, up to those of event `last`, from the log, a
    few records in memory at a time."""
    made, begin = unit_messages(
        context, unit, after.event, with_incidents=with_incidents, with_held=with_held
    )
    for some in chunks(context.store.raw(unit, begin, min(last, LARGEST))):
        for each in made.add(some):
            if each.position > after:
                yield each
    newest = context.store.last_number(unit)
    if with_held and last > newest and is_replaced(context.store, unit):
        yield from (each for each in made.end(newest + 1) if each.position > after)


def chunks(records: Iterable[RawRecord]) -> Iterator[list[RawRecord]]:
    """The records, some at a time."""
    rest = iter(records)
    while some := [*islice(rest, _CHUNK)]:
        yield some


def begin_for(store: Store, unit: str, after: int) -> int:
    """The number of the first event of the shoe of cards in which event `after` is; of the one
    before, if there is no round yet in that, or it begins with `after`: rounds of that one may
    still be held back."""
    if after <= 0:
        return 1
    shoe, round_ = place_before(store, unit, after + 1)
    if not round_:
        newest = _readable(store, Filter(unit, last=after, newest_first=True))
        known = (event for event in newest if not isinstance(event, UnknownEvent))
        shoe = next((event.shoe for event in known if event.round), shoe)
    first = next(iter(store.rows(Filter(unit, shoe=shoe))), None)
    if first is not None and first.number == after:
        shoe, _ = place_before(store, unit, after)
        first = next(iter(store.rows(Filter(unit, shoe=shoe))), first)
    return 1 if first is None else min(first.number, after + 1)


class Context:
    """What the makers of messages ask of a log besides the records. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.games = ShownGames(store.game)
        self._lock = threading.Lock()
        self._tables: dict[str, tuple[int, list[tuple[int, str]]]] = {}
        """By unit: up to which event it was looked for the unit's tables, and from which event on
        it stood where."""

    def before(self, unit: str, begin: int) -> Before:
        """What came before the shoe of cards of `unit` that begins with event `begin`."""
        with self.store.at_one_moment():
            records = tuple(self.store.raw(unit, max(1, begin - _WARM_UP), begin - 1))
            return Before(self._deciding(unit, begin), records, self.table_at(unit, begin - 1))

    def table_at(self, unit: str, event: int) -> str:
        """Where a unit stood at an event; empty if that is not known."""
        with self._lock:
            known = self._tables.get(unit)
            if known is None:
                kept = kept_of_removed(self.store, unit)
                names = [(e.number, e.table) for e in kept if isinstance(e, ProvisionedEvent)]
                known = 0, names
            up_to, names = known
            if event > up_to:
                new = Filter(unit, kinds=("provisioned",), first=up_to + 1, last=event)
                for each in _readable(self.store, new):
                    if isinstance(each, ProvisionedEvent):
                        names.append((each.number, each.table))
                self._tables[unit] = event, sorted(names)
                names = self._tables[unit][1]
        return next((table for first, table in reversed(names) if first <= event), "")

    def _deciding(self, unit: str, begin: int) -> tuple[Event, ...]:
        """As `reveal.deciding_before`, and the lid; but only so far back. Without these events a
        round shows later, never sooner."""
        kinds = (*Reveal.KINDS, "lid")
        found: list[Event] = []
        needed = {"game", "boot", "lid"}
        newest = Filter(unit, kinds=kinds, first=max(1, begin - _FAR), last=begin - 1)
        for event in _readable(self.store, replace(newest, newest_first=True)):
            if isinstance(event, LidEvent):
                if "lid" in needed:
                    needed.remove("lid")
                    found.append(event)
            elif "game" in needed:
                found.append(event)
                if isinstance(event, (GameLoadedEvent, *DECIDED)):  # each names its game
                    needed.remove("game")
            elif isinstance(event, BootEvent) and "boot" in needed:
                needed.remove("boot")
                found.append(event)
            if not needed:
                break
        return tuple(reversed(found))


def _readable(store: Store, wanted: Filter) -> Iterator[Event]:
    for row in store.rows(wanted):
        try:
            yield row.event()
        except WireError:
            continue
