"""When wagers win, push and lose, and what they pay, by the rule documents."""

import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import protocol.tests.without_clocks  # noqa: F401
from sabot.errors import Forbidden
from sabot.games.baccarat.catalogue import document
from sabot.games.baccarat.score import Score, score
from sabot.games.baccarat.wagers import WAGERS, Prize, Push, Wager, outcome_of, vigorish_cents
from sabot_protocol import enums
from sabot_protocol.baccarat import Game

# A round of each kind: Player's cards, Banker's cards.
PLAYER_WINS = "7S KD", "6C QH"
BANKER_WINS = "6S KD", "7C QH"
TIE = "6S KD", "6C QH"
DRAGON_7 = "2S KD 4H", "4C KH 3D"
PANDA_8 = "2S KD 6H", "6C QH TD"
NATURALS_TIE = "9S KD", "9C QH"
NATURAL_9_AND_8 = "9S KD", "8C QH"

# Maryland, Chapter 12 F: win by 9, 8, 7, 6, 5, 4 points, natural winner.
PAYTABLES = {
    "A": (30, 10, 6, 4, 2, 1, 1),
    "B": (20, 8, 7, 4, 3, 1, 1),
    "C": (30, 10, 4, 4, 2, 2, 1),
}


def game_of(name: str, **choices: Any) -> Game:
    return Game(document(name, choices))


def verdict(game: Game, wager: str, hands: tuple[str, str]) -> tuple[str, int]:
    player, banker = hands
    judged = outcome_of(wager, score(game, player.split(), banker.split()), game)
    assert bool(judged.prize) == (judged.outcome == "win")
    return judged.outcome, judged.pays_to_one


WIN, PUSH, LOSE = ("win", 1), ("push", 0), ("lose", 0)


@pytest.mark.parametrize("name", ["mini", "mini-pairs", "md-mini", "md-midi", "pa-mini"])
@pytest.mark.parametrize(
    ("hands", "player", "banker", "tie"),
    [
        (PLAYER_WINS, WIN, LOSE, LOSE),
        (BANKER_WINS, LOSE, WIN, LOSE),
        (TIE, PUSH, PUSH, ("win", 8)),
        (DRAGON_7, LOSE, WIN, LOSE),
        (NATURAL_9_AND_8, WIN, LOSE, LOSE),
    ],
)
def test_player_banker_and_tie(
    name: str, hands: tuple[str, str], player: object, banker: object, tie: object
) -> None:
    game = game_of(name)
    verdicts = [verdict(game, wager, hands) for wager in ("player", "banker", "tie")]
    assert verdicts == [player, banker, tie]


def test_a_tie_pays_what_the_house_chose() -> None:
    assert verdict(game_of("mini", tie_pays=9), "tie", TIE) == ("win", 9)


@pytest.mark.parametrize("name", ["ez-mini", "ez-midi"])
def test_in_ez_baccarat_the_banker_wager_pushes_on_a_dragon_7(name: str) -> None:
    game = game_of(name)
    wagers = ("player", "banker", "tie", "dragon_7", "panda_8")
    verdicts = [verdict(game, wager, DRAGON_7) for wager in wagers]
    assert verdicts == [LOSE, PUSH, LOSE, ("win", 40), LOSE]
    verdicts = [verdict(game, wager, PANDA_8) for wager in wagers]
    assert verdicts == [WIN, LOSE, LOSE, LOSE, ("win", 25)]
    assert verdict(game, "banker", BANKER_WINS) == WIN


@pytest.mark.parametrize("hand", ["player", "banker"])
@pytest.mark.parametrize("paytable", "ABC")
def test_a_dragon_bonus_pays_by_its_paytable(hand: str, paytable: str) -> None:
    """Maryland, Chapters 7 A(4) and 12 F, clause by clause, over all possible hands."""
    game = game_of("md-mini", dragon_bonus=paytable)
    totals = itertools.product(range(10), repeat=2)
    naturals = itertools.product((True, False), repeat=2)
    for (own, other), (own_natural, other_natural) in itertools.product(totals, naturals):
        if (own_natural and own < 8) or (other_natural and other < 8):
            continue
        if own_natural and not other_natural and other >= 8:
            continue  # no third card is drawn against a natural
        if other_natural and not own_natural and own >= 8:
            continue
        expected = _dragon_bonus(own, other, own_natural, other_natural, PAYTABLES[paytable])
        scored = _scored(hand, own, other, own_natural, other_natural)
        judged = outcome_of(f"dragon_bonus_{hand}", scored, game)
        assert (judged.outcome, judged.pays_to_one) == expected, scored


def _dragon_bonus(
    own: int, other: int, own_natural: bool, other_natural: bool, paytable: tuple[int, ...]
) -> tuple[str, int]:
    if own_natural:
        if other_natural and own == other:
            return PUSH  # (c)
        wins = not other_natural or own > other  # (a)(i), (a)(ii); (b)(i)
        return ("win", paytable[6]) if wins else LOSE
    return ("win", paytable[9 - (own - other)]) if own - other >= 4 else LOSE  # (a)(iii); (b)


def _scored(hand: str, own: int, other: int, own_natural: bool, other_natural: bool) -> Score:
    totals, naturals = [own, other], [own_natural, other_natural]
    winner = "tie" if own == other else hand if own > other else "the other"
    if hand == "banker":
        totals.reverse()
        naturals.reverse()
    if winner == "the other":
        winner = "player" if hand == "banker" else "banker"
    return Score((), (), *totals, winner, *naturals, abs(own - other))


def test_pennsylvanias_dragon_bonus_is_paytable_a() -> None:
    game = game_of("pa-midi")
    assert verdict(game, "dragon_bonus_player", ("2S KD 7H", "KC QH TD")) == ("win", 30)
    assert verdict(game, "dragon_bonus_player", ("2S KD 7H", "2C QH KD")) == ("win", 6)
    assert verdict(game, "dragon_bonus_banker", ("2S KD 7H", "2C QH KD")) == LOSE
    assert verdict(game, "dragon_bonus_player", NATURALS_TIE) == PUSH
    assert verdict(game, "dragon_bonus_player", TIE) == LOSE
    assert verdict(game, "dragon_bonus_banker", NATURAL_9_AND_8) == LOSE


@pytest.mark.parametrize(
    ("wager", "hands", "pays"),
    [
        ("fortune_7", DRAGON_7, 40),
        ("golden_8", PANDA_8, 25),
        ("heavenly_9", ("2S KD 7H", "6C QH TD"), 10),
        ("heavenly_9", ("2S KD 6H", "6C QH 3D"), 10),
        ("heavenly_9", ("2S KD 7H", "6C QH 3D"), 75),
        ("blazing_7s", ("7S KD", "7C QH"), 50),
        ("blazing_7s", ("2S KD 5H", "5C QH 2D"), 200),
    ],
)
def test_treasures_pay_as_published_and_cover_all_with_each(
    wager: str, hands: tuple[str, str], pays: int
) -> None:
    game = game_of("pa-mini")
    assert verdict(game, wager, hands) == ("win", pays)
    assert verdict(game, "cover_all", hands) == ("win", 6)
    for other in {"fortune_7", "golden_8", "heavenly_9", "blazing_7s"} - {wager}:
        assert verdict(game, other, hands) == LOSE


def test_treasures_pay_what_the_house_chose() -> None:
    pays = {
        "fortune_7": 41, "golden_8": 26, "heavenly_9": 11, "heavenly_9_both": 76,
        "blazing_7s_two": 51, "blazing_7s_three": 201, "cover_all": 7,
    }  # fmt: skip
    game = game_of("pa-midi", **{f"{prize}_pays": to_one for prize, to_one in pays.items()})
    for wager, hands, to_one in (
        ("fortune_7", DRAGON_7, 41),
        ("golden_8", PANDA_8, 26),
        ("heavenly_9", ("2S KD 7H", "6C QH TD"), 11),
        ("heavenly_9", ("2S KD 7H", "6C QH 3D"), 76),
        ("blazing_7s", ("7S KD", "7C QH"), 51),
        ("blazing_7s", ("2S KD 5H", "5C QH 2D"), 201),
    ):
        assert verdict(game, wager, hands) == ("win", to_one)
        assert verdict(game, "cover_all", hands) == ("win", 7)


def test_mixed_7s_win_only_if_the_house_pays_them() -> None:
    two_and_three = [("7S KD", "2C KH 5D"), ("2S KD 5H", "7C QH")]
    for hands in two_and_three:
        for wager in ("blazing_7s", "cover_all"):
            assert verdict(game_of("pa-mini"), wager, hands) == LOSE
    game = game_of("pa-mini", blazing_7s_mixed_pays=3)
    for hands in two_and_three:
        assert verdict(game, "blazing_7s", hands) == ("win", 3)
        assert verdict(game, "cover_all", hands) == ("win", 6)
    assert verdict(game, "blazing_7s", ("7S KD", "7C QH")) == ("win", 50)
    assert verdict(game, "blazing_7s", ("7S KD", "6C QH")) == LOSE


def test_equal_naturals_lose_the_dragon_bonus_only_if_the_house_chose_so() -> None:
    for hand in ("player", "banker"):
        wager = f"dragon_bonus_{hand}"
        assert verdict(game_of("pa-mini"), wager, NATURALS_TIE) == PUSH
        assert verdict(game_of("pa-mini", natural_tie="lose"), wager, NATURALS_TIE) == LOSE
        assert verdict(game_of("md-mini"), wager, NATURALS_TIE) == PUSH
    with pytest.raises(Forbidden, match=r"natural_tie lose is forbidden.*12 F\(1\)\(h\)"):
        game_of("md-mini", natural_tie="lose")


@pytest.mark.parametrize("hands", [PLAYER_WINS, BANKER_WINS, TIE, NATURALS_TIE])
def test_rounds_without_a_treasure_lose_all_five(hands: tuple[str, str]) -> None:
    for wager in ("fortune_7", "golden_8", "heavenly_9", "blazing_7s", "cover_all"):
        assert verdict(game_of("pa-mini"), wager, hands) == LOSE


def test_the_banker_wager_wins_on_a_fortune_7() -> None:
    assert verdict(game_of("pa-mini"), "banker", DRAGON_7) == WIN


def test_pairs_pay_11_to_1() -> None:
    game = game_of("mini-pairs")
    assert verdict(game, "player_pair", ("7H 7S", "9C QH")) == ("win", 11)
    assert verdict(game, "banker_pair", ("7H 7S", "9C QH")) == LOSE
    assert verdict(game, "banker_pair", ("9H QS", "4C 4H")) == ("win", 11)


def test_a_wager_that_the_game_does_not_offer_is_refused() -> None:
    game = game_of("mini-pairs")
    scored = score(game, ["7H", "7S"], ["9C", "QH"])
    with pytest.raises(
        Forbidden, match=r"does not offer the wager 'player_pear'; did you mean player_pair"
    ):
        outcome_of("player_pear", scored, game)
    with pytest.raises(Forbidden, match="mini-pairs does not offer the wager 'dragon_7'"):
        outcome_of("dragon_7", scored, game)


@pytest.mark.parametrize(
    ("won_cents", "exact", "up_25"),
    [
        (0, 0, 0),
        (10_000, 500, 500),
        (1_000, 50, 50),
        (1_010, 50, 75),  # 50.5 cents
        (1_200, 60, 75),
        (1_250, 62, 75),  # 62.5 cents
        (250, 12, 25),  # 12.5 cents
        (20, 1, 25),
        (19, 0, 25),
        (123_456_700, 6_172_835, 6_172_850),
    ],
)
def test_vigorish_of_5_percent_in_every_rounding(won_cents: int, exact: int, up_25: int) -> None:
    for rounding, owed in (("exact", exact), ("up_25", up_25)):
        game = game_of("md-mini", vigorish_rounding=rounding)
        assert vigorish_cents(won_cents, game) == owed


@given(st.integers(0, 10**9), st.integers(0, 50))
def test_exact_vigorish_is_never_more_than_the_rate_nor_a_cent_less(
    won_cents: int, permille: int
) -> None:
    owed = vigorish_cents(won_cents, game_of("mini", vigorish_permille=permille))
    assert 0 <= Fraction(won_cents * permille, 1000) - owed < 1


@given(st.integers(0, 10**9))
def test_vigorish_is_rounded_to_the_next_25_cents(won_cents: int) -> None:
    up = vigorish_cents(won_cents, game_of("md-midi", vigorish_rounding="up_25"))
    assert up % 25 == 0
    assert 0 <= up - Fraction(won_cents, 20) < 25


@pytest.mark.parametrize("name", ["ez-mini", "ez-midi"])
def test_ez_baccarat_takes_no_vigorish(name: str) -> None:
    assert vigorish_cents(1_000_000, game_of(name)) == 0


def test_a_prize_without_words_cannot_be_made() -> None:
    for words in ("", " "):
        with pytest.raises(ValueError, match="the prize six_in_a_row has no words"):
            Prize("six_in_a_row", words, lambda score: True, lambda house: 5)
        with pytest.raises(ValueError, match="the prize six_in_a_row has no words"):
            Push("six_in_a_row", words, lambda score: True)


def test_a_hit_without_a_mark_and_a_mark_without_a_hit_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="panda_8 is a hit, and has no mark"):
        Prize("panda_8", "Player wins with 8", lambda score: True, lambda house: 5)
    with pytest.raises(ValueError, match="six_in_a_row is no hit, and has a mark"):
        Prize("six_in_a_row", "six in a row", lambda score: True, lambda house: 5, "6R")


def test_a_wager_without_a_clause_cannot_be_made() -> None:
    for clauses in ({}, {"maryland": ""}):
        with pytest.raises(ValueError, match="the wager Six has no clause"):
            Wager("Six", clauses, ())


def test_every_hit_is_a_prize_so_that_it_has_words_and_a_mark() -> None:
    prizes = {prize.name for wager in WAGERS.values() for prize in wager.prizes}
    assert set(enums.HITS) <= prizes
