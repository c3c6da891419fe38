"""Sends messages to a web server: CloudEvents in HTTP's structured mode, signed as Standard
Webhooks 1.0 says.

A try ends within a time, whatever the server does, and little of its answer is kept. Redirects are
not followed, and no proxy of the environment is used: only the configured address gets messages.
"""

import asyncio
import base64
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from sabot.feeds.config import Feed
from sabot.feeds.message import CONTENT_TYPE, Message
from sabot.feeds.senders.sending import CANCELLED, DELIVERED, Outcome, Result, outcomes_of
from sabot.feeds.senders.transport import tls_of, why_not_reached
from sabot_firmware import VERSION

_WIDTH = 8
_WITHIN_S = 15.0
_MOST_ANSWER_BYTES = 16 * 1024
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


class WebhookSender:
    """Sends the messages of one feed. `now_s` is the time since 1970, for signatures."""

    width = _WIDTH

    def __init__(self, feed: Feed, now_s: Callable[[], float] = time.time) -> None:
        self._address, self._keys, self._now_s = feed.address, feed.secrets, now_s
        self._client = httpx2.AsyncClient(
            verify=tls_of(feed.ca) if feed.address.startswith("https:") else False,
            # `_WITHIN_S` ends a whole try, not each step of it.
            timeout=None,
            limits=httpx2.Limits(max_connections=_WIDTH, keepalive_expiry=_IDLE_S),
            follow_redirects=False,
            trust_env=False,
        )
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
        self._runner.run(self._client.aclose())
        self._runner.close()

    async def _deliver(self, messages: Sequence[Message]) -> Sequence[Outcome]:
        return await outcomes_of([*map(self._try, messages)], self._cancelled, CANCELLED)

    async def _try(self, message: Message) -> Outcome:
        try:
            async with asyncio.timeout(_WITHIN_S):
                answer = await self._answer(message)
        except TimeoutError:
            return Outcome(Result.FAILED, f"no answer within {_WITHIN_S:.0f} s")
        except (OSError, httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            return Outcome(Result.FAILED, why_not_reached(_cause_of(error)))
        return outcome_of(answer.status_code, _retry_after_s(answer, self._now_s()))

    async def _answer(self, message: Message) -> httpx2.Response:
        """Send a message and read the answer. That the server has closed an idle connection
        meanwhile is no failure of it: the message goes over another one."""
        request = self._request_for(message)
        while True:
            opened = False

            async def note(event: str, info: Mapping[str, Any]) -> None:
                nonlocal opened
                opened |= event.startswith("connection.connect_tcp")

            request.extensions = {"trace": note}
            try:
                return await self._exchange(request)
            except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError):
                if opened:
                    raise

    async def _exchange(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._client.send(request, stream=True)
        try:
            size = 0
            async for piece in answer.aiter_raw():
                size += len(piece)
                if size > _MOST_ANSWER_BYTES:
                    break
        finally:
            await answer.aclose()  # with something left to read it closes the connection
        return answer

    def _request_for(self, message: Message) -> httpx2.Request:
        timestamp_s = int(self._now_s())
        headers = {
            "user-agent": f"sabot/{VERSION}",
            "content-type": CONTENT_TYPE,
            "webhook-id": message.id,
            "webhook-timestamp": str(timestamp_s),
            "webhook-signature": signatures(self._keys, message.id, timestamp_s, message.body),
            # Another one at each try, by which both sides find a try in what they wrote down.
            "sabot-delivery": secrets.token_hex(8),
        }
        return httpx2.Request("POST", self._address, headers=headers, content=message.body)


def _cause_of(error: BaseException) -> BaseException:
    """The error of the socket or of TLS that the client's own one came of."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


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


def _retry_after_s(answer: httpx2.Response, now_s: float) -> float:
    """What `Retry-After` asks for; 0 without one, or if it makes no sense."""
    text = answer.headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now_s)
    except (ValueError, OverflowError, OSError):
        return 0.0
