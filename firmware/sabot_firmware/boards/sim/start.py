"""The start of MicroPython on the simulated board, as on a Pico: the file system on the board's own
flash becomes `/`, and its `main.py` runs. The raw REPL (repl.py) follows, also if there is no
`main.py`. The files of the computer are below `/host`.

    micropython -m sabot_firmware.boards.sim.start FLASH WATCHDOG ...

FLASH is the file with the content of the flash (flash.py), created if it is not there. If there is
a file of that name plus `.trace`, each operation on the flash is appended to it. WATCHDOG is a
descriptor that gets a byte each time the watchdog is fed, the first when it is started: the process
that started this one does the reset. The arguments that follow are those of board.py. With
`install FOLDER` in place of WATCHDOG it only copies the files of FOLDER onto the flash.
"""

import os
import sys

import vfs

from sabot_firmware.boards.nor import PAGE, SECTOR
from sabot_firmware.boards.sim.board import RESET
from sabot_firmware.boards.sim.flash import BOARD_SECTORS, TRACE, SimFlash
from sabot_firmware.boards.sim.repl import Repl
from sabot_protocol import cbor, frame
from sabot_protocol.sim import sim_channel

if 1 - 1:  # for type checkers: interfaces.pyi
    from typing import BinaryIO

HOST = "/host"

_COUNT, _SIZE, _ERASE = 4, 5, 6  # requests of MicroPython's block devices
_FOLDER = 0x4000
_COPIED = 4096


class Blocks:
    """A flash as a block device: MicroPython's os.AbstractBlockDev, the extended interface."""

    def __init__(self, flash: SimFlash) -> None:
        self._flash = flash

    def readblocks(self, block: int, buf: bytearray, offset: int = 0) -> None:
        self._flash.read(block * SECTOR + offset, buf)

    def writeblocks(self, block: int, buf: bytearray, offset: int = 0) -> None:
        view = memoryview(buf)
        address = block * SECTOR + offset
        at = 0
        while at < len(view):
            size = min(PAGE - (address + at) % PAGE, len(view) - at)
            self._flash.program(address + at, view[at : at + size])
            at += size

    def ioctl(self, request: int, argument: int) -> int:
        if request == _ERASE:
            self._flash.erase(argument)
        return {_COUNT: BOARD_SECTORS, _SIZE: SECTOR}.get(request, 0)


class SimMachine:
    """Stands in for the module `machine` of a microcontroller."""

    def __init__(self, watchdog: int) -> None:
        self._watchdog = watchdog

    def reset(self) -> None:
        raise SystemExit(RESET)

    def WDT(self, timeout: int) -> "Watchdog":
        return Watchdog(self._watchdog)


class Watchdog:
    """Reports each feeding to the process that started this one."""

    def __init__(self, descriptor: int) -> None:
        self._parent = open(descriptor, "wb", 0)
        self.feed()

    def feed(self) -> None:
        self._parent.write(b"f")


def mount(path: str) -> None:
    """Mount the flash in the file `path` as `/`; make a file system if it has none."""
    trace: "str | None" = path + TRACE
    try:
        os.stat(trace)
    except OSError:
        trace = None
    blocks = Blocks(SimFlash(path, speed=0, trace=trace, sectors=BOARD_SECTORS))
    try:
        system = vfs.VfsLfs2(blocks)  # type: ignore[arg-type]
    except OSError:
        vfs.VfsLfs2.mkfs(blocks)  # type: ignore[arg-type]
        system = vfs.VfsLfs2(blocks)  # type: ignore[arg-type]
    vfs.umount("/")
    vfs.mount(system, "/")
    vfs.mount(vfs.VfsPosix("/"), HOST)  # type: ignore[attr-defined]
    os.chdir("/")


def install(source: str, target: str) -> None:
    """Copy the content of the folder `source` into the folder `target`, in the order of names."""
    for entry in sorted(os.ilistdir(source)):
        name, kind = entry[0], entry[1]
        here, there = source + "/" + name, target + "/" + name
        if kind == _FOLDER:
            os.mkdir(there)
            install(here, there)
        else:
            with open(here, "rb") as read, open(there, "wb") as written:
                while True:
                    piece = read.read(_COPIED)
                    if not piece:
                        break
                    written.write(piece)


def send_idle(descriptor: int) -> "BinaryIO":
    """Report `idle` to the bench, so that it continues: no shoe takes its messages.

    Returns this end of the bench's line, which must stay open.
    """
    payload, out = bytearray(frame.MAX_PAYLOAD + frame.CRC_SIZE), bytearray(frame.MAX_FRAME)
    message = [sim_channel.IDLE.number, 0]
    size = cbor.encode_array(payload, 0, message, len(message))
    size = frame.write_frame(payload, size, out, 0)
    file = open(descriptor, "wb", 0)
    file.write(memoryview(out)[:size])
    return file


def main() -> None:
    flash, watchdog = sys.argv[1:3]
    mount(flash)
    if watchdog == "install":
        install(HOST + sys.argv[3], "")
        return
    to_bench = int(sys.argv[3])
    # From here on the modules on the flash run, not the computer's.
    for name in list(sys.modules):
        if name.split(".")[0] in ("sabot_firmware", "sabot_protocol"):
            del sys.modules[name]
    sys.path[:] = ["", ".frozen"]
    sys.argv[1:3] = []
    sys.modules["machine"] = SimMachine(int(watchdog))  # type: ignore[assignment]
    if "main.py" in os.listdir("/"):
        with open("/main.py") as file:
            source = file.read()
        exec(source, {"__name__": "__main__"})
    kept_open = send_idle(to_bench)
    Repl().run()
    kept_open.close()


if __name__ == "__main__":
    main()
