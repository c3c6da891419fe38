"""Reads the events of a log that say which cards came."""

from collections.abc import Iterator

from sabot.audit.checks.decoding import UNKNOWN, event_of, values_of
from sabot.link.events import Event
from sabot.log.store import Store
from sabot.order.known_cards import KINDS
from sabot_protocol import events

_NUMBERS = frozenset({UNKNOWN, *(each.number for each in events.KINDS if each.name in KINDS)})


def card_events(
    store: Store, unit: str, first: int | None = None, last: int | None = None
) -> Iterator[Event]:
    """Yield the events of a unit that `KnownCards` needs, from event `first` to event `last`,
    without those that cannot be read."""
    for rows in store.raw_chunks(unit, first, last):
        every = values_of([record for _, record, _ in rows])
        for (number, *_), values in zip(rows, every, strict=True):
            if values is not None and values[0] in _NUMBERS and values[1] == number:
                yield event_of(values)
