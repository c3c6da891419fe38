"""The proxy between real sockets."""

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from sabot_hil.kit.centre.link_faults import DOWN, UP, LinkFault
from sabot_hil.kit.centre.proxy import Proxy

_HOST = "127.0.0.1"


def _answer(client: socket.socket) -> None:
    with client, suppress(OSError):
        while data := client.recv(4096):
            client.sendall(data)


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what it gets."""
    with socket.create_server((_HOST, 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=_answer, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def asked(port: int, data: bytes, size: int | None = None) -> bytes:
    """What comes back for some data, until the other side ends or `size` bytes are there."""
    answer = b""
    with suppress(ConnectionError), socket.create_connection((_HOST, port), timeout=10) as client:
        client.sendall(data)
        while len(answer) < (len(data) if size is None else size):
            if not (part := client.recv(65536)):
                break
            answer += part
    return answer


def test_bytes_pass_both_ways_unchanged(echo: int) -> None:
    data = random.Random(1).randbytes(100_000)
    with Proxy(echo) as link:
        assert asked(link.port, data[:1000]) == data[:1000]
        client = socket.create_connection((_HOST, link.port), timeout=10)
        with client:
            threading.Thread(target=client.sendall, args=(data,), daemon=True).start()
            answer = b""
            while len(answer) < len(data):
                answer += client.recv(65536)
        assert answer == data


def test_a_close_passes_exactly_the_bytes_before_it(echo: int) -> None:
    with Proxy(echo) as link:
        link.arm(LinkFault("closed", DOWN, 1234))
        assert len(asked(link.port, bytes(5000))) == 1234
        assert asked(link.port, b"again") == b"again", "it happens once"


def test_doubled_bytes_come_back_doubled(echo: int) -> None:
    with Proxy(echo) as link:
        link.arm(LinkFault("doubled", UP, 2, size=2))
        assert asked(link.port, b"abcdef", 8) == b"abcdcdef"


def test_a_silent_link_swallows_everything_and_then_ends(echo: int) -> None:
    with Proxy(echo) as link:
        link.arm(LinkFault("silent", UP, 3, for_s=0.1))
        assert asked(link.port, b"abcdef") in (b"", b"abc")


def test_a_link_that_is_shut_takes_no_connection_until_it_is_open(echo: int) -> None:
    with Proxy(echo) as link:
        link.shut()
        assert asked(link.port, b"a") == b""
        link.open()
        assert asked(link.port, b"a") == b"a"


def test_a_reset_ends_the_connections_that_there_are(echo: int) -> None:
    with Proxy(echo) as link, socket.create_connection((_HOST, link.port), timeout=10) as client:
        client.sendall(b"a")
        assert client.recv(1) == b"a"
        link.reset()
        with suppress(ConnectionError):
            assert client.recv(1) == b""
        assert asked(link.port, b"b") == b"b"


def test_a_client_is_let_go_if_nothing_listens_behind_the_proxy() -> None:
    with socket.create_server((_HOST, 0)) as listener:
        port = listener.getsockname()[1]
    with Proxy(port) as link:
        assert asked(link.port, b"a") == b""
