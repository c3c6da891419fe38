"""A device server: a serial port of a shoe on TCP, set wrongly or shared, as houses have them."""

import os
import random
import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

_CHUNK = 4096
_POLL_S = 0.05
_MOST_PIECE = 64  # bytes that a client gets before the other
_HOST = "127.0.0.1"

Change = Callable[[bytes], bytes]


def without(value: int) -> Change:
    """Return what a setting does that takes one byte value for its own."""
    return lambda data: data.replace(bytes([value]), b"")


def half(data: bytes) -> bytes:
    """What is left where a second client takes its part of the bytes."""
    kept, at = bytearray(), 0
    while at < len(data):
        ours, theirs = random.randint(1, _MOST_PIECE), random.randint(1, _MOST_PIECE)
        kept += data[at : at + ours]
        at += ours + theirs
    return bytes(kept)


def nothing(data: bytes) -> bytes:
    """What a line does on which nothing arrives."""
    return b""


class DeviceServer:
    """Carries bytes between the port of a shoe and a TCP client."""

    def __init__(self, shoe_port: str) -> None:
        self.to_host: Change = bytes
        """What is done to the bytes from the shoe; it may be changed at any time."""
        self.to_shoe: Change = bytes
        """The same, of those from a host."""
        self._shoe = os.open(shoe_port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        self._listener = socket.create_server((_HOST, 0))
        self.url = f"socket://{_HOST}:{self._listener.getsockname()[1]}"
        self._clients: list[socket.socket] = []
        self._closed = False
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End all connections."""
        self._closed = True
        self._thread.join()
        for each in (self._listener, *self._clients):
            each.close()
        os.close(self._shoe)

    def __enter__(self) -> "DeviceServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _carry(self) -> None:
        while not self._closed:
            ends: list[int | socket.socket] = [self._shoe, self._listener, *self._clients]
            ready, _, _ = select.select(ends, [], [], _POLL_S)
            for end in ready:
                if end is self._listener:
                    self._clients.append(self._listener.accept()[0])
                elif isinstance(end, socket.socket):
                    self._from_host(end)
                else:
                    data = self.to_host(os.read(self._shoe, _CHUNK))
                    if self._clients and data:
                        with suppress(OSError):
                            self._clients[-1].sendall(data)

    def _from_host(self, client: socket.socket) -> None:
        try:
            data = client.recv(_CHUNK)
        except OSError:
            data = b""
        if not data:
            self._clients.remove(client)
            client.close()
        elif data := self.to_shoe(data):
            with suppress(BlockingIOError):  # a full line drops what it cannot take
                os.write(self._shoe, data)
