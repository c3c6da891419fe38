"""Every fault at every position, with every decision that the supervisor may make about it.

The effect of a decision is compared with a second shoe, in which the card was simply read, or never
came out, or the round was voided without it.
"""

import random

from firmware.tests.support.resolving import (
    ALL,
    CARDS,
    COUNTS,
    FAULTS,
    OUT,
    RANKS,
    UNREAD,
    at,
    betting_closed,
    clear,
    deal_on,
    position_of,
    split_at_clearing,
    without,
)
from firmware.tests.support.table import FIGURES, IN_PLAY, SITUATIONS, Table
from protocol.tests.helpers import seed_random, some
from sabot_protocol import cards, enums, events

_STAY_IN = ("pushed_back", "jam", "sensor_fault", "power_lost")


def _resolve_second(table, other):
    """There was no second card in the double feed; `other` has dealt only the first."""
    clear(table)
    clear(other)
    if table.shoe.pending.waits():
        if enums.PHASES[other.shoe.phase] == "betting":
            other.play("next")  # the second card has closed it
        table.play("!again")


def test_what_can_be_chosen_by_fault_and_position():
    seed_random()
    for name in IN_PLAY:
        for fault in some(FAULTS, 3):
            table = at(name, "?" + fault)
            position = position_of(name)
            face_down = position in ("burn", "not_due")
            again = fault in _STAY_IN or fault == "foreign_set"
            if position == "burn_first":
                again = fault != "double_feed"
            expected = []
            if again:
                expected.append("NOT COUNTED" if position == "not_due" else "DRAW AGAIN")
            if face_down and fault not in ("pushed_back", "foreign_set"):
                expected.append("UNSEEN")
            if fault != "foreign_set":
                expected += RANKS
            assert table.choices() == expected, (name, fault)


def test_a_card_entered_by_hand_is_dealt_as_if_it_had_been_read():
    seed_random()
    for name in IN_PLAY:
        for fault in some(FAULTS, 2):
            names = [random.choice(ALL) for _ in range(3)]
            if fault == "bad_code" and name == IN_PLAY[0]:
                names = ALL
            for card in some(names + ["CUT"], 6) if fault != "foreign_set" else []:
                table = at(name)
                recorded = table.play("?%s !%s" % (fault, card))
                before, after = split_at_clearing(recorded)
                if name == "betting":
                    assert before.pop(0) == "betting_closed card"
                position = position_of(name)
                assert before == [
                    "unreadable %s %s" % (fault, position),
                    "error unreadable None " + fault,
                    "button reveal",
                    "resolved unreadable %s %s entered" % (fault, position),
                ]
                other = betting_closed(name) if card == "CUT" else at(name)
                expected = [line for line in other.play(card) if not line.startswith("lock")]
                if expected[0] == "betting_closed card":
                    expected.pop(0)
                if card != "CUT":
                    assert after[0].endswith(" by_hand")
                    after[0] = after[0][: -len(" by_hand")]
                if fault == "double_feed":
                    after = after[: len(expected)]
                assert after == expected, (name, fault, card)
                _resolve_second(table, other)
                assert table.snapshot() == other.snapshot(), (name, fault, card)
                deal_on((table, other), 12)


def test_a_card_drawn_again_leaves_the_shoe_as_it_was():
    seed_random()
    for name in IN_PLAY:
        for fault in some(FAULTS, 3):
            table = at(name, "?" + fault)
            shown = table.choices()[0]
            if shown not in ("DRAW AGAIN", "NOT COUNTED"):
                continue
            table.play("key- key+ next")
            recorded = table.play("reveal")
            assert recorded[:3] == [
                "button reveal",
                "resolved unreadable %s %s drawn_again" % (fault, position_of(name)),
                "error_cleared unreadable",
            ]
            assert recorded[3:] == (["lock 1"] if SITUATIONS[name][1] else []), (name, fault)
            other = betting_closed(name)
            if fault in _STAY_IN or fault == "foreign_set":
                assert table.snapshot() == other.snapshot(), (name, fault)
            else:  # put aside: it is out
                assert name == "first burn"
                snapshot = table.snapshot()
                assert (snapshot[CARDS], snapshot[UNREAD]) == (1, 1)
                places = CARDS, UNREAD
                assert without(snapshot, *places) == without(other.snapshot(), *places)
                continue
            deal_on((table, other), 12)


def test_a_card_left_unseen_is_burned_or_put_aside_without_a_name():
    for name in ("burning", "burn between", "between"):
        for fault in FAULTS:
            if fault in ("pushed_back", "foreign_set"):
                continue
            table = at(name, "?%s !unseen" % fault)
            other = at(name)
            if position_of(name) == "burn":
                other.play("9S")
            cards_out = 1
            if fault == "double_feed":
                assert enums.FAULTS[table.shoe.fault] == fault
                table.play("!again")
            snapshot, expected = table.snapshot(), other.snapshot()
            assert snapshot[UNREAD] == cards_out, (name, fault)
            assert snapshot[CARDS] == at(name).shoe.cards + cards_out
            places = CARDS, COUNTS, UNREAD
            assert without(snapshot, *places) == without(expected, *places), (name, fault)


def test_the_last_card_to_burn_left_unseen_opens_the_betting():
    recorded = Table("lid+ lid- 2C 3C").play("?no_code !unseen")
    assert recorded[-2:] == ["betting_open", "lock 1"], recorded


def test_a_void_leaves_what_a_void_without_the_card_leaves():
    for name in IN_PLAY:
        for fault in FAULTS:
            table, other = at(name, "?" + fault), betting_closed(name)
            recorded, expected = table.play("void"), other.play("void")
            assert recorded[:3] == [
                "button void",
                "resolved unreadable %s %s void" % (fault, position_of(name)),
                "error_cleared unreadable",
            ]
            out = OUT.get(fault, 1)
            kinds = [line.split()[0] for line in expected[1:] if not line.startswith("lock")]
            more = [line for line in recorded[3:] if not line.startswith("lock")]
            assert [line.split()[0] for line in more] == kinds, (name, fault)
            if more:
                assert more[0] == "round_void unreadable"
            assert table.shoe.asked == other.shoe.asked == (not more), (name, fault)
            if recorded[-1].startswith("composition"):
                assert recorded[-1] == "composition %d 416" % out
            assert table.shoe.cards == other.shoe.cards + out, (name, fault)
            places = CARDS, UNREAD
            assert without(table.snapshot(), *places) == without(other.snapshot(), *places)


def test_nothing_is_decided_without_the_key_or_with_the_lid_open():
    seed_random()
    for name in IN_PLAY:
        for fault in some(FAULTS, 2):
            for inputs in ("key-", "key+ lid+", "next key- reveal"):
                table = at(name, "?" + fault)
                table.play("key- " + inputs)
                before = table.snapshot()
                for button in enums.BUTTONS * 3:
                    assert table.play(button) == ["button " + button], (
                        name,
                        fault,
                        inputs,
                    )
                assert table.snapshot() == before, (name, fault, inputs)


def test_the_key_alone_neither_clears_nor_voids():
    for name in IN_PLAY:
        for fault in FAULTS:
            table = at(name, "?" + fault)
            before = table.snapshot()
            assert table.play("key- key+ key-") == ["key 0", "key 1", "key 0"]
            assert table.snapshot() == before, (name, fault)


def test_opening_and_closing_the_lid_does_not_resolve_a_card():
    for name in IN_PLAY:
        table, other = at(name, "?bad_code lid+ lid-"), at(name, "?bad_code")
        assert table.snapshot() == other.snapshot(), name
        assert table.play("!9S")[-1] == other.play("!9S")[-1]
        assert table.snapshot() == other.snapshot(), name


def test_an_unreadable_card_while_play_is_stopped_is_counted_and_not_resolved():
    for fault in FAULTS:
        table = at("one card", "?jam")
        unread = table.shoe.inventory.unread
        table.play("?" + fault)
        assert enums.FAULTS[table.shoe.fault] == "jam", "the first error stays"
        assert table.shoe.inventory.unread == unread + OUT.get(fault, 1)
        table.play("!9S")
        assert not table.shoe.error and table.released, fault


def _figures(actions, shape):
    return [list(values[-5:]) for kind, _, _, values in actions if kind is shape]


def test_figures_of_a_pass_are_kept_and_a_card_entered_by_hand_has_none():
    table = at("one card")
    shoe = table.shoe

    def press(buttons):
        actions = []
        for button in buttons.split():
            actions += shoe.pressed(enums.BUTTONS.index(button))
        return actions

    (failed, *_) = shoe.pass_failed(enums.FAULTS.index("bad_code"), FIGURES)
    assert failed[0] is events.UNREADABLE and failed[3][2:] == FIGURES
    assert _figures(press("next burn reveal"), events.CARD) == [[0, 0, 0, 0, True]]
    assert _figures(shoe.card_passed(9, FIGURES), events.CARD) == [list(FIGURES) + [False]]
    table.already_out("9S", 8)
    assert _figures(shoe.card_passed(cards.number_of("9S"), FIGURES), events.CARD) == []
    assert _figures(press("next reveal"), events.CARD) == [list(FIGURES) + [False]]
