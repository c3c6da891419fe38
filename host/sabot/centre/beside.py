"""What goes to the centre beside the records: games, what the site has, when it had its shoes."""

import hashlib
from collections.abc import Mapping, Sequence

from sabot.centre.link import Centre
from sabot.centre.site_log import SiteLog
from sabot.centre.state import State, Unit
from sabot.log.presence import Span

_MOST_SPANS = 20_000  # in one call
_NOW_MS = 60_000
"""Presence that ended earlier is sent at its time, with all that was not sent."""


class Beside:
    """Sends it over one connection. Raises SiteTrouble; SabotError if the connection is lost."""

    def __init__(self, log: SiteLog, centre: Centre, state: State) -> None:
        self._log = log
        self._centre = centre
        self._state = state
        self._games: set[bytes] = set()
        """SHA-256 of the game documents that were sent."""

    def send_games(self) -> None:
        """Send the game documents that were not sent on this connection."""
        new = {hashlib.sha256(document).digest(): document for document in self._log.games()}
        new = {sha256: new[sha256] for sha256 in new.keys() - self._games}
        if new:
            self._centre.keep_games(list(new.values()))
            self._games |= new.keys()

    def send_checkpoints(self, units: Mapping[str, Unit]) -> None:
        """Say of each unit that has gone on how far the log has it."""
        known = []
        for unit, here in units.items():
            if here.going and here.mac and here.number not in (0, here.said):
                if here.number <= self._log.newest.get(unit, 0):
                    records = self.records_up_to(unit, here.number)
                    known.append((unit, here.number, here.mac, records))
                here.said = here.number
        if known:
            self._centre.checkpoints(known)

    def records_up_to(self, unit: str, number: int) -> int:
        """How many events of a unit the log has had up to one."""
        event, count = self._state.counts.get(unit, (0, 0))
        if not 0 < event <= number:
            count = self._log.records_up_to(unit, number)
        else:
            count += self._log.records_within(unit, event + 1, number)
        self._state.counts[unit] = number, count
        return count

    def records_with(self, unit: str, after: int, more: int, number: int) -> int:
        """As `records_up_to` event `number`, which is the last of `more` records that follow event
        `after` in the log: without counting again what was counted."""
        event, count = self._state.counts.get(unit, (0, 0))
        if event != after:
            return self.records_up_to(unit, number)
        self._state.counts[unit] = number, count + more
        return count + more

    def forget_count(self, unit: str) -> None:
        """Count the records of a unit again the next time."""
        self._state.counts[unit] = -1, 0

    def send_presence(self, units: Mapping[str, Unit]) -> None:
        """Say when the log had its shoes, as far as that was not said."""
        spans: list[Span] = []
        with self._log.moment():
            for unit, here in units.items():
                spans += self._log.presence(unit) if here.going else []
        self._say_presence(spans)

    def send_now(self, units: Mapping[str, Unit], now_unix_ms: int) -> None:
        """Say which shoes the log has now, and of which the events have stopped: a shoe of which a
        log says nothing for a few seconds is shown as one that no log has."""
        spans = self._log.presence_since(now_unix_ms - _NOW_MS)
        self._say_presence([span for span in spans if _goes(units, span.unit)])
        flows = {unit: flow for unit, flow in self._log.flows().items() if _goes(units, unit)}
        sent = self._state.flows
        # The centre needs no figures of shoes whose events come. It still gets those of each shoe
        # once, because an earlier run may have sent it that the events had stopped.
        new = [
            flow
            for unit, flow in flows.items()
            if flow != sent.get(unit) and (flow.stopped or unit not in sent or sent[unit].stopped)
        ]
        if new:
            self._centre.keep_flows(new)
            sent.update({flow.unit: flow for flow in new})

    def _say_presence(self, found: Sequence[Span]) -> None:
        sent_to = self._state.spans
        spans = [span for span in found if span.end_unix_ms > sent_to.get(span.unit, -1)]
        for at in range(0, len(spans), _MOST_SPANS):
            self._centre.keep_presence(spans[at : at + _MOST_SPANS])
        for span in spans:
            known = self._state.spans.get(span.unit, -1)
            self._state.spans[span.unit] = max(known, span.end_unix_ms)


def _goes(units: Mapping[str, Unit], name: str) -> bool:
    """Whether what the log has of a unit is sent."""
    unit = units.get(name)
    return unit is not None and unit.going
