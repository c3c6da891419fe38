"""Bead plate and Big Road against roads drawn by hand on squared paper."""

import random
from itertools import pairwise

import pytest

from host.tests.support.roads_on_paper import drawn_on_board
from sabot.log.families.cards import Card
from sabot.log.rounds import Round
from sabot.reports.roads import Bead, BigCell, Outcome, bead_plate, big_road, outcomes_of

WINNERS = {"P": "player", "B": "banker", "T": "tie"}


def outcomes(letters: str) -> list[Outcome]:
    return [Outcome(WINNERS[each]) for each in letters]


def drawn(letters: str) -> str:
    """The Big Road as letters, one line for each row. A lower case letter has one tie on it; a
    digit is the number of several ties.
    """
    cells = big_road(outcomes(letters))
    grid = {}
    for cell in cells:
        assert (cell.column, cell.row) not in grid, "two rounds in one cell"
        letter = "." if cell.outcome is None else cell.outcome.winner[0].upper()
        grid[cell.column, cell.row] = (
            letter if not cell.ties else letter.lower() if cell.ties == 1 else str(cell.ties)
        )
    width = max((column + 1 for column, _ in grid), default=0)
    rows = ["".join(grid.get((column, row), " ") for column in range(width)) for row in range(6)]
    return "\n".join(row.rstrip() for row in rows).rstrip()


def picture(text: str) -> str:
    """The lines between bars, as a road is written in the tests."""
    return "\n".join(line.strip().strip("|").rstrip() for line in text.strip().splitlines())


@pytest.mark.parametrize(
    ("letters", "road"),
    [
        ("", ""),
        ("P", "|P|"),
        ("B", "|B|"),
        # A popular package begins in the second column.
        ("PB", "|PB|"),
        ("PPBPBBB",
         """|PBPB|
            |P  B|
            |   B|"""),
        # Six fill a column, the seventh is the dragon's tail.
        ("PPPPPP", "|P|\n|P|\n|P|\n|P|\n|P|\n|P|"),
        ("PPPPPPPPB",
         """|PB |
            |P  |
            |P  |
            |P  |
            |P  |
            |PPP|"""),
        # The tail blocks the next run, which turns above it and then blocks the run after it.
        ("PPPPPPPP" "BBBBBBB" "PPPP",
         """|PBP |
            |PBP |
            |PBP |
            |PBP |
            |PBBB|
            |PPP |"""),
        # After the end of the tail a run goes down to the last row again.
        ("PPPPPPP" "B" "PPPPPP",
         """|PBP|
            |P P|
            |P P|
            |P P|
            |P P|
            |PPP|"""),
        # A tail above another tail does not go down after the end of that one: the lower tail
        # covers columns 0 to 2, the upper one continues in its row.
        ("PPPPPPPP" "BBBBBBBB",
         """|PB    |
            |PB    |
            |PB    |
            |PB    |
            |PBBBB |
            |PPP   |"""),
        # Ties are on the round before them; nothing moves.
        ("PTBTTBP",
         """|p2P|
            | B |"""),
        # Leading ties are on the first cell, which the first winner takes.
        ("TTPP",
         """|2|
            |P|"""),
        ("TB", "|b|"),
        ("T", "|.|"),
        ("TTT", "|3|"),
    ],
)  # fmt: skip
def test_the_big_road_is_as_drawn_by_hand(letters: str, road: str) -> None:
    shown = drawn(letters)
    assert shown == picture(road) if road else shown == ""


def test_a_shoe_with_one_tie_only() -> None:
    tie = Outcome("tie", natural=True)
    assert big_road([tie]) == [BigCell(0, 0, None, 1)]
    assert bead_plate([tie]) == [Bead(0, 0, tie)]


def test_a_run_that_turns_in_the_top_row_moves_the_next_run_to_its_end() -> None:
    # Each run of twenty turns one row above the tail of the run before it. The sixth run turns in
    # the top row and takes the top of the columns to its right.
    letters = "".join(
        winner * count for winner, count in zip("PBPBPBP", (20,) * 6 + (3,), strict=True)
    )
    cells = {(cell.column, cell.row): cell.outcome for cell in big_road(outcomes(letters + "B"))}
    # Runs 1 to 6 begin in columns 0 to 5, and turn in rows 5 down to 0.
    for run in range(6):
        winner = WINNERS["PB"[run % 2]]
        turned = 5 - run
        down = turned + 1
        for row in range(down):
            assert cells[run, row] == Outcome(winner)
        for column in range(run, run + 20 - down + 1):
            assert cells[column, turned] == Outcome(winner)
    # The sixth run lies in the top row from column 5 to 24, so the seventh begins in column 25.
    # The tails below it end earlier, that of the fifth run in column 4 + 18, so it can go down.
    assert [cells[25, row] for row in range(3)] == [Outcome("player")] * 3
    assert cells[26, 0] == Outcome("banker")


def test_every_winner_has_a_cell_and_every_tie_a_mark(rng: random.Random) -> None:
    for _ in range(300):
        letters = "".join(rng.choices("PBT", (rng.random(), rng.random(), 0.1), k=90))
        cells = big_road(outcomes(letters))
        assert len({(cell.column, cell.row) for cell in cells}) == len(cells)
        shown = "".join(cell.outcome.winner[0].upper() for cell in cells if cell.outcome)
        assert shown == letters.replace("T", "")
        assert sum(cell.ties for cell in cells) == letters.count("T")
        assert all(0 <= cell.row < 6 for cell in cells)
        if cells:
            assert (cells[0].column, cells[0].row) == (0, 0)
        for before, cell in pairwise(cells):
            assert before.outcome and cell.outcome
            if before.outcome.winner == cell.outcome.winner:
                step = cell.column - before.column, cell.row - before.row
                assert step in ((0, 1), (1, 0))
            else:
                assert cell.row == 0 and cell.column > 0


@pytest.mark.slow
def test_random_shoes_lie_as_drawn_run_after_run(rng: random.Random) -> None:
    for _ in range(1000):
        weights = rng.random(), rng.random()
        letters = "".join(rng.choices("PB", weights, k=rng.randrange(90)))
        shown = [
            (cell.column, cell.row, cell.outcome.winner[0].upper())
            for cell in big_road(outcomes(letters))
            if cell.outcome
        ]
        assert shown == drawn_on_board(letters), letters


def test_the_bead_plate_goes_down_and_then_right() -> None:
    beads = bead_plate(outcomes("PBTPBPBBBBBBT"))
    places = [(bead.column, bead.row, bead.outcome.winner[0]) for bead in beads]
    assert places == [
        (0, 0, "p"), (0, 1, "b"), (0, 2, "t"), (0, 3, "p"), (0, 4, "b"), (0, 5, "p"),
        (1, 0, "b"), (1, 1, "b"), (1, 2, "b"), (1, 3, "b"), (1, 4, "b"), (1, 5, "b"),
        (2, 0, "t"),
    ]  # fmt: skip
    assert bead_plate([]) == []


def test_rounds_with_a_result_have_outcomes_with_naturals_and_pairs() -> None:
    def round_(number: int, player: str, banker: str, winner: str | None, **more: object) -> Round:
        more |= {"player": tuple(map(Card, player.split())), "winner": winner}
        more["banker"] = tuple(map(Card, banker.split()))
        return Round("U1", 1, number, 10 * number, None, **more)  # type: ignore[arg-type]

    rounds = [
        round_(1, "7H 7D 3C", "2C KS 2D", "player"),
        round_(2, "4H", "", None, void="supervisor"),
        round_(3, "9H KD", "QC QS", "player", natural=True),
        round_(4, "KH KD", "QC QS", "tie"),
        round_(5, "TH KD", "", None),
    ]
    assert outcomes_of(rounds) == [
        Outcome("player", False, True, False, 1),
        Outcome("player", True, False, True, 3),
        Outcome("tie", False, True, True, 4),
    ]


def test_flags_are_those_of_the_round_in_the_cell() -> None:
    first = Outcome("player", natural=True, banker_pair=True)
    tie = Outcome("tie", natural=True, player_pair=True)
    assert big_road([first, tie]) == [BigCell(0, 0, first, 1)]
