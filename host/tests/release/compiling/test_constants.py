"""Integers where they are used: what runs so does the same, and what a string names stays."""

import subprocess
from pathlib import Path

import pytest

from sabot.release.compiling.constants import with_integers_in_place
from sabot.release.compiling.modules import sources
from sabot.sim.process import interpreter

_CARDS = b"""
from micropython import const
DECK = const(52)
SHOE = const(8 * DECK)
CUT = 52
SEEN = 7
LARGE = 4294967296
_set = 3
_turn = 0

def more():
    global _turn
    _turn += _set
    return _turn, LARGE, getattr(more, "SEEN", "none")

def own(CUT):
    return CUT
"""
_SHELF = b"""
from cards import DECK, SHOE as WHOLE, more
COLUMNS = 3
"""
_TABLE = b"""
import cards
from shelf import DECK, WHOLE
import shelf
LIMIT = 2 * 20
PLACES = 8
DECKS = 1
DECKS = 2
print(DECK, WHOLE, cards.DECK, cards.own(4), cards.more(), PLACES + LIMIT, DECKS)
print([PLACES for each in range(2)], shelf.COLUMNS, shelf.more())
"""
_MADE = {"cards.py": _CARDS, "shelf.py": _SHELF, "table.py": _TABLE}


def _lines(path: str) -> list[str]:
    return with_integers_in_place(_MADE)[path].decode().splitlines()


def test_an_integer_that_only_its_module_uses_is_a_private_constant() -> None:
    assert {"_PLACES = const(8)", "_LIMIT = const(40)"} <= {*_lines("table.py")}
    assert {"_set = const(3)"} <= {*_lines("cards.py")}


def test_an_integer_of_another_module_is_put_where_it_is_used_also_if_it_came_through_a_third() -> (
    None
):
    text = "\n".join(_lines("table.py"))
    assert "print(52, 416, cards.DECK," in text and "from shelf" not in text
    assert "from cards import more" in _lines("shelf.py")


@pytest.mark.parametrize("kept", ["CUT = 52", "SEEN = 7", "LARGE = 4294967296", "_turn = 0"])
def test_a_name_that_is_given_another_value_or_is_in_a_string_and_a_large_integer_stay(
    kept: str,
) -> None:
    assert kept in _lines("cards.py")


def test_a_name_that_gets_two_values_stays() -> None:
    assert {"DECKS = 1", "DECKS = 2"} <= {*_lines("table.py")}


def test_a_program_does_the_same(tmp_path: Path) -> None:
    printed = []
    for name, made in (("before", _MADE), ("after", with_integers_in_place(_MADE))):
        folder = tmp_path / name
        folder.mkdir()
        for path, source in made.items():
            (folder / path).write_bytes(source)
        command = [*interpreter(), "table.py"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        printed.append(run.stdout)
    wanted = "52 416 52 4 (3, 4294967296, 'none') 48 2\n[8, 8] 3 (6, 4294967296, 'none')\n"
    assert printed == [wanted, wanted]


@pytest.mark.slow
def test_every_module_of_a_release_still_compiles_as_python() -> None:
    for path, source in with_integers_in_place(sources()).items():
        compile(source, path, "exec")


def test_a_source_that_does_not_compile_is_named() -> None:
    with pytest.raises(ValueError, match=r"a\.py does not compile"):
        with_integers_in_place({"a.py": b"x ="})
