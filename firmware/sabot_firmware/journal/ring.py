"""The ring of sectors on the journal's chip: reads sectors and the entries in them.

A sector begins with a header: its place in the order of all sectors ever used, and the number of
the first event in it. Entries follow, each with its length and a CRC. No entry crosses the end of a
sector.
"""

import binascii

from sabot_firmware.boards.nor import PAGE, SECTOR
from sabot_firmware.journal import keyring
from sabot_firmware.native import const
from sabot_protocol import events

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_firmware.interfaces import Flash

# Kinds of entries.
EVENT = const(1)
"""An event's record with its MAC after it."""
NOTE = const(2)
"""An input that the dealing got (table/input_log.py)."""
STATE = const(3)
"""The state of the shoe (recovery.py)."""
PASSING = const(4)
"""A card has begun to pass."""
MISSING = const(0)
"""Not an entry: `each_since_state` uses it for entries that can no longer be read."""

VERSION = const(1)
"""Version of the format on the chip. It changes when an older firmware could not continue with it.
"""
MAGIC = bytes((83, 106, VERSION, 0))
"""The beginning of a sector's header. Its place, the number of the first event and a CRC follow,
all little-endian."""
HEADER_SIZE = const(16)
HEAD_SIZE = const(2)
"""Bytes at the beginning of an entry: kind and length."""
OVERHEAD = const(HEAD_SIZE + 4)
"""Bytes of an entry besides its payload: head and CRC."""
MOST_ENTRY = events.MAX_SIZE + events.MAC_SIZE + OVERHEAD
MOST_STATE = PAGE - OVERHEAD
"""Bytes of the largest state. There are few of them, and an entry may be as large as a page."""

_BLANK = const(0xFF)
_BLANK_PAGE = b"\xff" * PAGE

assert MOST_ENTRY <= PAGE


class Ring:
    """The sectors after those of the keyring on the chip `flash`. All reading uses one buffer, so a
    result is valid until anything else is read.
    """

    def __init__(self, flash: "Flash") -> None:
        self._flash = flash
        self.sectors = flash.sectors - keyring.SECTORS
        """Sectors in the ring."""
        self._page = bytearray(PAGE)
        self._window = memoryview(self._page)
        self.alive: "Callable[[], object] | None" = None
        """Called for each sector that is looked at: a start may look at all of them, for 11 s."""

    def _address(self, sector: int) -> int:
        return (keyring.SECTORS + sector % self.sectors) * SECTOR

    def _first_of(self, sector: int) -> int:
        """Return the number of the first event in a sector; -1 if it has no header of its own."""
        if sector < 0:
            return -1
        if self.alive is not None:
            self.alive()
        window = self._window[:HEADER_SIZE]
        self._flash.read(self._address(sector), window)
        if window[0:4] != MAGIC or _uint(window, 4) != sector:
            return -1
        if _uint(window, 12) != binascii.crc32(window[:12]):
            return -1
        return _uint(window, 8)

    def _load(self, sector: int, at: int) -> int:
        """Read the entry at `at` into the page; return its size, 0 for none, -1 for a torn one."""
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
