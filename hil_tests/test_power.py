import itertools
import time
from pathlib import Path

import pytest

from hil_tests import dealer
from hil_tests.logbook import Logbook
from hil_tests.targets import Target
from sabot.client import Client
from sabot.ports import Port
from sabot.store import Filter
from sabot.verify import Summary, verify

_REST_S = 4.0


def test_a_shoe_killed_and_started_again_goes_on_with_its_numbers_and_tells_the_gap(
    target: Target, tmp_path: Path, seed: int
) -> None:
    with Logbook(tmp_path, [target.port]) as book:
        first = dealer.Dealer(target.bench, dealer.shuffled(seed))
        first.load()
        first.deal_round()
        opened = Filter(unit=target.unit, round=2, kinds=["betting_open"])
        book.wait(lambda: any(book.store.rows(opened)), "told of the second round")
        target.power.off()
        target.power.on()
        book.wait(lambda: len(book.attachments) == 2, "attached again")
        second = dealer.Dealer(target.bench, dealer.shuffled(seed + 1))
        second.load()
        hand = second.deal_round()
        book.wait_for_rounds(target.unit, 3)

        events = [row.event() for row in book.store.rows(Filter(unit=target.unit))]
        numbers = [event.number for event in events]
        assert numbers == sorted(set(numbers))
        holes = [(a + 1, b - 1) for a, b in itertools.pairwise(numbers) if b != a + 1]
        gaps = [event.fields for event in events if event.kind == "gap"]
        assert len(holes) == len(gaps) == 1
        assert gaps[0]["first"] <= holes[0][0] and gaps[0]["last"] == holes[0][1]
        assert gaps[0]["reason"] == "restart"
        assert [finding.kind for finding in verify(book.store, Summary())] == ["gap"]
        boots = [event.boot for event in events]
        assert boots == sorted(boots) and set(boots) == {1, 2}
        rounds = book.rounds(target.unit)
        assert [(ended.shoe, ended.void) for ended in rounds[1:]] == [(1, "restart"), (2, None)]
        assert dealer.logged(rounds[-1]) == hand.as_logged()


def test_a_shoe_switched_off_after_its_cards_leaves_no_gap(
    target: Target, tmp_path: Path, seed: int
) -> None:
    with Logbook(tmp_path, [target.port]) as book:
        hands = []
        for n in range(2):
            dealing = dealer.Dealer(target.bench, dealer.shuffled(seed + n, cut_from_end=405))
            dealing.deal_shoe()
            hands += dealing.hands
            book.wait_for_rounds(target.unit, len(hands))
            time.sleep(_REST_S)  # what the shoe does meanwhile cannot be seen from outside
            target.power.off()
            target.power.on()
            book.wait(lambda n=n: len(book.attachments) == n + 2, "attached again")
        book.wait(lambda: _boots(book, target) == {1, 2, 3}, "told of every boot")
        book.check(target.unit, hands)


def _boots(book: Logbook, target: Target) -> set[int]:
    return {row.event().boot for row in book.store.rows(Filter(unit=target.unit))}


@pytest.mark.parametrize("cards", [0, 1, 3])
def test_a_shoe_killed_within_a_round_comes_back_with_the_lock_closed(
    target: Target, seed: int, cards: int
) -> None:
    dealing = dealer.Dealer(target.bench, dealer.shuffled(seed))
    dealing.load()
    target.bench.press("next")
    for card in ("2C", "3D", "4H")[:cards]:
        target.bench.pull(card)
    target.power.off()
    target.power.on()
    shown = target.bench.outputs
    assert not shown.lock_released and shown.title == "LOAD CARDS"
    with Port(target.port) as port:
        client = Client(port)
        assert client.welcome["boot"] == 2
        client.begin(1)
        kinds: list[str] = []
        while "shoe_ended" not in kinds:
            kinds += [record.event.kind for record in client.receive(1.0).records]
