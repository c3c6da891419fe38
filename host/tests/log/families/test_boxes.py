"""Rounds of blackjack out of events, compared with what the second dealer has dealt."""

import random
from typing import Any

import pytest

from firmware.tests.support import boxes
from host.tests.support.dealt_boxes import PAIRS, BoxLog
from sabot.link import wire
from sabot.log.families.boxes import BlackjackRound
from sabot.log.rounds import Rounds, dealt_of
from sabot_protocol import cards


def _dealt(log: BoxLog) -> list[Any]:
    return list(dealt_of("U", (wire.parse_event(record) for record in log.records)))


@pytest.fixture
def rng() -> random.Random:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    return random.Random(seed)


@pytest.mark.slow
def test_the_hands_of_each_box_are_those_that_were_dealt(rng: random.Random) -> None:
    for n in range(40):
        log = BoxLog(boxes.random_house(rng.choice)).load()
        pack = PAIRS if n % 2 else [cards.name_of(card) for card in range(cards.DECK_SIZE)]
        planned = [log.round(rng.randrange(1, 8), rng, pack) for _ in range(2)]
        rounds = _dealt(log)
        assert len(rounds) == 2
        for steps, dealt in zip(planned, rounds, strict=True):
            assert isinstance(dealt, BlackjackRound)
            lines = [line.split() for _, each, _ in steps for line in each]
            results = [line[1:] for line in lines if line[0] == "hand_result"]
            assert results == [
                [str(box), str(number), hand.outcome, str(hand.total), str(int(hand.soft))]
                for box, hands in enumerate(dealt.boxes, 1)
                for number, hand in enumerate(hands, 1)
            ]
            for hands in dealt.boxes:
                for hand in hands:
                    assert boxes.best(hand.cards) == (hand.total, hand.soft), (hands, log.house)
            drawn = [line[1] for line in lines if line[0] == "card"]
            assert list(dealt.dealt) == drawn and dealt.sealed == 0
            last = lines[-1]
            assert [str(dealt.dealer_total), str(len(dealt.dealer))] == [last[1], last[3]]
            looked = [line[1] for line in lines if line[0] == "looked"]
            assert looked == ([] if dealt.looked is None else [str(int(dealt.looked))])


def test_a_doubled_hand_and_a_card_entered_by_hand_are_named() -> None:
    log = BoxLog().load()
    for text in ["next", "6S", "9D", "5S", "TC", "reveal", "TH"]:
        log.give(text)
    (dealt,) = _dealt(log)
    ((hand,),) = dealt.boxes
    assert (hand.doubled, hand.outcome, list(hand.cards)) == (True, "wins", ["6S", "5S", "TH"])
    assert dealt.dealer == ("9D", "TC") and dealt.as_json()["boxes"][0][0]["doubled"] is True


@pytest.mark.parametrize(
    ("played", "hands"),
    [
        ("5H next 6S 2H", ["TS 4H 5H", "TH 6S 2H"]),  # stands on the first one
        ("9H 6S 2H", ["TS 4H 9H", "TH 6S 2H"]),  # and this one is over
        ("reveal 5H 6S", ["TS 4H 5H", "TH 6S"]),  # doubles
        ("", ["TS 4H", "TH"]),
    ],
)
def test_the_hands_of_a_box_that_was_split_are_known_while_they_are_played(
    played: str, hands: list[str]
) -> None:
    log, rounds = BoxLog().load(), Rounds("U")
    for text in f"next TS 9D TH 8C burn next 4H {played}".split():
        log.give(text)
    for record in log.records:
        rounds.add(wire.parse_event(record))
    assert isinstance(rounds.open, BlackjackRound)
    assert [" ".join(hand.cards) for hand in rounds.open.boxes[0]] == hands


@pytest.mark.parametrize(("choice", "sealed"), [("opened", 0), ("never", 1)])
def test_a_void_round_has_its_cards_and_the_hole_card_by_the_houses_choice(
    choice: str, sealed: int
) -> None:
    from sabot_firmware.table.dealing import KEY

    log = BoxLog({"house": {"voided_cards": choice}}).load()
    for text in ["next", "6S", "9D", "5S", "TC"]:
        log.give(text)
    log.act(log.dealing.switched(KEY, True))
    log.give("void")
    (dealt,) = _dealt(log)
    assert dealt.void == "supervisor" and dealt.sealed == sealed
    assert dealt.dealer == (("9D",) if sealed else ("9D", "TC"))
    assert [list(hand.cards) for (hand,) in dealt.boxes] == [["6S", "5S"]]


def test_a_round_that_is_voided_before_its_first_card_is_one_of_the_game_in_the_shoe() -> None:
    from sabot_firmware.table.dealing import KEY

    log = BoxLog().load()
    log.act(log.dealing.switched(KEY, True))
    log.give("void")
    (dealt,) = _dealt(log)
    assert isinstance(dealt, BlackjackRound) and dealt.void == "supervisor"
