"""Runs that were dealt before, found afterwards: by card and by rank, with noise."""

import random
from collections.abc import Iterator

import pytest

from host.tests.support.shuffles import honest, past
from sabot.order.past import PastShoe
from sabot.order.repeats import repeats
from sabot.order.run_index import RunIndex

_DICE = random.Random(21)
_SHOES = past([honest(_DICE) for _ in range(60)])


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunIndex]:
    with RunIndex(tmp_path_factory.mktemp("index")) as made:
        made.add(_SHOES, "U1", 1)
        yield made


def _with(slug: bytes, at: int = 130) -> PastShoe:
    shoe = bytes(honest(_DICE))
    return PastShoe("U2", 1, 1, shoe[:at] + slug + shoe[at + len(slug) : -14])


@pytest.mark.parametrize("length", [12, 20, 40, 60])
def test_a_planted_run_is_found_with_its_places(index: RunIndex, length: int) -> None:
    (found, *_) = repeats(_with(_SHOES[9].cards[50 : 50 + length]), index)
    assert found.of == _SHOES[9] and not found.reversed
    assert set(found.pairs) >= {(130 + at, 50 + at) for at in range(length - 1)}


def test_a_run_that_lies_backwards_is_found(index: RunIndex) -> None:
    (found, *_) = repeats(_with(_SHOES[9].cards[50:80][::-1]), index)
    assert found.of == _SHOES[9] and found.reversed


def test_a_run_is_found_although_a_card_is_missing_and_another_was_added(index: RunIndex) -> None:
    slug = _SHOES[9].cards[50:80]
    (found, *_) = repeats(_with(slug[:10] + slug[11:22] + bytes([3]) + slug[22:]), index)
    assert found.of == _SHOES[9] and len(found.pairs) > 25


def test_a_run_of_the_same_ranks_in_other_suits_is_found_by_rank_alone(index: RunIndex) -> None:
    slug = bytes((card + 13) % 52 for card in _SHOES[9].cards[50:75])
    shoe = _with(slug)
    assert repeats(shoe, index) == []
    (found, *_) = repeats(shoe, index, by_rank=True)
    assert found.of == _SHOES[9] and set(found.pairs) >= {(130 + at, 50 + at) for at in range(24)}


@pytest.mark.parametrize("by_rank", [False, True])
def test_honest_shoes_and_the_shoe_itself_repeat_nothing(index: RunIndex, by_rank: bool) -> None:
    assert repeats(_with(b""), index, by_rank=by_rank) == []
    assert repeats(_SHOES[0], index, by_rank=by_rank) == []
