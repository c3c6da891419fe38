"""Reads and checks MicroPython's image for the Raspberry Pi Pico, a UF2 file.

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

FLASH_BYTES = 2 << 20
"""The flash of a Pico."""

_FLASH_BEGINS = 0x10000000
_BLOCK = 512
_HEAD = struct.Struct("<8I")
_LAST = struct.Struct("<I")
_FIRST_WORD, _SECOND_WORD, _LAST_WORD = 0x0A324655, 0x9E5D5157, 0x0AB16F30
_NOT_FOR_FLASH = 0x00000001
_FAMILY_GIVEN = 0x00002000
_RP2040 = 0xE48BFF56
_MOST_BYTES = 476
_MOST_FILE_BYTES = 16 << 20  # an image that fills the flash of a Pico has 4 MB
_BOOT_BYTES = 252
"""Size of the part that the chip loads first; its CRC-32 follows."""

_VERSION = re.compile(rb"MicroPython v([0-9][0-9A-Za-z.+-]*) on ")
_BOARD = re.compile(rb"; ([ -~]{1,60}?) with (RP[0-9A-Z]+)")
_PICO = "Raspberry Pi Pico"


@dataclass(frozen=True, slots=True)
class Image:
    """An image for a Pico.

    `content` is the flash from its beginning to the end of the image, with 0xFF in gaps. `version`
    is MicroPython's, `sha256_hex` is of the UF2 file.
    """

    content: bytes
    version: str
    sha256_hex: str


def read(path: Path, how_to_get_it: str) -> Image:
    """Read the image at `path`.

    Raises ImageUnusable, which says what is wrong and ends with `how_to_get_it`.
    """
    return read_whole(path, how_to_get_it)[0]


def read_whole(path: Path, how_to_get_it: str) -> tuple[Image, bytes]:
    """As `read`, with the content of the file that was looked at."""
    try:
        data = read_bounded(path, _MOST_FILE_BYTES)
    except OSError as error:
        raise ImageUnusable(f"{path}: cannot be read ({error.strerror}); {how_to_get_it}") from None
    try:
        return parse(data), data
    except ImageUnusable as error:
        raise ImageUnusable(f"{path}: {error}; {how_to_get_it}") from None


def parse(data: bytes) -> Image:
    """Parse the bytes of a UF2 file. Raises ImageUnusable."""
    content = _flash_of(data)
    (crc,) = _LAST.unpack_from(content.ljust(_BOOT_BYTES + _LAST.size), _BOOT_BYTES)
    if crc != _chips_crc(content[:_BOOT_BYTES]):
        raise ImageUnusable("the chip would not start it: the CRC of its first 252 bytes is wrong")
    version = _VERSION.search(content)
    if version is None:
        raise ImageUnusable("no MicroPython in it")
    board = _BOARD.search(content)
    name = board[1].decode() if board else "a board without a name"
    if name != _PICO:
        raise ImageUnusable(f"MicroPython for {name}, not for {_PICO}")
    return Image(content, version[1].decode(), hashlib.sha256(data).hexdigest())


def _flash_of(data: bytes) -> bytes:
    if len(data) < _BLOCK or _HEAD.unpack_from(data)[:2] != (_FIRST_WORD, _SECOND_WORD):
        raise ImageUnusable("not a UF2 image")
    if len(data) % _BLOCK:
        raise ImageUnusable("truncated: the last block is not whole")
    flash = bytearray(b"\xff" * FLASH_BYTES)
    end = 0
    for place in range(0, len(data), _BLOCK):
        first, second, flags, address, size, number, count, family = _HEAD.unpack_from(data, place)
        (last,) = _LAST.unpack_from(data, place + _BLOCK - _LAST.size)
        if (first, second, last) != (_FIRST_WORD, _SECOND_WORD, _LAST_WORD) or size > _MOST_BYTES:
            raise ImageUnusable(f"damaged at block {place // _BLOCK}")
        if not flags & _FAMILY_GIVEN or family != _RP2040:
            raise ImageUnusable(f"for chip family {family:08x}, not for an RP2040")
        if flags & _NOT_FOR_FLASH:
            continue
        if number != place // _BLOCK:
            raise ImageUnusable(f"damaged: block {number} is at place {place // _BLOCK}")
        if count != len(data) // _BLOCK:
            raise ImageUnusable(f"truncated: {len(data) // _BLOCK} blocks of {count}")
        begin = address - _FLASH_BEGINS
        if begin < 0 or begin + size > FLASH_BYTES:
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
