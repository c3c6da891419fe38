"""Wagers on one line: what people write, what becomes of it, and what is refused."""

import pytest

from sabot.errors import BadWagers
from sabot.games.baccarat.wager_file import Area, Position
from sabot.games.baccarat.wager_line import wagers_of

SEAT_3 = Area("seat", 3)


@pytest.mark.parametrize(
    ("line", "position"),
    [
        ("3 banker 100", Position(SEAT_3, "seat 3", {"banker": 10_000})),
        ("seat 3 banker 100", Position(SEAT_3, "seat 3", {"banker": 10_000})),
        ("3 Ann banker 100 tie 12.50", Position(SEAT_3, "Ann", {"banker": 10_000, "tie": 1250})),
        ("3 player player 5", Position(SEAT_3, "player", {"player": 500})),
        ("3 player 5", Position(SEAT_3, "seat 3", {"player": 500})),
        (
            "line 2 Ann de Wit Player-Pair 0.01",
            Position(Area("line", 2), "Ann de Wit", {"player_pair": 1}),
        ),
        ("  3   banker  1,250.00 ", Position(SEAT_3, "seat 3", {"banker": 125_000})),
    ],
)
def test_a_line_is_a_position(line: str, position: Position) -> None:
    assert wagers_of([line]).positions == (position,)


def test_lines_of_one_player_in_one_area_are_one_position() -> None:
    read = wagers_of(["3 Ann banker 100", "5 Ann tie 5", "3 Ann tie 5", "3 Bob tie 5"])
    assert [(str(each.area), each.player, dict(each.wagers)) for each in read.positions] == [
        ("seat 3", "Ann", {"banker": 10_000, "tie": 500}),
        ("seat 5", "Ann", {"tie": 500}),
        ("seat 3", "Bob", {"tie": 500}),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "it begins with no seat or line; write SEAT [PLAYER] WAGER AMOUNT"),
        ("banker 100", "it begins with no seat or line"),
        ("300 banker 100", "seat 300 is above 99, the highest that there can be"),
        ("3 banker -5", "'-5' is not an amount"),
        ("3 banker $5", "'$5' is not an amount"),
        ("3 banker five", "'five' is not an amount"),
        ("-3 banker 100", "it begins with no seat or line"),
        ("3", "no wager with its amount at the end"),
        ("3 banker", "no wager with its amount at the end"),
        ("3 100", "no wager with its amount at the end"),
        ("3 bank 100", "'bank' is not a wager; did you mean banker?"),
        ("3 banker 0", "'0' is not an amount from 0.01 to 10,000,000,000.00; write 100 or 12.50"),
        ("3 banker 1.5", "'1.5' is not an amount"),
        ("3 banker 1,5", "'1,5' is not an amount"),
        ("3 banker 12,34.00", "'12,34.00' is not an amount"),
        ("3 banker 1e3", "'1e3' is not an amount"),
        ("3 banker 10000000000.01", "'10000000000.01' is not an amount"),
        ("3 banker " + "9" * 5000, "is not an amount"),
        ("3 banker ١٠٠", "is not an amount"),
        ("3 banker 5 banker 6", "banker of seat 3 is given twice; add them up"),
        (f"3 {'A' * 41} banker 5", "the player's name must be 1 to 40 characters"),
        ("3 \x1b[31mAnn banker 5", "the player's name must be"),
    ],
)
def test_what_is_no_wager_is_refused_with_the_line(line: str, message: str) -> None:
    with pytest.raises(BadWagers) as refused:
        wagers_of(["9 Ida player 5", line])
    assert str(refused.value).startswith(f"--wager {line.strip()[:5]!r}"[:10])
    assert message in str(refused.value)
    assert len(str(refused.value)) < 250


def test_the_same_wager_on_two_lines_is_refused() -> None:
    with pytest.raises(BadWagers, match="tie of Ann is given twice"):
        wagers_of(["3 Ann tie 5", "3 Ann banker 100 tie 5"])
