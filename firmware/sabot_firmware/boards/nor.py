"""The journal's memory: SPI NOR flash of the W25Q128JV class, with commands common to that class.

A program turns ones into zeros, within one page; an erase makes a sector all ones. The methods here
only start them: the chip needs 0.4 to 3 ms for a program and 45 to 400 ms for an erase, and takes
no other command during that time. `boards/sim/flash.py` is the same without a chip.
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
_UNDRIVEN = const(0xFF)  # what a pulled-up input reads if no chip drives it

_SMALLEST = const(20)  # powers of two: 1 MB
_REACH = const(24)  # three bytes of address reach 16 MB, of a larger chip too

_LONGEST_MS = const(500)  # the longest erase takes 400
_READINGS = const(3)


class FlashError(Exception):
    """The chip fails, or was asked for something that it cannot do."""


class NorFlash:
    """The chip at `spi` (a machine.SPI in mode 0, at most 50 MHz), selected while the pin
    `select` is low. `read`, `program`, `erase` and `busy` allocate nothing.

    Raises FlashError if no chip answers, or if the chip is too small or protected. Waits for the
    end of an operation that was in progress when the processor was reset.
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
        """Whether the chip may still be busy; if not, there is no need to ask it."""
        for _ in range(_LONGEST_MS):
            if not self.busy():
                break
            time.sleep_ms(1)
        status = self._status()
        if status & _BUSY and status != _UNDRIVEN:
            raise FlashError("chip stays busy: the journal's, status %02x" % status)
        identity = bytearray(4)
        self._transfer(bytes((_READ_ID, 0, 0, 0)), identity)
        maker = identity[1]
        answer = identity[1:].hex()
        if maker == 0 or maker == _UNDRIVEN:
            raise FlashError("no journal chip: it answers " + answer)
        if status & _PROTECTED:
            raise FlashError("chip protected: the journal's, status %02x" % status)
        if identity[3] < _SMALLEST:
            raise FlashError("chip too small: the journal's answers " + answer)
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
            except OSError:  # MicroPython's DMA was too late for a byte
                pass
            finally:
                self._select(1)
        raise FlashError("journal reading: bytes were lost on the bus")

    def program(self, address: int, data: "Readable") -> None:
        """Start to program `data`, 1 to 256 bytes within a page.

        Raises FlashError if the chip is busy or does not accept the program.
        """
        size = len(data)
        self._check(address, size)
        if not size or address % PAGE + size > PAGE:
            raise FlashError("not in one page: %d bytes at %d" % (size, address))
        self._begin(_PROGRAM, address, data)

    def erase(self, sector: int) -> None:
        """Start to erase the sector with this number. Raises FlashError as `program` does."""
        self._check(sector * SECTOR, SECTOR)
        self._begin(_ERASE, sector * SECTOR, None)

    def busy(self) -> bool:
        """Whether a program or an erase is still in progress."""
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
        # A chip that was reset, is protected or missed the enable ignores the next command, and
        # looks as if it had done it. So its status is read first.
        status = self._status()
        if status & (_BUSY | _WRITE_ENABLED | _PROTECTED) != _WRITE_ENABLED:
            raise FlashError("chip won't write: the journal's, status %02x" % status)
        self._select(0)
        self._send(command, address)
        if data is not None:
            self._spi.write(data)
        self._working = True
        self._select(1)  # this starts the operation

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
