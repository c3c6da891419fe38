"""Rounds and searches as JSON."""

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

from starlette.exceptions import HTTPException

from sabot.floor.rounds.index_tables import FoundIncident, FoundRound
from sabot.floor.rounds.proof import STATES
from sabot.floor.rounds.round_view import RoundEvent, RoundView
from sabot.floor.rounds.search_line import BadSearch
from sabot.floor.rounds.search_words import in_words
from sabot.log.boards import board_of, unit_of
from sabot.table_time import iso_of
from sabot.web.access import Visit
from sabot.web.api.operations import (
    FLAG,
    NUMBER,
    TEXT,
    Operation,
    Schema,
    list_of,
    named,
    optional,
    record,
)
from sabot.web.pages.round import note_opened, view_of
from sabot.web.pages.search import AT_ONCE, FIELDS, fields_of, query_of

_ANY: Schema = {"type": "object"}
_TEXTS = list_of(TEXT)
_PLACE: dict[str, Schema] = {
    "unit": TEXT,
    "board_number": NUMBER,
    "table": TEXT,
    "shoe": NUMBER,
    "round": NUMBER,
}
SCHEMAS: dict[str, Schema] = {
    "Incident": {**_ANY, "description": "As `sabot incidents --json` prints it."},
    "FoundRound": record(
        **_PLACE, family=TEXT, started=optional(TEXT), ended=optional(TEXT), winner=optional(TEXT),
        void=optional(TEXT), totals=TEXT, outcomes=_TEXTS,
        hands=list_of(record(name=TEXT, cards=_TEXTS)), by_hand=NUMBER, sealed=NUMBER,
        not_understood=optional(NUMBER), incidents=_TEXTS, first_event=NUMBER, last_event=NUMBER,
    ),
    "Found": record(
        understood=TEXT, complete=FLAG, records_read=NUMBER, records=NUMBER, count=NUMBER,
        rounds=list_of(named("FoundRound")), incident_count=NUMBER,
        incidents=list_of(named("Incident")),
    ),
    "RoundEvent": {
        "type": "object",
        "description": "With `record` and `mac` for those who have the right `records`.",
        "properties": {
            "event": NUMBER, "kind": TEXT, "time": optional(TEXT), "what": TEXT,
            "mac_fits": optional(FLAG), "record": TEXT, "mac": TEXT,
        },
        "required": ["event", "kind", "time", "what", "mac_fits"],
        "additionalProperties": False,
    },
    "Round": record(
        **_PLACE, state={"enum": ["open", "ended", "void", "hidden", "unended"]},
        first_event=NUMBER, last_event=NUMBER, begun=optional(TEXT), ended=optional(TEXT),
        dealt=optional(named("Dealt")),
        face_down={"type": "object", "additionalProperties": NUMBER},
        decisions=list_of(record(event=NUMBER, who=TEXT, what=TEXT, why=TEXT, clause=TEXT)),
        wagers=list_of(
            record(wager=TEXT, outcome=TEXT, pays_to_one=NUMBER, prize=TEXT, clause=TEXT)
        ),
        proofs=list_of(record(title=TEXT, state={"enum": list(STATES)}, text=TEXT)),
        events=list_of(named("RoundEvent")), withheld_events=NUMBER,
        incidents=list_of(named("Incident")),
        video=list_of(record(what=TEXT, begin=optional(TEXT), end=optional(TEXT))),
        rule_card=optional(record(
            name=TEXT, title=TEXT, source=TEXT, sha256=TEXT,
            sections=list_of(record(title=TEXT, columns=_TEXTS, rows=list_of(_TEXTS))),
        )),
    ),
}  # fmt: skip

_MEANT = {
    "words": "a line of words, such as: 20:15 to 20:40, Tuesday, table 12, natural",
    "day": "Tuesday, or 2026-11-21",
    "from": "a time of that day, such as 20:15",
    "to": "a time of that day, such as 20:40",
    "table": "the name of a table",
    "unit": "the id of a unit",
    "shoe": "the number of a shoe of cards",
    "round": "the number of a round",
    "cards": "cards in the order in which they were dealt, such as 7H 9D K",
    "winner": "player, banker or tie",
    "outcome": "a hit, a wager that won, or what a hand did, such as natural",
    "incident": "a kind of incident, or any",
    "by_hand": "1: with a card that was entered by hand",
    "void": "1: voided",
    "ghost": "1: a ghost hand",
}


def _round(visit: Visit) -> Mapping[str, Any]:
    view = view_of(visit)
    note_opened(visit, view)
    return json_of(view, visit.services.zone, records=visit.may("records"))


def _search(visit: Visit) -> Mapping[str, Any]:
    index, zone = visit.services.index, visit.services.zone
    fields, skip = fields_of(visit)
    try:
        query = query_of(visit, fields)
    except BadSearch as error:
        raise HTTPException(400, str(error)) from None
    rounds, count = index.rounds(query, AT_ONCE, skip)
    incidents: list[FoundIncident] = []
    of = 0
    if query.incident is not None and not query.of_play:
        incidents, of = index.incidents(query, AT_ONCE, skip)
    progress = index.progress
    return {
        "understood": in_words(query, zone),
        "complete": progress.complete,
        "records_read": progress.done,
        "records": progress.total,
        "count": count,
        "rounds": [
            _found(found, kinds, zone)
            for found, kinds in zip(rounds, index.kinds_of(rounds), strict=True)
        ],
        "incident_count": of,
        "incidents": [
            {"unit": "", "table": each.table} | each.incident.as_json(zone) for each in incidents
        ],
    }


def _found(found: FoundRound, kinds: list[str], zone: tzinfo) -> dict[str, Any]:
    row = found.row
    return {
        "unit": unit_of(found.unit),
        "table": found.table,
        "shoe": row.shoe,
        "round": row.round,
        "family": row.family,
        "started": iso_of(row.started_unix_ms, zone),
        "ended": iso_of(row.ended_unix_ms, zone),
        "winner": row.winner,
        "void": row.void,
        "totals": row.totals,
        "outcomes": row.outcomes.split(),
        "hands": [{"name": name, "cards": cards} for name, cards in row.hands_by_name],
        "by_hand": row.by_hand,
        "sealed": row.sealed,
        "not_understood": row.not_understood,
        "incidents": kinds,
        "first_event": row.first_event,
        "last_event": row.last_event,
        "board_number": board_of(found.unit),
    }


def json_of(view: RoundView, zone: tzinfo, *, records: bool) -> dict[str, Any]:
    """A round as the API gives it; with `records` also the bytes and MACs of its events."""
    return {
        "unit": unit_of(view.unit),
        "board_number": board_of(view.unit),
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


OPERATIONS = [
    Operation(
        "GET", "/api/search", _search, "search",
        f"Rounds and incidents that fit all of this, the newest first, at most {AT_ONCE}",
        named("Found"),
        query={name: _MEANT[name] for name in FIELDS} | {"skip": "how many to leave out before"},
    ),
    Operation(
        "GET", "/api/rounds/{unit}/{shoe}/{round}", _round, "round",
        "A round with its proof; that it was opened is noted", named("Round"),
        query={"event": "its first event, if several rounds have these numbers"},
    ),
]  # fmt: skip
