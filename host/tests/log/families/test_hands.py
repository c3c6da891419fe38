"""Hands of hold'em from events, compared with the plan of a second dealer."""

import random
from pathlib import Path
from typing import Any

from host.tests.support.hand_log import HandLog
from host.tests.support.helpers import FirmwareLog, new_log, parsed, stored
from sabot.log.families.hands import Hand
from sabot.log.reading.rounds import rounds_between
from sabot.log.rounds import Round, Rounds, dealt_of, rounds_of
from sabot.log.store import Filter

TWICE = "AS KS 2C 3C next 9D KC QC JC next 8D burn next TC 7D 4C 6D TD 5D 4D reveal"
"""A hand to two seats that is run twice, which is asked when the turn's burn has come."""


def hands_in(log: FirmwareLog) -> list[Hand]:
    found = list(dealt_of("U1", [parsed(data) for data in log.records]))
    return [each for each in found if isinstance(each, Hand)]


def test_random_hands_are_read_as_the_second_dealer_dealt_them(rng: random.Random) -> None:
    for hole_cards in ("all", "shown", "never"):
        _check_random_hands(rng, hole_cards)


def _check_random_hands(rng: random.Random, hole_cards: str) -> None:
    log = HandLog(hole_cards=hole_cards)
    plans = [log.deal_random(rng) for _ in range(60)]
    hands = hands_in(log)
    assert len(hands) == len(plans)
    for hand, plan in zip(hands, plans, strict=True):
        at = [(position, name) for position, name in plan.dealt]
        assert hand.seats == plan.seats and hand.run_twice == (plan.from_street or None)
        for seat, cards in enumerate(hand.hands, 1):
            known = hole_cards == "all" or seat in plan.shown
            dealt = [name for position, name in at if position == f"seat_{seat}"]
            assert list(cards) == (dealt if known else [])
        assert hand.sealed == len(plan.closed())
        assert (list(hand.board), list(hand.second)) == plan.boards()
        burned = [name for position, name in at if position == "board_burn"]
        assert list(hand.burned) == (burned if hole_cards == "all" else [])
        assert (hand.void, hand.by_hand, hand.game) == (None, (), log.game.sha256)
        assert 0 < hand.first_event < hand.last_event
    assert {hand.run_twice for hand in hands} == {None, "turn", "river"}


def test_a_hand_run_twice_in_json() -> None:
    log = HandLog().seat(2).play(TWICE)
    (hand,) = hands_in(log)
    shown: dict[str, Any] = hand.as_json()
    assert shown["hands"] == [["AS", "2C"], ["KS", "3C"]] and shown["family"] == "holdem"
    assert shown["board"] == ["KC", "QC", "JC", "TC", "4C"]
    assert shown["second_board"] == ["KC", "QC", "JC", "TD", "4D"]
    assert shown["burned"] == ["9D", "8D", "7D", "6D", "5D"] and shown["run_twice"] == "turn"


def test_cards_of_an_open_hand_are_not_known_and_the_board_is() -> None:
    log = HandLog().seat(2).play(TWICE.removesuffix(" reveal"))
    rounds = Rounds("U1")
    for data in log.records:
        rounds.add(parsed(data))
    hand = rounds.open
    assert isinstance(hand, Hand)
    assert hand.hands == ((), ()) and hand.burned == () and hand.sealed == 9
    assert " ".join(hand.board) == "KC QC JC TC 4C" and " ".join(hand.second) == "KC QC JC TD 4D"


def test_cards_of_a_void_hand_are_known_or_never_by_the_choice_of_the_house() -> None:
    for choice, known in (("opened", (("AS", "2C"), ("KS", "3C"))), ("never", ((), ()))):
        log = HandLog(voided_cards=choice).seat(2)
        log.play("AS KS 2C 3C next 9D KC key+ void key-")
        (hand,) = hands_in(log)
        assert hand.void == "supervisor" and hand.hands == known and hand.board == ("KC",)


def test_a_hand_that_is_voided_before_its_first_card_is_a_hand_wherever_the_reading_begins(
    tmp_path: Path,
) -> None:
    log = HandLog().seat(2).play("key+ void key-")
    (hand,) = hands_in(log)
    assert hand.void == "supervisor" and not hand.hands and hand.as_json()["family"] == "holdem"
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(log.records))
        for first in (1, hand.first_event):
            (found,) = rounds_between(store, Filter("U1", first=first))
            assert found == hand


def test_a_misdeal_ends_a_hand_again_as_void() -> None:
    log = HandLog().seat(2).play(TWICE + " key+ void void key-")
    (hand,) = hands_in(log)
    assert hand.void == "misdeal" and hand.second


def test_a_hand_with_a_missing_event_at_its_begin_is_no_round_of_baccarat(
    rng: random.Random,
) -> None:
    log = HandLog()
    log.deal_random(rng)
    events = [parsed(data) for data in log.records]
    for missing in ("hand_begun", "betting_open"):
        left = [event for event in events if event.kind != missing]
        assert not any(each.winner for each in rounds_of("U1", left))


def test_a_log_with_both_families_has_rounds_and_hands(rng: random.Random) -> None:
    log = HandLog()
    log.deal_random(rng)
    other = FirmwareLog().load().draw("AS", "2C", "9S", "KC", "KD", "7D", "next")
    events = [parsed(data) for data in (*log.records, *other.records)]
    assert [type(each) for each in dealt_of("U1", events)] == [Hand, Round]
    assert [each.winner for each in rounds_of("U1", events)] == ["player"]
