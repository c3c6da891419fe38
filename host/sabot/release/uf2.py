"""Reads and checks MicroPython's image for a Raspberry Pi Pico or Pico 2, a UF2 file.

UF2 (github.com/microsoft/uf2): blocks of 512 bytes, each with a header of eight words, up to 476
bytes for one place in the flash, and a last word.
"""

import hashlib
import re
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from sabot.errors import ImageUnusable
from sabot.files import read_bounded
from sabot.release.picos import PICOS, Pico

FLASH_BYTES = PICOS["pico"].flash_bytes
"""The flash of a Pico."""

_FLASH_BEGINS = 0x10000000
_BLOCK = 512
_HEAD = struct.Struct("<8I")
_LAST = struct.Struct("<I")
_FIRST_WORD, _SECOND_WORD, _LAST_WORD = 0x0A324655, 0x9E5D5157, 0x0AB16F30
_NOT_FOR_FLASH = 0x00000001
_FAMILY_GIVEN = 0x00002000
_ABSOLUTE = 0xE48BFF57
"""The family of a block that is for any chip: before all others in an image for an RP2350, as a
remedy for its erratum RP2350-E10 (picotool)."""
_MOST_BYTES = 476
_MOST_FILE_BYTES = 16 << 20  # an image that fills the flash of a Pico 2 has 8 MB
_BOOT_BYTES = 252
"""Size of the part that the chip loads first; its CRC-32 follows."""

_DEFINES, _DEFINED = struct.pack("<I", 0xFFFFDED3), struct.pack("<I", 0xAB123579)
"""An RP2350 starts what has a block between these words within its first 4 KB: RP2350 data sheet,
5.9, "Metadata block details"."""
_DEFINED_WITHIN = 4096

_VERSION = re.compile(rb"MicroPython v([0-9][0-9A-Za-z.+-]*) on ")
_BOARD = re.compile(rb"; ([ -~]{1,60}?) with (RP[0-9A-Z]+)")


@dataclass(frozen=True, slots=True)
class Image:
    """An image for one kind of board.

    `content` is the flash from its beginning to the end of the image, with 0xFF in gaps. `version`
    is MicroPython's, `sha256_hex` is of the UF2 file.
    """

    content: bytes
    version: str
    sha256_hex: str


def read(path: Path, how_to_get_it: str, board: str = "pico") -> Image:
    """Read the image at `path`, which must be for this kind of board.

    Raises ImageUnusable, which says what is wrong and ends with `how_to_get_it`.
    """
    return read_whole(path, how_to_get_it, board)[0]


def read_whole(path: Path, how_to_get_it: str, board: str = "pico") -> tuple[Image, bytes]:
    """As `read`, with the content of the file that was looked at."""
    try:
        data = read_bounded(path, _MOST_FILE_BYTES)
    except OSError as error:
        raise ImageUnusable(f"{path}: cannot be read ({error.strerror}); {how_to_get_it}") from None
    try:
        return parse(data, board), data
    except ImageUnusable as error:
        raise ImageUnusable(f"{path}: {error}; {how_to_get_it}") from None


def parse(data: bytes, board: str = "pico") -> Image:
    """Parse the bytes of a UF2 file for this kind of board. Raises ImageUnusable."""
    pico = PICOS[board]
    content = _flash_of(data, pico)
    if pico.chip == "RP2040":
        _check_boot_stage(content)
    elif not _is_defined(content):
        raise ImageUnusable("the chip would not start it: no image definition in its first 4 KB")
    version = _VERSION.search(content)
    if version is None:
        raise ImageUnusable("no MicroPython in it")
    found = _BOARD.search(content)
    name = found[1].decode() if found else "a board without a name"
    if name != pico.machine:
        raise ImageUnusable(f"MicroPython for {name}, not for {pico.machine}")
    return Image(content, version[1].decode(), hashlib.sha256(data).hexdigest())


def _check_boot_stage(content: bytes) -> None:
    (crc,) = _LAST.unpack_from(content.ljust(_BOOT_BYTES + _LAST.size), _BOOT_BYTES)
    if crc != _chips_crc(content[:_BOOT_BYTES]):
        raise ImageUnusable("the chip would not start it: the CRC of its first 252 bytes is wrong")


def _is_defined(content: bytes) -> bool:
    begin = content.find(_DEFINES, 0, _DEFINED_WITHIN)
    return begin >= 0 and content.find(_DEFINED, begin, _DEFINED_WITHIN) > begin


def _flash_of(data: bytes, pico: Pico) -> bytes:
    if len(data) < _BLOCK or _HEAD.unpack_from(data)[:2] != (_FIRST_WORD, _SECOND_WORD):
        raise ImageUnusable("not a UF2 image")
    if len(data) % _BLOCK:
        raise ImageUnusable("truncated: the last block is not whole")
    flash = bytearray(b"\xff" * pico.flash_bytes)
    end = before = 0
    for place in range(0, len(data), _BLOCK):
        first, second, flags, address, size, number, count, family = _HEAD.unpack_from(data, place)
        (last,) = _LAST.unpack_from(data, place + _BLOCK - _LAST.size)
        if (first, second, last) != (_FIRST_WORD, _SECOND_WORD, _LAST_WORD) or size > _MOST_BYTES:
            raise ImageUnusable(f"damaged at block {place // _BLOCK}")
        if family == _ABSOLUTE and place == 0 and pico.chip != "RP2040":
            before = _BLOCK
            continue
        if not flags & _FAMILY_GIVEN or family != pico.family:
            raise ImageUnusable(f"for chip family {family:08x}, not for an {pico.chip}")
        if flags & _NOT_FOR_FLASH:
            continue
        if number != (place - before) // _BLOCK:
            raise ImageUnusable(f"damaged: block {number} is at place {(place - before) // _BLOCK}")
        if count != (len(data) - before) // _BLOCK:
            raise ImageUnusable(f"truncated: {(len(data) - before) // _BLOCK} blocks of {count}")
        begin = address - _FLASH_BEGINS
        if begin < 0 or begin + size > pico.flash_bytes:
            raise ImageUnusable(f"block {number} is not for the flash of a Pico")
        flash[begin : begin + size] = data[place + _HEAD.size : place + _HEAD.size + size]
        end = max(end, begin + size)
    return bytes(flash[:end])


def _chips_crc(data: bytes) -> int:
    """Return the CRC-32 as the RP2040's boot ROM computes it.

    It takes the highest bit first and does not invert at the end (data sheet, 2.8.1.3.1,
    "Checksum"). That is zlib's with all bits in the other order.
    """
    reversed_crc = zlib.crc32(bytes(_reversed(byte, 8) for byte in data)) ^ 0xFFFFFFFF
    return _reversed(reversed_crc, 32)


def _reversed(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)
