"""The audit chain of a board, as its records name it."""

from sabot.link.events import BootEvent
from sabot.link.wire import WireError
from sabot.log.store import Filter, Store
from sabot_protocol.events import MAC_SIZE


def chain_named(store: Store, name: str) -> bytes | None:
    """Return the id of the chain of a board, which its first start in the log names; None if the
    log does not have a start of it."""
    for row in store.rows(Filter(unit=name, kinds=("boot",))):
        try:
            event = row.event()
        except WireError:
            continue
        if isinstance(event, BootEvent) and len(event.chain) == MAC_SIZE:
            return event.chain
    return None
