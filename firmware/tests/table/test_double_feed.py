"""A double feed at every position: two cards came out at once, each needs a decision."""

import random

from firmware.tests.support.resolving import ALL, RANKS, at, betting_closed, clear, deal_on
from firmware.tests.support.table import IN_PLAY, Table
from protocol.tests.helpers import seed_random, times
from sabot_protocol import enums


def test_both_cards_of_a_double_feed_are_dealt_as_if_they_had_been_read():
    seed_random()
    for name in IN_PLAY:
        for _ in range(times(30, 3)):
            first, second = random.choice(ALL + ["CUT"]), random.choice(ALL)
            table, other = at(name, "?double_feed"), betting_closed(name)
            for card in (first, second):
                if table.shoe.can_change_game():
                    break  # the first was the last of the shoe
                table.play("!" + card)
                other.play(card)
                clear(table)
                clear(other)
            if not table.shoe.can_change_game():
                assert table.snapshot() == other.snapshot(), (name, first, second)
                deal_on((table, other), 12)


def test_the_second_card_of_a_double_feed_takes_the_next_position():
    for inputs, position, shown in (
        ("lid+ lid- ?double_feed !2C", "burn", ["DRAW AGAIN", "UNSEEN"] + RANKS),
        ("lid+ lid- AC ?double_feed !2C", "player_1", ["DRAW AGAIN"] + RANKS),
        ("lid+ lid- AC 2C 9C 9D ?double_feed !TC", "banker_2", ["DRAW AGAIN"] + RANKS),
        (
            "lid+ lid- AC 2C 9C 9D TC ?double_feed !TD",
            "not_due",
            ["NOT COUNTED", "UNSEEN"] + RANKS,
        ),
    ):
        table = Table(inputs)
        assert table.shoe.pending.waits()
        assert enums.POSITIONS[table.shoe.pending.position] == position, inputs
        assert not table.released
        assert table.choices() == shown, inputs


def test_the_second_card_of_a_double_feed_waits_for_an_error_of_the_first():
    table = at("burning", "?double_feed")
    recorded = table.play("!CUT")  # misplaced: that is cleared first
    assert recorded[-1] == "error cut_card_misplaced CUT none", recorded
    assert table.play("key- key+")[-1] == "error unreadable None double_feed"
    assert table.play("!9S")[-2:] == ["card 9S burn by_hand", "lock 1"]


def test_a_void_ends_both_cards_of_a_double_feed():
    for first, unread in (("", 2), ("!9S", 1)):
        table = at("one card", "?double_feed " + first)
        recorded = table.play("void")
        assert recorded[-1] == "round_void unreadable" and not table.shoe.error, recorded
        assert table.shoe.inventory.unread == unread


def test_the_second_card_after_the_last_of_a_shoe_is_counted_unread():
    inputs = "lid+ lid- AC 2C CUT 9C 9D TC ?double_feed !TD"
    recorded = Table().play(inputs)
    assert recorded[-2:] == ["shoe_ended cut_card 1 7", "composition 1 416"], recorded


def test_the_second_card_after_the_last_of_a_shoe_does_not_stop_the_next_shoe():
    table = Table("lid+ lid- AC 2C CUT 9C 9D TC ?double_feed !TD", cut_from_end=16)
    assert enums.ERRORS[table.shoe.error] == "cards_missing"
    assert table.play("key- lid+ lid- key+")[-2:] == [
        "error_cleared cards_missing",
        "lock 1",
    ]
