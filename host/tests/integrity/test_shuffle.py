"""Shuffles: the figures of the literature, and what is found of bad shuffles and of good ones."""

from math import comb, factorial
from random import Random

import numpy as np
import pytest
from scipy import stats

from host.tests.integrity.shoes import riffled, shoe_of, shuffled
from sabot.integrity.finding import Ledger, Listed
from sabot.integrity.neighbours import (
    expected_after,
    expected_shared,
    expected_within,
    neighbours,
    riffles_of,
    shared,
)
from sabot.integrity.rising import rising_sequences
from sabot.integrity.shuffle import FIRST_CARDS, Shuffle, _Sums

_PUBLISHED = {1: 223, 2: 138, 3: 96, 4: 77, 5: 66}
"""Neighbours that are shared after so many riffles, as simulated elsewhere."""


def _array(cards: list[int]) -> "np.ndarray[tuple[int], np.dtype[np.int8]]":
    return np.array(cards, dtype=np.int8)


def _mean_shared(riffles: int, count: int, seed: int) -> tuple[float, float]:
    """The mean over some shoes, and its standard error."""
    random = Random(seed)
    found = []
    for _ in range(count):
        before = after = shuffled(random)
        for _ in range(riffles):
            after = riffled(after, random)
        found.append(shared(neighbours(_array(before)), neighbours(_array(after))))
    return float(np.mean(found)), float(np.std(found)) / count**0.5


@pytest.mark.parametrize("riffles", _PUBLISHED)
def test_riffles_leave_as_many_neighbours_as_others_found(riffles: int) -> None:
    mean, error = _mean_shared(riffles, 60, seed=riffles)
    assert mean == pytest.approx(_PUBLISHED[riffles], abs=4 * error + 0.5)
    assert expected_after(riffles, 415, 56.7) == pytest.approx(mean, abs=4 * error + 0.5)
    assert riffles_of(mean, error, 415, 56.7).number == pytest.approx(riffles, abs=0.3)


def test_a_good_shuffle_leaves_what_chance_does() -> None:
    random = Random(7)
    found, expected = [], []
    for _ in range(300):
        before, after = _array(shuffled(random)), _array(shuffled(random))
        found.append(shared(neighbours(before), neighbours(after)))
        expected.append(expected_shared(neighbours(before), after))
    assert np.mean(found) == pytest.approx(56.7, abs=4 * 6.5 / 300**0.5)
    assert np.std(found) == pytest.approx(6.5, abs=1.0)
    assert np.mean(found) == pytest.approx(np.mean(expected), abs=4 * 6.5 / 300**0.5)


def test_what_chance_shares_is_exact() -> None:
    """All orders of a few cards, some of them alike, gone through one by one."""
    from itertools import permutations

    before = neighbours(_array([0, 1, 0, 0, 2, 1]))
    cards = [0, 0, 0, 1, 1, 2]
    orders = [_array(list(order)) for order in permutations(cards)]
    assert len(orders) == factorial(6)
    assert comb(6, 3) * comb(3, 2) == len({tuple(order) for order in orders})
    mean = np.mean([shared(before, neighbours(order)) for order in orders])
    assert expected_shared(before, orders[0]) == pytest.approx(mean)
    first = np.mean([np.isin(neighbours(order[:3]), before).sum() for order in orders])
    assert expected_within(before, orders[0], 2) == pytest.approx(first)


def test_rising_sequences_of_cards_that_are_all_different() -> None:
    before = list(range(10))
    assert rising_sequences(_array(before), _array(before)) == 1
    assert rising_sequences(_array(before), _array([0, 5, 1, 6, 2, 7, 3, 8, 4, 9])) == 2
    assert rising_sequences(_array(before), _array(before[::-1])) == 10
    assert rising_sequences(_array(before), _array([5, -1, 0, 6])) == 2


def _found(orders: "list[list[int]]", seed: int = 1) -> list[Listed]:
    ledger = Ledger()
    analysis = Shuffle(ledger, seed)
    for number, cards in enumerate(orders, 1):
        analysis.take(shoe_of(cards[:402], number))
    analysis.close()
    return ledger.listed()


def test_good_shuffles_are_not_found() -> None:
    random = Random(11)
    assert not _found([shuffled(random) for _ in range(60)])


@pytest.mark.parametrize("riffles", [0, 1, 2])
def test_one_shoe_that_was_hardly_shuffled_is_found(riffles: int) -> None:
    random = Random(riffles)
    bad = good = shuffled(random)
    for _ in range(riffles):
        bad = riffled(bad, random)
    found = _found([shuffled(random), good, bad, shuffled(random)])
    assert found and found[0].finding.about == "SHOE-7 shoe 3"
    assert found[0].finding.test == "neighbours"
    assert [place.shoe for place in found[0].finding.places] == [3, 2]


def test_a_machine_that_riffles_five_times_is_found_over_many_shoes() -> None:
    random = Random(5)
    orders = [shuffled(random)]
    for _ in range(60):
        cards = orders[-1]
        for _ in range(5):
            cards = riffled(cards, random)
        orders.append(cards)
    (first, *_) = _found(orders)
    assert first.finding.test == "neighbours_of_group" and first.finding.about == "unit SHOE-7"
    assert "5." in first.finding.sentence or "4." in first.finding.sentence


def test_two_sets_of_cards_in_turn_are_compared_with_their_own_order() -> None:
    random = Random(6)
    one, other = shuffled(random), shuffled(random)
    orders = []
    for _ in range(2):
        orders += [one, other]
        one, other = riffled(one, random), shuffled(random)
    found = _found(orders)
    assert found[0].finding.about == "SHOE-7 shoe 3"
    assert [place.shoe for place in found[0].finding.places] == [3, 1]


def test_an_order_from_its_end_to_its_beginning_is_found() -> None:
    random = Random(8)
    cards = shuffled(random)
    found = _found([cards, cards[:402][::-1]])
    assert "from its end to its beginning" in found[0].finding.sentence


def test_first_cards_that_were_not_shuffled_are_found() -> None:
    random = Random(9)
    cards = shuffled(random)
    packet, rest = cards[100 : 100 + FIRST_CARDS], cards[:100] + cards[100 + FIRST_CARDS :]
    random.shuffle(rest)
    found = _found([cards, packet + rest])
    assert found[0].finding.test == "first_cards"


def test_cards_that_are_not_known_are_no_neighbours() -> None:
    assert neighbours(_array([1, 2, -1, 3, 4])).tolist() == [52 + 2, 3 * 52 + 4]


def test_the_chance_of_fewer_rising_sequences_is_that_of_scipy() -> None:
    sums = _Sums()
    pairs = [(98, 103), (95, 101), (104, 99), (90, 100), (99, 99)]
    for own, mixed in pairs:
        sums.shoes += 1
        sums.add_rising(own, mixed)
    fewer = [mixed - own for own, mixed in pairs]
    expected = stats.ttest_1samp(fewer, 0.0, alternative="greater").pvalue
    assert sums.rising_chance() == pytest.approx(float(expected))
