"""The index of runs, against a search through all cards."""

import random
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from host.tests.support.shuffles import honest, past
from sabot.order import run_index
from sabot.order.past import PastShoe
from sabot.order.run_index import RUN, RunIndex


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of two shoes, merged a few entries at a time."""
    monkeypatch.setattr(run_index, "_SEGMENT", 2)
    monkeypatch.setattr(run_index, "_BLOCK", 100)


def _shoes(count: int, seed: int = 1) -> list[PastShoe]:
    dice = random.Random(seed)
    return past([honest(dice, 2)[: dice.randrange(24, 104)] for _ in range(count)])


def _searched(shoes: list[PastShoe], run: bytes, by_rank: bool) -> Iterator[tuple[int, int, int]]:
    """The same as the index says, card by card."""

    def same(cards: bytes) -> bytes:
        return bytes(card % 13 for card in cards) if by_rank else cards

    for number, shoe in enumerate(shoes):
        for end in range(RUN, len(shoe.cards) + 1):
            there = same(shoe.cards[end - RUN : end])
            if there == same(run):
                yield number, end - 1, 1
            if there == same(run[::-1]):
                yield number, end - RUN, -1


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("by_rank", [False, True])
def test_it_finds_every_run_where_a_search_through_all_cards_does(
    tmp_path: Path, by_rank: bool
) -> None:
    shoes = _shoes(23)
    shoes.append(PastShoe("U2", 1, 5, shoes[3].cards[::-1]))
    with RunIndex(tmp_path / "index") as index:
        for at, shoe in enumerate(shoes):
            index.add([shoe], shoe.unit, at + 1)
        for shoe in shoes:
            for begin in range(0, len(shoe.cards) - RUN, 7):
                run = shoe.cards[begin : begin + RUN]
                found = sorted(index.places(run, by_rank=by_rank))
                assert found == sorted(_searched(shoes, run, by_rank))
                assert by_rank or len(found) >= 1
        assert [index.shoe(at) for at in range(len(index))] == shoes


@pytest.mark.usefixtures("small_segments")
def test_it_is_there_again_after_a_restart(tmp_path: Path) -> None:
    shoes = _shoes(9)
    with RunIndex(tmp_path / "index") as index:
        index.add(shoes[:4], "U1", 400)
        index.add(shoes[4:], "U1", 900, "x")
    with RunIndex(tmp_path / "index") as index:
        assert (len(index), index.last("U1"), index.last("U2")) == (9, (900, "x"), (0, ""))
        for at, shoe in enumerate(shoes):
            assert (at, RUN - 1, 1) in index.places(shoe.cards[:RUN])


@pytest.mark.usefixtures("small_segments")
def test_what_was_added_after_it_was_kept_last_is_added_again(tmp_path: Path) -> None:
    shoes = _shoes(4)
    index = RunIndex(tmp_path / "index")
    index.add(shoes[:3], "U1", 300)  # a segment is full, and is kept
    index.add(shoes[3:], "U1", 400)
    copy = copytree(tmp_path / "index", tmp_path / "again")  # as after a loss of power
    again = RunIndex(copy)
    assert (len(again), again.last("U1")[0]) == (3, 300)
    again.add(shoes[3:], "U1", 400)
    assert [*again.places(shoes[3].cards[:RUN])] == [(3, RUN - 1, 1)]


@pytest.mark.parametrize("damage", ["state.json", "cards", "shoes"])
def test_one_that_is_damaged_is_begun_again(tmp_path: Path, damage: str) -> None:
    with RunIndex(tmp_path / "index") as index:
        index.add(_shoes(3), "U1", 300)
    path = tmp_path / "index" / damage
    path.write_bytes(path.read_bytes()[:5])
    with RunIndex(tmp_path / "index") as index:
        assert (len(index), index.last("U1")[0]) == (0, 0)
        index.add(_shoes(3), "U1", 300)
        assert len(index) == 3


def test_only_its_user_can_read_it(tmp_path: Path) -> None:
    with RunIndex(tmp_path / "index") as index:
        index.add(_shoes(2), "U1", 300)
    assert (tmp_path / "index").stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "index").iterdir())


def test_a_card_takes_less_than_sixteen_bytes_on_disk(tmp_path: Path) -> None:
    shoes = past([honest(random.Random(at)) for at in range(40)])
    with RunIndex(tmp_path / "index") as index:
        index.add(shoes, "U1", 1)
        index._store_tail()
    size = sum(path.stat().st_size for path in (tmp_path / "index").iterdir())
    assert size <= 16 * sum(len(shoe.cards) for shoe in shoes)


def test_two_programs_cannot_have_it_open(tmp_path: Path) -> None:
    with RunIndex(tmp_path / "index"), pytest.raises(BlockingIOError):
        RunIndex(tmp_path / "index")
