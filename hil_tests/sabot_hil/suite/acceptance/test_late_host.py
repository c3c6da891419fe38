from pathlib import Path

from sabot_hil.capabilities import Target
from sabot_hil.kit import dealer
from sabot_hil.kit.logbook import Logbook


def test_a_host_that_comes_after_two_shoes_of_cards_gets_every_event(
    target: Target, tmp_path: Path, seed: int
) -> None:
    hands = []
    for n in range(2):
        dealing = dealer.BenchDealer(target.bench, dealer.whole_shoe(seed + n, target.clock))
        dealing.deal_shoe()
        hands += dealing.hands
    with Logbook(tmp_path, [target.shoe.port], target.clock) as book:
        book.wait_for_rounds(target.shoe.unit, len(hands))
        book.check(target.shoe.unit, hands)


def test_a_display_says_whether_a_host_listens(target: Target, tmp_path: Path) -> None:
    assert target.bench.outputs.link == "NO HOST"
    with Logbook(tmp_path, [target.shoe.port], target.clock):
        target.bench.wait_for(lambda seen: seen.link == "HOST", "shown a host")
    target.bench.wait_for(lambda seen: seen.link == "NO HOST", "shown that the host is gone")
