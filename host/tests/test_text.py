"""Text from outside as one printable line."""

import ast
import random
import re
import sys
from itertools import chain
from pathlib import Path

import pytest

import sabot
from host.tests.support.hostile import OVERLONG, TEXT, seen_by
from sabot.errors import CommandRefused, NoShoe
from sabot.text import card_names, card_symbol, counted, printable, shortened
from sabot_protocol import cards


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


@pytest.mark.slow
def test_no_character_and_no_row_of_them_passes_that_is_not_printable(rng: random.Random) -> None:
    # Nothing is assigned above plane 2 but what chooses variants, and plane 2 has ideographs only:
    # a sample of these is enough.
    rest = range(0x20000 + rng.randrange(16), sys.maxunicode + 1, 16)
    for code in chain(range(0x20000), range(0xE0000, 0xE1000), rest):
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


def test_every_card_is_read_as_sabot_writes_it() -> None:
    for card in range(cards.CARD_COUNT):
        name = cards.name_of(card)
        for text in (name, name.lower(), card_symbol(name), name.replace("T", "10", card < 52)):
            assert card_names(text) == [name], text


def test_cards_have_commas_or_blanks_between_them_or_nothing() -> None:
    for text in (
        "10♠ K♦ 7♥",
        "10s,kd,7h",
        " TS, KD ,7H ",
        "10♠K♦7♥",
        "10 S K D 7 H",
        "10♠️\u00a0k♢ 7♡",
    ):
        assert card_names(text) == ["TS", "KD", "7H"], text
    assert card_names("") == card_names(" , ") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("7H 11S", "'11S' is not a card; did you mean "),
        ("KX", "'KX' is not a card; did you mean K"),
        ("7", "'7' is not a card; did you mean 7"),
        ("?", "'?' is not a card; write 7H, TC"),
        ("7Hx", "'x' is not a card"),
        ("\u212aH", "is not a card"),  # the Kelvin sign, which some take for a K
        ("7\u017f", "is not a card"),  # the long s
        ("x" * 5000, "'xxxxxxxxxxxxxxxxxxx…' is not a card"),
    ],
)
def test_what_is_not_a_card_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        card_names(text)


def test_one_event_two_events() -> None:
    assert [counted(n, "event") for n in (0, 1, 2, 1155)] == [
        "0 events", "1 event", "2 events", "1,155 events",
    ]  # fmt: skip
    assert [counted(n, "pass", "passes") for n in (1, 2)] == ["1 pass", "2 passes"]


_PLURAL = re.compile(
    r" (more )?(events|rounds|units|findings|notes|checkpoints|cards|records|shoes|passes|files"
    r"|tests|boards|keys|days|times|decks|areas|combinations|rows|lines|pages|wagers)\b"
)
_NO_COUNTS = (
    "player} wagers on",
    "player} wagers in",
    "{now} wagers",
    "is listed {count} times",
    "{len(found) or 'no'} rounds match",  # one is not an error
)


def _is_never_one(value: ast.FormattedValue) -> bool:
    """Whether it is a constant of the module, or has decimals."""
    constant = isinstance(value.value, ast.Name) and value.value.id.isupper()
    format_ = "" if value.format_spec is None else ast.unparse(value.format_spec)
    return constant or re.search(r"\.[1-9]f", format_) is not None


@pytest.mark.slow
def test_no_text_counts_without_its_helper() -> None:
    """`f"{n} events"` would say "1 events"."""
    wrong = []
    for source in Path(sabot.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if not isinstance(node, ast.JoinedStr):
                continue
            text = ast.unparse(node)
            for value, after in zip(node.values, node.values[1:], strict=False):
                if (
                    isinstance(value, ast.FormattedValue)
                    and not _is_never_one(value)
                    and isinstance(after, ast.Constant)
                    and _PLURAL.match(str(after.value))
                    and not any(each in text for each in _NO_COUNTS)
                ):
                    wrong.append(f"{source.name}:{node.lineno}: {text}")
    assert wrong == []
