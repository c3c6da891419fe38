"""One table that is followed event by event: what it does, and what it raises an alert for."""

from collections.abc import Iterable, Sequence
from itertools import islice

from sabot.audit.checks.decoding import values_of
from sabot.desk.alerts import Alert
from sabot.floor.order_shown import OrderShown, order_shown
from sabot.floor.table import Table, TableFold
from sabot.link.events import Event
from sabot.log.follow import RawRecord
from sabot.log.reveal import ShownGames
from sabot.notable.unit_alerts import AlertLimits, UnitAlerts
from sabot.order.past import PastShoe
from sabot.order.run_index import RunIndex

_CHUNK = 500  # records decoded together


class LiveTable:
    """Follows one unit. `before` are events before the first record that still matter then
    (wall.context_of)."""

    def __init__(
        self,
        unit: str,
        games: ShownGames,
        before: Iterable[Event] = (),
        limits: AlertLimits = AlertLimits(),
    ) -> None:
        self.unit = unit
        self.last: RawRecord | None = None
        """The newest record so far."""
        self._fold = TableFold(unit, games)
        self._alerts = UnitAlerts(unit, games, limits)
        for event in before:
            self._fold.add(event)
            self._alerts.know(event)

    def add(self, records: Iterable[RawRecord]) -> None:
        """Take the next records, in order. Those that cannot be read are passed over, as a gap."""
        rest = iter(records)
        while some := [*islice(rest, _CHUNK)]:
            decoded = values_of([record for _, record, _ in some])
            for (number, *_), values in zip(some, decoded, strict=True):
                if values is not None and values[1] == number:
                    self._fold.add(self._alerts.add(values))
            self.last = some[-1]

    @property
    def table(self) -> Table:
        """The table now."""
        return self._fold.table

    @property
    def order(self) -> OrderShown | None:
        """What was found in the order of its cards; None for nothing."""
        return order_shown(self._alerts.order)

    def past(self, shoes: Sequence[PastShoe], logged: RunIndex | None, since: int) -> None:
        """As `UnitAlerts.past`."""
        self._alerts.past(shoes, logged, since)

    @property
    def waits(self) -> bool:
        """Whether there is another alert as soon as enough time has passed."""
        return self._alerts.waits

    def alerts(self, now_unix_ms: int, waited_ms: int = 0) -> list[Alert]:
        """The alerts that were not returned before. `waited_ms` have passed since the last event;
        `now_unix_ms` is the time of alerts whose time is not known."""
        return self._alerts.new(now_unix_ms, waited_ms)
