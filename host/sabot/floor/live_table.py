"""One table that is followed event by event, from the records of its unit."""

from collections.abc import Iterable

from sabot.audit.checks.decoding import event_of, values_of
from sabot.floor.table import Table, TableFold
from sabot.link.events import Event
from sabot.log.follow import RawRecord
from sabot.log.reveal import ShownGames


class LiveTable:
    """Follows one unit. `before` are events before the first record that still matter then
    (wall.context_of)."""

    def __init__(self, unit: str, games: ShownGames, before: Iterable[Event] = ()) -> None:
        self.last: RawRecord | None = None
        """The newest record so far."""
        self._fold = TableFold(unit, games)
        for event in before:
            self._fold.add(event)

    def add(self, records: Iterable[RawRecord]) -> None:
        """Take the next records, in order. Those that cannot be read are passed over."""
        for each in records:
            self.last = each
            (values,) = values_of([each[1]])
            if values is not None:
                self._fold.add(event_of(values))

    @property
    def table(self) -> Table:
        """The table now."""
        return self._fold.table
