"""Makes alerts of what is notable. The desk keeps them until someone acknowledges them."""

from sabot.desk.alerts import Alert
from sabot.notable.incident import Incident
from sabot.notable.kinds import KINDS, Kind

_LARGEST = (1 << 63) - 1  # number that the desk can note


def alert_of(
    kind: Kind, unit: str, event: int | None, shoe: int, round_: int, unix_ms: int, detail: str
) -> Alert:
    """Return the alert of `kind` at `event` of `unit`, or at the time `unix_ms` if no event says
    it. The same kind at the same place is one alert, however often it is found."""
    at = unix_ms if event is None else event
    return Alert(
        f"{unit}/{kind.name}/{at}", unit, kind.name, event, min(shoe, _LARGEST),
        min(round_, _LARGEST), min(unix_ms, _LARGEST), detail,
    )  # fmt: skip


def alert_of_incident(incident: Incident, now_unix_ms: int) -> Alert:
    """Return the alert of an incident; `now_unix_ms` is its time if its own is not known."""
    unix_ms = now_unix_ms if incident.unix_ms is None else incident.unix_ms
    return alert_of(
        KINDS[incident.kind], incident.unit, incident.event, incident.shoe or 0,
        incident.round or 0, unix_ms, incident.detail,
    )  # fmt: skip
