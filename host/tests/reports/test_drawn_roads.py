"""The pictures of the roads have what the roads have, and say it in words too."""

import random
import re

import pytest

from host.tests.reports.test_derived_roads import LONG, random_shoe
from host.tests.reports.test_roads import outcomes as outcomes_of
from sabot.games.baccarat.wagers import MARKS
from sabot.reports.derived_roads import big_eye_boy, cockroach_pig, small_road
from sabot.reports.drawn_roads import REPORT, roads_of, title_of, totals_of
from sabot.reports.roads import Outcome, bead_plate, big_road
from sabot_protocol import enums


def _shoe(seed: int) -> list[Outcome]:
    rng = random.Random(seed)
    winners = ("player", "banker", "tie")
    return [
        Outcome(
            rng.choices(winners, (45, 46, 9))[0],
            rng.random() < 0.3,
            rng.random() < 0.1,
            rng.random() < 0.1,
            number,
            ("dragon_7",) if rng.random() < 0.1 else (),
        )
        for number in range(1, rng.randint(2, 90))
    ]


@pytest.mark.parametrize("seed", range(5))
def test_each_picture_has_a_mark_for_each_cell_at_its_place(seed: int) -> None:
    outcomes = _shoe(seed)
    roads = roads_of(outcomes)
    beads = re.findall(r'<circle class="(\w+)" cx="(\d+)" cy="(\d+)"', roads.bead_plate)
    expected = [
        (bead.outcome.winner, str(24 * bead.column + 12), str(24 * bead.row + 12))
        for bead in bead_plate(outcomes)
    ]
    assert beads == expected
    rings = re.findall(r'class="ring (\w+)" cx="(\d+)" cy="(\d+)"', roads.big_road)
    assert rings == [
        (cell.outcome.winner, str(24 * cell.column + 12), str(24 * cell.row + 12))
        for cell in big_road(outcomes)
        if cell.outcome is not None
    ]
    for picture, cells in (
        (roads.big_eye_boy, big_eye_boy(outcomes)),
        (roads.small_road, small_road(outcomes)),
        (roads.cockroach_pig, cockroach_pig(outcomes)),
    ):
        drawn = {
            (colour, x, y)
            for colour, path in re.findall(r'mark (\w+)" d="([^"]+)"', picture)
            for x, y in re.findall(r"M(\d+) (\d+)", path)
        }
        assert drawn == {
            (cell.mark.value, str(24 * cell.column + 12), str(24 * cell.row + 12)) for cell in cells
        }


@pytest.mark.parametrize("seed", range(5))
def test_pairs_naturals_ties_and_hits_are_marked(seed: int) -> None:
    outcomes = _shoe(seed)
    plate = roads_of(outcomes).bead_plate
    assert plate.count('class="natural"') == sum(each.natural for each in outcomes)
    assert plate.count('class="pair player"') == sum(each.player_pair for each in outcomes)
    assert plate.count('class="pair banker"') == sum(each.banker_pair for each in outcomes)
    assert plate.count(">D7<") == sum("dragon_7" in each.hits for each in outcomes)
    ties = sum(cell.ties > 0 for cell in big_road(outcomes))
    assert roads_of(outcomes).big_road.count('class="stroke tie"') == ties


def test_every_hit_but_the_pairs_has_a_mark_and_a_name() -> None:
    assert set(MARKS) == set(enums.HITS) - {"player_pair", "banker_pair"}
    assert len(set(MARKS.values())) == len(MARKS)
    for hit in MARKS:
        assert hit.replace("_", " ") in title_of(Outcome("banker", hits=(hit,)))


def test_the_totals_count_each_result() -> None:
    outcomes = [Outcome("player", natural=True), Outcome("tie", player_pair=True)]
    assert totals_of(outcomes) == [
        ("Player", 1), ("Banker", 0), ("Tie", 1),
        ("naturals", 1), ("Player pairs", 1), ("Banker pairs", 0),
    ]  # fmt: skip


# ---- derived roads in a report

NAMES = {"Big Eye Boy": big_eye_boy, "Small Road": small_road, "Cockroach Pig": cockroach_pig}
CELL = 24


def figures(letters: str) -> dict[str, str]:
    """Each derived road's picture, by its name."""
    roads = roads_of(outcomes_of(letters), REPORT)
    return dict(zip(NAMES, (roads.big_eye_boy, roads.small_road, roads.cockroach_pig), strict=True))


def marks(shown: str) -> list[tuple[float, float, str, str]]:
    """Where each mark's path begins, the rest of the path, and how it is painted."""
    found = re.findall(r'</title><path class="(.*?)" d="M([0-9.]+) ([0-9.]+)(m.*?)"/>', shown)
    return [(float(x), float(y), path, paint) for paint, x, y, path in found]


def test_each_mark_is_in_the_middle_of_its_cell_and_within_the_grid(rng: random.Random) -> None:
    for letters in [LONG, *(random_shoe(rng) for _ in range(20))]:
        for name, shown in figures(letters).items():
            cells = NAMES[name](outcomes_of(letters))
            middles = [
                (CELL * cell.column + CELL / 2, CELL * cell.row + CELL / 2) for cell in cells
            ]
            assert [(x, y) for x, y, _, _ in marks(shown)] == middles
            size = re.match(
                r'<svg .*?width="(\d+)" height="(\d+)" viewBox="-1 -1 (\d+) (\d+)"', shown
            )
            assert size
            width, height, inner_width, inner_height = map(int, size.groups())
            assert (2 * width, 2 * height) == (inner_width, inner_height)
            right, bottom = inner_width - 1, inner_height - 1
            assert all(x + CELL / 2 < right and y + CELL / 2 < bottom for x, y in middles)


def test_red_and_blue_marks_differ_in_form_and_each_road_has_its_own() -> None:
    forms = {}
    for name, shown in figures(LONG).items():
        for cell, (_, _, path, paint) in zip(
            NAMES[name](outcomes_of(LONG)), marks(shown), strict=True
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
