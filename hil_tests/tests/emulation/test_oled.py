"""The model of the display, with the bytes that the firmware's own driver sends."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sabot_firmware
from sabot_hil.emulation.oled import ADDRESS, PAGES, WIDTH, Oled, glyphs

START = bytes.fromhex("00 ae d580 a83f d300 40 8d14 2000 a1 c8 da12 817f d9f1 db20 a4 a6 af")
WHOLE = bytes((0x00, 0x21, 0, WIDTH - 1, 0x22, 0, PAGES - 1))


@pytest.fixture
def oled() -> Oled:
    """A display that was started, with nothing on it."""
    one = Oled()
    written(one, START)
    return one


def written(oled: Oled, data: bytes) -> None:
    assert oled.begin(ADDRESS)
    for octet in data:
        oled.octet(octet)
    oled.end()


def drawn(text: str) -> bytes:
    columns = {character: cell for cell, character in glyphs().items()}
    return b"".join(columns[character] for character in text)


def lit(oled: Oled) -> Iterator[tuple[int, int]]:
    return ((x, y) for y in range(PAGES * 8) for x in range(WIDTH) if oled.pixel(x, y))


def test_every_printable_character_has_a_picture_of_its_own() -> None:
    assert len(glyphs()) == 95
    assert glyphs()[bytes(8)] == " "


def test_text_is_read_back_line_by_line(oled: Oled) -> None:
    written(oled, bytes((0x00, 0x21, 0, WIDTH - 1, 0x22, 2, PAGES - 1)))
    written(oled, b"\x40" + drawn("BURN: FIRST CARD"))
    written(oled, b"\x40" + drawn("  P 7  B 2      "))
    assert oled.lines() == ("", "", "BURN: FIRST CARD", "  P 7  B 2", "", "", "", "")
    assert oled.writes == 2 and not oled.misuse


def test_writing_goes_on_at_the_next_page_and_from_the_last_at_the_first(oled: Oled) -> None:
    written(oled, WHOLE)
    written(oled, b"\x40" + drawn("A" * 16) * PAGES + drawn("B" * 16))
    assert oled.lines() == ("B" * 16, *["A" * 16] * (PAGES - 1))


def test_a_cell_that_is_not_a_character_is_shown_as_such(oled: Oled) -> None:
    written(oled, WHOLE)
    written(oled, b"\x40" + bytes((0x5A, 0xA5) * 4))
    assert oled.lines()[0] == "\N{REPLACEMENT CHARACTER}"


def test_a_pixel_is_where_it_should_be(oled: Oled) -> None:
    written(oled, bytes((0x00, 0x21, 3, WIDTH - 1, 0x22, 1, PAGES - 1)))
    written(oled, b"\x40\x04")
    assert list(lit(oled)) == [(3, 8 + 2)]


@pytest.mark.parametrize(
    ("command", "place"), [(0xA0, (WIDTH - 1 - 3, 10)), (0xC0, (3, PAGES * 8 - 1 - 10))]
)
def test_a_panel_that_is_not_turned_round_shows_it_mirrored(
    oled: Oled, command: int, place: tuple[int, int]
) -> None:
    written(oled, bytes((0x00, 0x21, 3, WIDTH - 1, 0x22, 1, PAGES - 1)))
    written(oled, b"\x40\x04")
    written(oled, bytes((0x00, command)))
    assert list(lit(oled)) == [place]


@pytest.mark.parametrize("command", [b"\x00\xae", b"\x00\x8d\x10"])
def test_switched_off_or_without_its_pump_it_is_dark(oled: Oled, command: bytes) -> None:
    written(oled, WHOLE)
    written(oled, b"\x40" + drawn("A"))
    written(oled, command)
    assert oled.lines() == ("",) * PAGES


def test_another_address_is_not_its_own(oled: Oled) -> None:
    assert not oled.begin(ADDRESS + 1)


def test_unknown_commands_are_recorded(oled: Oled) -> None:
    written(oled, b"\x00\x2f")
    written(oled, b"\x80\xaf")
    assert oled.misuse == ["command 2f", "a write of kind 80"]


def test_the_firmware_s_own_bytes_start_it() -> None:
    one = Oled()
    written(one, constant("_START"))
    written(one, WHOLE)
    written(one, b"\x40" + drawn("SHOE"))
    assert one.lines()[0] == "SHOE" and not one.misuse
    assert constant("ADDRESS") == ADDRESS


def constant(name: str) -> Any:
    """A constant of the firmware's driver, which only MicroPython can import."""
    path = Path(sabot_firmware.__file__).parent / "boards" / "pico" / "ssd1306.py"
    known: dict[str, Any] = {}
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.Assign):
            try:
                value = eval(ast.unparse(statement.value), {}, known)
            except NameError:
                continue
            known[ast.unparse(statement.targets[0])] = value
    return known[name]
