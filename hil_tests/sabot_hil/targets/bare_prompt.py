"""A bare Pico as a target: any Pico with MicroPython, without wiring, at its prompt.

Its files are never written. What a test runs is in its memory only, and at the end it is restarted,
so that it runs what it ran before.
"""

import ast
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from mpremote.transport import TransportError, TransportExecError
from mpremote.transport_serial import SerialTransport

from sabot.errors import BoardUnfit, NoShoe, PortBusy, PortNotFound, SabotError
from sabot.release import flash
from sabot.retry import retried
from sabot.text import printable
from sabot_hil.capabilities import BrokenRig
from sabot_hil.targets.usb_device import UsbDevice

_T = TypeVar("_T")

TESTED = "1.28."
"""The versions of MicroPython whose figures the emulator has."""

_RUN_S = 120.0
"""The longest time that a script may take; on an emulated Pico it is seldom more than 20 s."""
_BACK_S = 30.0
_GOING = b"going\r\n"
_RESET_S = 0.1
_LOOK_S = 0.2
_ASKED = 9
_ERRORS = (TransportError, OSError, ValueError, SyntaxError)

_ABOUT = "import os, machine\nprint(repr((os.uname().machine, os.uname().release, machine.freq())))"

_RESTART = "import machine\nmachine.reset()"

_FILES = """\
import os, hashlib
def walk(folder, found):
    for entry in os.ilistdir(folder or "/"):
        path = folder + "/" + entry[0]
        if entry[1] & 0x4000:
            found[path] = ""
            walk(path, found)
        else:
            digest = hashlib.sha256()
            with open(path, "rb") as file:
                while True:
                    part = file.read(512)
                    if not part:
                        break
                    digest.update(part)
            found[path] = digest.digest()
found = {}
walk("", found)
print(repr(sorted(found.items())))
"""


class RealPrompt:
    """The Pico with this USB serial number, or at this port.

    Raises BoardUnfit, before anything is sent to its prompt, if it is a Sabot unit; also if it is
    no RP2040, or has another MicroPython than the emulator. Raises NoShoe, PortNotFound, PortBusy
    if it is not there within `patience_s`.
    """

    emulated = False

    def __init__(self, name: str, patience_s: float = 0.0) -> None:
        self.name = name
        self._patience_s = patience_s
        self._transport: SerialTransport | None = None
        self._opened: Any = None
        try:
            self._begin()
        except BaseException:
            self._release()
            raise

    def _begin(self) -> None:
        def runs_shoe() -> bool:
            return self._beside(lambda: flash.runs_shoe(self._port()))

        absent = (PortNotFound, PortBusy)
        if retried(
            runs_shoe,
            *absent,
            within_s=self._patience_s,
            every_s=_LOOK_S,
            now_s=time.monotonic,
            pause=time.sleep,
        ):
            raise BoardUnfit(f"{self.name}: Sabot runs there; this suite is for a Pico without it")
        self._open()
        self.machine, self.micropython, hertz = self.run(_ABOUT)
        self.mhz: float = hertz / 1e6
        if "RP2040" not in self.machine:
            raise BoardUnfit(
                f"{self.name}: its MicroPython says {printable(self.machine)}; the emulator is of "
                "an RP2040"
            )
        if not self.micropython.startswith(TESTED):
            raise BoardUnfit(
                f"{self.name}: its MicroPython is {printable(self.micropython)}; the emulator's "
                f"figures are of {TESTED}0: put that on it"
            )
        self._files = self.run(_FILES)
        if any(path in ("/boot.mpy", "/state/boot") for path, _ in self._files):
            raise BoardUnfit(f"{self.name}: Sabot is on it; this suite is for a Pico without it")

    # Scripts

    def run(self, script: str) -> Any:
        """Run a script in a fresh interpreter; return what it printed with `repr`."""
        return self._value(lambda: self._exec(script))

    def run_unread(self, script: str, seconds: float) -> Any:
        """Do the same, but read nothing from its port for so long."""

        def work() -> bytes:
            board = self._fresh()
            board.exec_raw_no_follow(script)
            self._let_host_read(False)
            try:
                self.pass_s(seconds)
            finally:
                self._let_host_read(True)
            return self._followed(board)

        return self._value(work)

    def restart(self, script: str, within_s: float = 0.0) -> None:
        """Run a script that resets the chip; return once its prompt is back."""

        def work() -> None:
            board = self._fresh()
            board.exec_raw_no_follow(script)
            board.read_until(1, _GOING, _RUN_S)
            self.pass_s(within_s + _RESET_S)

        self._reported(work)
        self._come_back()

    def ahead_us(self, chips_us: str) -> float:
        """How far this bench's time is ahead of the chip's."""

        def work() -> float:
            board = self._fresh()
            best = (float("inf"), 0.0)
            for _ in range(_ASKED):
                asked_us = self.now_us()
                board.exec_raw_no_follow(f"print({chips_us})")
                chip_us = int(self._followed(board))
                took_us = self.now_us() - asked_us
                best = min(best, (took_us, asked_us + took_us / 2 - chip_us))
            return best[1]

        return self._reported(work)

    # USB

    def suspend_usb(self, seconds: float) -> None:
        """Let the host suspend its port for so long."""
        device = UsbDevice(self.name)
        self._release()
        try:
            device.suspend(seconds)
        finally:
            self._come_back()

    def replug_usb(self) -> None:
        """Let the host take it away and take it back."""
        device = UsbDevice(self.name)
        self._release()
        try:
            device.replug()
        finally:
            self._come_back()

    # The report, and the end

    def about(self) -> Mapping[str, str]:
        """What is measured."""
        return {
            "Rig": "a Pico on its own" if not self.emulated else "an emulated Pico on its own",
            "Board": printable(self.machine),
            "MicroPython": printable(self.micropython),
            "Processor": f"{self.mhz:g} MHz",
        }

    def close(self) -> None:
        """Check its files, restart it, and release the port."""
        try:
            if self.run(_FILES) != self._files:
                raise BrokenRig(f"{self.name}: its files are not those that it had before")
            with suppress(BrokenRig):
                self._reported(lambda: self._fresh().exec_raw_no_follow(_RESTART))
        finally:
            self._release()

    # What an emulated one does in another way

    def now_us(self) -> float:
        """This bench's time."""
        return time.monotonic() * 1e6

    def pass_s(self, seconds: float) -> None:
        """Let time pass, within what runs `_beside` the board."""
        time.sleep(seconds)

    def _let_host_read(self, reads: bool) -> None:
        """A real host does not read while no program does, once its own buffers are full."""

    def _port(self) -> str:
        return self.name

    def _beside(self, work: Callable[[], _T]) -> _T:
        """Return the result of `work`, which talks to the board."""
        return work()

    # Inside

    def _open(self) -> None:
        def work() -> None:
            self._opened = flash.prompt(self._port(), self._port())
            self._transport = self._opened.__enter__()

        self._beside(work)

    def _release(self) -> None:
        opened, self._opened, self._transport = self._opened, None, None
        if opened is not None:
            opened.__exit__(None, None, None)

    def _come_back(self) -> None:
        """Wait until the board is at its prompt again, and open it."""
        self._release()
        end_s = time.monotonic() + _BACK_S
        while True:
            try:
                return self._open()
            except (NoShoe, PortBusy, PortNotFound) as error:
                self._release()
                if time.monotonic() > end_s:
                    raise BrokenRig(
                        f"{self.name}: its prompt is not back within {_BACK_S:g} s ({error})"
                    ) from None
                self._beside(lambda: self.pass_s(_LOOK_S))

    def _fresh(self) -> SerialTransport:
        board = self._transport
        if board is None:
            raise BrokenRig(f"{self.name}: not at its prompt")
        board.enter_raw_repl(timeout_overall=_BACK_S)
        return board

    def _exec(self, script: str) -> bytes:
        board = self._fresh()
        board.exec_raw_no_follow(script)
        return self._followed(board)

    def _followed(self, board: SerialTransport) -> bytes:
        said, error = board.follow(_RUN_S)
        if error:
            raise TransportExecError(1, error.decode(errors="replace"))
        return bytes(said)

    def _value(self, work: Callable[[], bytes]) -> Any:
        return ast.literal_eval(self._reported(work).decode().strip())

    def _reported(self, work: Callable[[], _T]) -> _T:
        """Return the result of `work`; raise BrokenRig, in one line, if the board fails."""
        try:
            return self._beside(work)
        except (*_ERRORS, SabotError) as error:
            said = error.error_output if isinstance(error, TransportExecError) else str(error)
            line = (said.strip().splitlines() or [type(error).__name__])[-1]
            raise BrokenRig(f"{self.name}: {printable(line)[:200]}") from None
