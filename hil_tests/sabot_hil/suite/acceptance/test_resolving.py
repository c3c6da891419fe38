from pathlib import Path

import pytest

from sabot.link.events import ResolvedEvent
from sabot.log.store import Filter
from sabot_hil.capabilities import Bench, Target
from sabot_hil.kit import dealer
from sabot_hil.kit.dealer import load_cards, press_until, turn_key
from sabot_hil.kit.logbook import Logbook

_BURNED = ("AC", "2C")


_AFTER_CUT = {1: 370, 7: 16}
_AFTER_CUT_EMULATED = {1: 400, 7: 380}  # two and six rounds: a press takes seconds there


@pytest.mark.parametrize("every", [1, 7])
def test_a_shoe_with_cards_entered_by_hand_is_logged_as_it_was_dealt(
    target: Target, tmp_path: Path, seed: int, every: int
) -> None:
    with Logbook(tmp_path, [target.shoe.port], target.clock, once=True) as book:
        after_cut = _AFTER_CUT_EMULATED if target.clock.emulated else _AFTER_CUT
        cards = dealer.shuffled_shoe(seed, cut_from_end=after_cut[every])
        dealing = dealer.BenchDealer(target.bench, cards, unreadable_every=every)
        dealing.deal_shoe()
        book.wait(lambda: book.logger.wait(0), "done with the shoe of cards")
        rounds = book.rounds(target.shoe.unit)
        assert [dealer.logged(ended) for ended in rounds] == [
            hand.as_logged() for hand in dealing.hands
        ]
        book.check(target.shoe.unit, dealing.hands)
        entered = [card for ended in rounds for card in ended.by_hand]
        assert entered == [card for card in dealing.entered if card != "CUT"][-len(entered) :]
        if every == 1:
            dealt = [card for ended in rounds for card in (*ended.player, *ended.banker)]
            assert sorted(entered) == sorted(dealt)


def test_the_display_names_an_unreadable_card_and_what_to_press(
    bench: Bench,
) -> None:
    load_cards(bench, *_BURNED, "4C")
    shown = bench.pull_unreadable()
    assert shown.display[5:7] == ("NO CODE", "TURN KEY") and shown.lamps == {"error"}
    shown = bench.switch("key_on", True)
    assert shown.display[:2] == ("STOP BANKER 1", "NO CODE")
    assert shown.display[4:] == ("CARD --", "NEXT CHOOSES", "", "VOID ENDS ROUND")
    press_until(bench, "next", "CARD 2")
    press_until(bench, "burn", "CARD 2D")
    assert bench.outputs.display[5:] == ("NEXT RANK", "BURN SUIT", "REVEAL OK  VOID")
    shown = bench.press("reveal")
    assert shown.lock_released and shown.display[3] == "B 2D         2"


def test_a_round_is_voided_with_a_card_that_is_not_entered(target: Target, tmp_path: Path) -> None:
    bench = target.bench
    with Logbook(tmp_path, [target.shoe.port], target.clock) as book:
        load_cards(bench, *_BURNED, "4C", "2D")
        bench.pull_unreadable()
        bench.switch("key_on", True)
        shown = bench.press("void")
        assert shown.title == "NEXT ROUND?" and not shown.lamps
        bench.switch("key_on", False)
        book.wait_for_rounds(target.shoe.unit, 1)
        (ended,) = book.rounds(target.shoe.unit)
        assert (ended.void, ended.player, ended.banker) == ("unreadable", ("4C",), ("2D",))


def test_a_ninth_copy_stops_play_until_it_is_put_aside(target: Target, tmp_path: Path) -> None:
    bench = target.bench
    with Logbook(tmp_path, [target.shoe.port], target.clock) as book:
        load_cards(bench, "TS", *["9S"] * 8)
        shown = bench.pull("9S")
        assert shown.display[5] == "SURPLUS COPY 9S" and not shown.lock_released
        turn_key(bench)
        assert not bench.outputs.lock_released, "the key alone resolves nothing"
        bench.switch("key_on", True)
        press_until(bench, "next", "DRAW AGAIN")
        assert bench.press("reveal").lock_released
        assert bench.outputs.title == "BURN: 2 LEFT"
        book.wait(
            lambda: any(book.store.rows(Filter(unit=target.shoe.unit, kinds=["resolved"]))),
            "logged",
        )
        (row,) = book.store.rows(Filter(unit=target.shoe.unit, kinds=["resolved"]))
        resolved = row.event()
        assert isinstance(resolved, ResolvedEvent) and resolved.resolution == "drawn_again"
