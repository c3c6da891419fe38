"""The pictures of the roads have what the roads have, and say it in words too."""

import random
import re

import pytest

from sabot.reports.derived_roads import big_eye_boy, cockroach_pig, small_road
from sabot.reports.drawn_roads import HIT_MARKS, roads_of, title_of, totals_of
from sabot.reports.roads import Outcome, bead_plate, big_road
from sabot.web.pictures import small_plate
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
    assert set(HIT_MARKS) == set(enums.HITS) - {"player_pair", "banker_pair"}
    assert len(set(HIT_MARKS.values())) == len(HIT_MARKS)
    for hit in HIT_MARKS:
        assert hit.replace("_", " ") in title_of(Outcome("banker", hits=(hit,)))


def test_the_small_plate_has_the_last_columns() -> None:
    outcomes = [Outcome("player")] * 6 + [Outcome("banker")] * 6 + [Outcome("tie")] * 3
    plate = small_plate(outcomes, 2)
    assert 'aria-label="last results: B B B B B B T T T"' in plate
    assert len(re.findall(r"M\d+ \d+h0", plate)) == 9 and "discs player" not in plate


def test_the_totals_count_each_result() -> None:
    outcomes = [Outcome("player", natural=True), Outcome("tie", player_pair=True)]
    assert totals_of(outcomes) == [
        ("Player", 1), ("Banker", 0), ("Tie", 1),
        ("naturals", 1), ("Player pairs", 1), ("Banker pairs", 0),
    ]  # fmt: skip
