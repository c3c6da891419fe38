"""Search: rounds and incidents by what people type."""

import time
from collections.abc import Mapping
from datetime import tzinfo
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from sabot.floor.rounds.index_tables import FoundRound
from sabot.floor.rounds.indexed_round import BANKER_DREW, PLAYER_DREW
from sabot.floor.rounds.search import Query
from sabot.floor.rounds.search_line import BadSearch, Known, read_fields
from sabot.floor.rounds.search_words import OUTCOMES, in_words
from sabot.log.families.cards import Card
from sabot.notable.kinds import SEARCHED
from sabot.table_time import moment_of, time_of_day
from sabot.web.access import Guarded, Visit
from sabot.web.rendering import page
from sabot_protocol import enums

FIELDS = (
    "words", "day", "from", "to", "table", "unit", "shoe", "round", "cards", "winner", "outcome",
    "incident", "by_hand", "void", "ghost",
)  # fmt: skip
"""The fields of a search, by the name in its address."""
AT_ONCE = 50
_MOST_SKIPPED = 1_000_000
_ORDINARY = ("wins", "loses", "pushes", PLAYER_DREW, BANKER_DREW)  # of many rounds
_MOST_CARDS = 30  # of a round in a list


def _search(visit: Visit) -> Response:
    index, zone = visit.services.index, visit.services.zone
    fields, skip = fields_of(visit)
    shown: dict[str, Any] = {
        "fields": fields,
        "more_fields": any(value for name, value in fields.items() if name != "words"),
        "problem": "",
        "asked": any(fields.values()),
        "tables": index.tables(),
        "units": index.units(),
        "winners": enums.WINNERS,
        "kinds": SEARCHED,
        "groups": _groups(),
        "progress": index.progress,
        "counts": index.counts(),
        "zone": str(zone),
        "rounds": [],
        "incidents": [],
        "understood": "",
        "count": 0,
        "incident_count": 0,
        "before": "",
        "after": "",
        "skip": skip,
        "time_of": lambda unix_ms: "no clock" if unix_ms is None else time_of_day(unix_ms, zone),
        "day_of": lambda unix_ms: _day_of(unix_ms, zone),
        "what": lambda incident: incident.what(zone),
    }
    try:
        query = query_of(visit, fields)
    except BadSearch as error:
        return page(visit, "search.html", shown | {"problem": str(error)}, status=400)
    rounds, count = index.rounds(query, AT_ONCE, skip)
    shown |= {
        "understood": in_words(query, zone),
        "rounds": [
            _row(found, kinds) for found, kinds in zip(rounds, index.kinds_of(rounds), strict=True)
        ],
        "count": count,
    }
    if query.incident is not None and not query.of_play:
        incidents, of = index.incidents(query, AT_ONCE, skip)
        shown |= {"incidents": incidents, "incident_count": of}
    most = max(count, shown["incident_count"])
    shown["before"], shown["after"] = _beside(fields, skip, most)
    return page(visit, "search.html", shown)


def _row(found: FoundRound, kinds: list[str]) -> dict[str, Any]:
    """A round for the page's list. Of hands without a side at most some cards are shown."""
    row, hands, left = found.row, [], _MOST_CARDS
    for name, cards in row.hands_by_name:
        if left > 0:
            hands.append((name, [Card(card) for card in cards]))
        left -= len(cards)
    chips = [each for each in row.outcomes.split() if each in OUTCOMES and each not in _ORDINARY]
    return {"found": found, "row": row, "hands": hands, "more": left < 0, "chips": chips,
            "kinds": kinds}  # fmt: skip


def fields_of(visit: Visit) -> tuple[dict[str, str], int]:
    """The fields of a search, and how many results to leave out before."""
    asked = visit.request.query_params
    skip = asked.get("skip", "")
    number = int(skip) if skip.isascii() and skip.isdecimal() and len(skip) < 8 else 0
    return {name: asked.get(name, "").strip() for name in FIELDS}, min(number, _MOST_SKIPPED)


def query_of(visit: Visit, fields: Mapping[str, str]) -> Query:
    """What these fields ask for. Raises BadSearch."""
    index = visit.services.index
    known = Known(index.tables(), index.units())
    return read_fields(fields, known, visit.services.zone, time.time_ns() // 1_000_000)


def _beside(fields: Mapping[str, str], skip: int, count: int) -> tuple[str, str]:
    """The addresses of the results before and after these; empty for none."""
    given = {name: value for name, value in fields.items() if value}
    before = after = ""
    if skip:
        before = f"/search?{urlencode(given | {'skip': max(0, skip - AT_ONCE)})}"
    if skip + AT_ONCE < count:
        after = f"/search?{urlencode(given | {'skip': skip + AT_ONCE})}"
    return before, after


def _groups() -> dict[str, list[tuple[str, str]]]:
    """The outcomes by their heading."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, outcome in OUTCOMES.items():
        groups.setdefault(outcome.group, []).append((name, outcome.title))
    return groups


def _day_of(unix_ms: int | None, zone: tzinfo) -> str:
    moment = None if unix_ms is None else moment_of(unix_ms, zone)
    return "" if moment is None else f"{moment:%a %Y-%m-%d}"


ROUTES = [Guarded("/search", _search, "search")]
