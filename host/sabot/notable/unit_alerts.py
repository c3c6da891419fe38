"""Finds the alerts of one unit as its events come: its incidents, and what depends on its pace and
on the order of its cards."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sabot.audit.checks.decoding import Values
from sabot.desk.alerts import Alert
from sabot.link.events import Event
from sabot.log.reveal import ShownGames
from sabot.notable.alerts import alert_of, alert_of_incident
from sabot.notable.incident import Incident, Limits
from sabot.notable.incident_feed import IncidentFeed
from sabot.notable.kinds import KINDS, Severity
from sabot.notable.orders import incident_of
from sabot.notable.pace import Pace, PaceLimits
from sabot.order.chances import House
from sabot.order.dealt_order import DealtOrder
from sabot.order.past import PastShoe
from sabot.order.run_index import RunIndex


@dataclass(frozen=True, slots=True)
class AlertLimits:
    """What raises an alert."""

    incidents: Limits = field(default_factory=Limits)
    pace: PaceLimits = field(default_factory=PaceLimits)
    order: House = field(default_factory=House)
    silent_s: int = 30
    """No log has had the shoe for so long, while a shoe of cards is in play. A log notes every 5 s
    that it has it; a shoe that starts again is back after 2 s, and one whose cable was plugged in
    again after about 15."""


class UnitAlerts:
    """Takes the events of one unit, in order, that can be read. `games` dealt them."""

    def __init__(self, unit: str, games: ShownGames, limits: AlertLimits) -> None:
        self._unit = unit
        self._feed = IncidentFeed(unit, limits.incidents, games)
        self._pace = Pace(limits.pace)
        self._order = DealtOrder(unit, games, limits.order)
        self._order_since = 0
        self._found: list[Alert] = []

    def know(self, event: Event) -> None:
        """Take an event from before the first one, for what decides whether cards are shown."""
        self._feed.know(event)
        self._order.know(event)

    def add(self, values: Values) -> Event:
        """Take the values of the next record, and return its event."""
        event = self._feed.add(values)
        self._order.add(event)
        out = self._pace.add(event)
        if out is not None:
            self._found.append(
                alert_of(
                    out, self._unit, event.number, event.shoe, event.round, event.unix_ms or 0,
                    self._pace.text(out),
                )
            )  # fmt: skip
        return event

    @property
    def order(self) -> DealtOrder:
        """The order of its cards. Without `past` it is only kept."""
        return self._order

    def past(self, shoes: Sequence[PastShoe], logged: RunIndex | None, since: int) -> None:
        """Take the shoes of cards that the unit dealt before the first event, and those of the
        log. Of the shoes that are over, findings up to event `since` raise no alert."""
        self._order_since = since
        self._order.past(shoes, logged)

    @property
    def waits(self) -> bool:
        """Whether there is another alert as soon as enough time has passed."""
        return self._feed.waits

    def new(self, now_unix_ms: int, waited_ms: int = 0) -> list[Alert]:
        """Return the alerts that were not returned before. `waited_ms` have passed since the last
        event; `now_unix_ms` is the time of alerts whose time is not known."""
        found, self._found = self._found, []
        incidents = [
            alert_of_incident(each, now_unix_ms)
            for each in (*self._feed.new(waited_ms), *self._of_order())
            if KINDS[each.kind].severity is Severity.ALERT
        ]
        return [*incidents, *found]

    def _of_order(self) -> list[Incident]:
        # An alert stays as it was raised: it never names a shoe of cards that has the cards to come
        order, since = self._order, self._order_since
        return [
            incident_of(each, self._unit, over=False)
            for each in order.new()
            if each.event.number > since or (each is order.found and not order.over)
        ]
