"""The server's pages as one application."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from sabot.errors import SabotError
from sabot.web import files
from sabot.web.access import API, Guarded, stranger
from sabot.web.api import routes
from sabot.web.feed import Feeds
from sabot.web.headers import HEADERS, Headers
from sabot.web.pages import (
    alerts,
    board,
    integrity,
    search,
    sign_in,
    stream,
    table,
    users,
    views,
    wall,
)
from sabot.web.pages import round as round_page
from sabot.web.rendering import page
from sabot.web.services import Services
from sabot.web.tile_pictures import TilePictures

ROUTES: list[BaseRoute] = [
    *wall.ROUTES,
    *alerts.ROUTES,
    *board.ROUTES,
    *stream.ROUTES,
    *users.ROUTES,
    *views.ROUTES,
    *table.ROUTES,
    *round_page.ROUTES,
    *search.ROUTES,
    *integrity.ROUTES,
    *sign_in.ROUTES,
    *routes.ROUTES,
    *files.ROUTES,
]
"""All routes. Each names the right that it needs."""

_MOST_BYTES = 64 * 1024
"""Of the body of a request: a form has a remark or a password."""

_LEAST_BYTES = 1000
_LEVEL = 6
"""Compressed are all answers but streams and what is packed already; why that gives nothing away is
in docs/decisions/live-pages.md. Level 9 takes nearly twice as long for 8 % less."""

_TITLES = {
    401: "Sign in first",
    403: "Not for your role",
    404: "There is no such page",
    503: "Not now",
}


def make_app(services: Services) -> Starlette:
    """The application. Raises ValueError if a route does not name its right."""
    for route in ROUTES:
        if not isinstance(route, Guarded):
            raise ValueError(f"{route}: not a Guarded route")

    @asynccontextmanager
    async def listening(app: Starlette) -> AsyncIterator[None]:
        feeds.start()
        try:
            yield
        finally:
            feeds.close()

    app = Starlette(
        routes=ROUTES,
        middleware=[
            Middleware(Headers),
            Middleware(GZipMiddleware, minimum_size=_LEAST_BYTES, compresslevel=_LEVEL),
            Middleware(RequestBodyLimitMiddleware, max_body_size=_MOST_BYTES),
        ],
        exception_handlers={HTTPException: _refused, SabotError: _failed, Exception: _fault},
        lifespan=listening,
    )
    feeds = Feeds(services.floor, services.zone)
    app.state.services = services
    app.state.feeds = feeds
    app.state.tiles = TilePictures()
    app.state.threads = {}
    return app


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(request, error.status_code, error.detail, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    visit = getattr(request.state, "visit", None)
    known = visit is not None and visit.user is not None
    detail = str(error) if known else "the log cannot be read or written now; try again later"
    return _error(request, 503, detail, None)


async def _fault(request: Request, error: Exception) -> Response:
    detail = "The server made a mistake. It has said on its own terminal which."
    response = _error(request, 500, detail, None)
    response.headers.update(HEADERS)  # it goes past the middleware that adds them
    return response


def _error(
    request: Request, status: int, detail: str, headers: Mapping[str, str] | None
) -> Response:
    """An answer that says what is wrong, in the form that was asked for."""
    if request.url.path.startswith(API):
        return JSONResponse({"error": detail}, status, headers)
    title = _TITLES.get(status) or HTTPStatus(status).phrase
    shown = {"status": status, "title": title, "detail": detail}
    visit = getattr(request.state, "visit", None)
    response = page(visit or stranger(request), "error.html", shown, status=status)
    response.headers.update(headers or {})
    return response
