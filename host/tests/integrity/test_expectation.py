"""The expectation of each wager, against the odds that are counted in another way, against hands
dealt by hand, and against published figures."""

from fractions import Fraction
from functools import cache
from itertools import permutations
from random import Random

import numpy as np
import pytest

from host.tests.integrity.shoes import shoe_of, shuffled
from sabot.games.baccarat import catalogue
from sabot.games.baccarat.odds import odds
from sabot.games.baccarat.score import score_unchecked
from sabot.games.baccarat.wagers import WAGERS, outcome_of
from sabot.integrity.expectation import Expectations, full_shoe, left_before_rounds
from sabot_firmware.table import rules
from sabot_protocol import cards
from sabot_protocol.baccarat import Game

_EZ = Game(catalogue.document("ez-midi"))
_EFFECTS_PERCENT = {8: 0.538, 9: 0.479, 7: -0.358, 6: -0.324, 4: -0.268, 5: -0.263}


@cache
def _known(game: Game) -> Expectations:
    return Expectations(game)


def _of(game: Game, left: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> dict[str, float]:
    known = _known(game)
    return dict(zip(known.wagers, known.of(left[None])[0].tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", [each.name for each in catalogue.GAMES])
def test_of_new_cards_every_wager_is_worth_what_its_odds_say(name: str) -> None:
    game = Game(catalogue.document(name))
    for decks in (8, 1) if name == "pa-midi" else (8,):
        counted = odds(game, decks)
        worth = _of(game, full_shoe(decks))
        assert worth.keys() == counted.wagers.keys()
        for wager, units in worth.items():
            assert units == pytest.approx(-counted.wagers[wager].edge, abs=1e-12), wager


def test_the_published_edges_of_new_cards() -> None:
    worth = _of(_EZ, full_shoe(8))
    assert round(100 * worth["dragon_7"], 3) == -7.611
    assert round(100 * worth["panda_8"], 3) == -10.188


def test_the_published_effects_of_removing_a_card() -> None:
    known = _known(_EZ)
    column = known.wagers.index("dragon_7")
    without = np.array([full_shoe(8)] * 13) - np.eye(13, dtype=np.int64)
    worth = 100 * (known.of(without) - known.of(full_shoe(8)[None]))[:, column]
    for rank, effect in _EFFECTS_PERCENT.items():
        assert worth[rank - 1] == pytest.approx(effect, abs=0.0006)


def _by_hand(game: Game, names: list[str]) -> dict[str, Fraction]:
    """The same, by going through all orders of some few cards."""
    sums: dict[str, Fraction] = dict.fromkeys(game.wagers, Fraction(0))
    orders = 0
    for order in permutations(names, 6):
        orders += 1
        player, banker, rest = [order[0], order[2]], [order[1], order[3]], list(order[4:])
        totals = [
            rules.total_of([cards.number_of(each) for each in hand]) for hand in (player, banker)
        ]
        if not any(map(rules.is_natural, totals)):
            third = rules.NO_CARD
            if totals[0] in game.player_draws:
                player.append(rest.pop(0))
                third = cards.number_of(player[2])
            if rules.banker_draws(game, totals[1], third):
                banker.append(rest.pop(0))
        scored = score_unchecked(game, player, banker)
        for wager in game.wagers:
            verdict = outcome_of(wager, scored, game)
            won = Fraction(verdict.pays_to_one)
            if WAGERS[wager].owes_vigorish:
                won *= Fraction(1000 - game.house["vigorish_permille"], 1000)
            sums[wager] += {"win": won, "push": Fraction(0), "lose": Fraction(-1)}[verdict.outcome]
    return {wager: total / orders for wager, total in sums.items()}


@pytest.mark.parametrize("name", ["ez-midi", "pa-midi", "mini-pairs"])
def test_of_few_cards_it_is_what_all_their_orders_give(name: str) -> None:
    game = Game(catalogue.document(name))
    random = Random(38)
    names = [random.choice("A23456789TJQK") + "H" for _ in range(7)]
    left = np.zeros(13, dtype=np.int64)
    for each in names:
        left[cards.number_of(each) % 13] += 1
    worth = _of(game, left)
    for wager, expected in _by_hand(game, names).items():
        assert worth[wager] == pytest.approx(float(expected), abs=1e-12), wager


def test_fewer_than_six_cards_give_no_number() -> None:
    left = np.zeros(13, dtype=np.int64)
    left[3] = 5
    assert np.isnan(_known(_EZ).of(left[None])).all()


def test_what_lay_face_down_or_was_not_read_counts_as_left() -> None:
    dealt = shuffled(Random(1))
    dealt[1] = -1
    shoe = shoe_of(dealt)
    shoe.seen[2] = False
    left = left_before_rounds(shoe)
    assert left.sum(axis=1).tolist()[:3] == [416, 416 - 3, 416 - 8]
    assert (left[0] == full_shoe(8)).all()
    assert shoe.rounds[1].tolist() == [2, 5]
