"""A TCP proxy that is a bad link: it passes bytes on, until a fault of `link_faults.py` is due.

with Proxy(port_of_the_centre) as link:
    link.arm(LinkFault("cut", UP, after_bytes=700))
    ...
"""

import select
import socket
import struct
import threading
import time
from contextlib import suppress
from types import TracebackType

from sabot_hil.kit.centre.link_faults import DOWN, UP, End, LinkFault, Send, Silence, Wait, Way

_HOST = "127.0.0.1"
_CHUNK = 1 << 16
_LOOK_S = 0.2
_JOIN_S = 5.0
_RESET = struct.pack("ii", 1, 0)


class Proxy:
    """Listens on `port`, and connects each client with the port `upstream` of this machine."""

    def __init__(self, upstream: int) -> None:
        self.upstream = upstream
        self.bytes = {UP: 0, DOWN: 0}
        """How many were passed on."""
        self.connections = 0
        """How many clients have come."""
        self._fault: LinkFault | None = None
        self._lock = threading.Lock()
        self._open = True
        self._ending = False
        self._pairs: set[_Pair] = set()
        self._listener = socket.create_server((_HOST, 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def arm(self, fault: LinkFault | None) -> None:
        """What happens next; None: nothing."""
        with self._lock:
            self._fault = fault

    def shut(self) -> None:
        """Reset every connection, and refuse new ones until `open`."""
        self._open = False
        self.reset()

    def open(self) -> None:
        """Take connections again."""
        self._open = True

    def reset(self) -> None:
        """Reset every connection that there is."""
        for pair in list(self._pairs):
            pair.end(reset=True)

    def close(self) -> None:
        """Reset every connection and stop listening."""
        self._ending = True
        self._listener.close()
        self._thread.join(_JOIN_S)
        self.reset()

    def feed(self, pair: "_Pair", way: Way, data: bytes) -> None:
        """Pass on what came from one side, or do what is due instead."""
        with self._lock:  # both directions count to the same fault
            fault = self._fault
            actions = [Send(data)] if fault is None else fault.feed(way, data)
        for action in actions:
            match action:
                case Send(part):
                    pair.send(way, part)
                    self.bytes[way] += len(part)
                case Wait(seconds):
                    time.sleep(seconds)
                case Silence(seconds):
                    pair.silence(seconds)
                case End(reset):
                    pair.end(reset=reset)

    def forget(self, pair: "_Pair") -> None:
        """A connection has ended."""
        self._pairs.discard(pair)

    def _accept(self) -> None:
        while not self._ending:
            try:
                if not select.select([self._listener], [], [], _LOOK_S)[0]:
                    continue
                client, _ = self._listener.accept()
            except (OSError, ValueError):
                return  # closed
            self.connections += 1
            if not self._open:
                _end(client, reset=True)
                continue
            try:
                server = socket.create_connection((_HOST, self.upstream), timeout=_JOIN_S)
            except OSError:
                _end(client, reset=True)
                continue
            server.settimeout(None)
            pair = _Pair(self, client, server)
            self._pairs.add(pair)
            pair.start()


class _Pair:
    """Both ends of one connection through a proxy, with a thread for each direction."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._ends = {UP: server, DOWN: client}  # where bytes go
        self._ended = False
        self._silent_until_s = 0.0
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def start(self) -> None:
        """Begin to pass bytes on."""
        for way, source in ((UP, self._ends[DOWN]), (DOWN, self._ends[UP])):
            threading.Thread(target=self._pump, args=(way, source), daemon=True).start()

    def send(self, way: Way, data: bytes) -> None:
        """Pass bytes on."""
        with suppress(OSError):  # the reader of the other direction sees that it has ended
            self._ends[way].sendall(data)

    def silence(self, seconds: float) -> None:
        """Swallow everything for a time, then reset."""
        self._silent_until_s = time.monotonic() + seconds
        end_s = self._silent_until_s
        while time.monotonic() < end_s and not self._ended:
            time.sleep(0.02)
        self.end(reset=True)

    def end(self, *, reset: bool) -> None:
        """End both sides."""
        self._ended = True
        for end in self._ends.values():
            _end(end, reset=reset)
        self._proxy.forget(self)

    def _pump(self, way: Way, source: socket.socket) -> None:
        while not self._ended:
            try:
                if not select.select([source], [], [], _LOOK_S)[0]:
                    continue
                data = source.recv(_CHUNK)
            except (OSError, ValueError):
                break
            if not data:
                break
            if self._silent_until_s:
                continue  # swallowed
            self._proxy.feed(self, way, data)
        if not self._silent_until_s:
            self.end(reset=False)


def _end(end: socket.socket, *, reset: bool) -> None:
    with suppress(OSError):
        if reset:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        else:
            end.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        end.close()
