"""The order of cards in the events of a unit: when each card enters, and what a restart knows."""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from host.tests.support.helpers import FirmwareLog, new_log, stored
from host.tests.support.shuffles import dealt_shoes, honest, new_packs
from host.tests.support.typed_events import TypedEvents
from sabot.games.baccarat import catalogue
from sabot.link.events import CardEvent, Event, SealedCardEvent, UnsealedEvent
from sabot.link.wire import parse_event
from sabot.log.reveal import NONE_KEPT
from sabot.order.dealt_order import DealtOrder, Found
from sabot.order.history import found_in, shoes_before
from sabot.order.run_index import RunIndex

_DICE = random.Random(7)
_FIRST, _SECOND = honest(_DICE), honest(_DICE)


def _events(log: FirmwareLog) -> list[Event]:
    return [parse_event(record) for record in log.records]


def _follow(order: DealtOrder, events: Iterable[Event]) -> list[Found]:
    found = []
    for event in events:
        order.add(event)
        found += order.new()
    return found


def _order(events: Sequence[Event]) -> tuple[DealtOrder, list[Found]]:
    order = DealtOrder("U1", NONE_KEPT)
    order.past([])
    return order, _follow(order, events)


def test_new_packs_are_found_within_the_first_two_rounds() -> None:
    _, (found,) = _order(_events(dealt_shoes(new_packs())))
    assert found.finding.what == "packs" and found.event.round <= 2


def test_a_shoe_that_is_dealt_again_is_found_within_its_first_two_rounds() -> None:
    _, (found,) = _order(_events(dealt_shoes(_FIRST, _SECOND, _FIRST)))
    assert found.finding.of is not None and found.finding.of.shoe == 1
    assert (found.event.shoe, found.finding.what) == (3, "table") and found.event.round <= 2


def test_honest_shoes_of_one_unit_give_nothing() -> None:
    assert _order(_events(dealt_shoes(_FIRST, _SECOND)))[1] == []


def test_each_shoe_has_one_finding_at_the_most() -> None:
    _, found = _order(_events(dealt_shoes(new_packs(), new_packs())))
    assert [each.event.shoe for each in found] == [1, 2]


def test_face_down_cards_enter_once_they_are_opened() -> None:
    events = _events(dealt_shoes(new_packs(), game=catalogue.document("ez-midi")))
    assert any(isinstance(each, SealedCardEvent) for each in events)
    order = DealtOrder("U1", NONE_KEPT)
    order.past([])
    for event in events:
        order.add(event)
        if new := order.new():
            break
    (found,) = new
    opened = max(
        e.number for e in events if isinstance(e, UnsealedEvent) and e.number <= event.number
    )
    assert event.number == opened > found.event.number
    sealed = {each.number for each in events if isinstance(each, SealedCardEvent)}
    assert found.event.number in sealed, "a sealed card made the finding"


def test_cards_that_wait_for_a_sealed_one_stay_in_their_order() -> None:
    game = catalogue.document("ez-midi")
    order, _ = _order(_events(dealt_shoes(_FIRST, game=game)))
    (ended,) = order.ended
    assert ended.cards == bytes(_FIRST[: len(ended.cards)]) and len(ended.cards) > 390


def test_cards_that_are_never_opened_are_left_out() -> None:
    events = _events(dealt_shoes(_FIRST, game=catalogue.document("ez-midi")))
    kept = [each for each in events if not isinstance(each, UnsealedEvent)]
    order, found = _order(kept)
    (ended,) = order.ended
    shown = [each.card for each in kept if isinstance(each, CardEvent) and each.card < 52]
    assert (list(ended.cards), found) == (shown, [])


@pytest.mark.parametrize("at", ["before_the_finding", "after_the_finding"])
def test_a_restart_neither_forgets_nor_repeats(at: str) -> None:
    events = _events(dealt_shoes(_FIRST, _SECOND, _FIRST))
    whole, (found,) = _order(events)
    cut = found.event.number - 3 if at == "before_the_finding" else found.event.number + 40
    before = DealtOrder("U1", NONE_KEPT)
    before.past([])
    _follow(before, events[:cut])
    again = DealtOrder("U1", NONE_KEPT)
    begin = before.first_event
    assert begin is not None
    _follow(again, events[begin - 1 : cut])
    assert again.new() == [], "it does not judge before it knows what was dealt before"
    again.past(before.ended)
    seen = [*again.new(), *_follow(again, events[cut:])]
    assert seen == [found] and again.beside() == whole.beside()


def test_a_shoe_whose_begin_is_not_in_the_log_is_not_judged() -> None:
    events = _events(dealt_shoes(new_packs()))
    assert _order(events[10:])[1] == []


def test_the_log_gives_back_the_shoes_before_an_event(tmp_path: Path) -> None:
    log = dealt_shoes(_FIRST, _SECOND, _FIRST)
    with new_log(tmp_path / "log") as store:
        store.append("U1", stored(log.records))
        order, _ = _order(_events(log))
        assert shoes_before(store, "U1") == order.ended
        third = order.ended[-1].first_event
        assert shoes_before(store, "U1", third) == order.ended[:2]
        ((found, over),) = found_in(store, "U1")
    assert over and found.event.shoe == 3


def test_what_was_found_in_an_earlier_shoe_is_not_said_of_the_last_one() -> None:
    order = DealtOrder("U1", NONE_KEPT)
    found = _follow(order, _events(dealt_shoes(new_packs(), _FIRST)))
    order.past([])
    assert found == [] and [each.event.shoe for each in order.new()] == [1]
    assert order.found is None and order.beside() is None


def test_a_forged_shoe_of_endless_cards_takes_no_endless_memory(tmp_path: Path) -> None:
    log = TypedEvents().add("shoe_loaded", decks=(1 << 63) - 1, game="mini")
    for _ in range(1500):
        log.add("card", card="7H", position="player_1")
    log.add("shoe_ended")
    order, found = _order(log.events)
    (ended,) = order.ended
    assert len(ended.cards) == 1000 and found == []
    with RunIndex(tmp_path / "index") as index:
        index.add(order.ended, "U1", 1)
        assert index.shoe(0).cards == ended.cards
