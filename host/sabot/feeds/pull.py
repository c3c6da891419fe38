"""Answers a receiver that asks for rounds that it lacks: GET /feeds/NAME/rounds?unit=&after=

They are made of the log, page by page, and are the same messages as those that are sent.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from urllib.parse import urlencode

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sabot.errors import SabotError
from sabot.feeds.config import Feed
from sabot.feeds.message import BATCH_TYPE, ROUNDS, Message, Position
from sabot.feeds.outbox import END
from sabot.feeds.unit_messages import Context, messages_between
from sabot.log.reading.remainder import shoe_in_play
from sabot.numbers import whole

PAGE = 200
"""Rounds in one answer: about 120 KB."""
_MOST_EVENTS = 20_000
"""Events that are looked through for one answer: a feed may have the rounds of few of them."""
_AT_ONCE = 2
_BEARER = "bearer "


def make_app(feeds: Sequence[Feed], context: Context) -> Starlette:
    """The application that answers for those of the feeds that have a token."""
    return Starlette(routes=[Route("/feeds/{name}/rounds", _Rounds(feeds, context).answer)])


class _Rounds:
    """Answers requests."""

    def __init__(self, feeds: Sequence[Feed], context: Context) -> None:
        self._feeds: Mapping[str, Feed] = {each.name: each for each in feeds if each.token}
        self._context = context
        self._limiter: CapacityLimiter | None = None

    async def answer(self, request: Request) -> Response:
        """The rounds that come after event `after` of `unit`: those of the first page."""
        feed = self._feeds.get(request.path_params["name"])
        if not _is_token(feed, request.headers.get("authorization", "")):
            return _problem(401, "name the feed and its token", {"www-authenticate": "Bearer"})
        assert feed is not None
        unit = request.query_params.get("unit")
        after = whole(request.query_params.get("after", "0"))
        if ROUNDS not in feed.what:
            return _problem(404, "this feed has no rounds")
        if unit is None or after is None:
            return _problem(400, "say unit=NAME&after=NUMBER, the number in the last id")
        if not feed.wants_unit(unit):
            return _problem(404, "this feed does not have this unit")
        if self._limiter is None:
            self._limiter = CapacityLimiter(_AT_ONCE)
        try:
            found = await to_thread.run_sync(self._found, feed, unit, after, limiter=self._limiter)
        except SabotError:
            return _problem(503, "the log cannot be read now; try again", {"retry-after": "30"})
        page, next_after = found
        headers = {}
        if next_after is not None:
            query = urlencode({"unit": unit, "after": next_after})
            headers["link"] = f'</feeds/{feed.name}/rounds?{query}>; rel="next"'
        body = b"[" + b",".join(each.body for each in page) + b"]"
        return Response(body, media_type=BATCH_TYPE, headers=headers)

    def _found(self, feed: Feed, unit: str, after: int) -> tuple[list[Message], int | None]:
        """One page, and after which event the next one begins; None if there is nothing more yet. A
        round that ended up to event `after` and was shown later has come by now. Those of a shoe of
        cards in play are given only by a feed that sends them."""
        context = self._context
        newest = context.store.last_number(unit)
        in_play = None if feed.in_play else shoe_in_play(context.store, unit)
        if in_play is not None:
            newest = min(newest, in_play.first_event - 1)
        at_once = replace(feed, in_play=True)
        last = min(after + _MOST_EVENTS, newest)
        made = messages_between(context, unit, Position(after, END), last, with_incidents=False)
        wanted = (each for each in made if each.what == ROUNDS and at_once.wants(each))
        page = [*islice(wanted, PAGE)]
        if len(page) == PAGE:
            return page, _number(page[-1])
        return page, last if last < newest else None


def _number(message: Message) -> int:
    return int(message.id.rpartition("/")[2])


def _is_token(feed: Feed | None, header: str) -> bool:
    """Whether a request has the feed's token. It takes as long for a feed that there is not."""
    scheme, given = header[: len(_BEARER)], header[len(_BEARER) :]
    wanted = "" if feed is None or feed.token is None else feed.token
    same = hmac.compare_digest(
        hashlib.sha256(given.encode(errors="surrogateescape")).digest(),
        hashlib.sha256(wanted.encode()).digest(),
    )
    return same and bool(wanted) and scheme.lower() == _BEARER


def _problem(code: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    body = {"status": code, "detail": detail}
    return JSONResponse(body, code, headers, media_type="application/problem+json")
