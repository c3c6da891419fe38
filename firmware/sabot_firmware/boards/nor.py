"""The journal's memory: SPI NOR flash of the W25Q128JV class, with the commands all of them know.

A program turns ones into zeros, within one page; an erase makes a sector all ones. Both are only
begun here: the chip goes on with them by itself (0.4 to 3 ms, 45 to 400 ms) and takes no other
command meanwhile. `simflash.py` is the same without a chip.
"""

import time

from sabot_firmware.native import const

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Readable, Select, Spi, Writable

SECTOR = const(4096)
"""Bytes that are erased together."""

PAGE = const(256)
"""Bytes that may be programmed together."""

_READ_ID = const(0x9F)
_READ_STATUS = const(0x05)
_WRITE_ENABLE = const(0x06)
_READ = const(0x03)
_PROGRAM = const(0x02)
_ERASE = const(0x20)

_BUSY = const(0x01)  # bits of the status
_WRITE_ENABLED = const(0x02)
_PROTECTED = const(0x7C)  # some part of the chip takes no program or erase
_NOBODY = const(0xFF)  # what an input reads that nothing drives, where it is pulled up

_SMALLEST = const(20)  # powers of two: 1 MB
_REACH = const(24)  # of an address of three bytes: 16 MB, also of a larger chip

_LONGEST_MS = const(500)  # the longest erase takes 400
_READINGS = const(3)


class FlashError(Exception):
    """The chip does not do as it should, or was asked for what it cannot do."""


class NorFlash:
    """The chip at `spi` (a machine.SPI in mode 0, at most 50 MHz), selected while the pin
    `select` is low. `read`, `program`, `erase` and `busy` allocate nothing.

    Raises FlashError where no chip answers, or one too small or protected. Waits for the end of
    what the chip did when the processor was reset.
    """

    def __init__(self, spi: "Spi", select: "Select") -> None:
        self._spi = spi
        self._select = select.value
        self._select(1)
        self._command = bytearray(4)
        self._enable = bytes((_WRITE_ENABLE,))
        self._ask = bytes((_READ_STATUS, 0))
        self._answer = bytearray(2)
        self._working = True
        """Whether the chip may still be busy; when not, nobody needs to ask it."""
        for _ in range(_LONGEST_MS):
            if not self.busy():
                break
            time.sleep_ms(1)
        status = self._status()
        if status & _BUSY and status != _NOBODY:
            raise FlashError("chip stays busy: the journal's, status %02x" % status)
        identity = bytearray(4)
        self._transfer(bytes((_READ_ID, 0, 0, 0)), identity)
        maker = identity[1]
        said = identity[1:].hex()
        if maker == 0 or maker == _NOBODY:
            raise FlashError("no journal chip: it answers " + said)
        if status & _PROTECTED:
            raise FlashError("chip protected: the journal's, status %02x" % status)
        if identity[3] < _SMALLEST:
            raise FlashError("chip too small: the journal's answers " + said)
        self._size = 1 << min(identity[3], _REACH)
        self.sectors = self._size // SECTOR

    def read(self, address: int, buf: "Writable") -> None:
        """Fill `buf` from `address` on. Raises FlashError while the chip is busy."""
        self._check(address, len(buf))
        for _ in range(_READINGS):
            self._select(0)
            try:
                self._send(_READ, address)
                self._spi.readinto(buf)
                return
            except OSError:  # MicroPython's DMA came too late for a byte
                pass
            finally:
                self._select(1)
        raise FlashError("journal reading: bytes were lost on the way")

    def program(self, address: int, data: "Readable") -> None:
        """Begin to program `data`, 1 to 256 bytes within a page.

        Raises FlashError while the chip is busy and where it takes no program.
        """
        size = len(data)
        self._check(address, size)
        if not size or address % PAGE + size > PAGE:
            raise FlashError("not in one page: %d bytes at %d" % (size, address))
        self._begin(_PROGRAM, address, data)

    def erase(self, sector: int) -> None:
        """Begin to erase the sector of this number. Raises FlashError as `program` does."""
        self._check(sector * SECTOR, SECTOR)
        self._begin(_ERASE, sector * SECTOR, None)

    def busy(self) -> bool:
        """Whether a program or an erase still goes on."""
        if self._working:
            self._working = self._status() & _BUSY != 0
        return self._working

    def _check(self, address: int, size: int) -> None:
        if self._working and self.busy():
            raise FlashError("chip is busy: the journal's, and was used")
        if address < 0 or address + size > self._size:
            raise FlashError("beyond the chip: %d bytes at %d" % (size, address))

    def _begin(self, command: int, address: int, data: "Readable | None") -> None:
        self._select(0)
        self._spi.write(self._enable)
        self._select(1)
        # A chip that was reset, is protected or did not hear it would leave out what follows and
        # look as if it had done it: it is asked first.
        status = self._status()
        if status & (_BUSY | _WRITE_ENABLED | _PROTECTED) != _WRITE_ENABLED:
            raise FlashError("chip won't write: the journal's, status %02x" % status)
        self._select(0)
        self._send(command, address)
        if data is not None:
            self._spi.write(data)
        self._working = True
        self._select(1)  # with this it begins

    def _send(self, command: int, address: int) -> None:
        self._command[0] = command
        self._command[1] = address >> 16
        self._command[2] = address >> 8 & 0xFF
        self._command[3] = address & 0xFF
        self._spi.write(self._command)

    def _status(self) -> int:
        self._transfer(self._ask, self._answer)
        return self._answer[1]

    def _transfer(self, out: "Readable", answer: bytearray) -> None:
        self._select(0)
        self._spi.write_readinto(out, answer)
        self._select(1)
