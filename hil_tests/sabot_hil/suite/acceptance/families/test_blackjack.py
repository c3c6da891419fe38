"""Blackjack on a shoe: every total of the dealer, every decision of a hand, every fault at every
place, the look at the hole card."""

from pathlib import Path

import numpy as np
import pytest

from sabot.link.messages import StatusCommand
from sabot.log.families.boxes import BlackjackRound
from sabot.sim import waveform
from sabot.sim.channel import Outputs
from sabot.sim.disturbed import NOISE
from sabot.sim.faulty import faulty_pass
from sabot_hil.capabilities import Bench, Measure, Target, session_with
from sabot_hil.kit.dealer import enter, resolve_stop
from sabot_hil.kit.families.box_dealer import BoxDealer, load_game, rounds_taken, total
from sabot_protocol import enums

FAULTS = [fault for fault in enums.FAULTS if fault not in ("none", "power_lost")]
_QUIET = bytes(2000)  # 0.2 s with nothing at the head
_HALF_WAY_MM = 40.0
_HARD = ["2 3", "2 4", "2 5", "2 6", "2 7", "2 8", "2 9", "2 T", "3 T", "4 T", "5 T", "6 T", "7 T",
         "8 T", "9 T"]  # fmt: skip
_SOFT = ["2 A", "3 A", "4 A", "5 A", "6 A", "7 A", "8 A", "9 A"]


@pytest.mark.parametrize("soft_17", ["stands", "hits"])
@pytest.mark.parametrize("totals", [_HARD[:8], _HARD[8:], _SOFT], ids=["low", "high", "soft"])
def test_the_dealer_draws_by_the_rule_from_every_total(
    target: Target, tmp_path: Path, totals: list[str], soft_17: str
) -> None:
    document = load_game(target, {"decks": 8, "soft_17": soft_17})
    dealing = BoxDealer(target.bench)
    hands = []
    for nth, two in enumerate(totals):
        suit = "SHDC"[nth % 4]
        up, hole = (rank + suit for rank in two.split())
        dealing.next_round()
        dealing.give(f"K{suit} {up} 8{suit} {hole} next")
        hands.append(dealing.finish([up, hole], hits_soft_17=soft_17 == "hits"))
    rounds = rounds_taken(target, tmp_path, document)
    assert [list(each.dealer) for each in rounds] == hands
    for each, hand in zip(rounds, hands, strict=True):
        count, soft = total(hand)
        assert (each.dealer_total, each.dealer_soft) == (count, soft)
        ((box,),) = each.boxes
        outcome = "wins" if count > 21 or count < 18 else "pushes" if count == 18 else "loses"
        assert box.outcome == outcome, (hand, box)


@pytest.mark.parametrize(
    ("choices", "script", "outcomes"),
    [
        ({}, "5S 6C 6S TC reveal TD", ["wins"]),  # doubled; then the dealer draws a ten
        ({}, "8S 6C 8H TC burn next TS next 3S reveal TH", ["wins", "wins"]),
        ({}, "AS 6C AH TC burn next 9S KS", ["wins", "wins"]),
        ({"surrender": "late"}, "TS 9C 6S TC burn next", ["surrendered"]),
        ({"surrender": "early"}, "TS AC 6S 9C burn next next", ["surrendered"]),
        ({}, "TS 9C 6S TC 6D", ["loses"]),  # bust
        ({}, "AS 9C KS TC", ["blackjack"]),
        ({"hole_card": "none", "looks": "never"}, "AS TC KS 9D", ["blackjack"]),
        ({"hole_card": "none", "looks": "never"}, "TS 9C 9S next TD", ["pushes"]),
    ],
    ids=str,
)
def test_every_decision_of_a_hand(
    target: Target, tmp_path: Path, choices: dict[str, object], script: str, outcomes: list[str]
) -> None:
    document = load_game(target, choices)
    dealing = BoxDealer(target.bench)
    shown = dealing.give(script)
    if shown.lock_released:
        shown = dealing.give("TD")
    assert shown.title == "NEXT ROUND?" and not shown.lock_released, shown
    (dealt,) = rounds_taken(target, tmp_path, document)
    assert [hand.outcome for hand in dealt.boxes[0]] == outcomes


@pytest.mark.parametrize(("up", "hole"), [("AC", "KD"), ("KC", "AD"), ("AC", "9D"), ("KC", "9D")])
def test_the_shoe_says_whether_the_dealer_has_a_blackjack_and_not_the_card(
    target: Target, tmp_path: Path, up: str, hole: str
) -> None:
    document = load_game(target, {})
    bench = target.bench
    dealing = BoxDealer(bench)
    shown = dealing.give(f"TS {up} 9S {hole}")
    assert shown.title == "INSURANCE?" and not shown.lock_released, shown
    assert not any(hole in line for line in shown.display)
    shown = bench.press("next")
    if total([up, hole])[0] == 21:
        assert shown.display[4] == "DEALER BLACKJACK" and shown.title == "NEXT ROUND?", shown
    else:
        assert shown.display[3] == f"{up} NO BLACKJACK" and shown.lock_released, shown
        bench.press("next")
    (dealt,) = rounds_taken(target, tmp_path, document)
    assert dealt.looked is (total([up, hole])[0] == 21) and dealt.dealer == (up, hole)


def test_a_round_of_seven_boxes_with_four_hands_each_has_room(
    target: Target, tmp_path: Path, measure: Measure
) -> None:
    document = load_game(target, {"decks": 8})
    dealing = BoxDealer(target.bench)
    dealing.give("burn " * 6 + "8S " * 7 + "6C " + "8H " * 7 + "TC")
    for box in range(7):
        ten = "T" + "SHDC"[box % 4]
        dealing.give("burn next 8D burn next 8C burn next " + f"{ten} next " * 4)
    if target.clock.measures_shoe:
        with session_with(target.shoe) as client:
            free_bytes = float(client.ask(StatusCommand()).heap_free)
        measure("heap free with 28 hands", free_bytes, "bytes", at_least=20_000)
    shown = dealing.give("5D")
    assert shown.title == "NEXT ROUND?", shown
    (dealt,) = rounds_taken(target, tmp_path, document)
    assert dealt.dealer_total == 21
    assert [[hand.outcome for hand in box] for box in dealt.boxes] == [["loses"] * 4] * 7


_ROUND = ["8S", "6C", "8H", "9C", "burn", "next", "TS", "next", "3S", "reveal", "TH", "2C"]
"""A pair of eights is split, the second hand doubles, the dealer draws to 17."""


def _cards_of(script: list[str]) -> list[int]:
    return [place for place, word in enumerate(script) if not word.islower()]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_every_place_stops_play_and_the_round_goes_on(
    target: Target, tmp_path: Path, fault: str
) -> None:
    document = load_game(target, {})
    bench: Bench = target.bench
    levels = faulty_pass(np.random.default_rng(1), NOISE["clean"], fault, 0, "stroke")
    samples = waveform.pack(levels) + _QUIET

    def spoilt(card: str) -> Outputs:
        bench.play(samples)
        shown = bench.settle()
        assert (shown.title, shown.lock_released) == ("STOP", False), (card, shown)
        if resolve_stop(bench, card):
            bench.pull(card)
        return bench.outputs

    _round_to_its_end(target, tmp_path, document, BoxDealer(bench, spoilt))


def test_a_card_at_every_place_that_the_power_left_half_way_is_drawn_again(
    target: Target, tmp_path: Path
) -> None:
    document = load_game(target, {})
    bench: Bench = target.bench

    def cut_in_card(card: str) -> Outputs:
        bench.pull_part(card, _HALF_WAY_MM)
        target.power.off()
        target.power.on()
        shown = bench.outputs
        assert (shown.title, shown.lock_released) == ("STOP", False), (card, shown)
        assert shown.display[5:7] == ("POWER LOST", "TURN KEY"), (card, shown)
        assert resolve_stop(bench, card)
        return bench.pull(card)

    _round_to_its_end(target, tmp_path, document, BoxDealer(bench, cut_in_card))


def _round_to_its_end(
    target: Target, folder: Path, document: bytes, dealing: BoxDealer
) -> BlackjackRound:
    """Deal _ROUND with this dealer; check its end and that nothing is found wrong with it."""
    shown = dealing.give(" ".join(_ROUND))
    assert shown.title == "NEXT ROUND?", shown
    (dealt,) = rounds_taken(target, folder, document)
    assert [hand.outcome for hand in dealt.boxes[0]] == ["wins", "wins"]
    assert [hand.cards for hand in dealt.boxes[0]] == [("8S", "TS"), ("8H", "3S", "TH")]
    return dealt


@pytest.mark.parametrize("place", _cards_of(_ROUND))
def test_an_unreadable_card_at_every_place_is_entered_and_the_round_goes_on(
    target: Target, tmp_path: Path, place: int
) -> None:
    document = load_game(target, {})
    bench: Bench = target.bench
    dealing = BoxDealer(bench)
    dealing.give(" ".join(_ROUND[:place])) if place else None
    shown = bench.pull_unreadable()
    assert (shown.title, shown.lock_released) == ("STOP", False), shown
    target.power.off()
    target.power.on()
    enter(bench, _ROUND[place])
    if _ROUND[place + 1 :]:
        dealing.give(" ".join(_ROUND[place + 1 :]))
    assert bench.outputs.title == "NEXT ROUND?", bench.outputs
    (dealt,) = rounds_taken(target, tmp_path, document)
    assert [hand.outcome for hand in dealt.boxes[0]] == ["wins", "wins"]
    assert dealt.by_hand == (_ROUND[place],)
