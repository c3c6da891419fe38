"""The ring of sectors on the journal's chip, and the entries in them, as they are read.

A sector begins with a header: its place in the order of all sectors ever used, and the number of
the first event in it. Behind it lie entries, each with its length and a CRC, none across a
sector's end.
"""

import binascii

from sabot_firmware.boards.nor import PAGE, SECTOR
from sabot_firmware.journal import keyring
from sabot_firmware.native import const
from sabot_protocol import events

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Flash

EVENT = const(1)
"""An entry's kind: an event's record, and its MAC behind it;"""
NOTE = const(2)
"""an input that the dealing got (notes.py);"""
STATE = const(3)
"""where the shoe stood (snapshot.py);"""
PASSING = const(4)
"""a card has begun to pass."""
MISSING = const(0)
"""What `each_since_state` tells between entries: here something cannot be read any more."""

VERSION = const(1)
"""Of what is written to the chip: it changes where an older firmware could not go on with it."""
MAGIC = bytes((83, 106, VERSION, 0))
"""A sector's header: this, its place, the first event's number, a CRC; all little-endian."""
HEADER_SIZE = const(16)
HEAD_SIZE = const(2)
"""Of an entry: kind and length."""
OVERHEAD = const(HEAD_SIZE + 4)
"""Bytes of an entry that are not its payload: head and CRC."""
MOST_ENTRY = events.MAX_SIZE + events.MAC_SIZE + OVERHEAD

_BLANK = const(0xFF)
_BLANK_PAGE = b"\xff" * PAGE

assert MOST_ENTRY <= PAGE


class Ring:
    """The sectors behind those of the keyring on the chip `flash`. What is read is in one buffer,
    until anything else is read.
    """

    def __init__(self, flash: "Flash") -> None:
        self._flash = flash
        self.sectors = flash.sectors - keyring.SECTORS
        """In the ring."""
        self._page = bytearray(PAGE)
        self._window = memoryview(self._page)

    def _address(self, sector: int) -> int:
        return (keyring.SECTORS + sector % self.sectors) * SECTOR

    def _first_of(self, sector: int) -> int:
        """Number of the first event in a sector; -1 where it has no header, or another one's."""
        if sector < 0:
            return -1
        window = self._window[:HEADER_SIZE]
        self._flash.read(self._address(sector), window)
        if window[0:4] != MAGIC or _uint(window, 4) != sector:
            return -1
        if _uint(window, 12) != binascii.crc32(window[:12]):
            return -1
        return _uint(window, 8)

    def _load(self, sector: int, at: int) -> int:
        """Read the entry at `at` into the page; its size, 0 for none, -1 for one that is torn."""
        space = SECTOR - at
        if space < OVERHEAD:
            return 0
        window = self._window[: min(PAGE, space)]
        self._flash.read(self._address(sector) + at, window)
        if self._page[0] == _BLANK:
            return 0
        size = self._page[1] + OVERHEAD
        if size > len(window):
            return -1
        end = size - 4
        return size if binascii.crc32(window[:end]) == _uint(window, end) else -1

    def _is_blank(self, sector: int, at: int) -> bool:
        address = self._address(sector)
        while at < SECTOR:
            size = min(PAGE, SECTOR - at)
            window = self._window[:size]
            self._flash.read(address + at, window)
            if window != (_BLANK_PAGE if size == PAGE else _BLANK_PAGE[:size]):
                return False
            at += size
        return True


def _uint(window: "memoryview", at: int) -> int:
    return int.from_bytes(window[at : at + 4], "little")
