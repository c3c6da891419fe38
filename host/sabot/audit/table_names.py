"""At which table each unit stood, from its events `provisioned`."""

from collections.abc import Iterable, Iterator

from sabot.audit.context import kept_of_removed
from sabot.link.events import Event, ProvisionedEvent
from sabot.link.wire import WireError
from sabot.log.store import Filter, Row, Store


class Tables:
    """At which table a unit stood, by the numbers of its events."""

    def __init__(self, store: Store, unit: str) -> None:
        kept: Iterable[Event] = kept_of_removed(store, unit)
        rows = store.rows(Filter(unit, kinds=(ProvisionedEvent.SHAPE.name,)))
        self._from = sorted(
            (event.number, event.table)
            for event in (*kept, *_readable(rows))
            if isinstance(event, ProvisionedEvent)
        )

    @property
    def names(self) -> set[str]:
        """All tables at which it stood."""
        return {table for _, table in self._from}

    @property
    def last(self) -> str:
        """The table at which it stands now; empty if that is not known."""
        return self._from[-1][1] if self._from else ""

    def at(self, event: int) -> str:
        """The table when an event was recorded; empty if that is not known."""
        return next((table for first, table in reversed(self._from) if first <= event), "")

    def first_at(self, table: str) -> int:
        """The event with which it came to a table for the first time."""
        return next(first for first, name in self._from if name == table)


def _readable(rows: Iterable[Row]) -> Iterator[Event]:
    for row in rows:
        try:
            yield row.event()
        except WireError:
            continue
