"""Text from outside as one printable line."""

import random
import sys

import pytest

from host.tests.support.hostile import OVERLONG, TEXT, seen_by
from sabot.errors import CommandRefused, NoShoe
from sabot.text import printable, shortened


@pytest.mark.parametrize(
    "text",
    [
        "SHOE-7",
        "7♥ 10♣",
        "Tisch Süd",
        "テーブル",
        "C:\\x1b",
        "café",
        "cafe\u0301",
        "\U0001f600",
        "",
    ],
)
def test_what_can_be_read_stays(text: str) -> None:
    assert printable(text) == text


def test_what_a_terminal_obeys_becomes_an_escape() -> None:
    assert printable("a\x1b[2J\x9b\n\r\x00") == "a\\x1b[2J\\x9b\\n\\r\\x00"
    assert printable("\u202e\u200b\ufe0f\u2028") == "\\u202e\\u200b\\ufe0f\\u2028"


def test_no_character_and_no_row_of_them_passes_that_is_not_printable(rng: random.Random) -> None:
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        if not (letter.isascii() and letter.isprintable()):
            assert seen_by(printable(letter)) == [], hex(code)
    for _ in range(2000):
        text = "".join(rng.choice(TEXT) for _ in range(rng.randrange(20)))
        assert seen_by(printable(f"x{text}")) == [], text


def test_a_text_without_end_is_cut() -> None:
    assert len(printable("x" * 1_000_000)) == 4000 and printable("x" * 5000).endswith("…")
    assert shortened("SHOE-7", 6) == "SHOE-7" and shortened("SHOE-77", 6) == "SHOE-…"


def test_every_error_is_one_printable_line() -> None:
    for error in (NoShoe(f"{TEXT}: gone"), CommandRefused(OVERLONG, "full")):
        assert seen_by(f"x{error}") == []
