"""The players' boards: the roads and the last result of a table, for a monitor beside it.

A board needs no signing in, and has only what everyone at the table has seen: rounds that have
ended. Neither a state of the shoe, nor an alert, nor a unit is on it or in its feed.
"""

from collections.abc import Mapping

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from sabot.floor.live import Floor
from sabot.floor.table import Table
from sabot.floor.wall import natural
from sabot.log.families.boxes import BlackjackRound
from sabot.log.rounds import Round
from sabot.reports.drawn_roads import BOARD, MARKS, roads_of, totals_of
from sabot.reports.roads import outcomes_of
from sabot.web.access import PUBLIC, Guarded, Visit
from sabot.web.feed import Live
from sabot.web.rendering import beat_of, html_of, page
from sabot.web.sources import Parts, Source

_LAST = 40


def _boards(visit: Visit) -> Response:
    names = {tile.table.name for tile in visit.services.floor.tiles()} - {""}
    return page(visit, "boards.html", {"names": sorted(names, key=natural)})


def _board(visit: Visit) -> Response:
    name = visit.request.path_params["table"]
    beat = beat_of(visit)  # first: what is shown is at least so new
    board = Markup(_parts(_table_of(visit.services.floor, name))["board"])
    return HTMLResponse(html_of("board.html", name=name, board=board, beat=beat))


def _live(visit: Visit) -> Source:
    name, floor = visit.request.path_params["table"], visit.services.floor
    _table_of(floor, name)

    def key() -> object:
        table = _newest(floor, name)
        return None if table is None else (table.unit, table.family, table.shoe, table.rounds)

    def render() -> Mapping[str, str]:
        table = _newest(floor, name)
        return {} if table is None else _parts(table)

    return Parts(floor, key, render)


def _table_of(floor: Floor, name: str) -> Table:
    """The table of this name. Raises HTTPException."""
    table = _newest(floor, name)
    if table is None:
        done, total = floor.loaded
        if done < total:
            raise HTTPException(503, "the tables are still loaded; try again in a moment")
        raise HTTPException(404, "there is no such table")
    return table


def _newest(floor: Floor, name: str) -> Table | None:
    """The table of this name; if several units have stood there, the one that dealt last."""
    there = [tile.table for tile in floor.tiles() if name and tile.table.name == name]
    return max(there, key=lambda table: table.last_unix_ms or 0, default=None)


def _parts(table: Table) -> dict[str, str]:
    rounds = [each for each in table.rounds if isinstance(each, Round)]
    last = table.rounds[-1] if table.rounds else None
    outcomes = outcomes_of(rounds)
    marks = sorted({hit for each in outcomes for hit in each.hits if hit in MARKS})
    shown = {
        "game": table.game,
        "last": last,
        "winner": last.winner if isinstance(last, Round) and not last.void else None,
        "family": table.family,
        "roads": roads_of(outcomes, BOARD) if table.family in ("baccarat", "") else None,
        "totals": totals_of(outcomes),
        "legend": [(MARKS[hit], hit.replace("_", " ")) for hit in marks],
        "dealers": [
            "void" if each.void else "bust" if (each.dealer_total or 0) > 21 else each.dealer_total
            for each in table.rounds[-_LAST:]
            if isinstance(each, BlackjackRound)
        ],
    }
    return {"board": html_of("board_parts.html", **shown)}


ROUTES = [
    Guarded("/boards", _boards, "boards"),
    Live("/board/{table:path}/live", _live, PUBLIC),
    Guarded("/board/{table:path}", _board, PUBLIC),
]
