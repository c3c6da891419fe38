"""A round as the API gives it."""

from datetime import tzinfo
from typing import Any

from sabot.floor.rounds.round_view import RoundEvent, RoundView
from sabot.reports.table_time import iso_of


def json_of(view: RoundView, zone: tzinfo, *, records: bool) -> dict[str, Any]:
    """A round as the API gives it; with `records` also the bytes and MACs of its events."""
    return {
        "unit": view.unit,
        "table": view.table,
        "shoe": view.shoe,
        "round": view.round,
        "state": view.state,
        "first_event": view.first_event,
        "last_event": view.last_event,
        "begun": iso_of(view.begun_unix_ms, zone),
        "ended": iso_of(view.ended_unix_ms, zone),
        "dealt": None if view.dealt is None else view.dealt.as_json(),
        "face_down": dict(view.face_down),
        "decisions": [
            {"event": e.event, "who": e.who, "what": e.what, "why": e.why, "clause": e.clause}
            for e in view.decisions
        ],
        "wagers": [
            {"wager": e.title, "outcome": e.outcome, "pays_to_one": e.pays_to_one,
             "prize": e.prize, "clause": e.clause}
            for e in view.verdicts
        ],
        "proofs": [{"title": e.title, "state": e.state, "text": e.text} for e in view.proofs],
        "events": [_event(each, zone, records=records) for each in view.events],
        "withheld_events": view.withheld,
        "incidents": [each.as_json(zone) for each in view.incidents],
        "video": [
            {"what": e.what, "begin": iso_of(e.begin_unix_ms, zone),
             "end": iso_of(e.end_unix_ms, zone)}
            for e in view.video
        ],
        "rule_card": None if view.card is None else {
            "name": view.card.name, "title": view.card.title, "source": view.card.source,
            "sha256": view.card.sha256,
            "sections": [
                {"title": each.title, "columns": each.columns, "rows": each.rows}
                for each in view.card.sections
            ],
        },
    }  # fmt: skip


def _event(each: RoundEvent, zone: tzinfo, *, records: bool) -> dict[str, Any]:
    listed = {
        "event": each.number,
        "kind": each.kind,
        "time": iso_of(each.unix_ms, zone),
        "what": each.words,
        "mac_fits": each.fits,
    }
    return listed | ({"record": each.record.hex(), "mac": each.mac.hex()} if records else {})
