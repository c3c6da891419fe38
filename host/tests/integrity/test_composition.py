"""Missing and surplus cards, strange places, short shoes; and honest shoes, of which nothing is."""

from random import Random

import pytest

from host.tests.integrity.shoes import new_cards, shoe_of, shuffled
from sabot.integrity.composition import Composition
from sabot.integrity.dealt_shoe import DealtShoe
from sabot.integrity.finding import Finding, Ledger


def _found(shoes: "list[DealtShoe]") -> list[Finding]:
    ledger = Ledger()
    analysis = Composition(ledger)
    for shoe in shoes:
        analysis.take(shoe)
    analysis.close()
    return [each.finding for each in ledger.listed()]


def _dealt(random: Random, cards: list[int], number: int, unit: str = "SHOE-7") -> DealtShoe:
    random.shuffle(cards)
    return shoe_of(cards[: random.randint(395, 403)], number, unit)


@pytest.mark.parametrize("seed", range(3))
def test_of_honest_shoes_nothing_is_found(seed: int) -> None:
    random = Random(seed)
    units = ("SHOE-1", "SHOE-2", "SHOE-3")
    assert not _found([_dealt(random, new_cards(), n, units[n % 3]) for n in range(150)])


def test_a_missing_ace_is_found_and_named_after_some_shoes() -> None:
    random = Random(1)
    cards = new_cards()
    cards.remove(0)
    found = _found([_dealt(random, list(cards), n) for n in range(20)])
    assert found[0].test == "missing" and "A♣ came out" in found[0].sentence
    assert found[0].about == "unit SHOE-7"
    assert all("A♣" in each.sentence for each in found if each.test == "missing")


def test_a_ninth_copy_is_certain_and_its_round_is_named() -> None:
    cards = shuffled(Random(2))
    place = cards.index(17)
    while cards.count(17) < 9:
        other = next(at for at, card in enumerate(cards) if card != 17 and at != place)
        cards[other] = 17
    found, *others = _found([shoe_of(cards)])
    assert {each.test for each in others} <= {
        "missing",
        "too_many",
    }  # it took the place of another card
    assert (found.test, found.chance, found.value, found.expected) == ("surplus", 0, 9, 8)
    ninth = [at for at, card in enumerate(cards) if card == 17][8]
    assert found.places[0].round == ninth // 5 + 1


def test_a_place_that_favours_a_rank_is_found() -> None:
    random = Random(3)
    shoes = []
    for number in range(300):
        cards = shuffled(random)
        if number % 2:  # an ace on the second place, from further back
            ace = next(at for at, card in enumerate(cards) if at > 200 and card % 13 == 0)
            cards[1], cards[ace] = cards[ace], cards[1]
        shoes.append(shoe_of(cards[:400], number))
    found = _found(shoes)
    assert found[0].test == "by_position" and "card 2 out of the shoe" in found[0].sentence
    assert "rank A" in found[0].sentence


def test_a_unit_whose_shoes_end_early_is_found() -> None:
    random = Random(4)
    honest = [_dealt(random, new_cards(), n, f"SHOE-{n % 5}") for n in range(200)]
    short = [shoe_of(shuffled(random)[:150], n, "SHOE-9") for n in range(12)]
    found = [each for each in _found(honest + short) if each.test == "short_shoes"]
    assert [each.about for each in found] == ["unit SHOE-9"]
    assert found[0].value == 12


def test_cards_that_were_not_read_do_not_make_others_too_many() -> None:
    random = Random(5)
    shoes = []
    for number in range(60):
        cards = shuffled(random)[:400]
        for place in random.sample(range(400), 20):
            cards[place] = -1
        shoes.append(shoe_of(cards, number))
    assert not _found(shoes)


def test_a_shoe_of_which_every_card_came_out_names_a_missing_card_for_certain() -> None:
    cards = shuffled(Random(6))
    cards[cards.index(17)] = cards[cards.index(18)]
    by_test = {each.test: each for each in _found([shoe_of(cards)])}
    assert by_test.keys() == {"surplus", "missing", "too_many"}
    assert by_test["missing"].chance == 0 and "5♦ came out 7 times" in by_test["missing"].sentence


def test_more_cards_than_were_loaded_are_no_error() -> None:
    found = _found([shoe_of([*shuffled(Random(7)), 3, 4])])
    assert {each.test for each in found} == {"surplus", "too_many"}


def test_games_of_which_few_cards_come_out_are_compared_with_their_own_kind() -> None:
    random = Random(8)
    shoes = [_dealt(random, new_cards(), n, f"SHOE-{n % 3}") for n in range(60)]
    for number in range(60):
        unit = f"POKER-{number % 2}"
        shoes.append(shoe_of(shuffled(random, 1)[:21], number, unit, decks=1, game="holdem"))
        unit = f"BOXES-{number % 2}"
        shoes.append(shoe_of(shuffled(random, 6)[:150], number, unit, decks=6, game="blackjack"))
    assert not [each for each in _found(shoes) if each.test == "short_shoes"]
