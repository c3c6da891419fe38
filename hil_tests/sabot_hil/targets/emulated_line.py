"""The USB line of an emulated Pico: as a port for this process, as a pseudo-terminal for others."""

import contextlib
import os
import tty

from sabot.errors import NoShoe
from sabot_hil.emulation.bare import BarePico

_S = 1_000_000  # in us
_WRITE_US = 60 * _S
_TERMINAL_BYTES = 4096


class EmulatedPort:
    """The host's end of the line, as `sabot.link.ports.Port`. Reading lets emulated time pass."""

    name = "emulator"

    def __init__(self, pico: BarePico) -> None:
        self._pico = pico
        self._open = True
        pico.usb_read()  # drop what came while no host was there

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes that have come, after at most `timeout_s` of emulated time. Raises
        NoShoe."""
        self._check()
        pico = self._pico
        pico.run_until(lambda: not pico.powered or pico.usb_waiting > 0, timeout_s * _S)
        self._check()
        return pico.usb_read()

    def write(self, data: bytes | bytearray) -> None:
        """Send `data`; returns once the shoe has taken it. Raises NoShoe."""
        self._check()
        pico = self._pico
        pico.usb_write(bytes(data))
        taken = pico.run_until(lambda: not pico.powered or not pico.usb_unsent, _WRITE_US)
        self._check()
        if not taken:
            raise NoShoe(f"{self.name}: the shoe does not read what it is sent")

    def close(self) -> None:
        """Close the port."""
        self._open = False

    def _check(self) -> None:
        if not self._open:
            raise NoShoe(f"{self.name}: the connection broke (another session has begun)")
        if not self._pico.powered:
            raise NoShoe(f"{self.name}: the connection broke (the shoe has no power)")


class Terminal:
    """A pseudo-terminal at the emulated USB serial line. It carries bytes only while emulated time
    passes, at most a millisecond late.
    """

    def __init__(self, pico: BarePico) -> None:
        self._pico = pico
        self._ours, self._theirs = os.openpty()
        tty.setraw(self._theirs)
        os.set_blocking(self._ours, False)
        self.name = os.ttyname(self._theirs)
        self.plugged = True
        """Whether it carries anything."""
        pico.usb_read()  # drop what came while no host was there
        pico.on_look = self._carry

    def close(self) -> None:
        """Close both ends."""
        self._pico.on_look = None
        os.close(self._ours)
        os.close(self._theirs)

    def _carry(self) -> None:
        if not self.plugged:
            return
        pico = self._pico
        if pico.usb_unsent < _TERMINAL_BYTES:
            with contextlib.suppress(BlockingIOError):
                pico.usb_write(os.read(self._ours, _TERMINAL_BYTES))
        if pico.usb_waiting:
            # A terminal that no program reads fills up; what comes after that is lost.
            with contextlib.suppress(BlockingIOError):
                os.write(self._ours, pico.usb_read())
