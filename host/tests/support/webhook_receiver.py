"""Web servers that receive messages, well or badly, over real sockets."""

import json
import socket
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = b"a secret of the tests, of 32 b.."


@dataclass(frozen=True, slots=True)
class Got:
    """A request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """The id of its message."""
        found: str = json.loads(self.body)["id"]
        return found

    @property
    def event(self) -> dict[str, Any]:
        """The message."""
        found: dict[str, Any] = json.loads(self.body)
        return found


Answer = Callable[["Handler", Got], None]
"""How a request is answered."""


@dataclass(slots=True)
class Receiver:
    """A server and what it got."""

    port: int
    got: list[Got] = field(default_factory=list)
    """All requests."""
    taken: list[Got] = field(default_factory=list)
    """Those that were answered with 204."""
    answer: "Answer | None" = None
    """How to answer; None: 204."""
    connections: int = 0

    @property
    def address(self) -> str:
        """Where to send."""
        return f"http://127.0.0.1:{self.port}/hook?from=sabot"

    @property
    def ids(self) -> list[str]:
        """The ids of the messages taken, without repeats, in the order in which they came."""
        return list(dict.fromkeys(each.id for each in self.taken))

    def by_unit(self) -> dict[str, list[int]]:
        """The numbers in the ids of the messages taken, by unit, without repeats."""
        found: dict[str, list[int]] = defaultdict(list)
        for id_ in self.ids:
            unit, number, *_ = id_.split("/")
            found[unit].append(int(number))
        return found


class Handler(BaseHTTPRequestHandler):
    """Takes requests for `receiver`."""

    protocol_version = "HTTP/1.1"
    receiver: Receiver

    def setup(self) -> None:
        self.receiver.connections += 1
        super().setup()

    def do_POST(self) -> None:
        size = int(self.headers["content-length"])
        body = self.rfile.read(size)
        if len(body) < size:  # its sender was killed
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        got = Got(self.path, headers, body)
        self.receiver.got.append(got)
        answer = self.receiver.answer
        if answer is None:
            self.take(got)
        else:
            answer(self, got)

    def take(self, got: Got) -> None:
        """Acknowledge a message."""
        self.receiver.taken.append(got)
        self.say(204)

    def say(self, code: int, **headers: str) -> None:
        """Answer without a body."""
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if code != 204:
            self.send_header("content-length", "0")
        self.end_headers()

    def drop(self) -> None:
        """Close the connection without an answer."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True
    block_on_close = False


@contextmanager
def receiving(
    answer: Answer | None = None, tls: ssl.SSLContext | None = None, port: int = 0
) -> Iterator[Receiver]:
    """A receiver. A handler that hangs does not keep the test from ending."""
    handler = type("_Handler", (Handler,), {})
    server = _Server(("127.0.0.1", port), handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    receiver = Receiver(server.server_port, answer=answer)
    handler.receiver = receiver  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def hang(handler: Handler, _: Got) -> None:
    """Never answer."""
    with suppress(OSError):
        while handler.connection.recv(1):
            pass


def drip(handler: Handler, _: Got) -> None:
    """Answer a byte at a time, without end."""
    with suppress(OSError):
        handler.connection.sendall(b"HTTP/1.1 200 OK\r\nx: ")
        while True:
            handler.connection.sendall(b"x")
            time.sleep(0.05)


def flood(handler: Handler, _: Got) -> None:
    """Answer with more than anyone wants to read."""
    with suppress(OSError):
        handler.connection.sendall(b"HTTP/1.1 500 No\r\ncontent-length: 1000000000\r\n\r\n")
        while True:
            handler.connection.sendall(b"x" * 65536)


def half(handler: Handler, _: Got) -> None:
    """Close the connection in the middle of an answer."""
    with suppress(OSError):
        handler.connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc")
    handler.drop()


def heads(handler: Handler, _: Got) -> None:
    """Answer with a head without end."""
    with suppress(OSError):
        handler.connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            handler.connection.sendall(b"x: y\r\n" * 10000)


def not_yet(handler: Handler, _: Got) -> None:
    """Say without end that the answer is still to come."""
    with suppress(OSError):
        while True:
            handler.connection.sendall(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000)
