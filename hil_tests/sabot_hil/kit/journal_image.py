"""A reader for a journal chip's content, without the firmware: the entries, the slots of the keys
and of the pool.

Written from the formats in ring.py and keyring.py of the firmware. It shares no code with them, so
it can determine what the firmware must find.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from sabot_hil.kit.flash_image import SECTOR, ChipImage

KEY_SECTORS = 32
"""The sectors of the chip before the journal's ring begins."""

SLOT = 64
MAC_SIZE = 16

_HEADER = struct.Struct("<4sIII")
_MAGIC = b"Sj\x01\x00"
_KINDS = {1: "event", 2: "note", 3: "state", 4: "passing"}
_OF_POOL = int.from_bytes(b"pool", "little")
_HEAD = 2
_CRC = 4
_SLOT = struct.Struct("<II32s16sI")
_BLANK = b"\xff" * SECTOR
_MOST_BLANK = 32  # blank sectors between two in use

Place = tuple[int, int]
"""The sector, by its number in the count of all sectors ever used, and the byte in it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that is whole on the chip."""

    place: Place
    kind: str
    payload: bytes
    number: int
    """The number of an event; 0 for other entries."""

    @property
    def record(self) -> bytes:
        """The record of an event."""
        return self.payload[:-MAC_SIZE]

    @property
    def mac(self) -> bytes:
        """The MAC of an event."""
        return self.payload[-MAC_SIZE:]


@dataclass(frozen=True, slots=True)
class KeySlot:
    """A slot of the keyring that is in use; `epoch` is None if its CRC is wrong."""

    at: int
    epoch: int | None
    secret: bytes


def entries_in(image: ChipImage) -> list[Entry]:
    """Return all whole entries, in the order in which they were written."""
    ring = image.sectors - KEY_SECTORS
    found = []
    blank = 0
    for physical in range(ring):
        content = image.read((KEY_SECTORS + physical) * SECTOR, SECTOR)
        blank = blank + 1 if content == _BLANK else 0
        if blank > _MOST_BLANK:
            break  # the ring was never used beyond this point
        magic, sector, first, crc = _HEADER.unpack_from(content)
        good = magic == _MAGIC and crc == zlib.crc32(content[: _HEADER.size - _CRC])
        if good and sector % ring == physical:
            found.append((sector, first, content))
    found.sort()
    return [
        entry for sector, first, content in found for entry in _in_sector(sector, first, content)
    ]


def events_in(image: ChipImage) -> dict[int, Entry]:
    """Return the whole events, by number."""
    return {entry.number: entry for entry in entries_in(image) if entry.kind == "event"}


def slots_in(image: ChipImage) -> list[KeySlot]:
    """Return the slots of the keyring that are neither erased, nor overwritten with zeros, nor good
    ones of the pool."""
    found = []
    for at, slot, differs in _used_slots(image):
        epoch, _, secret, _, _ = _SLOT.unpack_from(slot)
        if differs != _OF_POOL:
            found.append(KeySlot(at, None if differs else epoch, secret))
    return found


def pools_in(image: ChipImage) -> dict[int, bytes]:
    """Return the good slots with a kept value of the pool, each by its number."""
    return {
        _SLOT.unpack_from(slot)[1]: slot
        for _, slot, differs in _used_slots(image)
        if differs == _OF_POOL
    }


def _used_slots(image: ChipImage) -> Iterator[tuple[int, bytes, int]]:
    """Yield the slots in use: place, content, and how the CRC differs from the right one."""
    content = image.read(0, KEY_SECTORS * SECTOR)
    for at in range(0, len(content), SLOT):
        slot = content[at : at + SLOT]
        if slot.strip(b"\xff") and slot.strip(b"\0"):
            crc = _SLOT.unpack_from(slot)[-1]
            yield at // SLOT, slot, crc ^ zlib.crc32(slot[: _SLOT.size - _CRC])


def _in_sector(sector: int, number: int, content: bytes) -> Iterator[Entry]:
    at = _HEADER.size
    while at + _HEAD + _CRC <= SECTOR:
        kind, size = content[at], content[at + 1]
        end = at + _HEAD + size
        if kind not in _KINDS or end + _CRC > SECTOR:
            return
        if zlib.crc32(content[at:end]) != int.from_bytes(content[end : end + _CRC], "little"):
            return
        is_event = _KINDS[kind] == "event"
        payload = content[at + _HEAD : end]
        yield Entry((sector, at), _KINDS[kind], payload, number if is_event else 0)
        number += is_event
        at = end + _CRC
