"""Exact odds against published figures, and against a separate count of all six-card sequences."""

from functools import cache
from math import perm
from typing import Any

import numpy as np
import pytest

from sabot.games.baccarat.catalogue import document
from sabot.games.baccarat.odds import Odds, odds
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import games
from sabot_protocol.baccarat import Game

pytestmark = pytest.mark.slow

TOTAL = 4_998_398_275_503_360
WINS = {"banker": 2_292_252_566_437_888, "player": 2_230_518_282_592_256}
TIES = 475_627_426_473_216


@cache
def odds_of(name: str, decks: int = 8, **choices: Any) -> Odds:
    return odds(Game(document(name, choices)), decks)


def test_eight_decks_have_the_published_combinations() -> None:
    counted = odds_of("mini")
    assert counted.total == TOTAL == perm(416, 6)
    for wager, other in (("banker", "player"), ("player", "banker")):
        tally = counted.wagers[wager]
        assert (tally.win, tally.push, tally.lose) == (WINS[wager], TIES, WINS[other])
    tie = counted.wagers["tie"]
    assert (tie.win, tie.push, tie.lose) == (TIES, 0, TOTAL - TIES)


@pytest.mark.parametrize(
    ("name", "choices", "wager", "percent"),
    [
        ("mini", {}, "banker", 1.0579),
        ("mini", {}, "player", 1.2351),
        ("mini", {}, "tie", 14.3596),
        ("mini", {"tie_pays": 9}, "tie", 4.8440),
        ("mini-pairs", {}, "player_pair", 10.3614),
        ("mini-pairs", {}, "banker_pair", 10.3614),
        ("ez-mini", {}, "banker", 1.0183),
        ("ez-mini", {}, "player", 1.2351),
        ("ez-mini", {}, "dragon_7", 7.6113),
        ("ez-midi", {}, "panda_8", 10.1876),
        ("md-mini", {}, "dragon_bonus_player", 2.6517),
        ("pa-mini", {}, "dragon_bonus_banker", 9.3731),
        ("pa-mini", {}, "fortune_7", 7.6113),
        ("pa-mini", {}, "golden_8", 10.1876),
    ],
)
def test_the_house_edge_is_the_published_one(
    name: str, choices: dict[str, Any], wager: str, percent: float
) -> None:
    assert round(100 * odds_of(name, **choices).wagers[wager].edge, 4) == percent


def test_dragon_bonus_has_the_published_combinations() -> None:
    """Wizard of Odds, Baccarat, Appendix 5: win by 9 to 4, natural win, natural tie."""
    published = {
        "dragon_bonus_player": (
            18_409_431_764_992, 34_097_645_543_424, 89_590_261_473_280, 141_238_897_317_888,
            166_169_165_987_840, 186_780_352_174_080, 812_685_054_124_032, 89_325_908_267_520,
        ),
        "dragon_bonus_banker": (
            15_390_342_909_952, 28_305_092_784_128, 79_517_099_278_336, 119_200_072_366_080,
            157_275_882_332_160, 201_147_167_287_296, 812_685_054_124_032, 89_325_908_267_520,
        ),
    }  # fmt: skip
    names = [*(f"win_by_{margin}" for margin in range(9, 3, -1)), "natural"]
    for wager, figures in published.items():
        tally = odds_of("md-mini").wagers[wager]
        counted = [tally.prizes[name].combinations for name in names]
        assert (*counted, tally.push) == figures


def test_treasures_have_the_published_combinations() -> None:
    """Wizard of Odds, 5 Treasures: Fortune 7 and Golden 8."""
    wagers = odds_of("pa-mini").wagers
    assert wagers["fortune_7"].win == 112_633_011_329_024
    assert wagers["golden_8"].win == 172_660_763_262_976


# All sequences of six cards by their points, dealt by Pennsylvania's chart "Banker having".
DRAWS = ("DDDDDDDDDD", "DDDDDDDDDD", "DDDDDDDDDD", "DDDDDDDDSD", "SSDDDDDDSS", "SSSSDDDDSS",
         "SSSSSSDDSS", "SSSSSSSSSS", "SSSSSSSSSS", "SSSSSSSSSS")  # fmt: skip


@cache
def sequences(decks: int) -> dict[str, Any]:
    """Arrays over the million sequences of points: the ways to get each, and its totals."""
    points = np.indices((10,) * 6).reshape(6, -1)
    copies = np.array([16 * decks] + [4 * decks] * 9)
    ways = np.ones(points.shape[1], dtype=np.int64)
    for place in range(6):
        before = (points[:place] == points[place]).sum(axis=0)
        ways *= np.maximum(copies[points[place]] - before, 0)
    player, banker = (points[0] + points[2]) % 10, (points[1] + points[3]) % 10
    has_natural = (player >= 8) | (banker >= 8)
    player_three = ~has_natural & (player <= 5)
    chart = np.array([[letter == "D" for letter in row] for row in DRAWS])
    banker_three = ~has_natural & np.where(player_three, chart[banker, points[4]], banker <= 5)
    player_total = np.where(player_three, player + points[4], player) % 10
    drawn = np.where(player_three, points[5], points[4])
    banker_total = np.where(banker_three, banker + drawn, banker) % 10
    return {
        "ways": ways,
        "player": player_total,
        "banker": banker_total,
        "player_three": player_three,
        "banker_three": banker_three,
        "naturals": [(hand >= 8) for hand in (player, banker)],
    }


def won(decks: int) -> dict[str, Any]:
    """By wager and prize: the sequences that win it."""
    dealt = sequences(decks)
    player, banker = dealt["player"], dealt["banker"]
    three_player, three_banker = dealt["player_three"], dealt["banker_three"]
    nines = (three_player & (player == 9)).astype(int) + (three_banker & (banker == 9))
    sevens = (player == 7) & (banker == 7)
    seven, eight = (
        three_banker & (banker == 7) & (player < 7),
        three_player & (player == 8) & (banker < 8),
    )
    blazing = sevens & (three_player == three_banker)
    masks = {
        "player": player > banker,
        "banker": banker > player,
        "tie": player == banker,
        "dragon_7": seven,
        "panda_8": eight,
        "fortune_7": seven,
        "golden_8": eight,
        "heavenly_9": nines == 1,
        "heavenly_9_both": nines == 2,
        "blazing_7s_two": sevens & ~three_player & ~three_banker,
        "blazing_7s_three": sevens & three_player & three_banker,
        "cover_all": seven | eight | (nines > 0) | blazing,
    }
    for hand, margin, natural in (
        ("player", player - banker, dealt["naturals"][0]),
        ("banker", banker - player, dealt["naturals"][1]),
    ):
        masks[f"{hand} natural"] = natural & (margin > 0)
        for points in range(4, 10):
            masks[f"{hand} win_by_{points}"] = ~natural & (margin == points)
    return {name: int(dealt["ways"][mask].sum()) for name, mask in masks.items()}


@pytest.mark.parametrize("decks", [1, 8])
def test_every_prize_is_won_as_often_as_among_all_sequences(decks: int) -> None:
    expected = won(decks)
    assert int(sequences(decks)["ways"].sum()) == perm(52 * decks, 6)
    for name in ("ez-mini", "pa-mini"):
        counted = odds_of(name, decks)
        assert counted.total == perm(52 * decks, 6)
        for wager, tally in counted.wagers.items():
            hand = wager.removeprefix("dragon_bonus_")
            for prize, each in tally.prizes.items():
                dragon_7 = expected["dragon_7"] if (name, wager) == ("ez-mini", "banker") else 0
                key = f"{hand} {prize}" if hand != wager else prize
                assert each.combinations == expected[key] - dragon_7, (name, wager, prize)
            assert tally.win == sum(each.combinations for each in tally.prizes.values())
            assert tally.win + tally.push + tally.lose == counted.total


@pytest.mark.parametrize("decks", [1, 2, 8])
def test_a_pair_is_as_likely_as_a_second_card_of_the_first_ones_rank(decks: int) -> None:
    for wager in ("player_pair", "banker_pair"):
        tally = odds_of("mini-pairs", decks).wagers[wager]
        assert tally.win * (52 * decks - 1) == perm(52 * decks, 6) * (4 * decks - 1)


def test_an_error_in_the_drawing_tables_changes_the_odds() -> None:
    wrong: Any = [*baccarat_game.BANKER_DRAWS]
    wrong[6] = [6]
    counted = odds(Game(games.encode({**baccarat_game.MINI, "banker_draws": wrong})), 8)
    assert counted.total == TOTAL
    assert counted.wagers["banker"].win != WINS["banker"]


def test_commission_affects_only_the_banker_wager() -> None:
    without, with_five = odds_of("mini", vigorish_permille=0), odds_of("mini")
    for wager in ("player", "tie"):
        assert without.wagers[wager].edge == with_five.wagers[wager].edge
    assert without.wagers["banker"].edge < 0  # the house would lose
    assert odds_of("md-mini").wagers["dragon_bonus_banker"].edge == pytest.approx(
        odds_of("ez-mini").wagers["dragon_bonus_banker"].edge
    )
