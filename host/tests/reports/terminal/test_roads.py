"""Roads as text for a terminal."""

from itertools import zip_longest

import pytest

from sabot.reports.terminal.roads import bead_plate_text


def columns_of(plate: str) -> list[str]:
    """The columns of a bead plate from the left, each read from the top."""
    rows = plate.split("\n")
    assert len(rows) == 6
    return [
        "".join(column).strip() for column in zip_longest(*(r[::2] for r in rows), fillvalue=" ")
    ]


def test_beads_go_down_each_column_and_then_to_the_right() -> None:
    winners = ["player"] * 5 + ["banker"] * 5 + ["tie"] * 3
    plate = bead_plate_text(winners, 20).plain
    assert columns_of(plate) == ["PPPPPB", "BBBBTT", "T"]
    assert plate.split("\n")[0] == "P B T "


@pytest.mark.parametrize("count", [0, 1, 5, 6, 7, 12, 59, 60, 61, 66, 67, 90])
@pytest.mark.parametrize("columns", [1, 2, 10])
def test_the_newest_columns_are_shown_completely(count: int, columns: int) -> None:
    winners = [("player", "banker", "tie")[n * n % 7 % 3] for n in range(count)]
    letters = "".join({"player": "P", "banker": "B", "tie": "T"}[winner] for winner in winners)
    expected = [letters[at : at + 6] for at in range(0, count, 6)][-columns:]
    assert columns_of(bead_plate_text(winners, columns).plain) == expected


def test_each_winner_has_its_colour() -> None:
    plate = bead_plate_text(["player", "banker", "tie"], 1)
    colours = {plate.plain[span.start]: str(span.style).split()[-1] for span in plate.spans}
    assert colours == {"P": "blue", "B": "red", "T": "green"}
