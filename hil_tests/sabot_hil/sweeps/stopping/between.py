"""What stands between a browser and its server, and what it does to what passes."""

import socket
import threading
from contextlib import suppress

_CHUNK = 1 << 16
_EMPTY_STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\n\r\n"
)


class Between:
    """Passes connections to `port` on to the port of a server."""

    def __init__(self, server: int) -> None:
        self.swallows = threading.Event()
        """Set: what both sides send goes nowhere, and the connections stay."""
        self._server = server
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._replaces = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def replace_streams(self) -> None:
        """From now on answer each request for a stream with an empty one that ends at once, and cut
        those that there are."""
        self._replaces = True
        for pair in self._pairs:
            _end(*pair)

    def close(self) -> None:
        """End all."""
        self._listener.close()
        for pair in self._pairs:
            _end(*pair)

    def __enter__(self) -> "Between":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server))
                self._pairs.append((client, server))
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(_CHUNK):
                if self._replaces and data.startswith(b"GET /stream"):
                    one.sendall(_EMPTY_STREAM)
                    break
                if not self.swallows.is_set():
                    other.sendall(data)
        _end(one, other)


def _end(*ends: socket.socket) -> None:
    for each in ends:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
