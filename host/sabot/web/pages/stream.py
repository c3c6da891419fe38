"""All that the open pages of a browser show, in one feed.

A browser has only six connections to a server, so its pages share this feed (static/hub.js). Each
of its parts is the path of a page's own feed, with the id of what the page has; each is served only
to those who may have that feed.
"""

import logging
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from sabot.errors import SabotError
from sabot.floor.live import Floor
from sabot.text import printable
from sabot.web.access import PUBLIC, Guarded, Visit, browser_of
from sabot.web.feed import FeedResponse, Feeds, Live
from sabot.web.sources import Changed, Source

_MOST_PARTS = 200
_LOG = logging.getLogger("uvicorn.error")  # the server reports what it gets (web/server.py)


def _stream(visit: Visit) -> Response:
    asked = visit.request.query_params
    browser, paths, have = asked.get("browser", ""), asked.getlist("of"), asked.getlist("after")
    if len(paths) > _MOST_PARTS or len(paths) != len(have):
        raise HTTPException(400, f"ask for at most {_MOST_PARTS} parts, each `of` with its `after`")
    if browser and browser != browser_of(visit):  # its pages are of a session that has ended
        raise HTTPException(401, "sign in first")
    feeds: Feeds = visit.request.app.state.feeds
    parts, refused = dict[str, Source](), dict[str, int]()
    for path in paths:
        try:
            parts[path] = _source_of(visit, path)
        except HTTPException as error:
            refused[path] = error.status_code
    versions = {path: feeds.version_of(after) for path, after in zip(paths, have, strict=True)}
    return FeedResponse(visit, Together(visit.services.floor, parts, versions, refused))


def _source_of(visit: Visit, path: str) -> Source:
    """What the feed at this path sends to this visitor. Raises HTTPException."""
    parsed = urlsplit(path)
    scope = {
        **visit.request.scope, "path": parsed.path, "query_string": parsed.query.encode(),
        "method": "GET",
    }  # fmt: skip
    for route in visit.request.app.routes:
        match, found = route.matches(scope)
        if match is Match.FULL and isinstance(route, Live):
            if not visit.may(route.right):
                raise HTTPException(401 if visit.user is None else 403)
            request = Request({**scope, **found})
            return route.source_of(Visit(request, visit.services, visit.user, visit.token, {}))
        if match is Match.FULL:
            break
    raise HTTPException(404)


class Together:
    """Several sources, each with the version of it that its page has. At first it says which could
    not be had, with the status of the answer."""

    def __init__(
        self,
        floor: Floor,
        parts: Mapping[str, Source],
        versions: Mapping[str, int | None],
        refused: Mapping[str, int],
    ) -> None:
        self._floor = floor
        self._parts, self._versions, self._refused = dict(parts), dict(versions), dict(refused)

    def due(self) -> bool:
        """As `Source`."""
        return bool(self._refused) or any(part.due() for part in self._parts.values())

    def since(self, version: int | None) -> tuple[int, Changed]:
        """As `Source`. Each part has its own version; the one that is returned holds for all."""
        now = self._floor.version  # first: what changes meanwhile comes once more
        changed: dict[str, Changed] = {}
        for path, part in [*self._parts.items()]:
            if part.due() and (of_part := self._since(path, part)):
                changed[path] = of_part
        refused, self._refused = self._refused, {}
        found: Changed = {"pages": changed} if changed else {}
        return now, {**found, **({"refused": refused} if refused else {})}

    def _since(self, path: str, part: Source) -> Changed:
        """What has changed of one part. One with a fault ends, and the others go on."""
        try:
            self._versions[path], changed = part.since(self._versions[path])
        except SabotError:
            raise
        except Exception:
            _LOG.exception("%s: the feed of a page has a fault", printable(path))
            del self._parts[path]
            self._refused[path] = 500
            return {}
        return changed


ROUTES = [Guarded("/stream", _stream, PUBLIC)]
