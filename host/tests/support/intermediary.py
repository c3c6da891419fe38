"""What may stand between a browser and its server, and what it may do to what passes."""

import socket
import threading
from contextlib import suppress

_EMPTY_STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\n\r\n"
)


class Intermediary:
    """Passes connections on to a server, until it is told otherwise.

    `swallows` takes what both sides send and gives it to no one, and keeps the connections.
    `replaces_streams` answers requests for a stream itself, with its head alone, and closes it soon
    after: the browser asks again, and again is answered at once.
    """

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.swallows = self.replaces_streams = False
        self.replaced = 0
        """How many streams were replaced."""
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End, with all connections."""
        self._listening.close()
        self.cut()

    def cut(self) -> None:
        """End all connections that there are."""
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(self._server) as server:
            self._open += [client, server]
            back = threading.Thread(target=self._pass, args=(server, client), daemon=True)
            back.start()
            self._pass(client, server)
            back.join()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        """Pass on what comes from one side, until it ends."""
        with suppress(OSError):
            while some := one.recv(1 << 16):
                if self.replaces_streams and some.startswith(b"GET /stream"):
                    self.replaced += 1
                    one.sendall(_EMPTY_STREAM)
                    one.shutdown(socket.SHUT_RDWR)
                elif not self.swallows:
                    other.sendall(some)
            other.shutdown(socket.SHUT_RDWR)
