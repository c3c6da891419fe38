"""A table: its round, its roads, its cards, its pace and its shoe."""

import time
from collections.abc import Mapping

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import Response

from sabot.desk.roster import LONGEST_WORD, TASKS
from sabot.floor.dealt_cards import DealtCards, FaceUp, laid_open, last_dealt_cards
from sabot.floor.wall import Tile
from sabot.log import boards
from sabot.log.families.cards import Card
from sabot.log.families.hands import Hand
from sabot.log.rounds import Dealt, Round, without_cards
from sabot.reports.drawn_roads import MARKS, roads_of, totals_of
from sabot.reports.roads import outcomes_of
from sabot.reports.units import unit_of
from sabot.table_time import time_of_day
from sabot.web.access import Guarded, Visit
from sabot.web.feed import Live
from sabot.web.rendering import html_of, page
from sabot.web.sources import Parts, Source
from sabot.web.tile_view import points, view_of

_LAST_ROUNDS = 12
_LAST_PAIRS = 40
_RANKS = "A23456789TJQK"


def _table(visit: Visit) -> Response:
    unit = visit.request.path_params["unit"]
    version = visit.services.floor.version
    tile = tile_of(visit, unit)
    name, seams = tile.table.unit, visit.services.store.seams()
    shown = {
        "have": visit.request.app.state.feeds.id_of(version),
        "t": view_of(tile, _now_unix_ms(), cards=visit.may("round")),
        "parts": {id_: Markup(html) for id_, html in _parts(visit, tile).items()},
        "health": unit_of(name, visit.services.store) if visit.may("health") else None,
        "on_duty": on_duty(visit, tile.table.name),
        "tasks": TASKS,
        "most": LONGEST_WORD,
        "seams": [seam.text() for seam in seams if seam.unit == boards.unit_of(name)],
    }
    return page(visit, "table.html", shown)


def _live(visit: Visit) -> Source:
    unit, floor = visit.request.path_params["unit"], visit.services.floor
    tile_of(visit, unit)

    def render() -> Mapping[str, str]:
        tile = floor.tile(unit)
        if tile is None:  # what else the page shows stays, so it says that it is old
            return {"part-state": html_of("table/gone.html", problem=floor.problem)}
        return _parts(visit, tile)

    def key() -> object:
        tile = floor.tile(unit)
        return None if tile is None else tile.version

    return Parts(floor, key, render)


def tile_of(visit: Visit, unit: str) -> Tile:
    """The tile of a unit. Raises HTTPException if the log does not have it."""
    floor = visit.services.floor
    tile = floor.tile(unit)
    if tile is None:
        done, total = floor.loaded
        if done < total:
            raise HTTPException(503, "the tables are still loaded; try again in a moment")
        raise HTTPException(404, f"the log has no unit {unit}")
    return tile


def _parts(visit: Visit, tile: Tile) -> dict[str, str]:
    """The parts of the page that change, by the id of their element."""
    table = tile.table
    may_see = visit.may("round")
    view = view_of(tile, _now_unix_ms(), cards=may_see)
    last = table.rounds[: -_LAST_ROUNDS - 1 : -1]
    rounds = [each for each in table.rounds if isinstance(each, Round)]
    outcomes = outcomes_of(rounds)
    marks = sorted({hit for each in outcomes for hit in each.hits if hit in MARKS})
    shown = {
        "t": view,
        "points": points,
        "face_down": _face_down(view.dealt),
        "pace": _pace(tile),
        "roads": roads_of(outcomes) if view.family in ("baccarat", "") else None,
        "totals": totals_of(outcomes),
        "legend": [(MARKS[hit], hit.replace("_", " ")) for hit in marks],
        "rounds": last if may_see else [*map(without_cards, last)],
        "linked": may_see,
        "dealt": counts_of(visit, tile),
        "laid_open": laid_open_of(visit, tile),
        "ranks": _RANKS,
        "order": tile.order,
        "pairs": _pairs(tile) if may_see else [],
        "open_alerts": tile.open_alerts if visit.may("alerts") else (),
        "time_of": lambda unix_ms: _time_of(unix_ms, visit),
    }
    names = ("state", "order", "alerts", "now", "roads", "rounds", "cards")
    return {f"part-{name}": html_of(f"table/{name}.html", **shown) for name in names}


def counts_of(visit: Visit, tile: Tile) -> DealtCards | None:
    """The cards of the last shoe of cards that has ended; None if the visitor may not see rounds.
    Nothing is counted of one in play, for any role."""
    if not visit.may("round"):
        return None
    return last_dealt_cards(visit.services.store, tile.table.unit)


def laid_open_of(visit: Visit, tile: Tile) -> FaceUp | None:
    """What lay face up in the shoe of cards in play; None without one, and for those who may not
    see it."""
    table = tile.table
    if table.phase == "no_cards" or not visit.may("counts"):
        return None
    return laid_open(visit.services.store, table.unit, table.shoe)


def on_duty(visit: Visit, table: str) -> dict[str, str] | None:
    """Who is on duty at a table now, by task; None if the visitor may not see it."""
    if not visit.may("acknowledge"):
        return None
    return visit.services.desk.roster().on(table, _now_unix_ms())


def _pairs(tile: Tile) -> list[tuple[Card, Card]]:
    """The last cards that came beside those of the shoe of cards that they repeat."""
    return [] if tile.order is None else [*tile.order.pairs[-_LAST_PAIRS:]]


def _face_down(dealt: Dealt | None) -> list[int]:
    """How many cards lie face down before each seat of hold'em. They come one at a time."""
    if not isinstance(dealt, Hand):
        return []
    if any(dealt.hands):  # a seat that did not show its cards stays closed
        return [0 if cards or not dealt.sealed else 2 for cards in dealt.hands]
    whole, more = divmod(min(dealt.sealed, 2 * dealt.seats), dealt.seats or 1)
    return [whole + (seat < more) for seat in range(dealt.seats)]


def _pace(tile: Tile) -> list[int]:
    """How many rounds ended in each of the last twelve spans of five minutes, the oldest first."""
    now, spans = _now_unix_ms(), [0] * 12
    for end in tile.table.ends_unix_ms:
        ago = (now - end) // 300_000
        if 0 <= ago < len(spans):
            spans[-1 - ago] += 1
    return spans


def _time_of(unix_ms: int | None, visit: Visit) -> str:
    return "no clock" if unix_ms is None else time_of_day(unix_ms, visit.services.zone)


def _now_unix_ms() -> int:
    return time.time_ns() // 1_000_000


ROUTES = [
    Guarded("/tables/{unit:path}", _table, "table"),
    Live("/live/{unit:path}", _live, "table"),
]
