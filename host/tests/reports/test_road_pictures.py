"""The derived roads as they are drawn in a report."""

import random
import re

from host.tests.reports.test_derived_roads import LONG, random_shoe
from host.tests.reports.test_roads import outcomes
from sabot.reports.derived_roads import big_eye_boy, cockroach_pig, small_road
from sabot.reports.road_pictures import roads_of

NAMES = {"Big Eye Boy": big_eye_boy, "Small Road": small_road, "Cockroach Pig": cockroach_pig}
CELL = 11


def figures(letters: str) -> dict[str, str]:
    """Each derived road's picture, by the name in its caption."""
    html = roads_of(outcomes(letters))
    drawn = re.findall(r"<figure>(<svg.*?</svg>)<figcaption>(.*?) <small>", html)
    return {name: shown for shown, name in drawn}


def marks(shown: str) -> list[tuple[float, float, str, str]]:
    """Where each mark's path begins, the rest of the path, and how it is painted."""
    found = re.findall(r'<path d="M([0-9.]+) ([0-9.]+)(m.*?)" (.*?)/>', shown)
    return [(float(x), float(y), path, paint) for x, y, path, paint in found]


def test_each_mark_is_in_the_middle_of_its_cell_and_within_the_grid(rng: random.Random) -> None:
    for letters in [LONG, *(random_shoe(rng) for _ in range(20))]:
        for name, shown in figures(letters).items():
            cells = NAMES[name](outcomes(letters))
            middles = [
                (1 + CELL * cell.column + CELL / 2, 1 + CELL * cell.row + CELL / 2)
                for cell in cells
            ]
            assert [(x, y) for x, y, _, _ in marks(shown)] == middles
            size = re.match(r'<svg [^>]*width="(\d+)" height="(\d+)"', shown)
            assert size
            width, height = map(int, size.groups())
            assert all(x + CELL / 2 < width and y + CELL / 2 < height for x, y in middles)


def test_red_and_blue_marks_differ_in_form_and_each_road_has_its_own() -> None:
    forms = {}
    for name, shown in figures(LONG).items():
        for cell, (_, _, path, paint) in zip(
            NAMES[name](outcomes(LONG)), marks(shown), strict=True
        ):
            forms.setdefault((name, cell.mark), set()).add((path, paint))
    assert len(forms) == 6
    assert all(len(drawn) == 1 for drawn in forms.values())
    assert len({path for drawn in forms.values() for path, _ in drawn}) == 6


def test_each_picture_says_its_marks_in_words() -> None:
    labels = {
        name: re.findall(r'aria-label="(.*?)"', shown)[0] for name, shown in figures(LONG).items()
    }
    assert labels == {
        "Big Eye Boy": "Big Eye Boy: red blue blue blue red blue red red blue red",
        "Small Road": "Small Road: blue blue blue red red blue blue",
        "Cockroach Pig": "Cockroach Pig: blue red red blue blue blue",
    }
