"""One table that is followed event by event: what it does, and what it raises an alert for."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from sabot.audit.checks.decoding import values_of
from sabot.desk.alerts import Alert
from sabot.floor.incident_feed import IncidentFeed
from sabot.floor.pace import Pace, PaceLimits
from sabot.floor.table import Table, TableFold
from sabot.link.events import Event
from sabot.log.follow import RawRecord
from sabot.log.reveal import ShownGames
from sabot.reports.incident import Incident, Limits
from sabot.table_time import duration_text
from sabot.text import counted

_CHUNK = 500  # records decoded together
_LARGEST = (1 << 63) - 1  # number that the desk can note


@dataclass(frozen=True, slots=True)
class AlertLimits:
    """What raises an alert."""

    incidents: Limits = field(default_factory=Limits)
    pace: PaceLimits = field(default_factory=PaceLimits)
    silent_s: int = 30
    """No log has had the shoe for so long, while a shoe of cards is in play. A log notes every 5 s
    that it has it; a shoe that starts again is back after 2 s, and one whose cable was plugged in
    again after about 15."""


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
        self._limits = limits
        self._fold = TableFold(unit, games)
        self._feed = IncidentFeed(unit, limits.incidents, games)
        self._pace = Pace(limits.pace)
        self._out_of_pace: list[Alert] = []
        for event in before:
            self._fold.add(event)
            self._feed.know(event)

    def add(self, records: Iterable[RawRecord]) -> None:
        """Take the next records, in order. Those that cannot be read are passed over, as a gap."""
        rest = iter(records)
        while some := [*islice(rest, _CHUNK)]:
            decoded = values_of([record for _, record, _ in some])
            for (number, *_), values in zip(some, decoded, strict=True):
                if values is not None and values[1] == number:
                    self._take(self._feed.add(values))
            self.last = some[-1]

    @property
    def table(self) -> Table:
        """The table now."""
        return self._fold.table

    @property
    def waits(self) -> bool:
        """Whether there is another alert as soon as enough time has passed."""
        return self._feed.waits

    def alerts(self, now_unix_ms: int, waited_ms: int = 0) -> list[Alert]:
        """The alerts that were not returned before. `waited_ms` have passed since the last event;
        `now_unix_ms` is the time of alerts whose time is not known."""
        found, self._out_of_pace = self._out_of_pace, []
        made = [self._alert(each, now_unix_ms) for each in self._feed.new(waited_ms)]
        return [*made, *found]

    def _take(self, event: Event) -> None:
        self._fold.add(event)
        out = self._pace.add(event)
        if out:
            self._out_of_pace.append(
                Alert(
                    f"{self.unit}/{out}/{event.number}", self.unit, out, event.number, event.shoe,
                    event.round, event.unix_ms or 0, self._pace_text(out),
                )
            )  # fmt: skip

    def _pace_text(self, out: str) -> str:
        limits, (rounds, took_ms) = self._limits.pace, self._pace.measured
        bound = limits.least_an_hour if out == "slow" else limits.most_an_hour
        how = "fewer" if out == "slow" else "more"
        took = duration_text(took_ms)
        return f"{counted(rounds, 'round')} in {took}, {how} than {bound} an hour"

    def _alert(self, incident: Incident, now_unix_ms: int) -> Alert:
        unix_ms = now_unix_ms if incident.unix_ms is None else incident.unix_ms
        return Alert(
            f"{self.unit}/{incident.kind}/{incident.event}", self.unit, incident.kind,
            incident.event, min(incident.shoe or 0, _LARGEST), min(incident.round or 0, _LARGEST),
            min(unix_ms, _LARGEST), incident.detail,
        )  # fmt: skip
