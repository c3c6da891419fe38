from pathlib import Path

from hil_tests import dealer
from hil_tests.logbook import Logbook
from hil_tests.targets import Target
from sabot.store import Filter
from sabot.verify import Summary, verify


def test_a_host_that_comes_after_two_shoes_of_cards_is_told_just_which_events_are_gone(
    target: Target, tmp_path: Path, seed: int
) -> None:
    hands = []
    for n in range(2):
        dealing = dealer.Dealer(target.bench, dealer.shuffled(seed + n))
        dealing.deal_shoe()
        hands += dealing.hands
    with Logbook(tmp_path, [target.port]) as book:
        book.wait(
            lambda: any(book.store.rows(Filter(unit=target.unit, kinds=["gap"]))), "told of a gap"
        )
        events = [row.event() for row in book.store.rows(Filter(unit=target.unit))]
        numbers = [event.number for event in events]
        gap = next(event.fields for event in events if event.kind == "gap")
        assert (gap["first"], gap["last"], gap["reason"]) == (1, numbers[0] - 1, "queue_full")
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        assert [finding.kind for finding in verify(book.store, Summary())] == ["gap"]
        kept = [dealer.logged(ended) for ended in book.rounds(target.unit)]
        assert len(kept) > 30
        assert kept == [hand.as_logged() for hand in hands[-len(kept) :]]


def test_a_display_says_whether_a_host_listens(target: Target, tmp_path: Path) -> None:
    assert target.bench.outputs.link == "NO HOST"
    with Logbook(tmp_path, [target.port]):
        target.bench.wait_for(lambda seen: seen.link == "HOST", "shown a host")
    target.bench.wait_for(lambda seen: seen.link == "NO HOST", "shown that the host is gone")
