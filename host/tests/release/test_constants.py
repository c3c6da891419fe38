"""Private constants: what runs with them does the same, and what others use keeps its name."""

import subprocess
from pathlib import Path

import pytest

from sabot.release.constants import with_private_constants
from sabot.release.modules import sources
from sabot.sim.process import interpreter

_CARDS = b"""
from micropython import const
DECK = const(52)
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
_TABLE = b"""
import cards
LIMIT = 2 * 20
PLACES = 8
print(cards.DECK, cards.own(4), cards.more(), PLACES + LIMIT, [PLACES for each in range(2)])
"""
_MADE = {
    "cards.py": _CARDS,
    "table.py": _TABLE,
}


def _changed(path: str) -> str:
    return with_private_constants(_MADE)[path].decode()


def test_an_integer_that_only_its_module_uses_is_a_private_constant() -> None:
    assert "_PLACES = const(8)" in _changed("table.py")
    assert "print(cards.DECK, cards.own(4), cards.more(), _PLACES + LIMIT" in _changed("table.py")
    assert "_set = const(3)" in _changed("cards.py")


@pytest.mark.parametrize(
    "kept", ["DECK = const(52)", "CUT = 52", "SEEN = 7", "LARGE = 4294967296", "_turn = 0"]
)
def test_a_name_that_others_use_or_that_changes_and_a_large_integer_stay(kept: str) -> None:
    """Others use DECK; CUT is a parameter too; a string has the name SEEN."""
    assert kept in _changed("cards.py").splitlines()


def test_a_program_does_the_same_with_private_constants(tmp_path: Path) -> None:
    printed = []
    for name, made in (("before", _MADE), ("after", with_private_constants(_MADE))):
        folder = tmp_path / name
        folder.mkdir()
        for path, source in made.items():
            (folder / path).write_bytes(source)
        command = [*interpreter(), "table.py"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        printed.append(run.stdout)
    assert printed[0] == printed[1] == "52 4 (3, 4294967296, 'none') 48 [8, 8]\n"


def test_every_module_of_a_release_still_compiles_as_python() -> None:
    for path, source in with_private_constants(sources()).items():
        compile(source, path, "exec")


def test_a_source_that_does_not_compile_is_named() -> None:
    with pytest.raises(ValueError, match=r"a\.py does not compile"):
        with_private_constants({"a.py": b"x ="})
