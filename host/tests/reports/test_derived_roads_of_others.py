"""The derived roads against those of another program: PyBaccarat 0.18 (MIT, on PyPI).

It cannot be installed on Linux as it is, because its setup imports `msvcrt`. With a
`sitecustomize.py` on PYTHONPATH that puts a module of this name into `sys.modules`, `pip wheel`
makes it. Where it is not there these tests are skipped.
"""

import random
import sys
from types import ModuleType
from typing import Any

import pytest

from host.tests.reports.test_derived_roads import ROADS, random_shoe
from host.tests.reports.test_roads import outcomes
from sabot.reports.derived_roads import Mark

LETTERS = {Mark.REGULAR: "s", Mark.CHOPPY: "C"}
"""The marks as PyBaccarat names them: same, and chop."""


@pytest.fixture(scope="module")
def scoreboard() -> Any:
    """PyBaccarat's class of a road."""
    keyboard = ModuleType("msvcrt")
    keyboard.getch = lambda: b""  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "msvcrt", keyboard)
        return pytest.importorskip("pybaccarat.baccarat").Scoreboard


@pytest.mark.parametrize("distance", ROADS)
def test_random_shoes_have_the_marks_of_pybaccarat(
    scoreboard: Any, rng: random.Random, distance: int
) -> None:
    for _ in range(1000):
        letters = random_shoe(rng)
        # The Big Road as it has it, without its drawing, which fails after some 60 columns.
        big_road: list[Any] = ["R0"]
        derived, marks = scoreboard(distance), ""
        for letter in letters.replace("T", ""):
            if letter != big_road[-1][0]:
                big_road.append([letter, 0])
            big_road[-1][1] += 1
            marks += derived.get_cs_mark(big_road).strip()
        cells = ROADS[distance](outcomes(letters))
        assert "".join(LETTERS[cell.mark] for cell in cells) == marks, letters
