from pathlib import Path

import pytest

from sabot.games.baccarat import catalogue
from sabot.link.events import ResultEvent
from sabot.log.store import Filter
from sabot_hil.capabilities import Target, session_with
from sabot_hil.kit import dealer
from sabot_hil.kit.logbook import Logbook
from sabot_protocol.baccarat import Game

_ROUNDS = 60  # a shoe of eight decks has more
_OTHER_HOUSES = (
    {"burn": "one", "rounds_after_cut": 0},
    {"burn": "none", "rounds_after_cut": 2, "cut_from_end": 17},
    {"burn_ace": 11},
)


def _load(target: Target, document: bytes) -> None:
    with session_with(target.shoe) as client:
        client.load_game(document)


def test_a_full_shoe_is_logged_as_an_independent_dealer_dealt_it(
    target: Target, tmp_path: Path, seed: int
) -> None:
    with Logbook(tmp_path, [target.shoe.port], target.clock, once=True) as book:
        dealing = dealer.BenchDealer(target.bench, dealer.whole_shoe(seed, target.clock))
        dealing.deal_shoe()
        book.wait(lambda: book.logger.wait(0), "done with the shoe of cards")
        book.check(target.shoe.unit, dealing.hands)
        assert target.clock.emulated or len(dealing.hands) > _ROUNDS


@pytest.mark.parametrize("game", [game.name for game in catalogue.GAMES if game.name != "mini"])
def test_a_full_shoe_of_every_game_is_logged_as_an_independent_dealer_dealt_it(
    target: Target, tmp_path: Path, seed: int, game: str
) -> None:
    document = catalogue.document(game)
    _load(target, document)
    with Logbook(tmp_path, [target.shoe.port], target.clock, once=True) as book:
        cards = dealer.whole_shoe(seed, target.clock)
        dealing = dealer.BenchDealer(target.bench, cards, game=document)
        dealing.deal_shoe()
        book.wait(lambda: book.logger.wait(0), "done with the shoe of cards")
        book.check(target.shoe.unit, dealing.hands)
        assert target.clock.emulated or len(dealing.hands) > _ROUNDS
        rows = book.store.rows(Filter(unit=target.shoe.unit, kinds=["result"]))
        results = [row.event() for row in rows]
        dealt = {event.game for event in results if isinstance(event, ResultEvent)}
        assert dealt == {Game(document).sha256}


@pytest.mark.parametrize("game", ["ez-mini", "pa-midi"])
@pytest.mark.parametrize("house", _OTHER_HOUSES, ids=str)
def test_the_choices_of_the_house_for_the_burn_and_the_cut_card_are_dealt(
    target: Target, tmp_path: Path, seed: int, game: str, house: dict[str, object]
) -> None:
    document = catalogue.document(game, house)
    _load(target, document)
    cards = dealer.shuffled_shoe(seed, cut_from_end=400)
    if "burn_ace" in house:
        ace = next(place for place, card in enumerate(cards) if card[0] == "A")
        cards.insert(0, cards.pop(ace))
    with Logbook(tmp_path, [target.shoe.port], target.clock, once=True) as book:
        dealing = dealer.BenchDealer(target.bench, cards, game=document)
        dealing.deal_shoe()
        book.wait(lambda: book.logger.wait(0), "done with the shoe of cards")
        book.check(target.shoe.unit, dealing.hands)


def test_shoes_of_cards_are_numbered_one_after_the_other(
    target: Target, tmp_path: Path, seed: int
) -> None:
    with Logbook(tmp_path, [target.shoe.port], target.clock) as book:
        hands = []
        for n in range(2):
            dealing = dealer.BenchDealer(
                target.bench, dealer.shuffled_shoe(seed + n, cut_from_end=400)
            )
            dealing.deal_shoe()
            hands += dealing.hands
        book.wait_for_rounds(target.shoe.unit, len(hands))
        book.check(target.shoe.unit, hands)
        assert {ended.shoe for ended in book.rounds(target.shoe.unit)} == {1, 2}
