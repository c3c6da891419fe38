"""The USB serial line of a Pico for tests: `select`, and the streams of `sys`.

Where the real line would wait for the host, this one raises. It runs under CPython and MicroPython.
"""


class Line:
    """The host's end. `room` is how many bytes it takes; a test can increase it."""

    def __init__(self, room: int) -> None:
        self.from_host = bytearray()
        self.to_host = bytearray()
        self.room = room


class Select:
    """Stands in for the module `select`; `line()` is the line of the present Pico."""

    POLLIN, POLLOUT = 1, 4

    def __init__(self, line) -> None:
        self._line = line

    def poll(self) -> "_Poll":
        return _Poll(self._line)


class _Poll:
    def __init__(self, line) -> None:
        self._line = line

    def register(self, stream, events: int) -> None:
        self._stream, self._events = stream, events

    def ipoll(self, timeout: int):
        assert timeout == 0, "it would wait here"
        line = self._line()
        ready = line.room > 0 if self._events == Select.POLLOUT else len(line.from_host) > 0
        return iter(((self._stream, self._events),) if ready else ())


class Sys:
    """Stands in for the module `sys`."""

    def __init__(self, line) -> None:
        self._line = line
        self.stdin = self.stdout = _Stream(line)

    def print_exception(self, error: BaseException) -> None:
        self._line().to_host.extend(repr(error).encode())


class _Stream:
    def __init__(self, line) -> None:
        self._line = line
        self.buffer = self

    def readinto(self, buf) -> int:
        line = self._line()
        assert len(buf) <= len(line.from_host), "it would wait for the host"
        for i in range(len(buf)):
            buf[i] = line.from_host[i]
        line.from_host = line.from_host[len(buf) :]
        return len(buf)

    def write(self, buf) -> int:
        line = self._line()
        assert len(buf) <= line.room, "it would wait for the host"
        line.room -= len(buf)
        line.to_host.extend(buf)
        return len(buf)
