"""The smallest and largest amount of each wager."""

import pytest

from host.tests.support.table import game, seat, settled, steps, with_left
from sabot.errors import Forbidden
from sabot.games.baccarat.house_game import chosen_in
from sabot.games.baccarat.limits import Limits, limits_in


def test_a_wager_has_its_own_limits_those_of_side_wagers_or_the_tables() -> None:
    limits = limits_in(game("ez-midi", limits_cents="side:100-200, tie:5-70,panda_8:1-9"))
    table, side = Limits(1000, 500_000), Limits(100, 200)
    assert limits == {
        "player": table, "banker": table, "tie": Limits(5, 70), "dragon_7": side,
        "panda_8": Limits(1, 9), "dragon_bonus_player": side, "dragon_bonus_banker": side,
    }  # fmt: skip


def test_wagers_are_settled_within_their_limits() -> None:
    house: dict[str, object] = {"limits_cents": "tie:500-2000"}
    done = settled("mini", [seat(1, player=500_000, tie=2001)], house=house)
    assert steps(done)[:2] == [
        ("returned", "seat 1", "tie", 1),
        ("collected", "seat 1", "tie", 2000),
    ]
    below = with_left("mini", [seat(1, player=1000, tie=499)], house=house)
    (left,) = below.left
    assert (left.wager, left.cents) == ("tie", 499) and "minimum of 500;" in left.why
    assert steps(below) == [("paid", "seat 1", "player", 1000)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tie", "'tie' is not a limit; write tie:500-100000"),
        ("tie:5", "'tie:5' is not a limit"),
        ("tie:5-9,", "'' is not a limit"),
        ("tie:-5-9", "is not a limit"),
        ("tie:5-9,tie:6-9", "tie has two limits"),
        ("tie:0-9", "tie:0-9 is not 1 to 100000000 cents"),
        ("tie:9-5", "tie:9-5 is not 1 to"),
        ("tie:1-999999999", "is not 1 to 100000000 cents"),
        ("tye:5-9", "tye is not offered; did you mean tie?"),
        ("side:5-9", "side is not offered"),
        ("dragon_7:5-9", "dragon_7 is not offered"),
        ("tie:١-٩", "is not a limit"),
    ],
)
def test_text_that_is_no_limit_is_refused(text: str, why: str) -> None:
    with pytest.raises(Forbidden) as refused:
        game("mini", limits_cents=text)
    assert why in str(refused.value)


def test_what_a_house_chose_is_found_in_its_game() -> None:
    played = game("pa-midi", golden_8_pays=26, equal_largest="dealer", burn="one")
    found = [chosen_in(played, n) for n in ("golden_8_pays", "equal_largest", "burn", "pairs")]
    assert found == [26, "dealer", "one", None]
    assert chosen_in(game("mini"), "golden_8_pays") is None
