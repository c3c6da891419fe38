"""The tiles of the wall as HTML, each made once for all pages that show it."""

from markupsafe import Markup

from sabot.floor.wall import Tile
from sabot.web.rendering import html_of
from sabot.web.tile_view import points, view_of

_Look = tuple[int, str, int]
"""All that a tile's look depends on: the version of the table, its need, its pace."""


class TilePictures:
    """Thread-safe: two threads may make the same tile, which does no harm."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, bool, bool], tuple[_Look, Markup]] = {}

    def of(self, tile: Tile, now_unix_ms: int, *, linked: bool, cards: bool) -> Markup:
        """A tile at this time; `linked` to the table's page for those who may open it, with `cards`
        for those who may see rounds."""
        table = tile.table
        key = table.unit, linked, cards
        look = (tile.version, tile.need(now_unix_ms), table.rounds_an_hour(now_unix_ms))
        made = self._made.get(key)
        if made is None or made[0] != look:
            view = view_of(tile, now_unix_ms, cards=cards)
            html = Markup(html_of("tile.html", t=view, linked=linked, points=points))
            made = self._made[key] = look, html
        return made[1]
