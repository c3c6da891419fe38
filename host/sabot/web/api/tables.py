"""The wall and the tables as JSON, and as a stream of what changes."""

import time
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from sabot.floor.dealt_cards import DealtCards
from sabot.floor.live import Floor
from sabot.floor.table import STATES
from sabot.floor.wall import NEEDS, Tile, by_need
from sabot.log.boards import unit_of
from sabot.log.rounds import Round
from sabot.reports.derived_roads import DerivedCell, big_eye_boy, cockroach_pig, small_road
from sabot.reports.roads import Outcome, bead_plate, big_road, outcomes_of
from sabot.web.access import Visit
from sabot.web.api.operations import (
    FLAG,
    NUMBER,
    TEXT,
    Operation,
    Schema,
    event,
    list_of,
    named,
    optional,
    record,
)
from sabot.web.feed import FeedResponse
from sabot.web.pages.table import counts_of, tile_of
from sabot.web.sources import Changed

_DEALT: Schema = {
    "type": "object",
    "description": "As `sabot rounds --json` prints it; with `family` if it is not of baccarat.",
    "properties": {"unit": TEXT, "shoe": NUMBER, "round": NUMBER},
    "required": ["unit", "shoe", "round"],
}
_TILE: dict[str, Schema] = {
    "table": TEXT,
    "unit": TEXT,
    "game": TEXT,
    "need": {"enum": list(NEEDS)},
    "state": {"enum": list(STATES)},
    "error": TEXT,
    "cut_card": FLAG,
    "lid_open": FLAG,
    "key_on": FLAG,
    "service_on": FLAG,
    "shoe": NUMBER,
    "round": NUMBER,
    "rounds": NUMBER,
    "winners": list_of(TEXT),
    "rounds_an_hour": NUMBER,
    "without_log_s": NUMBER,
    "last_event": NUMBER,
    "board_number": NUMBER,
    "open_alerts": NUMBER,
    "open_round": optional(named("Dealt")),
}
_CELL = record(column=NUMBER, row=NUMBER, round=NUMBER, mark=TEXT)
SCHEMAS: dict[str, Schema] = {
    "Dealt": _DEALT,
    "Tile": record(**_TILE),
    "Roads": record(
        bead_plate=list_of(_CELL),
        big_road=list_of(record(column=NUMBER, row=NUMBER, round=NUMBER, mark=TEXT, ties=NUMBER)),
        big_eye_boy=list_of(_CELL),
        small_road=list_of(_CELL),
        cockroach_pig=list_of(_CELL),
    ),
    "Counts": record(
        shoe=NUMBER,
        ended=FLAG,
        decks=optional(NUMBER),
        face_down=NUMBER,
        not_understood=optional(NUMBER),
        cards={"type": "object", "additionalProperties": NUMBER},
    ),
    "Table": record(
        **{**_TILE, "rounds": list_of(named("Dealt"))},
        roads=named("Roads"),
        counts=optional(named("Counts")),
    ),
    "Change": event(tables=list_of(named("Tile")), units=list_of(TEXT), all=FLAG, problem=TEXT),
}


def tile_json(tile: Tile) -> dict[str, Any]:
    """A table of the wall."""
    open_round = tile.table.open_round
    return tile.as_json(_now_unix_ms()) | {
        "open_alerts": len(tile.open_alerts),
        "open_round": None if open_round is None else open_round.as_json(),
    }


def _wall(visit: Visit) -> Mapping[str, Any]:
    floor = visit.services.floor
    version, tiles = floor.version, by_need(floor.tiles(), _now_unix_ms())
    return {
        "id": visit.request.app.state.feeds.id_of(version),
        "loaded": floor.loaded[0],
        "units": floor.loaded[1],
        "problem": floor.problem,
        "tables": [tile_json(tile) for tile in tiles],
    }


def _table(visit: Visit) -> Mapping[str, Any]:
    tile = tile_of(visit, visit.request.path_params["unit"])
    rounds = tile.table.rounds
    outcomes = outcomes_of(each for each in rounds if isinstance(each, Round))
    dealt = counts_of(visit, tile)
    return {
        **tile_json(tile),
        "rounds": [each.as_json() for each in rounds],
        "roads": _roads(outcomes),
        "counts": None if dealt is None else _counts(dealt),
    }


def _live(visit: Visit) -> Response:
    return FeedResponse(visit, _Tables(visit.services.floor))


class _Tables:
    """The tables that have changed."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._version: int | None = None

    def due(self) -> bool:
        """As `Source`."""
        return self._floor.version != self._version

    def since(self, version: int | None) -> tuple[int, Changed]:
        """As `Source`."""
        floor = self._floor
        now = self._version = floor.version
        if now == version:
            return now, {}
        tiles = floor.tiles() if version is None else floor.changed(version)
        return now, {
            "tables": [tile_json(tile) for tile in tiles],
            "units": sorted(unit_of(tile.table.unit) for tile in floor.tiles()),
            "all": version is None,
            "problem": floor.problem,
        }


def _roads(outcomes: list[Outcome]) -> Mapping[str, Any]:
    beads = [
        {
            "column": bead.column,
            "row": bead.row,
            "round": bead.outcome.round,
            "mark": bead.outcome.winner,
        }
        for bead in bead_plate(outcomes)
    ]
    big = [
        {
            "column": cell.column,
            "row": cell.row,
            "round": cell.outcome.round if cell.outcome else 0,
            "mark": cell.outcome.winner if cell.outcome else "",
            "ties": cell.ties,
        }
        for cell in big_road(outcomes)
    ]
    return {
        "bead_plate": beads,
        "big_road": big,
        "big_eye_boy": _derived(big_eye_boy(outcomes)),
        "small_road": _derived(small_road(outcomes)),
        "cockroach_pig": _derived(cockroach_pig(outcomes)),
    }


def _derived(cells: list[DerivedCell]) -> list[Mapping[str, Any]]:
    return [
        {"column": cell.column, "row": cell.row, "round": cell.round, "mark": cell.mark.value}
        for cell in cells
    ]


def _counts(dealt: DealtCards) -> Mapping[str, Any]:
    return {
        "shoe": dealt.shoe,
        "ended": dealt.ended,
        "decks": dealt.decks,
        "face_down": dealt.face_down,
        "not_understood": dealt.not_understood,
        "cards": dict(sorted(dealt.counts.items())),
    }


def _now_unix_ms() -> int:
    return time.time_ns() // 1_000_000


OPERATIONS = [
    Operation(
        "GET",
        "/api/tables",
        _wall,
        "wall",
        "All tables as they are now, those that need a look first",
        record(id=TEXT, loaded=NUMBER, units=NUMBER, problem=TEXT, tables=list_of(named("Tile"))),
    ),
    Operation(
        "GET",
        "/api/tables/{unit}",
        _table,
        "table",
        "One table: its rounds, its roads, and the counts of its cards as far as the role may see",
        named("Table"),
    ),
    Operation(
        "GET",
        "/api/live",
        _live,
        "wall",
        "The tables that change, as they change",
        named("Change"),
        query={"after": "the id of the last event, or of /api/tables, that the client has"},
        stream=True,
    ),
]
