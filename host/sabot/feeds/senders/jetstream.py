"""Publishes messages to NATS JetStream, and waits for the server's word that it has each."""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

import nats
from nats.aio.client import Client
from nats.errors import Error, MaxPayloadError, NoRespondersError
from nats.js import JetStreamContext
from nats.js.errors import NoStreamResponseError

from sabot.feeds.config import Feed
from sabot.feeds.message import CONTENT_TYPE, Message
from sabot.feeds.naming import token
from sabot.feeds.senders.sending import CANCELLED, DELIVERED, Outcome, Result, outcomes_of
from sabot.feeds.senders.transport import tls_of, why_not_reached
from sabot.log.boards import unit_of

_WIDTH = 64
_WITHIN_S = 10.0
_LOST = Outcome(Result.FAILED, "the connection is lost")
_T = TypeVar("_T")


class JetStreamSender:
    """Publishes the messages of one feed, each to PREFIX.WHAT.UNIT."""

    width = _WIDTH

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._client: Client | None = None
        self._stream: JetStreamContext | None = None
        self._closed = asyncio.Event()
        self._running: Future[Any] | None = None
        self._loop = asyncio.new_event_loop()
        # It runs all the time: the server asks now and then whether the connection is alive.
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def deliver(self, messages: Sequence[Message]) -> Sequence[Outcome]:
        """As `Sender`."""
        try:
            return self._run(self._deliver(messages))
        except CancelledError:
            return [CANCELLED] * len(messages)

    def cancel(self) -> None:
        """As `Sender`."""
        if (running := self._running) is not None:
            running.cancel()

    def close(self) -> None:
        """As `Sender`."""
        self._run(self._disconnect())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def subject(self, message: Message) -> str:
        """Where a message is published."""
        return f"{self._feed.prefix}.{message.what}.{token(unit_of(message.unit))}"

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        self._running = running = asyncio.run_coroutine_threadsafe(work, self._loop)
        return running.result()

    async def _deliver(self, messages: Sequence[Message]) -> Sequence[Outcome]:
        try:
            async with asyncio.timeout(_WITHIN_S):
                stream = await self._connected()
        except Exception as error:  # of the library, any
            await self._disconnect()
            failed = Outcome(Result.FAILED, _why(error))
            return [failed] * len(messages)
        return await outcomes_of([self._publish(stream, e) for e in messages], self._closed, _LOST)

    async def _publish(self, stream: JetStreamContext, message: Message) -> Outcome:
        headers = {"Nats-Msg-Id": message.id, "Content-Type": CONTENT_TYPE}
        try:
            await stream.publish(
                self.subject(message), message.body, timeout=_WITHIN_S, headers=headers
            )
        except MaxPayloadError:
            return Outcome(Result.REFUSED, "larger than the server takes")
        except (NoStreamResponseError, NoRespondersError):
            why = f"no stream takes {self._feed.prefix}.>; make one, docs/feeds.md says how"
            return Outcome(Result.FAILED, why)
        except Exception as error:
            return Outcome(Result.FAILED, _why(error))
        return DELIVERED

    async def _connected(self) -> JetStreamContext:
        if self._client is not None and self._client.is_connected and self._stream is not None:
            return self._stream
        await self._disconnect()
        feed = self._feed
        self._closed = closed = asyncio.Event()

        is_connecting = True

        async def note_closed() -> None:
            closed.set()

        async def end_try(error: Exception) -> None:
            if is_connecting:  # the library would try until the time is over
                raise error

        is_plain = feed.address.startswith("nats:")
        self._client = await nats.connect(
            feed.address,
            name=f"sabot feed {feed.name}",
            allow_reconnect=False,  # the plan of the feed says when to try again
            connect_timeout=_WITHIN_S,
            error_cb=end_try,
            disconnected_cb=note_closed,
            tls=None if is_plain else tls_of(feed.ca),
            user=feed.user,
            password=feed.password,
        )
        is_connecting = False
        self._stream = self._client.jetstream(timeout=_WITHIN_S)
        return self._stream

    async def _disconnect(self) -> None:
        if self._client is not None:
            with suppress(Exception):
                async with asyncio.timeout(1):
                    await self._client.close()
        self._client, self._stream = None, None


def _why(error: Exception) -> str:
    if isinstance(error, Error):
        return f"the NATS server does not take it ({error or type(error).__name__})"
    return why_not_reached(error)
