"""The journal's memory: SPI NOR flash of the W25Q128JV class, with commands common to that class.

A program turns ones into zeros, within one page; an erase makes a sector all ones. The methods here
only start them: the chip needs 0.4 to 3 ms for a program and 45 to 400 ms for an erase, and takes
no other command during that time. `boards/sim/flash.py` is the same without a chip.

The bus reports nothing: a chip that did not hear a command, or is not there, looks as if all went
well. So the status is read before each program and each erase, and the chip's identity before each
erase; the journal reads back what it has written. If MicroPython's DMA loses a byte it waits for
ever, and the board's watchdog resets the board.
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

_WAKE = const(0xAB)  # from its power-down, in which it hears nothing else
_MAY_RESET = const(0x66)
_RESET = const(0x99)

_STATUS_2 = const(0x35)  # of Winbond's chips; other makers use these two for other things
_STATUS_3 = const(0x15)
_WINBOND = const(0xEF)
_SUSPENDED = const(0x80)  # bits of status 2: an operation waits to be continued
_COMPLEMENT = const(0x40)  # what is not marked as protected is protected
_BY_BLOCK = const(0x04)  # of status 3: each block has a lock, which is shut at power-on

_BUSY = const(0x01)  # bits of the status
_WRITE_ENABLED = const(0x02)
_PROTECTED = const(0x7C)  # some part of the chip takes no program or erase
_UNDRIVEN = const(0xFF)  # what a pulled-up input reads if no chip drives it

_SMALLEST = const(20)  # powers of two: 1 MB
_REACH = const(24)  # three bytes of address reach 16 MB, of a larger chip too

_LONGEST_MS = const(500)  # the longest erase takes 400
_LOOKS = const(3)


class FlashError(Exception):
    """The chip fails, or was asked for something that it cannot do."""


class NorFlash:
    """The chip at `spi` (a machine.SPI in mode 0, at most 50 MHz), selected while the pin
    `select` is low. `read`, `program`, `erase` and `busy` allocate nothing.

    Raises FlashError if no chip answers, or if the chip is too small or protected. Waits for the
    end of an operation that was in progress when the processor was reset. Wakes a chip that sleeps,
    and resets one that does not answer as it must.
    """

    def __init__(self, spi: "Spi", select: "Select") -> None:
        self._spi = spi
        self._select = select.value
        self._select(1)
        self._command = bytearray(4)
        self._enable = bytes((_WRITE_ENABLE,))
        self._ask = bytearray(2)
        self._answer = bytearray(2)
        self._working = True
        """Whether the chip may still be busy; if not, there is no need to ask it."""
        self._ask_id = bytes((_READ_ID, 0, 0, 0))
        self._identity = identity = bytearray(4)
        self._found = bytearray(4)
        self._wake()
        if self._confused():
            self._order(_MAY_RESET)
            self._order(_RESET)
            time.sleep_ms(1)  # it takes 30 us
            self._wake()
        status = self._status()
        self._transfer(self._ask_id, identity)
        maker = identity[1]
        answer = identity[1:].hex()
        if status & _BUSY and status != _UNDRIVEN:
            raise FlashError("chip stays busy: the journal's, status %02x" % status)
        if maker == 0 or maker == _UNDRIVEN:
            raise FlashError("no journal chip: it answers " + answer)
        if maker == _WINBOND:
            status |= self._status(_STATUS_2) & _COMPLEMENT
            status |= self._status(_STATUS_3) & _BY_BLOCK
        if status & _PROTECTED:
            raise FlashError("chip protected: the journal's, status %02x" % status)
        if identity[3] < _SMALLEST:
            raise FlashError("chip too small: the journal's answers " + answer)
        self._size = 1 << min(identity[3], _REACH)
        self.sectors = self._size // SECTOR

    def read(self, address: int, buf: "Writable") -> None:
        """Fill `buf` from `address` on. Raises FlashError while the chip is busy."""
        self._check(address, len(buf))
        self._select(0)
        self._send(_READ, address)
        self._spi.readinto(buf)
        self._select(1)

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
        """Start to erase the sector with this number. Raises FlashError as `program` does, and if
        another chip answers than at the start."""
        self._check(sector * SECTOR, SECTOR)
        for _ in range(_LOOKS):
            self._transfer(self._ask_id, self._found)
            if self._found == self._identity:
                break
        else:
            raise FlashError("another chip: the journal's answers " + self._found[1:].hex())
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

    def _wake(self) -> None:
        """Wake a chip that sleeps, and wait until it has ended what it was doing."""
        self._order(_WAKE)  # it takes 3 us, less than Python to the next command
        self._working = True
        for _ in range(_LONGEST_MS):
            if not self.busy():
                break
            time.sleep_ms(1)

    def _confused(self) -> bool:
        """Whether it does not answer as a chip that is ready."""
        self._transfer(self._ask_id, self._identity)
        maker = self._identity[1]
        suspended = maker == _WINBOND and self._status(_STATUS_2) & _SUSPENDED
        return self._working or bool(suspended) or maker == 0 or maker == _UNDRIVEN

    def _order(self, command: int) -> None:
        self._select(0)
        self._spi.write(bytes((command,)))
        self._select(1)

    def _status(self, command: int = _READ_STATUS) -> int:
        self._ask[0] = command
        self._transfer(self._ask, self._answer)
        return self._answer[1]

    def _transfer(self, out: "Readable", answer: bytearray) -> None:
        self._select(0)
        self._spi.write_readinto(out, answer)
        self._select(1)
