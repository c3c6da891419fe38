"""Rounds and searches as JSON."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Annotated, Any, NotRequired, TypedDict

from starlette.exceptions import HTTPException

from sabot.floor.rounds import index_tables, round_view
from sabot.floor.rounds.index_tables import FoundIncident
from sabot.floor.rounds.proof import STATES
from sabot.floor.rounds.round_view import RoundView
from sabot.floor.rounds.search_line import BadSearch
from sabot.floor.rounds.search_words import in_words
from sabot.log.boards import board_of, unit_of
from sabot.table_time import iso_of
from sabot.web.access import Visit
from sabot.web.api.operations import Open, Operation
from sabot.web.api.tables import Dealt
from sabot.web.pages.round import note_opened, view_of
from sabot.web.pages.search import AT_ONCE, FIELDS, fields_of, query_of

Incident = Annotated[Mapping[str, Any], Open("Incident", "As `sabot incidents --json` prints it.")]


class _Hand(TypedDict):
    name: str
    cards: list[str]


class FoundRound(TypedDict):
    """A round that fits a search."""

    unit: str
    table: str
    shoe: int
    round: int
    family: str
    started: str | None
    ended: str | None
    winner: str | None
    void: str | None
    totals: str
    outcomes: list[str]
    hands: list[_Hand]
    by_hand: int
    sealed: int
    not_understood: int | None
    incidents: list[str]
    first_event: int
    last_event: int
    board_number: int


class Found(TypedDict):
    """What fits a search, and how much of the log is in the index by now."""

    understood: str
    complete: bool
    records_read: int
    records: int
    count: int
    rounds: list[FoundRound]
    incident_count: int
    incidents: list[Incident]


class RoundEvent(TypedDict):
    """With `record` and `mac` for those who have the right `records`."""

    event: int
    kind: str
    time: str | None
    what: str
    mac_fits: bool | None
    record: NotRequired[str]
    mac: NotRequired[str]


class _Decision(TypedDict):
    event: int
    who: str
    what: str
    why: str
    clause: str


class _Wager(TypedDict):
    wager: str
    outcome: str
    pays_to_one: int
    prize: str
    clause: str


class _Proof(TypedDict):
    title: str
    state: Annotated[str, STATES]
    text: str


class _Video(TypedDict):
    what: str
    begin: str | None
    end: str | None


class _Section(TypedDict):
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class _RuleCard(TypedDict):
    name: str
    title: str
    source: str
    sha256: str
    sections: list[_Section]


class Round(TypedDict):
    """A round, why each card of it was due, and its proof."""

    unit: str
    board_number: int
    table: str
    shoe: int
    round: int
    state: Annotated[str, ("open", "ended", "void", "hidden", "unended")]
    first_event: int
    last_event: int
    begun: str | None
    ended: str | None
    dealt: Dealt | None
    face_down: Mapping[str, int]
    decisions: list[_Decision]
    wagers: list[_Wager]
    proofs: list[_Proof]
    events: list[RoundEvent]
    withheld_events: int
    incidents: list[Incident]
    video: list[_Video]
    rule_card: _RuleCard | None


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


def _round(visit: Visit) -> Round:
    view = view_of(visit)
    note_opened(visit, view)
    return json_of(view, visit.services.zone, records=visit.may("records"))


def _search(visit: Visit) -> Found:
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


def _found(found: index_tables.FoundRound, kinds: list[str], zone: tzinfo) -> FoundRound:
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


def json_of(view: RoundView, zone: tzinfo, *, records: bool) -> Round:
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


def _event(each: round_view.RoundEvent, zone: tzinfo, *, records: bool) -> RoundEvent:
    listed: RoundEvent = {
        "event": each.number,
        "kind": each.kind,
        "time": iso_of(each.unix_ms, zone),
        "what": each.words,
        "mac_fits": each.fits,
    }
    if records:
        listed["record"], listed["mac"] = each.record.hex(), each.mac.hex()
    return listed


OPERATIONS = [
    Operation(
        "GET", "/api/search", _search, "search",
        f"Rounds and incidents that fit all of this, the newest first, at most {AT_ONCE}",
        query={name: _MEANT[name] for name in FIELDS} | {"skip": "how many to leave out before"},
    ),
    Operation(
        "GET", "/api/rounds/{unit}/{shoe}/{round}", _round, "round",
        "A round with its proof; that it was opened is noted",
        query={"event": "its first event, if several rounds have these numbers"},
    ),
]  # fmt: skip
