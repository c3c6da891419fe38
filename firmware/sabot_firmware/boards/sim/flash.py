"""The journal's memory of the simulated board: NOR flash in a file, as strict as real flash.

The file holds the bytes of the chip from address 0 on; all bytes after its end are erased (0xFF).
So a chip from the factory is an empty file, and an image of a real chip works too. When `program`
or `erase` returns, the change is in the file, made by one `write` call: killing the process loses
nothing.

`trace` names a file to which each operation is appended before it is done, for tests that cut the
power at every operation. A record is one `write` call:

    kind     1 byte   "P" program, "E" erase
    address  u32, little-endian; for an erase the first byte of the sector
    length   u16, little-endian; for an erase 0
    data     `length` bytes

hil_tests/sabot_hil/kit/flash_image.py reads both files.
"""

import errno
import struct
import time

from sabot_firmware.boards.nor import PAGE, SECTOR, FlashError

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import RawFile, Readable, Writable

SECTORS = 4096
"""Sectors of a chip of 16 MB."""

BOARD_SECTORS = 352
"""Sectors of the board's own flash that hold its file system: the part of a Pico's flash that
MicroPython v1.28 does not take."""

TRACE = ".trace"
"""The file with the board's own flash has a trace if a file of its name plus this is there."""

PROGRAM_US = 400
ERASE_US = 45_000
"""How long a new chip is typically busy."""

_HEAD = "<BIH"
_HEAD_SIZE = 7
_END = 2  # `seek` counts from the end
_ERASED = memoryview(b"\xff" * SECTOR)


class SimFlash:
    """The interface of `nor.NorFlash` over the file `path`, which is created if it is not there.

    `speed` is how long it is busy, in permille of a real chip's time; with 0 it is never busy.
    Raises FlashError for what flash cannot do: programming a zero to a one, programming across
    pages, and any use while it is busy.
    """

    def __init__(
        self, path: str, *, speed: int, trace: "str | None" = None, sectors: int = SECTORS
    ) -> None:
        self.sectors = sectors
        self._speed = speed
        self._working = False
        self._ready_us = 0
        self._file = _open(path)
        self._trace = None if trace is None else open(trace, "ab", 0)
        self._record = bytearray(_HEAD_SIZE + PAGE)
        self._old = bytearray(PAGE)
        self._end = self._file.seek(0, _END)
        if self._end > sectors * SECTOR:
            raise FlashError("beyond the chip: %s has %d bytes" % (path, self._end))

    def read(self, address: int, buf: "Writable") -> None:
        self._check(address, len(buf))
        self._load(address, buf)

    def program(self, address: int, data: "Readable") -> None:
        size = len(data)
        self._check(address, size)
        if not size or address % PAGE + size > PAGE:
            raise FlashError("not in one page: %d bytes at %d" % (size, address))
        old = memoryview(self._old)[:size]
        self._load(address, old)
        for i in range(size):
            if data[i] & ~old[i]:
                raise FlashError("a zero made a one: at %d" % (address + i))
        self._add_to_trace(b"P", address, data)
        while self._end < address:
            self._store(self._end, _ERASED[: min(SECTOR, address - self._end)])
        self._store(address, data)
        self._begin(PROGRAM_US)

    def erase(self, sector: int) -> None:
        address = sector * SECTOR
        self._check(address, SECTOR)
        self._add_to_trace(b"E", address, b"")
        if address < self._end:
            self._store(address, _ERASED)
        self._begin(ERASE_US)

    def busy(self) -> bool:
        if self._working:
            self._working = time.ticks_diff(self._ready_us, time.ticks_us()) > 0
        return self._working

    def _check(self, address: int, size: int) -> None:
        if self.busy():
            raise FlashError("chip is busy: the journal's, and was used")
        if address < 0 or address + size > self.sectors * SECTOR:
            raise FlashError("beyond the chip: %d bytes at %d" % (size, address))

    def _begin(self, takes_us: int) -> None:
        if self._speed:
            self._working = True
            self._ready_us = time.ticks_add(time.ticks_us(), takes_us * self._speed // 1000)

    def _load(self, address: int, buf: "Writable") -> None:
        size = 0
        if address < self._end:
            self._file.seek(address)
            size = self._file.readinto(buf) or 0
        while size < len(buf):
            count = min(SECTOR, len(buf) - size)
            buf[size : size + count] = _ERASED[:count]
            size += count

    def _store(self, address: int, data: "Readable") -> None:
        self._file.seek(address)
        if self._file.write(data) != len(data):
            raise FlashError("journal file: no room for it")
        self._end = max(self._end, address + len(data))

    def _add_to_trace(self, kind: bytes, address: int, data: "Readable") -> None:
        if self._trace is None:
            return
        size = _HEAD_SIZE + len(data)
        struct.pack_into(_HEAD, self._record, 0, kind[0], address, len(data))
        self._record[_HEAD_SIZE:size] = data
        if self._trace.write(memoryview(self._record)[:size]) != size:
            raise FlashError("trace file: no room for it")


def _open(path: str) -> "RawFile":
    try:
        return open(path, "r+b", 0)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
    return open(path, "w+b", 0)
