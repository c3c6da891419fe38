"""A TCP proxy that passes all on, some milliseconds later in each direction, in a process of its
own: a long way to the centre, where the kernel has no netem.
"""

import multiprocessing
import queue
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized

_HOST = "127.0.0.1"
_CHUNK = 1 << 18
_MOST_CHUNKS = 256


class Delay:
    """Its `port` leads to the port `upstream` of this machine; an answer to what is sent
    takes `round_trip_s` longer."""

    def __init__(self, upstream: int, round_trip_s: float) -> None:
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe()
        self._turns = context.Value("q", 0)
        self._process = context.Process(
            target=_serve, args=(upstream, round_trip_s / 2, there, self._turns), daemon=True
        )
        self._process.start()
        self.port = int(here.recv())

    @property
    def round_trips(self) -> int:
        """How often an answer began to come after something was asked, on all connections."""
        return int(self._turns.value)

    def close(self) -> None:
        """End it, and every connection."""
        self._process.kill()
        self._process.join()


def _serve(upstream: int, later_s: float, say: Connection, turns: "Synchronized[int]") -> None:
    listener = socket.create_server((_HOST, 0))
    say.send(listener.getsockname()[1])
    while True:
        client, _ = listener.accept()
        server = socket.create_connection((_HOST, upstream))
        for each in (client, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked = threading.Event()

        def answers(asked: threading.Event = asked) -> None:
            if asked.is_set():
                asked.clear()
                with turns.get_lock():
                    turns.value += 1

        _pass_on(client, server, later_s, asked.set)
        _pass_on(server, client, later_s, answers)


def _pass_on(
    source: socket.socket, sink: socket.socket, later_s: float, on_data: Callable[[], None]
) -> None:
    chunks: queue.Queue[tuple[float, bytes]] = queue.Queue(_MOST_CHUNKS)

    def read() -> None:
        data = b"-"
        while data:
            try:
                data = source.recv(_CHUNK)
            except OSError:
                data = b""
            on_data()
            chunks.put((time.monotonic() + later_s, data))

    def write() -> None:
        while True:
            due_s, data = chunks.get()
            time.sleep(max(0.0, due_s - time.monotonic()))
            with suppress(OSError):
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(data)

    for work in (read, write):
        threading.Thread(target=work, daemon=True).start()
