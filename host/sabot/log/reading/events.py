"""The events of a log, as they may be shown."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sabot.link.events import Event, SealedCardEvent, UnknownEvent
from sabot.log.boards import board_of, unit_of
from sabot.log.families.cards import Card
from sabot.log.reading.rounds import event_in, refuse_damaged
from sabot.log.reveal import SealedCards, UnknownValues, hidden_round, shown
from sabot.log.store import Filter, Row, Store
from sabot.text import utc_moment, utc_time
from sabot_protocol import cards
from sabot_protocol import events as event_shapes

EVENT_KINDS = tuple(shape.name for shape in event_shapes.KINDS)
"""Every kind of event that a shoe records."""

SURPLUS = "unknown"
"""Among the fields of an event: the values that this version does not know, in a list; None while
they may not be shown. No field has this name."""


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One event of a log, as a shoe recorded it."""

    unit: str
    """The name of the board that recorded it: "SHOE-7", the id of the unit; "SHOE-7~2" if its
    second board did."""
    number: int
    """The board counts its events from 1, without gaps."""
    kind: str
    """Such as "card" or "result"; protocol/README.md lists all kinds with their fields."""
    boot: int
    """Number of the unit's start, from 1."""
    t_ms: int
    """Milliseconds since that start."""
    unix_ms: int | None
    """The unit's clock, in milliseconds since 1970 (UTC); None if no host had set it."""
    shoe: int
    """Number of the shoe of cards; 0 before the first."""
    round: int
    """Number of the round; 0 outside of rounds."""
    fields: Mapping[str, Any]
    """The event's own fields. Cards are of type `Card`, enumerations are words, bytes are hex
    digits. A `sealed_card` has also the field `card`: None until the log has its round's key."""

    @property
    def time(self) -> datetime | None:
        """The unit's clock in UTC; None if no host had set it, or to a time after the year 9999."""
        return utc_moment(self.unix_ms)

    def as_json(self) -> dict[str, Any]:
        """The event as `sabot events --json` prints it."""
        return {
            "unit": unit_of(self.unit),
            "event": self.number,
            "kind": self.kind,
            "boot": self.boot,
            "t_ms": self.t_ms,
            "time": utc_time(self.unix_ms),
            "shoe": self.shoe,
            "round": self.round,
            "fields": dict(self.fields),
            "board_number": board_of(self.unit),
        }


def logged_events(
    store: Store, wanted: Filter, damaged: Callable[[Row], None] = refuse_damaged
) -> Iterator[LogEvent]:
    """The events in a log, without what must not be shown yet (sabot/log/reveal.py). `damaged` is
    called with each one that cannot be read; without it such an event raises DatabaseUnusable."""
    unit, hidden = "", None
    sealed, unknown = SealedCards(store, unit), UnknownValues(store, unit)
    for row in store.rows(wanted):
        if row.unit != unit:
            unit, hidden = row.unit, hidden_round(store, row.unit)
            sealed, unknown = SealedCards(store, unit), UnknownValues(store, unit)
        event = event_in(row, damaged)
        event = event and shown(event, hidden)
        if event is None:
            continue
        yield LogEvent(
            row.unit,
            event.number,
            event.kind,
            event.boot,
            event.t_ms,
            event.unix_ms,
            event.shoe,
            event.round,
            fields_of(unknown.as_shown(event), sealed),
        )


def fields_of(event: Event, sealed: SealedCards) -> dict[str, Any]:
    """An event's own fields as they are shown and written to JSON: cards by name, bytes in hex. A
    sealed card has its card too, if it is known."""
    shown = dict(event.fields)
    if isinstance(event, SealedCardEvent):
        card = sealed.card_of(event)
        shown["card"] = None if card is None else Card(cards.name_of(card))
    for name, kind in event.SHAPE.fields:
        value = shown[name]
        if kind.startswith("card") and isinstance(value, int):
            shown[name] = Card(cards.name_of(value))
        elif isinstance(value, bytes):
            shown[name] = value.hex()
    if isinstance(event, UnknownEvent) or event.surplus != ():
        shown[SURPLUS] = None if event.surplus is None else _plain(event.surplus)
    return shown


def _plain(value: object) -> Any:
    """A value that this version does not know, for JSON: bytes in hexadecimal."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value
