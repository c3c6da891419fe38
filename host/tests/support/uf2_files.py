"""UF2 files with the parts of a MicroPython image that the code checks."""

import struct

RP2040 = 0xE48BFF56
RP2350 = 0xE48BFF59
PICO = "MicroPython v1.28.0 on 2026-04-06; Raspberry Pi Pico with RP2040"


def uf2(content: bytes, *, family: int = RP2040, begin: int = 0x10000000) -> bytes:
    """A UF2 file with blocks of 256 bytes."""
    parts = [content[at : at + 256].ljust(256, b"\0") for at in range(0, len(content), 256)]
    blocks = []
    for number, part in enumerate(parts):
        place = begin + 256 * number
        head = (0x0A324655, 0x9E5D5157, 0x2000, place, 256, number, len(parts), family)
        blocks.append(struct.pack("<8I", *head) + part.ljust(476, b"\0") + b"\x30\x6f\xb1\x0a")
    return b"".join(blocks)


PICO2 = "MicroPython v1.28.0 on 2026-04-06; Raspberry Pi Pico2 with RP2350"


def absolute_block() -> bytes:
    """The block before all others in an image for an RP2350: it is for any chip, and no part of the
    image (picotool, --abs-block)."""
    head = (0x0A324655, 0x9E5D5157, 0xA000, 0x10FFFF00, 256, 0, 2, 0xE48BFF57)
    data = (b"\xef" * 256 + struct.pack("<I", 0x9957E304)).ljust(476, b"\0")
    return struct.pack("<8I", *head) + data + b"\x30\x6f\xb1\x0a"


def image2(text: str = PICO2) -> bytes:
    """An image for a Pico 2: an image definition within the first 4 KB, then `text`. The words that
    begin and end it are those of the RP2350 data sheet, 5.9.1."""
    definition = bytes.fromhex("d3deffff 42012110 ff010000 00000000 793512ab")
    return b"vector" * 50 + definition + b"code" * 136 + text.encode() + b"\0" + b"more" * 100


def uf2_of_pico2(content: bytes) -> bytes:
    """A UF2 file for a Pico 2, as MicroPython's is."""
    return absolute_block() + uf2(content, family=RP2350)


def crc(data: bytes) -> int:
    """CRC-32, bit by bit: polynomial 04C11DB7, initial value all ones (RP2040 data sheet,
    2.8.1.3.1)."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte << 24
        for _ in range(8):
            register = register << 1 ^ (0x104C11DB7 if register & 0x80000000 else 0)
    return register


def image(text: str = PICO) -> bytes:
    """An image for a board: a valid boot part, then `text`, which names version and board."""
    boot = b"boot" * 63
    start = boot + struct.pack("<I", crc(boot))
    return start + b"code" * 136 + text.encode() + b"\0" + b"more" * 100
