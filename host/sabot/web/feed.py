"""Server-sent events: what has changed on a page, as soon as it has.

Each feed has a *source*, which says what a page must show that has what there was at a version of
the floor. So nothing waits in a queue for a page: one that is slow, or comes back after an hour,
gets what has changed since, once. The id of an event is "RUN-VERSION". A page that comes back with
the id of another run of the server, or with none, gets everything.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, tzinfo
from secrets import token_hex
from time import monotonic, time_ns
from typing import Any, TypedDict

import anyio
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sabot.errors import SabotError
from sabot.floor.live import Floor
from sabot.web.access import Guarded, Visit
from sabot.web.sources import Source, WithAlerts

_BATCH_S = 0.04
"""So often at most changes are sent: those that came meanwhile together."""
_BEAT_S = 5.0
"""At least so often a page is told when the log was last looked at: two may be lost before the page
says that it is not live (sabot/silences.py)."""
_CHECK_S = 10.0
"""So often the session is checked."""
_SLOWEST_S = 20.0
"""A client that takes no bytes for so long is dropped."""
_MOST_FEEDS = 600
_MOST_PUBLIC = 400
"""Of these for visitors who have not signed in: players' boards cannot shut out surveillance."""
_MOST_OF_USER = 200
"""And for one user: nor can a board that has signed in."""
_RETRY_MS = 1000

_SendSome = Callable[[bytes], Awaitable[None]]


class Look(TypedDict):
    """The newest look at the log after which all was shown."""

    run: str
    """The run of the server."""
    s: int
    """When it was, in seconds since that run began: it grows while the log is followed."""
    ago_ms: int


class Beat(TypedDict):
    """The server's time, by how many minutes its zone is ahead of UTC, and its newest look."""

    now: int
    zone_min: int
    look: Look


class Feeds:
    """The open feeds of a server. All but `_notify` is for its event loop."""

    def __init__(self, floor: Floor, zone: tzinfo) -> None:
        self.run = token_hex(6)
        """Part of all ids: another run of the server counts its versions again."""
        self._floor, self._zone = floor, zone
        self._begun_s = floor.looked.s
        self._open: dict[FeedResponse, asyncio.Event] = {}
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_listening: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Listen to the floor, from within the event loop."""
        self._loop = asyncio.get_running_loop()
        self._stop_listening = self._floor.listen(self._notify)

    def close(self) -> None:
        """End all feeds at once."""
        self._stop_listening()
        self._closed = True
        self._wake()

    def id_of(self, version: int) -> str:
        """The id of an event."""
        return f"{self.run}-{version}"

    def beat(self) -> Beat:
        """What every event and every page has: how old its picture is."""
        now = time_ns() // 1_000_000
        offset = datetime.fromtimestamp(now // 1000, UTC).astimezone(self._zone).utcoffset()
        return {
            "now": now,
            "zone_min": 0 if offset is None else round(offset.total_seconds() / 60),
            "look": {
                "run": self.run,
                # In whole seconds: how long each look took would show when a shoe recorded
                # something, which a players' board must not.
                "s": int(self._floor.looked.s - self._begun_s),
                "ago_ms": round(1000 * self._floor.look_ago_s),
            },
        }

    def version_of(self, event_id: str) -> int | None:
        """The version in an id; None if it is not of this run."""
        run, _, version = event_id.rpartition("-")
        ours = run == self.run and version.isascii() and version.isdecimal() and len(version) < 20
        return int(version) if ours else None

    def _notify(self, version: int) -> None:
        """Called from the floor's thread."""
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for changed in self._open.values():
            changed.set()

    @property
    def count(self) -> int:
        """How many feeds are open."""
        return len(self._open)

    def full(self, user: str | None) -> bool:
        """Whether no more feeds can be served to a user, or with None to other visitors."""
        like_it = sum(each.user == user for each in [*self._open])
        no_room = like_it >= (_MOST_PUBLIC if user is None else _MOST_OF_USER)
        return self._closed or no_room or len(self._open) >= _MOST_FEEDS

    async def serve(self, feed: "FeedResponse", send: _SendSome) -> None:
        """Send events until the session has ended or the server closes."""
        changed = self._open[feed] = asyncio.Event()
        version, source = feed.version, feed.source
        beat_s, check_s = monotonic() + _BEAT_S, monotonic() + _CHECK_S
        try:
            await send(f"retry: {_RETRY_MS}\n\n".encode())
            while not self._closed:
                changed.clear()
                looked_s = monotonic()
                payload: Mapping[str, Any] = {}
                if source.due():
                    now, payload = await anyio.to_thread.run_sync(source.since, version)
                    version = now
                if payload or monotonic() >= beat_s:
                    id_ = None if feed.user is None or version is None else self.id_of(version)
                    await send(_event(id_, {**payload, **self.beat()}))
                    beat_s = monotonic() + _BEAT_S
                if monotonic() >= check_s:
                    check_s = monotonic() + _CHECK_S
                    if not await anyio.to_thread.run_sync(feed.lasts):
                        await send(b"event: ended\ndata: {}\n\n")
                        return
                next_s = min(beat_s, check_s) - monotonic()
                await _wait(changed, next_s, looked_s + _BATCH_S)
        finally:
            del self._open[feed]


async def _wait(changed: asyncio.Event, most_s: float, until_s: float) -> None:
    """Wait for a change, and then until `until_s`; for `most_s` without one."""
    try:
        await asyncio.wait_for(changed.wait(), max(0.0, most_s))
    except TimeoutError:
        return
    await asyncio.sleep(max(0.0, until_s - monotonic()))


def _event(event_id: str | None, payload: Mapping[str, Any]) -> bytes:
    data = json.dumps(payload, ensure_ascii=False)
    head = "" if event_id is None else f"id: {event_id}\n"
    return f"{head}data: {data}\n\n".encode()


class FeedResponse(Response):
    """Server-sent events for a visitor."""

    media_type = "text/event-stream"

    def __init__(self, visit: Visit, source: Source) -> None:
        super().__init__(headers={"cache-control": "no-store"})
        del self.headers["content-length"]
        self.user = None if visit.user is None else visit.user.name
        self._visit = visit
        self._feeds: Feeds = visit.request.app.state.feeds
        if self._feeds.full(self.user):
            raise HTTPException(503, "too many pages are open")
        before = visit.request.headers.get("last-event-id")
        before = before or visit.request.query_params.get("after", "")
        self.version = self._feeds.version_of(before)
        """What the page has; None for nothing."""
        floor = visit.services.floor
        self.source = WithAlerts(floor, source) if visit.may("alerts") else source

    def lasts(self) -> bool:
        """Whether the visitor may still have what the feed shows. An open page is one in use: its
        session does not end for want of it."""
        visit = self._visit
        return self.user is None or visit.services.desk.user_of(visit.token) == visit.user

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until one side ends."""
        if scope["method"] == "HEAD":
            await super().__call__(scope, receive, send)
            return
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        serving = asyncio.create_task(self._serve(send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait((serving, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            serving.cancel()
        if serving.done() and serving.result():
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _serve(self, send: Send) -> bool:
        """Send events; return whether that came to its end. If not, the connection is closed, and
        the page comes back with the id that it has."""

        async def send_some(some: bytes) -> None:
            sent = send({"type": "http.response.body", "body": some, "more_body": True})
            try:
                await asyncio.wait_for(sent, _SLOWEST_S)
            except TimeoutError:
                raise _TooSlow from None

        try:
            await self._feeds.serve(self, send_some)
        except (_TooSlow, SabotError):
            return False
        return True


class Live(Guarded):
    """The route of what a page shows while it is open. It can be asked for as a feed of its own, or
    as a part of that of a whole browser (pages/stream.py)."""

    def __init__(self, path: str, source_of: Callable[[Visit], Source], right: str) -> None:
        self.source_of = source_of
        super().__init__(path, self._feed, right)

    def _feed(self, visit: Visit) -> Response:
        return FeedResponse(visit, self.source_of(visit))


class _TooSlow(Exception):
    """A client takes no bytes."""


async def _left(receive: Receive) -> None:
    """Wait until the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
