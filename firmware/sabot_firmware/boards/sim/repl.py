"""The raw REPL of MicroPython, which the simulated board runs if there is no `main.py`.

It uses standard input and output, as mpremote expects (MicroPython's documentation, "The
MicroPython Interactive Interpreter Mode", raw mode). The friendly prompt is shown but takes no
input.
"""

import io
import select
import sys

_CTRL_A, _CTRL_B, _CTRL_C, _CTRL_D = 1, 2, 3, 4
_RAW = b"raw REPL; CTRL-B to exit\r\n>"
_FRIENDLY = b"\r\nMicroPython; the simulated board\r\n>>> "
_PASTE = b"\x05A\x01"
_PASTE_WINDOW = 1024  # bytes that a host may send before the board reports room again
_PASTE_BEGINS = b"R\x01" + _PASTE_WINDOW.to_bytes(2, "little")
_READ = 512


class Repl:
    """The REPL of one start: `run()` ends only with the process."""

    def __init__(self) -> None:
        self._in = sys.stdin.buffer
        self._out = sys.stdout.buffer
        self._readable = select.poll()
        self._readable.register(sys.stdin, select.POLLIN)
        self._names: "dict[str, object]" = {"__name__": "__main__"}
        self._raw = False
        self._pasting = False
        self._line = bytearray()

    def run(self) -> None:
        """Handle the input for ever."""
        self._say(_FRIENDLY)
        while True:
            self._readable.poll()
            for octet in self._in.read(_READ) or b"":
                self._take(octet)

    def _take(self, octet: int) -> None:
        if octet in (_CTRL_A, _CTRL_B, _CTRL_C) and self._line != _PASTE[:2]:
            self._raw = octet == _CTRL_A or (self._raw and octet == _CTRL_C)
            self._pasting = False
            self._line = bytearray()
            if octet != _CTRL_C or not self._raw:
                self._say(_RAW if self._raw else _FRIENDLY)
        elif not self._raw:
            return
        elif octet == _CTRL_D:
            source, self._line = bytes(self._line), bytearray()
            begin, self._pasting = b"\x04" if self._pasting else b"OK", False
            self._say(begin)
            self._do(source)
        else:
            self._line.append(octet)
            if self._pasting:
                if len(self._line) % _PASTE_WINDOW == 0:
                    self._say(b"\x01")
            elif self._line == _PASTE:
                self._line = bytearray()
                self._pasting = True
                self._say(_PASTE_BEGINS)

    def _do(self, source: bytes) -> None:
        if not source:
            self._soft_reset()
            self._say(b"\r\nMPY: soft reboot\r\n" + _RAW)
            return
        error = b""
        try:
            exec(source.decode(), self._names)
        except Exception as failed:
            text = io.StringIO()
            sys.print_exception(failed, text)  # type: ignore[attr-defined]
            error = text.getvalue().encode()  # type: ignore[attr-defined]
        self._say(b"\x04" + error + b"\x04>")

    def _soft_reset(self) -> None:
        """Forget all names. A file that a host left open is closed, as on a microcontroller:
        littlefs goes wrong if it is removed or opened again while this object still has it."""
        for value in self._names.values():
            try:
                value.close()  # type: ignore[attr-defined]
            except (AttributeError, OSError):  # not a file, or the flash is full
                pass
        self._names = {"__name__": "__main__"}

    def _say(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            at += self._out.write(data[at:]) or 0
