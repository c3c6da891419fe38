"""A card one too many at every position: a ninth copy, or more cards than the shoe was loaded with.

The effect of each decision about it is compared with a second shoe, in which it was one of the set.
"""

from firmware.tests.support.resolving import (
    CARDS,
    COUNTS,
    RANKS,
    UNREAD,
    at,
    betting_closed,
    position_of,
    split_at_clearing,
    without,
)
from firmware.tests.support.table import IN_PLAY, ROUND_OPEN, SITUATIONS
from sabot_protocol import enums


def test_a_ninth_copy_stops_play_wherever_it_comes():
    for name in IN_PLAY:
        table = at(name)
        table.already_out("9S", 8)
        recorded = table.play("9S")
        if name == "betting":
            assert recorded.pop(0) == "betting_closed card"
        lock = ["lock 0"] if SITUATIONS[name][1] else []
        assert recorded == ["error surplus_copy 9S none"] + lock, (name, recorded)
        again = ["DRAW AGAIN"] if SITUATIONS[name][1] else []
        assert table.choices() == ["AS READ"] + again + RANKS, name


def _one_too_many(name, error):
    """Return a shoe in a situation in which 9S is one too many, and one in which it is not."""
    table, other = at(name), at(name)
    if error == "surplus_copy":
        table.already_out("9S", 8)
        other.already_out("9S", 7)
    else:
        table.shoe.inventory.unread = 416 - table.shoe.cards
        other.shoe.inventory.unread = 415 - other.shoe.cards
    assert "error %s 9S none" % error in table.play("9S"), name
    return table, other


def test_a_card_one_too_many_is_taken_as_it_was_read():
    for name in IN_PLAY:
        for error in ("surplus_copy", "card_too_many"):
            table, other = _one_too_many(name, error)
            before, after = split_at_clearing(table.play("!as_read"))
            assert before[-1] == "resolved %s none %s as_read" % (error, position_of(name))
            expected = [line for line in other.play("9S") if line[:4] != "lock"]
            if name == "betting":
                expected.pop(0)
            assert after == expected, (name, error)
            places = CARDS, COUNTS, UNREAD
            assert without(table.snapshot(), *places) == without(other.snapshot(), *places)
            assert table.shoe.cards == other.shoe.cards + 1


def test_a_card_one_too_many_is_put_aside_and_the_next_one_drawn():
    for name in [name for name in IN_PLAY if SITUATIONS[name][1]]:
        for error in ("surplus_copy", "card_too_many"):
            table, _ = _one_too_many(name, error)
            drawn = table.shoe.cards
            recorded = table.play("!again")
            assert recorded[1:] == [
                "resolved %s none %s drawn_again" % (error, position_of(name)),
                "error_cleared " + error,
                "card 9S not_due",
                "lock 1",
            ]
            places = CARDS, COUNTS, UNREAD
            expected = betting_closed(name).snapshot()
            assert without(table.snapshot(), *places) == without(expected, *places), name
            assert table.shoe.cards == drawn + 1, "it came out nevertheless"


def test_a_card_that_was_read_wrongly_is_entered_from_its_face():
    for name in IN_PLAY:
        table, other = _one_too_many(name, "surplus_copy")
        other.already_out("9S", 1)
        _, after = split_at_clearing(table.play("!8S"))
        expected = [line for line in other.play("8S") if line[:4] != "lock"]
        if name == "betting":
            expected.pop(0)
        assert after == [expected[0] + " by_hand"] + expected[1:], name
        assert table.snapshot() == other.snapshot(), name


def test_a_card_entered_that_is_one_too_many_stops_play_again_until_it_is_taken():
    for name in IN_PLAY:
        table = at(name)
        table.already_out("9S", 8)
        for inputs in ("?bad_code !9S", "!9S", "!9S"):
            recorded = table.play(inputs)
            assert "error surplus_copy 9S none" in recorded, (name, recorded)
            assert table.shoe.pending.waits() and not table.released
        unread = table.shoe.inventory.unread
        recorded = table.play("!as_read")
        assert "card 9S %s by_hand" % position_of(name) in recorded, (name, recorded)
        assert not table.shoe.pending.waits() and unread == table.shoe.inventory.unread == 0


def test_a_void_with_a_card_one_too_many_counts_the_card():
    for name in IN_PLAY:
        for error in ("surplus_copy", "card_too_many"):
            table, _ = _one_too_many(name, error)
            drawn = table.shoe.cards
            recorded = table.play("void")
            assert recorded[1:4] == [
                "resolved %s none %s void" % (error, position_of(name)),
                "error_cleared " + error,
                "card 9S not_due",
            ]
            if name in ROUND_OPEN:
                assert recorded[4] == "round_void supervisor"
            assert table.shoe.asked == (name not in ROUND_OPEN)
            assert table.shoe.cards == drawn + 1


def test_a_ninth_copy_while_play_is_stopped_is_put_aside_and_recorded():
    for name in IN_PLAY:
        table = at(name, "TEST")
        table.already_out("9S", 8)
        assert table.play("9S") == [
            "card 9S not_due",
            "error card_not_due 9S none",
            "error surplus_copy 9S none",
        ]
        assert enums.ERRORS[table.shoe.error] == "test_card"
        assert not table.shoe.pending.waits()
