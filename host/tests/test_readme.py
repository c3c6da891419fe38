"""What the README promises. test_docs.py runs its commands, with those of the other pages."""

import re
from pathlib import Path

from sabot.sim.process import HEAP_BYTES

_ROOT = Path(__file__).resolve().parents[2]
_README = (_ROOT / "README.md").read_text()
_MOST_LINES = 150


def test_the_readme_is_short() -> None:
    assert len(_README.splitlines()) <= _MOST_LINES


def test_the_three_commands_are_in_the_makefile() -> None:
    makefile = (_ROOT / "Makefile").read_text()
    for command in ("demo", "test", "check"):
        assert f"make {command}" in _README and f"\n{command}:" in makefile


def test_the_simulated_heap_has_the_size_that_the_firmwares_readme_derives() -> None:
    text = (_ROOT / "firmware" / "README.md").read_text()
    bits_32, bits_64 = (
        int(
            re.search(rf"^\| {bits} bits .*\| ([\d,]+) \|$", text, re.MULTILINE)[1].replace(",", "")
        )  # type: ignore[index]
        for bits in (32, 64)
    )
    allowed = 241_600 * bits_64 // bits_32
    assert allowed - 1000 < HEAP_BYTES <= allowed
