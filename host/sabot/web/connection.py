"""A connection of the server: one that takes long to send a request's head is closed."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""For the head of a request, from its first byte or from the beginning of the connection."""


class Connection(H11Protocol):
    """HTTP/1.1 of uvicorn, which itself waits for ever for the end of a head that has begun."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The client has connected."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
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
