"""Reading events of a log, as far as they can be read."""

from collections.abc import Iterator

from sabot.link.events import Event
from sabot.link.wire import WireError
from sabot.log.store import Filter, Store


def readable(store: Store, wanted: Filter) -> Iterator[Event]:
    """Yield the events that are wanted, without those that cannot be read."""
    for row in store.rows(wanted):
        try:
            yield row.event()
        except WireError:
            continue
