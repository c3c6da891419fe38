"""The blackjack wager is worth what a second publisher found, John A. Nairn.

The figures are of his page "Single Deck Blackjack Expected Values" (2019; in folder webtables of
github.com/nairnj/Blackjack): one deck, the dealer stands on soft 17 and has no blackjack. What
a pair is worth that is split he found by enumerating all hands after the split, each with the cards
of those before it out of the deck ("Exact Calculation of Expected Values for Splitting Pairs in
Blackjack", arXiv 1909.13710). Sabot counts each hand as if it were alone: both must agree.

He plays on after a hit by basic strategy, Sabot by what is best for the cards of the hand. Against
a six both decide alike. His figures have six digits, and come from numbers of single precision.
"""

import pytest

from sabot.games.blackjack.house import House, house_of
from sabot.games.blackjack.odds.dealer_odds import new_cards, without
from sabot.games.blackjack.odds.main_odds import SPLIT, Against, Pair, up_card_odds

# Up card, points of the two cards: worth of standing, hitting, doubling.
HANDS: dict[int, dict[Pair, tuple[float, float, float]]] = {
    6: {
        (2, 5): (-0.1179, 0.0695964, -0.0610378), (4, 5): (-0.112881, 0.263315, 0.44331),
        (1, 6): (0.0104344, 0.133243, 0.266486), (5, 6): (-0.138999, 0.380696, 0.761392),
        (1, 8): (0.482354, 0.241313, 0.482626), (3, 8): (-0.149705, 0.356117, 0.712234),
        (7, 9): (-0.179634, -0.39721, -0.79442), (9, 9): (0.265195, -0.586713, -1.17343),
        (2, 10): (-0.160379, -0.159436, -0.318872), (9, 10): (0.484093, -0.706989, -1.41398),
    },
    1: {
        (1, 1): (-0.663142, -0.0306844, -0.598755), (5, 6): (-0.634013, 0.172946, 0.240258),
        (1, 7): (-0.101015, -0.108386, -0.357778), (7, 9): (-0.643246, -0.495493, -0.990987),
        (3, 10): (-0.672168, -0.392503, -0.859049), (6, 10): (-0.652909, -0.50875, -1.0175),
    },
}  # fmt: skip
BY_CARDS = {6: 0.0, 1: 1e-4}
"""By up card: the most that a hit gains if the hand is played on by its cards."""

# Against a six, by points of the pair: at most two hands, without and with doubles after the split;
# at most four, likewise. An ace gets one card, and is split again.
PAIRS = {
    1: (0.758276, 0.758276, 0.831965, 0.831965), 2: (0.118982, 0.272414, 0.126812, 0.294721),
    3: (0.111575, 0.274115, 0.122171, 0.300526), 6: (-0.0106513, 0.155507, -0.00389922, 0.16934),
    7: (0.0530242, 0.209924, 0.0727575, 0.243348), 8: (0.233716, 0.34037, 0.269513, 0.385294),
    9: (0.359377, 0.413268, 0.36595, 0.42428),
}  # fmt: skip

WAGER_AGAINST_SIX = 0.2437316
"""The best of his figures for each two cards, by how likely these are: at most four hands, doubles
after a split, aces split once."""


def _house(hands: int = 4, *, after_split: bool = True, aces: bool = False) -> House:
    return house_of(
        {
            "decks": 1,
            "hands_of_box": hands,
            "double_after_split": after_split,
            "resplit_aces": aces,
        }
    )


def _tolerance(figure: float) -> float:
    """Half of the last of six digits, and what single precision loses."""
    return 2e-6 if abs(figure) < 1 else 7e-6


@pytest.mark.slow
@pytest.mark.parametrize("up", HANDS)
def test_standing_hitting_and_doubling_are_worth_what_was_published(up: int) -> None:
    against = Against(_house(), without(new_cards(1), up), up)
    for pair, figures in HANDS[up].items():
        got = against.worth_of_two(pair)
        for does, figure in zip(("stand", "hit", "double"), figures, strict=True):
            gained = float(got[does]) - figure
            most = BY_CARDS[up] if does == "hit" else 0.0
            assert -_tolerance(figure) <= gained <= most + _tolerance(figure), (pair, does)


@pytest.mark.slow
@pytest.mark.parametrize("after_split", [False, True])
@pytest.mark.parametrize("hands", [2, 4])
def test_pairs_that_are_split_are_worth_what_was_published(hands: int, after_split: bool) -> None:
    house = _house(hands, after_split=after_split, aces=True)
    against = Against(house, without(new_cards(1), 6), 6)
    for points, figures in PAIRS.items():
        play = against.first_play((points, points))
        figure = figures[(hands == 4) * 2 + after_split]
        assert play.does == SPLIT
        assert float(play.worth) == pytest.approx(figure, abs=_tolerance(figure)), points


@pytest.mark.slow
def test_the_wager_against_a_six_is_worth_what_the_published_figures_make() -> None:
    worth = up_card_odds(_house(), 6).worth
    assert float(worth) == pytest.approx(WAGER_AGAINST_SIX, abs=_tolerance(WAGER_AGAINST_SIX))
