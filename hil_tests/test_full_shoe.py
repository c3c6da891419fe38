from pathlib import Path

from hil_tests import dealer
from hil_tests.logbook import Logbook
from hil_tests.targets import Target


def test_a_full_shoe_is_logged_as_an_independent_dealer_dealt_it(
    target: Target, tmp_path: Path, seed: int
) -> None:
    with Logbook(tmp_path, [target.port], once=True) as book:
        dealing = dealer.Dealer(target.bench, dealer.shuffled(seed))
        dealing.deal_shoe()
        book.wait(lambda: book.logger.wait(0), "through with the shoe of cards")
        book.check(target.unit, dealing.hands)
        assert len(dealing.hands) > 60


def test_two_shoes_of_cards_one_after_the_other_are_numbered_on(
    target: Target, tmp_path: Path, seed: int
) -> None:
    with Logbook(tmp_path, [target.port]) as book:
        hands = []
        for n in range(2):
            dealing = dealer.Dealer(target.bench, dealer.shuffled(seed + n, cut_from_end=400))
            dealing.deal_shoe()
            hands += dealing.hands
        book.wait_for_rounds(target.unit, len(hands))
        book.check(target.unit, hands)
        assert {ended.shoe for ended in book.rounds(target.unit)} == {1, 2}
