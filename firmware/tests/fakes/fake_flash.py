"""A journal's chip in memory, as strict as flash, that can lose its power or have bad sectors.

It has the interface of sabot_firmware/boards/nor.py. Erased pages take no memory.
"""

import random

from sabot_firmware.boards.nor import PAGE, SECTOR, FlashError
from sabot_firmware.journal import keyring

_BLANK = b"\xff" * PAGE
_PAGES = SECTOR // PAGE

FIRST_KEY = bytes(range(7, 39))
RING = 12
"""Sectors of the journal; the chip has those of the keyring before them."""

BEFORE, TORN, AFTER = range(3)
"""Where in an operation the power fails."""


class PowerCut(Exception):
    """The power has failed; everything in the shoe's memory is lost."""


class Flash:
    """The chip; `busy_polls` is how often `busy` returns True after an operation."""

    def __init__(self, sectors: int, busy_polls: int = 0) -> None:
        self.sectors = sectors
        self.busy_polls = busy_polls
        self.operations = 0
        """Programs and erases that were started."""
        self.erases = [0] * sectors
        self.programmed = 0
        """Bytes programmed."""
        self.cut_at = -1
        """The operation, counted from 0, in which the power fails; -1 for none."""
        self.cut = BEFORE
        self.stuck_high: "set[int]" = set()
        """Sectors that accept no program."""
        self.stuck_low: "set[int]" = set()
        """Sectors that cannot be erased and keep some zeros."""
        self.misread: "set[int]" = set()
        """Addresses at which a byte is misread once."""
        self.before = lambda kind, address, data: None
        """Called before each operation with "P" or "E", the address, and the data of a program."""
        self._pages: "dict[int, bytearray]" = {}
        self._polls_left = 0
        self._on = True

    def power_on(self) -> None:
        self._on = True
        self._polls_left = 0
        self.cut_at = -1

    def read(self, address: int, buf) -> None:
        self._check(address, len(buf))
        at = 0
        while at < len(buf):
            page, place = divmod(address + at, PAGE)
            size = min(len(buf) - at, PAGE - place)
            buf[at : at + size] = self._pages.get(page, _BLANK)[place : place + size]
            at += size
        if self.misread:
            for wrong in list(self.misread):
                if address <= wrong < address + len(buf):
                    self.misread.remove(wrong)
                    buf[wrong - address] ^= 0x10

    def program(self, address: int, data) -> None:
        self._check(address, len(data))
        if not len(data) or address % PAGE + len(data) > PAGE:
            raise FlashError("not in one page: %d bytes at %d" % (len(data), address))
        self.before("P", address, data)
        page, place = divmod(address, PAGE)
        sector = page // _PAGES
        cells = self._page(page)
        ruined = sector in self.stuck_low
        for i in range(len(data)):
            if data[i] & ~cells[place + i] and not ruined:
                raise FlashError("a zero made a one: at %d" % (address + i))
        cut = self._begin()
        if cut != BEFORE and sector not in self.stuck_high:
            # Any state between untouched and done is possible: a few bits, a part of the bytes.
            sure = random.randint(0, len(data)) if cut == TORN else len(data)
            for i in range(len(data)):
                kept = 0 if i < sure else random.getrandbits(8)
                cells[place + i] &= data[i] | kept
        self._end(cut)
        self.programmed += len(data)

    def erase(self, sector: int) -> None:
        self._check(sector * SECTOR, SECTOR)
        self.before("E", sector * SECTOR, b"")
        cut = self._begin()
        self.erases[sector] += 1
        if cut == TORN:
            self._tear(sector)
        elif cut == AFTER:
            self.wipe(sector)
            if sector in self.stuck_low:
                self.flip(sector * SECTOR + random.randrange(SECTOR))
        self._end(cut)

    def busy(self) -> bool:
        if not self._on:
            raise PowerCut
        if self._polls_left:
            self._polls_left -= 1
            return True
        return False

    def flip(self, address: int, bit: int = 0) -> None:
        """Flip a bit, as may happen over years."""
        page, place = divmod(address, PAGE)
        self._page(page)[place] ^= 1 << bit

    def content(self, sector: int) -> bytes:
        """Return the content of a sector, even while the chip is busy."""
        first = sector * _PAGES
        return b"".join([bytes(self._pages.get(first + n, _BLANK)) for n in range(_PAGES)])

    def wipe(self, sector: int, begin: int = 0) -> None:
        """Erase from byte `begin` of the sector on, without counting it as an operation."""
        for page in range(sector * _PAGES, (sector + 1) * _PAGES):
            place = begin - page % _PAGES * PAGE
            if place <= 0:
                self._pages.pop(page, None)
            elif place < PAGE:
                self._page(page)[place:] = _BLANK[place:]

    def holds(self, secret: bytes) -> bool:
        """Whether these bytes are anywhere on the chip, within a page."""
        for cells in self._pages.values():
            if cells.find(secret) >= 0:
                return True
        return False

    def save(self) -> "dict[int, bytes]":
        """Return the chip's content by pages, for `load`."""
        return {page: bytes(self._pages[page]) for page in self._pages}

    def load(self, saved: "dict[int, bytes]") -> None:
        """Restore the content `saved`, with the power on."""
        for page in list(self._pages):
            if page not in saved:
                self._pages.pop(page)
        for page in saved:
            self._page(page)[:] = saved[page]
        self.power_on()

    def store(self, sector: int, content: bytes) -> None:
        """Set the content of a sector, also in ways that flash does not allow."""
        for n in range(_PAGES):
            self._page(sector * _PAGES + n)[:] = content[n * PAGE : n * PAGE + PAGE]

    def _tear(self, sector: int) -> None:
        """Leave an interrupted erase: a chip makes all bits zero, then one, and stops somewhere."""
        way = random.randrange(3)
        begin = random.choice((0, random.randint(0, SECTOR)))
        upto = random.randint(begin, SECTOR)
        for i in range(begin, SECTOR if way == 1 else upto):
            cells, place = self._page(sector * _PAGES + i // PAGE), i % PAGE
            if way == 0:
                cells[place] = 0
            elif way == 1:
                cells[place] |= random.getrandbits(8)
            else:
                cells[place] = 0xFF

    def _page(self, page: int) -> bytearray:
        if page not in self._pages:
            self._pages[page] = bytearray(_BLANK)
        return self._pages[page]

    def _check(self, address: int, size: int) -> None:
        if not self._on:
            raise PowerCut
        if self._polls_left:
            raise FlashError("chip is busy: the journal's, and was used")
        if address < 0 or address + size > self.sectors * SECTOR:
            raise FlashError("beyond the chip: %d bytes at %d" % (size, address))

    def _begin(self) -> int:
        """Return where the power fails in this operation; AFTER also if it stays on."""
        cut = self.cut if self.operations == self.cut_at else AFTER
        self._on = self.operations != self.cut_at
        self.operations += 1
        return cut

    def _end(self, cut: int) -> None:
        self._polls_left = self.busy_polls
        if not self._on:
            raise PowerCut


def new_chip(ring: int = RING, busy_polls: int = 0) -> Flash:
    return Flash(keyring.SECTORS + ring, busy_polls)
