"""Sends messages to a web server: CloudEvents in HTTP's structured mode, signed as Standard
Webhooks 1.0 says.

A request ends within a time, whatever the server does, and little of its answer is read. Redirects
are not followed: only the configured address gets the messages.
"""

import asyncio
import base64
import hashlib
import hmac
import re
import secrets
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import h11

from sabot.feeds.config import Feed
from sabot.feeds.message import CONTENT_TYPE, Message
from sabot.feeds.senders.sending import CANCELLED, DELIVERED, Outcome, Result, outcomes_of
from sabot.feeds.senders.transport import tls_of, why_not_reached
from sabot_firmware import VERSION

_WIDTH = 8
_WITHIN_S = 15.0
_MOST_ANSWER_BYTES = 16 * 1024
_READ_BYTES = 4096
_IDLE_S = 30.0  # a connection that was not used for so long may be closed at its other end
_SECONDS = re.compile(r"\d{1,9}", re.ASCII)
_OF_RECEIVER = (408, 425, 429)
"""With these codes, and those from 500 on, the receiver takes nothing now. With any other one from
300 on it does not want this message."""
_GONE = 410


def signatures(keys: Sequence[bytes], id_: str, timestamp_s: int, body: bytes) -> str:
    """The header `webhook-signature`: a signature with each key."""
    signed = f"{id_}.{timestamp_s}.".encode() + body
    made = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    return " ".join(f"v1,{base64.b64encode(each).decode()}" for each in made)


@dataclass(slots=True)
class _Connection:
    """A connection to the server that can take another request."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    protocol: h11.Connection
    used_s: float


class WebhookSender:
    """Sends the messages of one feed. `now_s` is the time since 1970, for signatures."""

    width = _WIDTH

    def __init__(self, feed: Feed, now_s: Callable[[], float] = time.time) -> None:
        parts = urlsplit(feed.address)
        self._host = parts.hostname or ""
        self._tls = tls_of(feed.ca) if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._tls else 80)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._keys, self._now_s = feed.secrets, now_s
        self._idle: list[_Connection] = []
        self._cancelled = asyncio.Event()
        self._runner = asyncio.Runner()
        self._runner.get_loop()

    def deliver(self, messages: Sequence[Message]) -> Sequence[Outcome]:
        """As `Sender`."""
        return self._runner.run(self._deliver(messages))

    def cancel(self) -> None:
        """As `Sender`."""
        with suppress(RuntimeError):  # it is closed already
            self._runner.get_loop().call_soon_threadsafe(self._cancelled.set)

    def close(self) -> None:
        """As `Sender`."""
        self._runner.run(self._close_idle(float("inf")))
        self._runner.close()

    async def _deliver(self, messages: Sequence[Message]) -> Sequence[Outcome]:
        await self._close_idle(time.monotonic() - _IDLE_S)
        return await outcomes_of([*map(self._try, messages)], self._cancelled, CANCELLED)

    async def _try(self, message: Message) -> Outcome:
        try:
            async with asyncio.timeout(_WITHIN_S):
                answer = await self._request(message)
        except TimeoutError:
            return Outcome(Result.FAILED, f"no answer within {_WITHIN_S:.0f} s")
        except (OSError, ssl.SSLError, EOFError, h11.RemoteProtocolError, ValueError) as error:
            return Outcome(Result.FAILED, why_not_reached(error))
        return outcome_of(answer.status_code, _retry_after_s(answer, self._now_s()))

    async def _request(self, message: Message) -> h11.Response:
        """Send a message, over a connection that is open if there is one. One that the server has
        closed meanwhile is not taken for a failure of it."""
        request = self._request_for(message)
        while self._idle:
            kept = self._idle.pop()
            try:
                return await self._exchange(kept, request, message.body)
            except (OSError, EOFError, h11.RemoteProtocolError):
                continue  # closed while it was idle: ids let a receiver drop what came twice
        opened = await self._open()
        return await self._exchange(opened, request, message.body)

    def _request_for(self, message: Message) -> h11.Request:
        timestamp_s = int(self._now_s())
        host = f"[{self._host}]" if ":" in self._host else self._host
        headers = [
            ("host", host if self._is_usual_port() else f"{host}:{self._port}"),
            ("user-agent", f"sabot/{VERSION}"),
            ("content-type", CONTENT_TYPE),
            ("content-length", str(len(message.body))),
            ("webhook-id", message.id),
            ("webhook-timestamp", str(timestamp_s)),
            ("webhook-signature", signatures(self._keys, message.id, timestamp_s, message.body)),
            # Another one at each try, by which both sides find a try in what they wrote down.
            ("sabot-delivery", secrets.token_hex(8)),
        ]
        return h11.Request(method="POST", target=self._target, headers=headers)

    def _is_usual_port(self) -> bool:
        return self._port == (443 if self._tls else 80)

    async def _open(self) -> _Connection:
        name = self._host if self._tls else None
        reader, writer = await asyncio.open_connection(
            self._host, self._port, ssl=self._tls, server_hostname=name, limit=_READ_BYTES
        )
        return _Connection(reader, writer, h11.Connection(h11.CLIENT), 0.0)

    async def _exchange(self, to: _Connection, request: h11.Request, body: bytes) -> h11.Response:
        """Send a request and read its answer. The connection is kept if it can take another."""
        kept = False
        try:
            protocol = to.protocol
            for part in (request, h11.Data(data=body), h11.EndOfMessage()):
                to.writer.write(protocol.send(part) or b"")
            await to.writer.drain()
            answer, size = None, 0
            while not isinstance(event := protocol.next_event(), h11.EndOfMessage):
                if event is h11.NEED_DATA:
                    data = await to.reader.read(_READ_BYTES)
                    size += len(data)
                    if size > _MOST_ANSWER_BYTES:
                        break
                    protocol.receive_data(data)
                elif isinstance(event, h11.Response):
                    answer = event
                elif isinstance(event, h11.ConnectionClosed):
                    break
            if answer is None:
                raise EOFError("the connection was closed without an answer")
            if protocol.our_state is h11.DONE and protocol.their_state is h11.DONE:
                protocol.start_next_cycle()
                to.used_s = time.monotonic()
                self._idle.append(to)
                kept = True
            return answer
        finally:
            if not kept:
                to.writer.close()

    async def _close_idle(self, before_s: float) -> None:
        old = [each for each in self._idle if each.used_s < before_s]
        self._idle = [each for each in self._idle if each.used_s >= before_s]
        for each in old:
            each.writer.close()


def outcome_of(code: int, wait_s: float) -> Outcome:
    """What came of a try that the receiver answered with this code."""
    if 200 <= code < 300:
        return DELIVERED
    if code == _GONE:
        return Outcome(Result.GONE, "the receiver answers 410: it wants nothing more")
    if code in _OF_RECEIVER or code >= 500:
        return Outcome(Result.FAILED, f"the receiver answers {code}", wait_s)
    if code < 400:
        why = f"the receiver answers {code}, a redirect, which is not followed; change the address"
        return Outcome(Result.REFUSED, why, wait_s)
    return Outcome(Result.REFUSED, f"the receiver answers {code}", wait_s)


def _retry_after_s(answer: h11.Response, now_s: float) -> float:
    """What `Retry-After` asks for; 0 without one, or if it makes no sense."""
    found = [value for name, value in answer.headers if name == b"retry-after"]
    if not found:
        return 0.0
    text = found[0].decode("latin-1").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now_s)
    except (ValueError, OverflowError, OSError):
        return 0.0
