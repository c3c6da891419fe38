"""A connection of the server: one that takes long to send a request's head is closed, and one that
waits for its client, if others come and there is no room."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""For the head of a request, from its first byte or from the beginning of the connection."""


class Connection(H11Protocol):
    """HTTP/1.1 of uvicorn, which itself waits for ever for the end of a head that has begun."""

    _deadline: asyncio.TimerHandle | None = None
    _since_s = 0.0  # when the client connected, or its last request's head was complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The client has connected."""
        super().connection_made(transport)
        self._since_s = self.loop.time()
        self._wait()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._since_s = self.loop.time()
            self._stop_waiting()
        elif self._deadline is None and (before is None or before.response_complete):
            self._wait()  # the first bytes of another request

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(HEAD_S, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _make_room(self) -> None:
        """If there are as many connections as the server may have, close the one that has waited
        longest for its client: thousands that ask nothing must keep no one away."""
        if self.limit_concurrency is None or len(self.connections) < self.limit_concurrency:
            return
        waiting = [
            each for each in self.connections
            if isinstance(each, Connection) and each is not self and each._for_client()
        ]  # fmt: skip
        if waiting:
            longest = min(waiting, key=lambda each: each._since_s)
            self.connections.discard(longest)
            longest.transport.abort()

    def _for_client(self) -> bool:
        """Whether the client is to send something: a request, or the rest of one."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body
