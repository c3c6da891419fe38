"""A server of the screens on a socket, as `sabot serve` runs it, and plain connections to it."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

from host.tests.support.screens import Screens
from sabot.listening import Address
from sabot.web.app import make_app
from sabot.web.server import Server

PATIENCE_S = 20


@contextmanager
def serving(screens: Screens) -> Iterator[Server]:
    """A server of the screens; each has its own run."""
    made = Server(make_app(screens.app.state.services), Address("127.0.0.1", 0), None)
    made.start()
    try:
        yield made
    finally:
        made.stop()


def address_of(server: Server) -> tuple[str, int]:
    """Where it listens."""
    host, _, port = server.url.removeprefix("http://").rstrip("/").rpartition(":")
    return host, int(port)


def ask(
    server: Server,
    path: str,
    token: str = "",
    sent: Any = None,
    origin: str = "127.0.0.1",
    cookie: str = "",
) -> tuple[int, str]:
    """Status and text of an answer, on a connection of its own; `sent` is posted as JSON."""
    connection = HTTPConnection(*address_of(server), timeout=PATIENCE_S, source_address=(origin, 0))
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    if cookie:
        headers["cookie"] = f"sabot_session={cookie}"
    method, body = ("GET", None) if sent is None else ("POST", json.dumps(sent))
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def connect(server: Server) -> socket.socket:
    """A connection that has sent nothing."""
    return socket.create_connection(address_of(server), PATIENCE_S)
