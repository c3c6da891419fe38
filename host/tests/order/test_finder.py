"""What the order of cards gives away, on shoes that are made by the description of a cheat."""

import random
from collections.abc import Sequence

import pytest

from host.tests.support.shuffles import honest, new_packs, past, riffled
from sabot.order.chances import House
from sabot.order.finder import Finder, Finding
from sabot.order.past import RecentShoes
from sabot_protocol import cards

_TWO_ROUNDS = 8
"""Cards of two rounds of baccarat at least, without those that are burned."""
_DICE = random.Random(38)
_SHOES = [honest(_DICE) for _ in range(100)]
_RECENT = RecentShoes(past(_SHOES))


def _found(
    shoe: Sequence[int], recent: RecentShoes = RecentShoes(), decks: int = 8
) -> Finding | None:
    finder = Finder(decks, recent)
    for card in shoe:
        finder.add(card)
    return finder.finding


def _with(slug: Sequence[int], at: int = 120) -> list[int]:
    """An honest shoe with cards planted at a place."""
    shoe = honest(_DICE)
    shoe[at : at + len(slug)] = slug
    return shoe[:-14]


# ---- new packs


@pytest.mark.parametrize("decks", [1, 6, 8])
def test_new_packs_that_were_never_shuffled_are_found_within_two_rounds(decks: int) -> None:
    found = _found(new_packs(decks), decks=decks)
    assert found is not None and (found.what, found.riffles) == ("packs", 0)
    assert found.place < _TWO_ROUNDS


@pytest.mark.parametrize("first", ["2", "K", "7"])
def test_new_packs_are_found_whatever_card_comes_first(first: str) -> None:
    begin = cards.number_of(first + "H")
    for step in (1, -1):
        shoe = [13 * (begin // 13) + (begin + step * at) % 13 for at in range(12)]
        found = _found(shoe)
        assert found is not None and found.what == "packs", (first, step)
        assert found.place < _TWO_ROUNDS + 4


@pytest.mark.parametrize(("riffles", "within"), [(1, 30), (2, 50), (3, 100), (4, 250)])
def test_new_packs_that_were_riffled_too_few_times_are_found(riffles: int, within: int) -> None:
    found = _found(riffled(new_packs(), riffles, random.Random(riffles)))
    assert found is not None and found.what == "packs" and found.place < within


def test_a_suit_of_a_new_pack_in_the_middle_of_a_shoe_is_found() -> None:
    found = _found(_with(new_packs()[:13]))
    assert found is not None and found.what == "packs" and 120 < found.place < 133


# ---- shoes of the table


def test_a_shoe_that_repeats_one_of_the_tables_last_hundred_is_found_within_two_rounds() -> None:
    for at in (0, 41, 99):
        found = _found(_SHOES[at], _RECENT)
        assert found is not None and found.what == "table" and found.place < _TWO_ROUNDS
        assert found.of is not None and found.of.shoe == at + 1
        assert found.pairs == tuple((n, n) for n in range(found.place + 1))


def test_a_shoe_that_repeats_one_backwards_is_found() -> None:
    found = _found(_SHOES[41][:-14][::-1], _RECENT)
    assert found is not None and found.what == "table" and found.reversed
    assert found.place < 12


def test_a_shoe_older_than_the_last_hundred_is_none_of_the_tables() -> None:
    assert _found(_SHOES[0][:40], RecentShoes(past([*_SHOES, honest(_DICE)]))) is None


@pytest.mark.parametrize("length", [12, 20, 40, 60])
def test_a_run_of_an_earlier_shoe_is_found_wherever_it_lies(length: int) -> None:
    found = _found(_with(_SHOES[7][200 : 200 + length]), _RECENT)
    assert found is not None and found.what == "table" and found.place < 120 + length
    assert found.pairs[-1] == (found.place, found.place + 80)


def test_a_run_is_found_although_cards_are_missing_added_and_exchanged() -> None:
    slug = _SHOES[7][200:240]
    del slug[30], slug[14:16]
    slug.insert(22, slug[0])
    slug[6] = (slug[6] + 5) % 52
    found = _found(_with(slug), _RECENT)
    assert found is not None and found.of is not None and found.of.shoe == 8


def test_the_last_shoe_that_was_riffled_twice_is_found() -> None:
    found = _found(riffled(_SHOES[-1], 2, random.Random(2))[:-14], _RECENT)
    assert found is not None and found.what in ("riffled", "table")
    assert found.of is not None and found.of.shoe == 100


def test_a_run_that_comes_twice_in_one_shoe_is_found() -> None:
    shoe = honest(_DICE)
    found = _found([*shoe[:60], *shoe[20:34]])
    assert found is not None and found.what == "within" and 60 < found.place < 74
    assert found.pairs[-1] == (found.place, found.place - 40)


# ---- false alarms


def test_honest_shoes_give_no_finding() -> None:
    for _ in range(20):
        assert _found(honest(_DICE)[:-14], _RECENT) is None


def test_no_more_honest_shoes_reach_a_bound_than_it_says() -> None:
    often = House(false_alarms=1000 * 2_628_000 / 416 / 20)  # one shoe in twenty at most
    assert often.least(8) == pytest.approx(20)
    reached = 0
    for _ in range(100):
        finder = Finder(8, _RECENT, house=often)
        reached += any(finder.add(card) for card in honest(_DICE)[:60])
    assert reached <= 5 + 3 * 2.2  # three standard errors


def test_the_default_is_one_false_alarm_in_a_thousand_table_years() -> None:
    shoes_a_year = 24 * 365 * 300 / 416
    assert House().least(8) == pytest.approx(1000 * shoes_a_year)
    assert House().least(1) == pytest.approx(8000 * shoes_a_year)


def test_a_card_that_comes_more_often_than_the_packs_have_it_is_passed_over() -> None:
    finder = Finder(1)
    assert [finder.add(5) for _ in range(30)] == [None] * 30
    assert finder.cards == bytes([5])


def test_what_was_found_goes_on_beside_the_cards_that_come_after_it() -> None:
    finder = Finder(8, _RECENT)
    for card in _SHOES[12][:30]:
        finder.add(card)
    beside = finder.side_by_side()
    assert finder.finding is not None and finder.finding.place < _TWO_ROUNDS
    assert beside is not None and beside.pairs == tuple((n, n) for n in range(30))
