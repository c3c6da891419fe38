"""MicroPython's image is checked before anything runs on it."""

import hashlib
import struct
from pathlib import Path

import pytest

from hil_tests.emulation.uf2 import ENVIRONMENT, find_image, parse, read_image
from sabot.errors import ImageUnusable
from tests.commands import error_line_here

RP2040 = 0xE48BFF56
RP2350 = 0xE48BFF59
PICO = "MicroPython v1.28.0 on 2026-04-06; Raspberry Pi Pico with RP2040"


def uf2(content: bytes, *, family: int = RP2040, begin: int = 0x10000000) -> bytes:
    """A UF2 file of blocks with 256 bytes each."""
    parts = [content[at : at + 256].ljust(256, b"\0") for at in range(0, len(content), 256)]
    blocks = []
    for number, part in enumerate(parts):
        place = begin + 256 * number
        head = (0x0A324655, 0x9E5D5157, 0x2000, place, 256, number, len(parts), family)
        blocks.append(struct.pack("<8I", *head) + part.ljust(476, b"\0") + b"\x30\x6f\xb1\x0a")
    return b"".join(blocks)


def crc(data: bytes) -> int:
    """Bit by bit: polynomial 04C11DB7, begun with ones (RP2040 data sheet, 2.8.1.3.1)."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte << 24
        for _ in range(8):
            register = register << 1 ^ (0x104C11DB7 if register & 0x80000000 else 0)
    return register


def image(said: str = PICO) -> bytes:
    """What an image holds, as far as anybody looks."""
    boot = b"boot" * 63
    start = boot + struct.pack("<I", crc(boot))
    return start + b"code" * 136 + said.encode() + b"\0" + b"more" * 100


def test_an_image_for_the_pico_is_read():
    found = parse(uf2(image()))
    assert found.version == "1.28.0"
    assert found.content.startswith(image())
    assert found.sha256_hex == hashlib.sha256(uf2(image())).hexdigest()


def test_the_strings_may_lie_apart_as_they_do_in_a_real_image():
    said = "MicroPython v1.28.0 on 2026-04-06\0\0; Raspberry Pi Pico with RP2040"
    assert parse(uf2(image(said))).version == "1.28.0"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not a UF2 image"),
        (b"MZ" * 512, "not a UF2 image"),
        (uf2(image())[:-512], "truncated: 4 blocks of 5"),
        (uf2(image())[:-1], "truncated: the last block is not whole"),
        (uf2(image(), family=RP2350), "for chip family e48bff59, not for an RP2040"),
        (uf2(image(), begin=0x20000000), "block 0 is not for the flash of a Pico"),
        (uf2(b"junk" * 200 + PICO.encode()), "the chip would not start it"),
        (uf2(b"short"), "the chip would not start it"),
        (uf2(image("a blinking light")), "no MicroPython in it"),
        (uf2(image(PICO.replace("Pico", "Pico W"))), "MicroPython for Raspberry Pi Pico W, not"),
        (uf2(image(PICO.replace("1.28.0", "1.27.0"))), "MicroPython 1.27.0, tested is 1.28"),
        (uf2(image(PICO.replace("1.28.0", "1.2.8"))), "MicroPython 1.2.8, tested is 1.28"),
    ],
)
def test_what_the_firmware_cannot_run_on_is_refused_in_one_line(data: bytes, why: str):
    with pytest.raises(ImageUnusable) as refused:
        parse(data)
    assert str(refused.value).startswith(why)
    assert "\n" not in str(refused.value)


def test_a_damaged_block_is_found_wherever_it_is():
    whole = uf2(image())
    for block in range(1, len(whole) // 512):
        for place in (0, 4, 20, 511):
            at = block * 512 + place
            with pytest.raises(ImageUnusable):
                parse(whole[:at] + bytes((whole[at] ^ 1,)) + whole[at + 1 :])


def test_blocks_in_another_order_are_refused():
    whole = uf2(image())
    with pytest.raises(ImageUnusable, match="block 1 stands at 0"):
        parse(whole[512:1024] + whole[:512] + whole[1024:])


def test_the_message_names_the_file(tmp_path: Path):
    file = tmp_path / "wrong.uf2"
    file.write_bytes(b"nothing")
    with pytest.raises(ImageUnusable, match=r"wrong\.uf2: not a UF2 image; get RPI_PICO"):
        read_image(file)
    with pytest.raises(ImageUnusable, match="cannot be read"):
        read_image(tmp_path)


def test_the_image_is_the_one_that_was_given_else_that_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    given, named = tmp_path / "given.uf2", tmp_path / "named.uf2"
    given.write_bytes(b"")
    named.write_bytes(b"")
    monkeypatch.setenv(ENVIRONMENT, str(named))
    assert find_image(given) == given
    assert find_image() == named


def test_a_name_without_a_file_says_how_to_get_an_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "none.uf2"))
    with pytest.raises(ImageUnusable, match=r"no such file; get RPI_PICO v1\.28\.0"):
        find_image()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "no such file"),
        (b"nothing", "not a UF2 image"),
        (uf2(image(PICO.replace("Pico", "Pico 2"))), "MicroPython for Raspberry Pi Pico 2, not"),
        (uf2(image(PICO.replace("1.28.0", "1.27.0"))), "MicroPython 1.27.0, tested is 1.28"),
    ],
)
def test_the_command_refuses_a_wrong_image_before_it_makes_anything(
    tmp_path: Path, data: bytes | None, why: str
):
    if data is not None:
        (tmp_path / "image.uf2").write_bytes(data)
    arguments = ("--target", "emulator", "--uf2", "image.uf2", "--report", "report")
    line = error_line_here(tmp_path, "hil", *arguments, code=27)
    assert line.startswith(f"image.uf2: {why}")
    assert "; get RPI_PICO v1.28.0 (.uf2)" in line and "--uf2" in line
    assert not (tmp_path / "report").exists()
