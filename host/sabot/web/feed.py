"""Server-sent events: what has changed on a page, as soon as it has.

Each feed has a *source*, which says what a page must show that has what there was at a version of
the floor. So nothing waits in a queue for a page: one that is slow, or comes back after an hour,
gets what has changed since, once. The id of an event is "RUN-VERSION". A page that comes back with
the id of another run of the server, or with none, gets everything.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from secrets import token_hex
from time import monotonic, time_ns
from typing import Any

import anyio
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sabot.errors import SabotError
from sabot.floor.live import Floor
from sabot.web.access import Visit

Source = Callable[[int | None], tuple[int, Mapping[str, Any]]]
"""Gets the version that a page has, None for a page that has nothing; returns the version now, and
what has changed by name; nothing if it is empty. Called in a thread of its own."""

_BATCH_S = 0.04
"""Changes within this time are sent together."""
_BEAT_S = 10.0
"""After this time without a change a page gets an event all the same, so that it knows that it
is connected; and the session is checked."""
_SLOWEST_S = 20.0
"""A client that takes no bytes for so long is dropped."""
_MOST_FEEDS = 500
_RETRY_MS = 1000


class Feeds:
    """The open feeds of a server. All but `start` and `notify` is for its event loop."""

    def __init__(self, floor: Floor) -> None:
        self.run = token_hex(6)
        """Part of all ids: another run of the server counts its versions again."""
        self._floor = floor
        self._waiting: set[asyncio.Event] = set()
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
        for each in self._waiting:
            each.set()

    async def serve(self, feed: "Feed", send: Callable[[bytes], Awaitable[None]]) -> None:
        """Send events until the session has ended or the server closes."""
        changed = asyncio.Event()
        self._waiting.add(changed)
        version, check_s = feed.version, monotonic() + _BEAT_S
        try:
            await send(f"retry: {_RETRY_MS}\n\n".encode())
            while not self._closed:
                changed.clear()
                now, payload = await anyio.to_thread.run_sync(feed.source, version)
                if payload or version is None:
                    await send(_event(self.id_of(now), payload))
                version = now
                beat = False
                try:
                    await asyncio.wait_for(changed.wait(), _BEAT_S)
                    await asyncio.sleep(_BATCH_S)
                except TimeoutError:
                    beat = True
                if monotonic() >= check_s:
                    check_s = monotonic() + _BEAT_S
                    if not await anyio.to_thread.run_sync(feed.lasts):
                        await send(b"event: ended\ndata: {}\n\n")
                        return
                if beat:
                    await send(_event(self.id_of(version), {}))
        finally:
            self._waiting.discard(changed)

    @property
    def full(self) -> bool:
        """Whether no more feeds can be served."""
        return self._closed or len(self._waiting) >= _MOST_FEEDS


def _event(event_id: str, payload: Mapping[str, Any]) -> bytes:
    data = json.dumps({**payload, "now": time_ns() // 1_000_000}, ensure_ascii=False)
    return f"id: {event_id}\ndata: {data}\n\n".encode()


@dataclass(frozen=True, slots=True)
class Feed:
    """One page's feed."""

    source: Source
    version: int | None
    """What the page has; None for nothing."""
    lasts: Callable[[], bool]
    """Whether the session still lasts. Called in a thread of its own."""


class Parts:
    """A source of the parts of a page, by the id of their element: those that look different than
    this feed has sent them. `render` is called only if `key` is another one than before."""

    def __init__(
        self, floor: Floor, key: Callable[[], object], render: Callable[[], Mapping[str, str]]
    ) -> None:
        self._floor, self._key, self._render = floor, key, render
        self._rendered: object = None
        self._sent: dict[str, str] = {}

    def __call__(self, before: int | None) -> tuple[int, Mapping[str, Any]]:
        """As `Source`."""
        version, key = self._floor.version, self._key()
        if key == self._rendered or version == before:
            return version, {}
        parts = {id_: html for id_, html in self._render().items() if self._sent.get(id_) != html}
        self._rendered = key
        self._sent |= parts
        return version, {"parts": parts} if parts else {}


class _WithAlerts:
    """A source that says how many alerts are open too, for those who may know it."""

    def __init__(self, floor: Floor, source: Source) -> None:
        self._floor, self._source = floor, source
        self._said: tuple[int, int] | None = None

    def __call__(self, before: int | None) -> tuple[int, Mapping[str, Any]]:
        """As `Source`."""
        version, changed = self._source(before)
        still_open = self._floor.alerts.open
        newest = still_open[0].number if still_open else 0
        if (len(still_open), newest) != self._said:
            self._said = len(still_open), newest
            changed = {**changed, "alerts": {"open": len(still_open), "newest": newest}}
        return version, changed


class FeedResponse(Response):
    """Server-sent events for a visitor."""

    media_type = "text/event-stream"

    def __init__(self, visit: Visit, source: Source) -> None:
        super().__init__(headers={"cache-control": "no-store"})
        del self.headers["content-length"]
        feeds: Feeds = visit.request.app.state.feeds
        if feeds.full:
            raise HTTPException(503, "too many pages are open")
        before = visit.request.headers.get("last-event-id")
        before = before or visit.request.query_params.get("after", "")
        self._feeds = feeds
        if visit.may("alerts"):
            source = _WithAlerts(visit.services.floor, source)
        self._feed = Feed(source, feeds.version_of(before), lambda: _lasts(visit))

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
            await self._feeds.serve(self._feed, send_some)
        except (_TooSlow, SabotError):
            return False
        return True


class _TooSlow(Exception):
    """A client takes no bytes."""


async def _left(receive: Receive) -> None:
    """Wait until the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _lasts(visit: Visit) -> bool:
    """Whether the visitor may still have what the feed shows: an open page is a page in use."""
    return not visit.token or visit.services.desk.user_of(visit.token) == visit.user
