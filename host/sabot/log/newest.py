"""The newest event of a unit that can be read."""

from sabot.link.events import Event
from sabot.link.wire import WireError, parse_event
from sabot.log.store import Store

_AT_ONCE = 8  # events at the end, in which one can usually be read; then ever more


def newest_readable(store: Store, unit: str, last: int) -> Event | None:
    """The newest event of `unit` up to event `last` that can be read; None if none can."""
    newest, at_once = None, _AT_ONCE
    while newest is None and last > 0:
        first = max(1, last - at_once + 1)
        for _, data, _ in store.raw(unit, first, last):
            try:
                newest = parse_event(data)
            except WireError:
                continue
        last, at_once = first - 1, 2 * at_once
    return newest
