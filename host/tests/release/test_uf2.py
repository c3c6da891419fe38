"""MicroPython's image is checked before it is used."""

import hashlib
from pathlib import Path

import pytest

from host.tests.support.uf2_files import (
    PICO,
    PICO2,
    RP2350,
    absolute_block,
    image,
    image2,
    uf2,
    uf2_of_pico2,
)
from sabot.errors import ImageUnusable
from sabot.release.uf2 import parse, read


def test_an_image_for_the_pico_is_read():
    found = parse(uf2(image()))
    assert found.version == "1.28.0"
    assert found.content.startswith(image())
    assert found.sha256_hex == hashlib.sha256(uf2(image())).hexdigest()


def test_version_and_board_may_lie_apart_as_in_a_real_image():
    text = "MicroPython v1.28.0 on 2026-04-06\0\0; Raspberry Pi Pico with RP2040"
    assert parse(uf2(image(text))).version == "1.28.0"


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
    ],
)
def test_an_image_that_the_firmware_cannot_run_on_is_refused_in_one_line(data: bytes, why: str):
    with pytest.raises(ImageUnusable) as refused:
        parse(data)
    assert str(refused.value).startswith(why)
    assert "\n" not in str(refused.value)


def test_an_image_for_a_pico_2_is_read_with_or_without_the_block_for_any_chip():
    for data in (uf2_of_pico2(image2()), uf2(image2(), family=RP2350)):
        found = parse(data, "pico2")
        assert found.version == "1.28.0" and found.content.startswith(image2())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (uf2(image()), "for chip family e48bff56, not for an RP2350"),
        (uf2_of_pico2(image2())[:-512], "truncated: 5 blocks of 6"),
        (
            uf2_of_pico2(b"junk" * 2000 + PICO2.encode()),
            "the chip would not start it: no image def",
        ),
        (uf2_of_pico2(image2("a blinking light")), "no MicroPython in it"),
        (
            uf2_of_pico2(image2(PICO2.replace("Pico2", "Pico 2 W"))),
            "MicroPython for Raspberry Pi P",
        ),
        (absolute_block() + uf2_of_pico2(image2()), "for chip family e48bff57, not for an RP2350"),
        (uf2(image2(), family=RP2350, begin=0x103FFF00), "block 1 is not for the flash"),
    ],
)
def test_an_image_that_is_not_for_a_pico_2_is_refused_in_one_line(data: bytes, why: str):
    with pytest.raises(ImageUnusable) as refused:
        parse(data, "pico2")
    assert str(refused.value).startswith(why)


def test_the_block_for_any_chip_is_no_part_of_a_pico_s_image():
    with pytest.raises(ImageUnusable, match="for chip family e48bff57, not for an RP2040"):
        parse(absolute_block() + uf2(image()))


def test_damage_in_any_block_is_found():
    whole = uf2(image())
    for block in range(1, len(whole) // 512):
        for place in (0, 4, 20, 511):
            at = block * 512 + place
            with pytest.raises(ImageUnusable):
                parse(whole[:at] + bytes((whole[at] ^ 1,)) + whole[at + 1 :])


def test_blocks_in_another_order_are_refused():
    whole = uf2(image())
    with pytest.raises(ImageUnusable, match="block 1 is at place 0"):
        parse(whole[512:1024] + whole[:512] + whole[1024:])


def test_the_message_names_the_file_and_how_to_get_one(tmp_path: Path):
    file = tmp_path / "wrong.uf2"
    file.write_bytes(b"nothing")
    with pytest.raises(ImageUnusable, match=r"wrong\.uf2: not a UF2 image; ask Ann$"):
        read(file, "ask Ann")
    with pytest.raises(ImageUnusable, match=r"cannot be read .*; ask Ann$"):
        read(tmp_path, "ask Ann")
