"""Rounds that favoured a wager, and the people who found them."""

from random import Random

import numpy as np
import pytest

from host.tests.integrity.shoes import shoe_of, shuffled
from sabot.games.baccarat import catalogue
from sabot.integrity.dealt_shoe import DealtShoe, Expected
from sabot.integrity.expectation import ByGame
from sabot.integrity.favourable import Favourable, FavourableFigures
from sabot.integrity.finding import Finding, Ledger
from sabot_protocol.baccarat import Game

_DOCUMENT = catalogue.document("ez-midi")
_SHA256 = Game(_DOCUMENT).sha256


def _shoes(count: int, seed: int) -> list[DealtShoe]:
    random = Random(seed)
    expected = ByGame({_SHA256: _DOCUMENT}.get)
    made = []
    for number in range(1, count + 1):
        shoe = shoe_of(shuffled(random)[:402], number, document=_SHA256)
        made.append(shoe_of(shoe.cards.tolist(), number, expected=expected(shoe)))
    return made


_SHOES = _shoes(120, 38)


def _column(shoe: DealtShoe, wager: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    assert isinstance(shoe.expected, Expected)
    return shoe.expected.units[:, shoe.expected.wagers.index(wager)]


def _found(bets: "dict[tuple[str, int], list[tuple[int, str, str]]]") -> list[Finding]:
    ledger = Ledger()
    analysis = Favourable(ledger, bets)
    for shoe in _SHOES:
        analysis.take(shoe)
    analysis.close()
    return [each.finding for each in ledger.listed()]


def test_a_person_who_wagers_only_when_the_cards_favour_it_is_found() -> None:
    bets = {}
    for shoe in _SHOES[:25]:
        rounds = np.flatnonzero(_column(shoe, "dragon_7") > 0)
        bets["SHOE-7", shoe.shoe] = [(int(shoe.rounds[at, 0]), "P-3", "dragon_7") for at in rounds]
    (found,) = _found(bets)
    assert found.about == "player P-3" and found.value == sum(map(len, bets.values()))
    assert found.expected < found.value / 3
    named = {(place.shoe, place.round) for place in found.places}
    assert named <= {(shoe, bet[0]) for (_, shoe), some in bets.items() for bet in some}


@pytest.mark.parametrize("last", [10, 76])
def test_people_who_always_wager_or_only_late_in_the_shoe_are_not_found(last: int) -> None:
    bets = {
        ("SHOE-7", shoe.shoe): [
            (int(number), f"P-{person}", wager)
            for number in shoe.rounds[-last:, 0]
            for person in range(3)
            for wager in ("dragon_7", "panda_8")
        ]
        for shoe in _SHOES
    }
    assert not _found(bets)


def _figures() -> dict[str, FavourableFigures]:
    analysis = Favourable(Ledger())
    for shoe in _SHOES:
        analysis.take(shoe)
    return {each.wager: each for each in analysis.figures()}


def test_the_figures_are_those_of_the_rounds() -> None:
    found = _figures()["dragon_7"]
    units = np.concatenate([_column(shoe, "dragon_7") for shoe in _SHOES])
    assert (found.rounds, found.favourable) == (len(units), int((units > 0).sum()))
    assert found.won == pytest.approx(units[units > 0].sum())
    assert found.best[0][0] == pytest.approx(units.max())
    best = found.best[0][1]
    shoe = _SHOES[best.shoe - 1]
    assert best.round is not None
    assert _column(shoe, "dragon_7")[best.round - 1] == found.best[0][0]


def test_the_banker_is_hardly_ever_worth_a_wager() -> None:
    figures = _figures()
    assert figures["banker"].per_shoe < 0.05 < figures["dragon_7"].per_shoe
