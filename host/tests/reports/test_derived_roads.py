"""The derived roads against roads worked out by hand, and against a player's way with two pens.

In the pictures "r" is a red mark (regular) and "b" a blue one (choppy). They are worked out from
the rule in `sabot.reports.derived_roads`, as written beside them: the lengths of the Big Road's
columns, and the marks that each column adds.
"""

import random
from collections.abc import Callable

import pytest

from host.tests.reports.test_roads import outcomes, picture
from host.tests.support.roads_on_paper import drawn_on_board, pen_marks
from sabot.reports.derived_roads import (
    DerivedCell,
    Mark,
    big_eye_boy,
    cockroach_pig,
    small_road,
)
from sabot.reports.roads import Outcome

ROADS = {1: big_eye_boy, 2: small_road, 3: cockroach_pig}
"""Each road by its distance: how many columns to the left it compares."""


def drawn(road: Callable[[list[Outcome]], list[DerivedCell]], letters: str) -> str:
    """The road as letters, one line for each row."""
    grid = {(cell.column, cell.row): cell.mark.value[0] for cell in road(outcomes(letters))}
    width = max((column + 1 for column, _ in grid), default=0)
    rows = ["".join(grid.get((column, row), " ") for column in range(width)) for row in range(6)]
    return "\n".join(row.rstrip() for row in rows).rstrip()


LONG = "PPBBBPBPPPPBB"
LONG_ROADS = (
    # rb | b | b | rbrr | br  (of columns 2 to 6)
    """|rbrbrbr|
       | b  r  |
       | b     |""",
    # Columns 4 to 6: b | bbrr | bb. Column 3 has no second cell.
    """|brb|
       |brb|
       |b  |""",
    # Columns 5 and 6: brrb | bb. Column 4 has no second cell.
    """|brb|
       | rb|
       |  b|""",
)

TAIL_BLOCKS = "PBPBPBPBPBPPBPPBPP"
TAIL_BLOCKS_ROADS = (
    # Columns 3 to 10: r each. Then rb | b | bb | b | bb. The tail of the nine red blocks the blue.
    """|rb  |
       |rb  |
       |rb  |
       |rb  |
       |rbbb|
       |rrrr|""",
    # Columns 4 to 10: r each. Then rb | b | rr | r | rr.
    """|rbr|
       |rbr|
       |r r|
       |r r|
       |r r|
       |rrr|""",
    # Columns 5 to 10: r each. Then rb | b | rb | b | bb.
    """|rbrb|
       |rb b|
       |r  b|
       |r  b|
       |r   |
       |rr  |""",
)


@pytest.mark.parametrize(
    ("letters", "roads"),
    [
        # Nothing before the starting point, however long the first column is.
        ("", ("", "", "")),
        ("TT", ("", "", "")),
        ("PPPPPPPPP", ("", "", "")),
        ("PPPB", ("", "", "")),
        # Big Eye Boy starts in column 2, row 2 ...
        ("PBB", ("|b|", "", "")),
        ("PPBB", ("|r|", "", "")),
        # ... or in column 3, row 1.
        ("PBP", ("|r|", "", "")),
        ("PPBP", ("|b|", "", "")),
        # Small Road starts in column 3, row 2, or in column 4, row 1.
        ("PBPP", ("|rb|", "|b|", "")),
        ("PBPB", ("|r|\n|r|", "|r|", "")),
        # Cockroach Pig starts in column 4, row 2, or in column 5, row 1.
        ("PBPBB", ("|rb|\n|r|", "|rb|", "|b|")),
        ("PBPBP", ("|r|\n|r|\n|r|", "|r|\n|r|", "|r|")),
        # One longer is blue, two longer and more are red again: 1, 3 and 2, 9.
        ("PBBB", ("|br|", "", "")),
        ("PP" "BBBBBBBBB", ("|rbr|\n|  r|\n|  r|\n|  r|\n|  r|\n|  r|", "", "")),
        # Columns of one cell between columns of two: b | b | bb, then rr, then b.
        ("PBBPBB", ("|b|\n|b|\n|b|\n|b|", "|r|\n|r|", "|b|")),
        # Columns of 2, 3, 1, 1, 4 and 2.
        (LONG, LONG_ROADS),
        # Ties, also before the first winner and after the last, change nothing.
        ("TPPTBBTTBPTBPPTPPBBT", LONG_ROADS),
        # Ten columns of one cell, then 2, 1, 2, 1, 2.
        (TAIL_BLOCKS, TAIL_BLOCKS_ROADS),
        # The dragon's tail counts: 8 against 8 are seven red.
        ("PPPPPPPP" "BBBBBBBB", ("|r|\n|r|\n|r|\n|r|\n|r|\n|rr|", "", "")),
        # 7, 7, 1. Drawn, the first goes six down and the second five, but the streaks are equal.
        ("PPPPPPP" "BBBBBBB" "P", ("|r|\n|r|\n|r|\n|r|\n|r|\n|rr|", "", "")),
        # 8, 9, 2: rrrrrrrb | br. The ninth is one longer than the eight, within both tails.
        ("PPPPPPPP" "BBBBBBBBB" "PP",
         ("""|rbr|
             |rb |
             |r  |
             |r  |
             |r  |
             |rr |""",
          "|r|", "")),
        # 9, 3, 9, with a tie in the tail. Drawn, the third turns above the tail of the first.
        # Big Eye Boy: rr | brrbrrrrr, Small Road: rrrrrrrr.
        ("PPPPPPPTPP" "BBB" "PPPPPPPPP",
         ("""|rbrbr|
             |r r r|
             |    r|
             |    r|
             |    r|""",
          """|r  |
             |r  |
             |r  |
             |r  |
             |r  |
             |rrr|""",
          "")),
    ],
)  # fmt: skip
def test_the_derived_roads_are_as_worked_out_by_hand(
    letters: str, roads: tuple[str, str, str]
) -> None:
    shown = tuple(drawn(road, letters) for road in ROADS.values())
    assert shown == tuple(picture(each) if each else "" for each in roads)


def test_a_mark_is_regular_or_choppy_and_names_its_round() -> None:
    shoe = [Outcome(winner, round=10 + number) for number, winner in enumerate(
        ("player", "banker", "tie", "banker", "banker"))]  # fmt: skip
    assert big_eye_boy(shoe) == [
        DerivedCell(0, 0, Mark.CHOPPY, 13),
        DerivedCell(1, 0, Mark.REGULAR, 14),
    ]


def random_shoe(rng: random.Random) -> str:
    """Winners that change seldom, often or nearly always, with some ties."""
    changes, ties = rng.random(), rng.random() / 4
    winner, letters = "P", ""
    for _ in range(rng.randrange(100)):
        if rng.random() < ties:
            letters += "T"
            continue
        if rng.random() < changes:
            winner = "B" if winner == "P" else "P"
        letters += winner
    return letters


@pytest.mark.slow
@pytest.mark.parametrize("distance", ROADS)
def test_random_shoes_are_as_a_player_marks_them_with_two_pens(
    rng: random.Random, distance: int
) -> None:
    for _ in range(2000):
        letters = random_shoe(rng)
        cells = ROADS[distance](outcomes(letters))
        marks = pen_marks(letters.replace("T", ""), distance)
        shown = [(cell.column, cell.row, cell.mark.value[0]) for cell in cells]
        assert shown == drawn_on_board(marks), letters


@pytest.mark.parametrize("road", ROADS.values())
def test_it_does_not_matter_which_hand_is_which_nor_where_ties_are(
    rng: random.Random, road: Callable[[list[Outcome]], list[DerivedCell]]
) -> None:
    for _ in range(300):
        letters = random_shoe(rng)
        cells = road(outcomes(letters))
        assert road(outcomes(letters.translate(str.maketrans("PB", "BP")))) == cells
        assert road(outcomes(letters.replace("T", ""))) == cells


@pytest.mark.parametrize("distance", ROADS)
def test_a_round_adds_one_mark_after_the_starting_point_and_changes_none_before_it(
    rng: random.Random, distance: int
) -> None:
    for _ in range(30):
        letters = random_shoe(rng)
        before = ROADS[distance]([])
        columns, streak, last = 0, 0, ""
        for count, letter in enumerate(letters, 1):
            cells = ROADS[distance](outcomes(letters[:count]))
            if letter != "T":
                columns, streak = (columns, streak + 1) if letter == last else (columns + 1, 1)
                last = letter
            started = columns > distance + 1 or (columns == distance + 1 and streak > 1)
            assert cells[: len(before)] == before
            assert len(cells) - len(before) == (started and letter != "T")
            before = cells
