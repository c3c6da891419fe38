"""The wall: a tile for each table, those that need a look first."""

import time
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from sabot.floor.live import Floor
from sabot.floor.wall import Tile, by_need
from sabot.web.access import Guarded, Visit
from sabot.web.feed import Live
from sabot.web.pictures import plate_grid
from sabot.web.rendering import page
from sabot.web.sources import Changed
from sabot.web.tile_pictures import TilePictures
from sabot.web.tile_view import PLATE_COLUMNS


def _wall(visit: Visit) -> Response:
    if not visit.may("wall"):
        return page(visit, "wall.html")
    floor = visit.services.floor
    version = floor.version  # first: what changes meanwhile comes once more
    now_unix_ms = _now_unix_ms()
    shown = {
        "have": visit.request.app.state.feeds.id_of(version),
        "notice": _notice(floor),
        "plate_grid": plate_grid(PLATE_COLUMNS),
        "tiles": _rendered(visit, by_need(floor.tiles(), now_unix_ms), now_unix_ms),
    }
    return page(visit, "wall.html", shown)


class _Tiles:
    """The tiles that have changed."""

    def __init__(self, visit: Visit) -> None:
        self._visit, self._floor = visit, visit.services.floor
        self._version: int | None = None

    def due(self) -> bool:
        """As `Source`."""
        return self._floor.version != self._version

    def since(self, version: int | None) -> tuple[int, Changed]:
        """As `Source`."""
        floor = self._floor
        now = self._version = floor.version  # first: what changes meanwhile comes once more
        if now == version:
            return now, {}
        tiles = floor.tiles() if version is None else floor.changed(version)
        changed: dict[str, Any] = {
            "tiles": _rendered(self._visit, tiles, _now_unix_ms()),
            "count": len(floor.tiles()),
            "notice": _notice(floor),
        }
        return now, changed | ({"all": True} if version is None else {})


def _rendered(visit: Visit, tiles: Iterable[Tile], now_unix_ms: int) -> list[Markup]:
    pictures: TilePictures = visit.request.app.state.tiles
    linked, cards = visit.may("table"), visit.may("round")
    return [pictures.of(tile, now_unix_ms, linked=linked, cards=cards) for tile in tiles]


def _notice(floor: Floor) -> str:
    """What to know of the whole wall; empty if there is nothing."""
    done, total = floor.loaded
    if floor.problem:
        return f"The log cannot be followed: {floor.problem}"
    if floor.never_came:
        return "; ".join(floor.never_came)
    return f"{done} of {total} tables are loaded." if done < total else ""


def _now_unix_ms() -> int:
    return time.time_ns() // 1_000_000


ROUTES = [Guarded("/", _wall, "wall"), Live("/live", _Tiles, "wall")]
