"""A W25Q128JV for tests, from its pins: the commands of its data sheet, one byte at a time.

It raises for unknown commands, and for any command while it is not selected. It ignores what a real
chip ignores: everything but the status while it is busy, and a program or an erase that was not
enabled. It allocates only for pages that were never programmed, so tests can lock the heap.
"""

PAGE = 256
SECTOR = 4096

_LENGTHS = {
    0x9F: 4, 0x05: 2, 0x06: 1, 0x03: 5, 0x02: 5, 0x20: 4,
    0xAB: 1, 0x66: 1, 0x99: 1, 0x35: 2, 0x15: 2,
}  # fmt: skip
"""Bytes that each command must have at the least."""


class NorModel:
    """The chip; `busy_polls` is how many bytes of status report busy after a program or an erase
    has begun."""

    def __init__(self, capacity: int = 0x18, busy_polls: int = 3) -> None:
        self.identity = bytearray((0xEF, 0x40, capacity))
        self.busy_polls = busy_polls
        self.selected = True  # until the processor drives the pin; it is low from reset on
        self.plugged = True
        self.pulled = 0xFF  # what the processor reads if nothing drives the line
        self.deaf = False  # to a write enable
        self.stuck = False  # busy for ever
        self.asleep = False  # in power-down: it hears only AB
        self.deaf_to_reset = False
        self.confused = False  # it answers nothing until 66 and 99
        self.ignores = 0  # a command that it does not carry out, once
        self.status_2 = self.status_3 = 0
        self.protected = 0  # bits 2 to 6 of the status
        self.polls_left = 0
        self.enabled = False
        self.commands = bytearray(64)
        """The codes of the commands that were done, not of ignored ones; 64 at most."""
        self.done = 0
        self.pages: "dict[int, bytearray]" = {}
        self._size = 1 << capacity
        self._buffer = bytearray(PAGE)  # of a program
        self._given = bytearray(PAGE)  # which bytes of it came
        self._at = self._code = self._address = 0
        self._awake = True
        self._before = 0  # the code of the last command

    def history(self) -> bytes:
        """Return the codes of the commands since the last call."""
        codes = bytes(self.commands[: self.done])
        self.done = 0
        return codes

    def peek(self, address: int, size: int) -> bytes:
        """Return what is stored, even while the chip is busy."""
        return bytes([self._octet(address + i) for i in range(size)])

    def select(self, level: int) -> None:
        if level and self.selected:
            self.selected = False
            self._end()
        elif not level and not self.selected:
            self.selected = True
            self._at = 0

    def exchange(self, octet: int) -> int:
        """Send one byte to the chip; return the byte that comes back with it."""
        assert self.selected, "the clock runs and the chip is not selected"
        if not self.plugged:
            return self.pulled
        at = self._at
        self._at = at + 1
        if at == 0:
            assert octet in _LENGTHS, "no such command: %02x" % octet
            self._code = octet
            self._address = 0
            self._awake = octet in (0x05, 0x35, 0x15) or not self._busy()
            if self.asleep or self.confused:
                self._awake = octet in ((0xAB,) if self.asleep else (0x66, 0x99))
            elif octet in (0x66, 0x99):
                self._awake = True
            return self.pulled
        if not self._awake:
            return self.pulled
        if self._code == 0x05:
            return self._status()
        if self._code in (0x35, 0x15):
            return self.status_2 if self._code == 0x35 else self.status_3
        if self._code == 0x9F:
            assert at <= 3
            return self.identity[at - 1]
        if at <= 3:
            self._address = self._address << 8 | octet
            return self.pulled
        if self._code == 0x03:
            answer = self._octet(self._address % self._size)
            self._address += 1
            return answer
        if self._code == 0x02:
            place = (self._address + at - 4) % PAGE  # after the page's end it wraps
            self._buffer[place] = octet
            self._given[place] = 1
        return self.pulled

    def _status(self) -> int:
        status = self.protected | (2 if self.enabled else 0) | (1 if self._busy() else 0)
        if self.polls_left:
            self.polls_left -= 1
            if not self.polls_left:
                self.enabled = False
        return status

    def _busy(self) -> bool:
        return self.stuck or self.polls_left > 0

    def _end(self) -> None:
        if not self._at or not self._awake or not self.plugged:
            return
        code, at = self._code, self._at
        self._at = 0
        if code == 0xAB:
            self.asleep = False
        elif code == 0x99 and self._before == 0x66:
            self.confused = False
            self.stuck = self.stuck and self.deaf_to_reset
            self.status_2 &= 0x7F
            self.polls_left = 0
        self._before = code
        if code == self.ignores:
            self.ignores = 0
            self._forget()
            return
        if code == 0x02 or code == 0x20:
            if at < _LENGTHS[code] or not self.enabled:
                self._forget()
                return
            assert code == 0x02 or at == 4, "an erase with bytes after it is not done"
            if self.protected:
                self._forget()
                self.enabled = False
                return
            if code == 0x02:
                self._program(self._address % self._size // PAGE)
            else:
                self._erase(self._address % self._size // SECTOR)
            self.polls_left = self.busy_polls
            if not self.polls_left:
                self.enabled = False
        elif code == 0x06 and not self.deaf:
            self.enabled = True
        if self.done < len(self.commands):
            self.commands[self.done] = code
            self.done += 1

    def _program(self, page: int) -> None:
        if page not in self.pages:
            self.pages[page] = bytearray(b"\xff" * PAGE)
        memory = self.pages[page]
        for place in range(PAGE):
            if self._given[place]:
                memory[place] &= self._buffer[place]
        self._forget()

    def _forget(self) -> None:
        for place in range(PAGE):
            self._given[place] = 0

    def _erase(self, sector: int) -> None:
        first = sector * (SECTOR // PAGE)
        for page in range(first, first + SECTOR // PAGE):
            if page in self.pages:
                memory = self.pages[page]
                for place in range(PAGE):
                    memory[place] = 0xFF

    def _octet(self, address: int) -> int:
        page = address // PAGE
        return self.pages[page][address % PAGE] if page in self.pages else 0xFF


class Spi:
    """machine.SPI with `chip` on it."""

    def __init__(self, chip: NorModel) -> None:
        self._chip = chip

    def write(self, buf) -> None:
        for i in range(len(buf)):
            self._chip.exchange(buf[i])

    def readinto(self, buf, write: int = 0) -> None:
        for i in range(len(buf)):
            buf[i] = self._chip.exchange(write)

    def write_readinto(self, out, buf) -> None:
        assert len(out) == len(buf)
        for i in range(len(out)):
            buf[i] = self._chip.exchange(out[i])


class Select:
    """The pin that selects `chip`."""

    def __init__(self, chip: NorModel) -> None:
        self._chip = chip

    def value(self, level: int) -> None:
        self._chip.select(level)
