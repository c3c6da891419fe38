"""The odds agree with figures that were published elsewhere, and were counted by others."""

import os
from fractions import Fraction
from typing import Any

import pytest

from sabot.games.blackjack.house import house_of
from sabot.games.blackjack.odds.all_odds import odds
from sabot.games.blackjack.odds.dealer_odds import (
    BLACKJACK,
    BUST,
    all_final_odds,
    new_cards,
    without,
)
from sabot.games.blackjack.odds.main_odds import Against, up_card_odds
from sabot.games.blackjack.odds.side_odds import all_insurance, insurance_odds, side_odds

# House edge in percent: side wager, decks, paytable, edge, as many places as were published.
SIDE_EDGES = [
    # Eliot Jacobson, Card Counting the King's Bounty Side Bet, 6 Decks (2013) and 2 Decks (2022)
    ("lucky_ladies", 6, "B", "24.709"),
    ("kings_bounty", 6, "A", "23.164"),
    ("kings_bounty", 2, "B", "24.733489"),
    # Eliot Jacobson, Card Counting the In Between Blackjack Side Bet (2013)
    ("in_between", 2, "B", "5.696"),
    ("in_between", 6, "B", "3.396"),
    # Wizard of Odds, In BETween
    ("in_between", 1, "A", "10.4615"),
    ("in_between", 2, "A", "7.7582"),
    # Wizard of Odds, Royal Match
    ("royal_match_21", 1, "A", "10.8597"),
    ("royal_match_21", 1, "B", "3.7707"),
    ("royal_match_21", 2, "A", "8.3271"),
    ("royal_match_21", 4, "A", "7.0792"),
    ("royal_match_21", 6, "A", "6.6658"),
    ("royal_match_21", 8, "A", "6.4597"),
    # Wizard of Odds, Pair Square (Bet the Set)
    ("bet_the_set_21", 1, "A", "5.8824"),
    ("bet_the_set_21", 2, "A", "10.6796"),
    ("bet_the_set_21", 6, "A", "10.6109"),
    ("bet_the_set_21", 6, "B", "2.5723"),
    # Wizard of Odds, Match the Dealer
    ("match_the_dealer", 2, "A", "3.3124"),
    # Eliot Jacobson, Beating the 21+3 Blackjack Side Bet; Wizard of Odds, 21+3
    ("three_card_poker", 6, "A", "3.2386"),
]


@pytest.mark.parametrize(("wager", "decks", "letter", "percent"), SIDE_EDGES)
def test_the_edges_of_side_wagers_are_those_published(
    wager: str, decks: int, letter: str, percent: str
) -> None:
    house = house_of({"decks": decks} | dict.fromkeys(_OTHERS - {wager}, "none") | {wager: letter})
    ((_, found),) = side_odds(house).items()
    places = len(percent.partition(".")[2])
    assert f"{float(100 * found.edge):.{places}f}" == percent


_OTHERS = {
    "lucky_ladies", "match_the_dealer", "in_between", "royal_match_21", "bet_the_set_21",
    "kings_bounty", "three_card_poker", "house_money",
}  # fmt: skip


@pytest.mark.slow
def test_combinations_of_match_the_dealer_and_three_card_poker_are_those_published() -> None:
    """Wizard of Odds counts the box's two cards after the up card, without their order."""
    house = house_of({"decks": 2})
    found = side_odds(house)["match_the_dealer"]
    per_combination = Fraction(found.total, 5_253)
    counted = {prizes: count / per_combination for prizes, (_, count) in found.prizes.items()}
    assert counted == {
        ("suited_match", "match"): 6,
        ("suited_match",): 96,
        ("match", "match"): 15,
        ("match",): 576,
    }
    poker = side_odds(house_of({"decks": 6}))["three_card_poker"]
    per_combination = Fraction(poker.total, 5_013_320)
    counted = {prizes: count / per_combination for prizes, (_, count) in poker.prizes.items()}
    # 56,160 of the flushes have a pair.
    assert counted == {
        ("straight_flush",): 10_368,
        ("three_of_a_kind",): 26_312,
        ("straight",): 155_520,
        ("flush",): 236_736 + 56_160,
    }


def test_insurance_wins_for_16_of_51_cards_of_one_deck() -> None:
    one = all_insurance(insurance_odds(1))
    assert Fraction(one.win, one.total) == Fraction(16, 51)
    assert one.edge == Fraction(3, 51)


# Wizard of Odds, Dealer Probabilities in Blackjack (appendix 2B), before the dealer looks; one
# deck, the dealer stands on soft 17. Up card: 17, 18, 19, 20, 21, blackjack, bust.
BEFORE = {
    1: (0.126128, 0.131003, 0.129486, 0.131553, 0.0515646, 0.313726, 0.11654),
    2: (0.138976, 0.131762, 0.131815, 0.123948, 0.120526, 0, 0.352973),
    3: (0.130313, 0.130946, 0.123761, 0.123345, 0.116047, 0, 0.375588),
    4: (0.130973, 0.114163, 0.120679, 0.116286, 0.115096, 0, 0.402803),
    5: (0.119687, 0.123483, 0.116909, 0.104694, 0.106321, 0, 0.428905),
    6: (0.166948, 0.106454, 0.107192, 0.100705, 0.0978785, 0, 0.420823),
    7: (0.372345, 0.138583, 0.0773344, 0.0788967, 0.072987, 0, 0.259854),
    8: (0.130857, 0.362989, 0.129445, 0.0682898, 0.0697914, 0, 0.238627),
}
# Wizard of Odds, appendix 2: after the dealer has looked and has no blackjack. Two decks, the
# dealer stands on soft 17. Up card: 17, 18, 19, 20, 21, bust.
AFTER = {
    1: (0.186367, 0.189883, 0.188851, 0.190272, 0.076531, 0.168096),
    2: (0.139367, 0.133348, 0.130744, 0.123997, 0.119254, 0.353291),
    3: (0.132764, 0.130676, 0.124575, 0.121811, 0.11538, 0.374794),
    4: (0.130704, 0.120208, 0.121038, 0.116366, 0.113145, 0.39854),
    5: (0.121005, 0.122831, 0.117318, 0.109022, 0.10732, 0.422505),
    6: (0.166224, 0.10617, 0.106749, 0.101217, 0.097508, 0.422132),
    7: (0.370478, 0.138195, 0.078013, 0.078781, 0.07339, 0.261143),
    8: (0.129697, 0.361182, 0.129025, 0.068857, 0.06961, 0.24163),
    9: (0.12094, 0.112016, 0.354051, 0.121118, 0.060977, 0.230898),
    10: (0.122412, 0.1216, 0.122524, 0.36387, 0.038449, 0.231144),
}
# BlackjackInfo, Blackjack Dealer Outcome Probabilities: one deck, the dealer hits soft 17; percent,
# after the dealer has looked. Outcome: up cards 2 to 9, ten, ace.
HITS = {
    BUST: "35.63 37.81 40.58 43.00 43.78 25.99 23.86 23.34 23.25 20.46",
    17: "12.98 12.35 12.28 11.67 11.61 37.23 13.09 12.19 12.42 8.18",
    18: "13.31 13.19 11.54 12.38 11.38 13.86 36.30 10.39 12.25 20.54",
    19: "13.32 12.50 12.19 11.74 11.61 7.73 12.94 35.74 12.44 20.62",
    20: "12.56 12.42 11.78 10.52 10.96 7.89 6.83 12.23 35.69 20.95",
}
_TOTALS = (17, 18, 19, 20, 21)


@pytest.mark.slow
def test_the_dealers_final_hands_are_those_published_before_the_dealer_looks() -> None:
    found = all_final_odds(new_cards(1), "stands")
    for up, published in BEFORE.items():
        got = [found[up][final] for final in (*_TOTALS, BLACKJACK, BUST)]
        assert [float(each) for each in got] == pytest.approx(published, abs=1e-6)
        assert sum(found[up].values()) == 1


def test_the_dealers_final_hands_are_those_published_after_the_dealer_has_looked() -> None:
    found = all_final_odds(new_cards(2), "stands")
    for up, published in AFTER.items():
        rest = 1 - found[up][BLACKJACK]
        got = [found[up][final] / rest for final in (*_TOTALS, BUST)]
        assert [float(each) for each in got] == pytest.approx(published, abs=1e-6)


@pytest.mark.slow
def test_the_dealers_final_hands_are_those_published_if_soft_17_is_hit() -> None:
    found = all_final_odds(new_cards(1), "hits")
    for final, percents in HITS.items():
        for up, percent in zip((*range(2, 11), 1), percents.split(), strict=True):
            got = found[up][final] / (1 - found[up][BLACKJACK])
            assert float(100 * got) == pytest.approx(float(percent), abs=0.0061), (up, final)


# Wizard of Odds, Blackjack Appendix 9, against an ace; the dealer has no blackjack. Points of the
# two cards: worth of standing, hitting, doubling.
ONE_DECK_STANDS = {
    (1, 2): (-0.661732, -0.067808, -0.593281), (1, 3): (-0.661047, -0.100568, -0.595803),
    (2, 3): (-0.659375, -0.291565, -1.318751), (1, 4): (-0.658818, -0.153931, -0.619882),
    (2, 4): (-0.658712, -0.334901, -1.295655), (3, 4): (-0.657967, -0.345048, -1.126423),
    (1, 5): (-0.659151, -0.206061, -0.656070), (4, 5): (-0.654533, -0.070215, -0.395771),
    (1, 6): (-0.482815, -0.199899, -0.527213), (4, 6): (-0.636118, 0.081506, 0.048615),
    (5, 6): (-0.634013, 0.172946, 0.240259), (1, 7): (-0.101015, -0.108386, -0.357778),
}  # fmt: skip
TWO_DECKS_HIT = {
    (1, 2): (-0.594150, -0.103429, -0.571816), (2, 3): (-0.592126, -0.320313, -1.184253),
    (4, 5): (-0.589636, -0.124218, -0.438228), (1, 6): (-0.511565, -0.224617, -0.541393),
    (5, 6): (-0.587564, 0.121079, 0.166650), (1, 7): (-0.224703, -0.165428, -0.416886),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decks", "soft_17", "published"),
    [(1, "stands", ONE_DECK_STANDS), (2, "hits", TWO_DECKS_HIT)],
)
def test_hands_are_worth_what_was_published(
    decks: int, soft_17: str, published: dict[tuple[int, int], tuple[float, float, float]]
) -> None:
    house = house_of({"decks": decks, "soft_17": soft_17, "double_after_split": False})
    against = Against(house, without(new_cards(decks), 1), 1)
    for pair, worths in published.items():
        got = against.worth_of_two(pair)
        assert [float(got[does]) for does in ("stand", "hit", "double")] == pytest.approx(
            worths, abs=1.1e-6
        ), pair


_NO_HOLE_CARD = {"hole_card": "none", "looks": "never", "blackjack_takes": "all"}
# Wizard of Odds, Blackjack Appendix 9, "expected return of game": resplit to four hands but for
# aces, no drawing to split aces. He considers in split hands only how many hands were split, so
# that his figures differ by some millionths of the wager from the exact ones.
GAMES: list[tuple[float, dict[str, Any]]] = [
    (0.001839, {"decks": 1}),
    (0.000423, {"decks": 1, "double_after_split": False}),
    (-0.000072, {"decks": 1, "soft_17": "hits"}),
    (-0.001513, {"decks": 1, "soft_17": "hits", "double_after_split": False}),
    (-0.003797, {"decks": 2, "soft_17": "hits"}),
    (-0.005252, {"decks": 2, "soft_17": "hits", "double_after_split": False}),
    (-0.005918, {"decks": 5, "soft_17": "hits"}),
    (-0.0072705, {"decks": 6, "soft_17": "hits"} | _NO_HOLE_CARD),
    (-0.0086975, {"decks": 6, "soft_17": "hits", "double_after_split": False} | _NO_HOLE_CARD),
    (-0.007562, {"decks": 8, "soft_17": "hits"} | _NO_HOLE_CARD),
]
_GAMES = int(os.environ.get("SABOT_GAMES", "1"))


@pytest.mark.slow
@pytest.mark.parametrize(("published", "chosen"), GAMES[:_GAMES])
def test_the_blackjack_wager_is_worth_what_was_published(
    published: float, chosen: dict[str, Any]
) -> None:
    found = odds(house_of(chosen))
    assert float(-found.edge) == pytest.approx(published, abs=2.1e-5)
    assert sum(each.probability for each in found.up_cards.values()) == 1


@pytest.mark.slow
def test_without_a_hole_card_tens_and_aces_are_worth_what_was_published() -> None:
    """Wizard of Odds, Blackjack Appendix 9, six decks, the dealer hits soft 17, no hole card: the
    player loses all that was wagered. Against an ace, standing, hitting and doubling."""
    house = house_of({"soft_17": "hits"} | _NO_HOLE_CARD)
    against = Against(house, without(new_cards(6), 1), 1)
    for pair, worths in (
        ((1, 2), (-0.722356, -0.379910, -1.024099)),
        ((2, 3), (-0.721887, -0.529734, -1.443774)),
        ((4, 6), (-0.720814, -0.286818, -0.639108)),
        ((5, 6), (-0.720879, -0.235772, -0.535879)),
    ):
        got = against.worth_of_two(pair, looked=False)
        assert [float(got[does]) for does in ("stand", "hit", "double")] == pytest.approx(
            worths, abs=1.1e-6
        ), pair


@pytest.mark.slow
def test_the_choices_of_the_house_move_the_edge_as_they_must() -> None:
    """One deck against a six: each choice that is good for the player is worth something."""
    worth = {
        name: up_card_odds(house_of({"decks": 1} | chosen), 6).worth
        for name, chosen in {
            "base": {},
            "10_or_11": {"double_on": "10_or_11"},
            "no_das": {"double_after_split": False},
            "two_hands": {"hands_of_box": 2},
            "6_to_5": {"blackjack_pays": "6_to_5"},
            "aces": {"resplit_aces": True},
            "play_on": {"split_aces": "play_on"},
        }.items()
    }
    for worse in ("10_or_11", "no_das", "two_hands", "6_to_5"):
        assert worth[worse] < worth["base"], worse
    for better in ("aces", "play_on"):
        assert worth[better] > worth["base"], better
