"""Every cell of the draw table, dealt: the Banker's total and the Player's third card."""

from pathlib import Path

import pytest

from sabot_hil.capabilities import Target
from sabot_hil.kit import dealer
from sabot_hil.kit.logbook import check_taken

_BURNED = ["AC", "2C"]
_POINTS = "TA23456789"
_STANDS = ("6", "7")  # the Player's totals without a third card


def _of(points: int, suit: str) -> str:
    return _POINTS[points] + suit


def _round(banker: int, third: str) -> list[str]:
    """Return the cards of a round in which the Banker has the total `banker`. `third` is the points
    of the Player's third card, or "stands on" 6 or 7 if the Player has none.
    """
    if third.startswith("stands on "):
        player = third[-1] + "S"
        return [player, _of(banker, "H"), "KS", "QH", "4D"]
    return ["KS", _of(banker, "H"), "QS", "JH", _of(int(third), "D"), "5D"]


@pytest.mark.parametrize("banker", range(8))
def test_both_draw_by_the_table(target: Target, tmp_path: Path, banker: int) -> None:
    thirds = [str(points) for points in range(10)] + [f"stands on {total}" for total in _STANDS]
    hands = []
    for third in thirds:
        dealing = dealer.BenchDealer(target.bench, [*_BURNED, *_round(banker, third), "CUT"])
        dealing.load()
        hands.append(dealing.deal_round())
        dealer.end_shoe(target.bench)
    ended = [each for each in check_taken(target, tmp_path) if each.winner]
    assert [dealer.logged(each) for each in ended] == [hand.as_logged() for hand in hands]


@pytest.mark.parametrize("cards", ["8S KH KS KD", "9S KH KS KD", "KS 8H KD KC", "KS 9H KD KC",
                                   "8S 9H KS KD", "9S 9H KS KD", "6S 8H KS KD"])  # fmt: skip
def test_a_natural_ends_the_round(target: Target, tmp_path: Path, cards: str) -> None:
    dealing = dealer.BenchDealer(target.bench, [*_BURNED, *cards.split(), "5D", "CUT"])
    dealing.load()
    hand = dealing.deal_round()
    assert hand.natural and len(hand.player + hand.banker) == 4
    (ended,) = [each for each in check_taken(target, tmp_path) if each.winner]
    assert dealer.logged(ended) == hand.as_logged()
