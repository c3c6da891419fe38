"""A device server in this process: a naive shoe at a TCP port, with the settings that a person may
get wrong.

`raw` sends the bytes as they are, `telnet` doubles 0xFF and negotiates, `rfc2217` is pyserial's own
server. `to_host` and `to_shoe` change the bytes on their way, as a wrong setting does.
"""

import random
import re
import select
import socket
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

from serial.rfc2217 import PortManager

from host.tests.support.naive_shoe import NaiveShoe

Change = Callable[[bytes], bytes]

_IAC = b"\xff"
_NEGOTIATION = re.compile(rb"\xff[\xfb-\xfe].", re.DOTALL)
_OPENING = b"\xff\xfb\x03\xff\xfb\x01\xff\xfd\x03"
"""What a telnet server says first: it will suppress go-ahead, echo, and asks for the same."""


def same(data: bytes) -> bytes:
    """A right setting."""
    return data


def without(*values: int) -> Change:
    """A setting that takes these bytes, as XON/XOFF takes 0x11 and 0x13."""
    return lambda data: bytes(each for each in data if each not in values)


def instead(old: bytes, new: bytes) -> Change:
    """A setting that replaces bytes, as a translation of line ends does."""
    return lambda data: data.replace(old, new)


def seven_bits(data: bytes) -> bytes:
    """7 data bits."""
    return bytes(each & 0x7F for each in data)


class DeviceServer:
    """Offers `shoe` at `url`, to one host at a time, or with `hosts` to more, each of which gets
    part of the bytes. A host that is one too many is told `busy`, and is sent away."""

    def __init__(
        self,
        shoe: NaiveShoe,
        speaks: str = "raw",
        *,
        to_host: Change = same,
        to_shoe: Change = same,
        hosts: int = 1,
        busy: bytes = b"Port already in use\r\n",
    ) -> None:
        self.to_host, self.to_shoe = to_host, to_shoe
        self._shoe, self._speaks, self._hosts, self._busy = shoe, speaks, hosts, busy
        self._server = socket.create_server(("127.0.0.1", 0))
        self._connected: dict[socket.socket, PortManager | None] = {}
        self._sent_away: list[socket.socket] = []
        self._rng = random.Random(1)
        scheme = "rfc2217" if speaks == "rfc2217" else "socket"
        self.url = f"{scheme}://127.0.0.1:{self._server.getsockname()[1]}"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> "DeviceServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(5)
        for each in (self._server, *self._connected, *self._sent_away):
            each.close()

    def _serve(self) -> None:
        while not self._stop.is_set():
            ready, _, _ = select.select([self._server, *self._connected], [], [], 0.005)
            received = b""
            for each in ready:
                if each is self._server:
                    self._accept()
                else:
                    received += self._received(each)
            frames = self._shoe.step(self.to_shoe(received), time.monotonic())
            if self._connected and frames:
                self._send(self.to_host(b"".join(frames)))

    def _accept(self) -> None:
        host, _ = self._server.accept()
        host.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self._connected) >= self._hosts:
            host.sendall(self._busy)
            host.shutdown(socket.SHUT_WR)
            self._sent_away.append(host)  # closed at once, the last words might be lost
            return
        self._connected[host] = None
        if self._speaks == "telnet":
            host.sendall(_OPENING)
        elif self._speaks == "rfc2217":
            self._connected[host] = PortManager(_serial(), SimpleNamespace(write=host.sendall))

    def _received(self, host: socket.socket) -> bytes:
        try:
            data = host.recv(4096)
        except OSError:
            data = b""
        if not data:
            del self._connected[host]
            host.close()
            return b""
        manager = self._connected[host]
        if manager is not None:
            return b"".join(manager.filter(data))
        if self._speaks == "telnet":
            return _NEGOTIATION.sub(b"", data).replace(2 * _IAC, _IAC)
        return data

    def _send(self, data: bytes) -> None:
        """Send to all hosts together: part of the bytes to each."""
        if self._speaks != "raw":
            data = data.replace(_IAC, 2 * _IAC)
        hosts = [*self._connected]
        while data:
            size = len(data) if len(hosts) == 1 else self._rng.randrange(1, 150)
            piece, data = data[:size], data[size:]
            try:
                self._rng.choice(hosts).sendall(piece)
            except OSError:
                return  # it has gone, which the next turn sees


def _serial() -> SimpleNamespace:
    """What PortManager asks of a serial port."""
    lines = dict.fromkeys(("cts", "dsr", "ri", "cd"), False)
    return SimpleNamespace(
        baudrate=115_200, bytesize=8, parity="N", stopbits=1, xonxoff=False, rtscts=False, **lines,
        reset_input_buffer=lambda: None, reset_output_buffer=lambda: None,
    )  # fmt: skip
