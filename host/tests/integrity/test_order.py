"""New packs, the last shoe riffled, runs dealt before; of honest shoes nothing is found."""

from random import Random

import pytest

from host.tests.integrity.shoes import new_cards, riffled, shoe_of, shuffled
from sabot.integrity.dealt_shoe import DealtShoe, Place
from sabot.integrity.finding import Finding, Ledger
from sabot.integrity.order import OrderFigures, OrderOfCards

_DEALT = 400


def _found(shoes: "list[DealtShoe]") -> list[Finding]:
    ledger = Ledger()
    analysis = OrderOfCards(ledger)
    for shoe in shoes:
        analysis.take(shoe)
    analysis.close()
    assert ledger.tests == 3 * len(shoes)
    return [each.finding for each in ledger.listed()]


def _honest(random: Random) -> list[int]:
    return shuffled(random)[:_DEALT]


@pytest.mark.parametrize("seed", range(2))
def test_of_honest_shoes_nothing_is_found(seed: int) -> None:
    random = Random(seed)
    shoes = [shoe_of(_honest(random), n, f"SHOE-{n % 3}") for n in range(40)]
    assert not _found(shoes)


def test_cards_that_were_never_shuffled_are_found() -> None:
    (found,) = _found([shoe_of(new_cards()[:_DEALT], 3)])
    assert (found.test, found.about) == ("new_packs", "SHOE-7 shoe 3")
    assert found.chance < 1e-50 and "order of new packs" in found.sentence
    assert found.places == (Place("SHOE-7", 3, 1),)


def test_the_last_shoe_of_the_unit_after_two_riffles_is_found() -> None:
    random = Random(5)
    first = shuffled(random)
    again = riffled(riffled(first, random), random)
    found = _found([shoe_of(first[:_DEALT], 1), shoe_of(again[:_DEALT], 2)])
    assert found[0].test == "last_shoe" and "SHOE-7 shoe 1" in found[0].sentence


def test_of_two_sets_of_cards_in_turn_the_one_that_was_riffled_is_found() -> None:
    random = Random(9)
    first, other = shuffled(random), shuffled(random)
    again = riffled(riffled(first, random), random)
    shoes = [shoe_of(each[:_DEALT], n) for n, each in enumerate((first, other, again), 1)]
    found = [each for each in _found(shoes) if each.test == "last_shoe"]
    assert [each.about for each in found] == ["SHOE-7 shoe 3"]
    assert "SHOE-7 shoe 1" in found[0].sentence


def test_a_run_that_came_in_another_unit_is_found_with_both_places() -> None:
    random = Random(6)
    earlier, later = shuffled(random), shuffled(random)
    slug = earlier[100:120]
    for card in slug:
        later.remove(card)
    later[50:50] = slug
    shoes = [shoe_of(earlier, 1, "SHOE-1"), shoe_of(later, 9, "SHOE-2")]
    (found,) = _found(shoes)
    assert found.test == "run_by_card" and found.value >= 20
    assert (
        "from card 51 on" in found.sentence
        and "cards 101 to 120 of SHOE-1 shoe 1" in found.sentence
    )
    assert found.places == (Place("SHOE-2", 9, 11), Place("SHOE-1", 1))


def test_a_run_that_came_with_other_suits_is_found_by_its_ranks() -> None:
    random = Random(7)
    earlier, later = shuffled(random), shuffled(random)
    slug = [(card + 13) % 52 for card in earlier[100:160]]
    for card in slug:
        later.remove(card)
    later[50:50] = slug
    (found,) = _found([shoe_of(earlier, 1, "SHOE-1"), shoe_of(later, 2, "SHOE-2")])
    assert found.test == "run_by_rank" and 58 <= found.value <= 70


def test_how_many_shoes_reach_a_bound_is_counted_each_time() -> None:
    analysis = OrderOfCards(Ledger())
    analysis.take(shoe_of(new_cards()[:_DEALT]))
    analysis.take(shoe_of(shuffled(Random(8))[:_DEALT], 2))
    analysis.close()
    assert analysis.figures() == OrderFigures(2, [1] * 6)
