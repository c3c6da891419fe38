"""Every fault at every position, with every decision that the supervisor may make about it.

The effect of a decision is compared with a second shoe, in which the card was simply read, or never
came out, or the round was voided without it.
"""

import random

from firmware.tests.support.table import FIGURES, IN_PLAY, ROUND_OPEN, SITUATIONS, Table
from protocol.tests.helpers import seed_random
from sabot_protocol import cards, enums, events

_FAULTS = enums.FAULTS[1:]
_RANKS = ["CARD %s-" % rank for rank in cards.RANKS] + ["CUT CARD"]
_STAY_IN = ("pushed_back", "jam", "sensor_fault", "power_lost")
_OUT = {"double_feed": 2, "pushed_back": 0, "foreign_set": 0}
_ALL = [cards.name_of(card) for card in range(52)]
# Places in a snapshot: cards, counts by card, unread cards.
_CARDS, _COUNTS, _UNREAD = 6, 14, 15


def _position(name):
    return SITUATIONS[name][1] or "not_due"


def _at(name, inputs=""):
    """Return a shoe in a situation, with the supervisor's key on."""
    return Table(SITUATIONS[name][0] + " key+ " + inputs)


def _betting_closed(name):
    """Return a situation after a card that came out but was not dealt."""
    return _at(name, "next" if name == "betting" else "")


def _split(recorded):
    """Split what was recorded at the clearing of the error; without locks."""
    recorded = [line for line in recorded if not line.startswith("lock")]
    i = [line.split()[0] for line in recorded].index("error_cleared")
    return recorded[:i], recorded[i + 1 :]


def _without(snapshot, *places):
    return [snapshot[i] for i in range(len(snapshot)) if i not in places]


def _clear(table):
    """Turn the key if nothing else is needed."""
    if table.shoe.error and not table.shoe.pending.waits():
        table.play("key- key+")


def _deal_on(tables, inputs):
    """Check that both shoes record the same for the same inputs from now on."""
    for _ in range(inputs):
        recorded = []
        name = random.choice(_ALL)
        for table in tables:
            assert not table.shoe.pending.waits()
            if table.shoe.error:
                recorded.append(table.play("key- key+"))
            else:
                recorded.append(table.play(name if table.released else "next"))
        for i in range(2):
            recorded[i] = [line for line in recorded[i] if not line.startswith("composition")]
        assert recorded[0] == recorded[1]
        assert _without(tables[0].snapshot(), _COUNTS, _UNREAD) == _without(
            tables[1].snapshot(), _COUNTS, _UNREAD
        )


def _resolve_second(table, other):
    """There was no second card in the double feed; `other` has dealt only the first."""
    _clear(table)
    _clear(other)
    if table.shoe.pending.waits():
        if enums.PHASES[other.shoe.phase] == "betting":
            other.play("next")  # the second card has closed it
        table.play("!again")


def test_what_can_be_chosen_by_fault_and_position():
    for name in IN_PLAY:
        for fault in _FAULTS:
            table = _at(name, "?" + fault)
            position = _position(name)
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
                expected += _RANKS
            assert table.choices() == expected, (name, fault)


def test_a_card_entered_by_hand_is_dealt_as_if_it_had_been_read():
    seed_random()
    for name in IN_PLAY:
        for fault in _FAULTS:
            names = _ALL if fault == "bad_code" else [random.choice(_ALL) for _ in range(3)]
            for card in names + ["CUT"] if fault != "foreign_set" else []:
                table = _at(name)
                recorded = table.play("?%s !%s" % (fault, card))
                before, after = _split(recorded)
                if name == "betting":
                    assert before.pop(0) == "betting_closed card"
                position = _position(name)
                assert before == [
                    "unreadable %s %s" % (fault, position),
                    "error unreadable None " + fault,
                    "button reveal",
                    "resolved unreadable %s %s entered" % (fault, position),
                ]
                other = _betting_closed(name) if card == "CUT" else _at(name)
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
                _deal_on((table, other), 12)


def test_a_card_drawn_again_leaves_the_shoe_as_it_was():
    seed_random()
    for name in IN_PLAY:
        for fault in _FAULTS:
            table = _at(name, "?" + fault)
            shown = table.choices()[0]
            if shown not in ("DRAW AGAIN", "NOT COUNTED"):
                continue
            table.play("key- key+ next")
            recorded = table.play("reveal")
            assert recorded[:3] == [
                "button reveal",
                "resolved unreadable %s %s drawn_again" % (fault, _position(name)),
                "error_cleared unreadable",
            ]
            assert recorded[3:] == (["lock 1"] if SITUATIONS[name][1] else []), (name, fault)
            other = _betting_closed(name)
            if fault in _STAY_IN or fault == "foreign_set":
                assert table.snapshot() == other.snapshot(), (name, fault)
            else:  # put aside: it is out
                assert name == "first burn"
                snapshot = table.snapshot()
                assert (snapshot[_CARDS], snapshot[_UNREAD]) == (1, 1)
                places = _CARDS, _UNREAD
                assert _without(snapshot, *places) == _without(other.snapshot(), *places)
                continue
            _deal_on((table, other), 12)


def test_a_card_left_unseen_is_burned_or_put_aside_without_a_name():
    for name in ("burning", "burn between", "between"):
        for fault in _FAULTS:
            if fault in ("pushed_back", "foreign_set"):
                continue
            table = _at(name, "?%s !unseen" % fault)
            other = _at(name)
            if _position(name) == "burn":
                other.play("9S")
            cards_out = 1
            if fault == "double_feed":
                assert enums.FAULTS[table.shoe.fault] == fault
                table.play("!again")
            snapshot, expected = table.snapshot(), other.snapshot()
            assert snapshot[_UNREAD] == cards_out, (name, fault)
            assert snapshot[_CARDS] == _at(name).shoe.cards + cards_out
            places = _CARDS, _COUNTS, _UNREAD
            assert _without(snapshot, *places) == _without(expected, *places), (name, fault)


def test_the_last_card_to_burn_left_unseen_opens_the_betting():
    recorded = Table("lid+ lid- 2C 3C").play("?no_code !unseen")
    assert recorded[-2:] == ["betting_open", "lock 1"], recorded


def test_a_void_leaves_what_a_void_without_the_card_leaves():
    for name in IN_PLAY:
        for fault in _FAULTS:
            table, other = _at(name, "?" + fault), _betting_closed(name)
            recorded, expected = table.play("void"), other.play("void")
            assert recorded[:3] == [
                "button void",
                "resolved unreadable %s %s void" % (fault, _position(name)),
                "error_cleared unreadable",
            ]
            out = _OUT.get(fault, 1)
            kinds = [line.split()[0] for line in expected[1:] if not line.startswith("lock")]
            more = [line for line in recorded[3:] if not line.startswith("lock")]
            assert [line.split()[0] for line in more] == kinds, (name, fault)
            if more:
                assert more[0] == "round_void unreadable"
            assert table.shoe.asked == other.shoe.asked == (not more), (name, fault)
            if recorded[-1].startswith("composition"):
                assert recorded[-1] == "composition %d 416" % out
            assert table.shoe.cards == other.shoe.cards + out, (name, fault)
            places = _CARDS, _UNREAD
            assert _without(table.snapshot(), *places) == _without(other.snapshot(), *places)


def test_nothing_is_decided_without_the_key_or_with_the_lid_open():
    for name in IN_PLAY:
        for fault in _FAULTS:
            for inputs in ("key-", "key+ lid+", "next key- reveal"):
                table = _at(name, "?" + fault)
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
        for fault in _FAULTS:
            table = _at(name, "?" + fault)
            before = table.snapshot()
            assert table.play("key- key+ key-") == ["key 0", "key 1", "key 0"]
            assert table.snapshot() == before, (name, fault)


def test_opening_and_closing_the_lid_does_not_resolve_a_card():
    for name in IN_PLAY:
        table, other = _at(name, "?bad_code lid+ lid-"), _at(name, "?bad_code")
        assert table.snapshot() == other.snapshot(), name
        assert table.play("!9S")[-1] == other.play("!9S")[-1]
        assert table.snapshot() == other.snapshot(), name


def test_both_cards_of_a_double_feed_are_dealt_as_if_they_had_been_read():
    seed_random()
    for name in IN_PLAY:
        for _ in range(30):
            first, second = random.choice(_ALL + ["CUT"]), random.choice(_ALL)
            table, other = _at(name, "?double_feed"), _betting_closed(name)
            for card in (first, second):
                if table.shoe.can_change_game():
                    break  # the first was the last of the shoe
                table.play("!" + card)
                other.play(card)
                _clear(table)
                _clear(other)
            if not table.shoe.can_change_game():
                assert table.snapshot() == other.snapshot(), (name, first, second)
                _deal_on((table, other), 12)


def test_the_second_card_of_a_double_feed_takes_the_next_position():
    for inputs, position, shown in (
        ("lid+ lid- ?double_feed !2C", "burn", ["DRAW AGAIN", "UNSEEN"] + _RANKS),
        ("lid+ lid- AC ?double_feed !2C", "player_1", ["DRAW AGAIN"] + _RANKS),
        ("lid+ lid- AC 2C 9C 9D ?double_feed !TC", "banker_2", ["DRAW AGAIN"] + _RANKS),
        (
            "lid+ lid- AC 2C 9C 9D TC ?double_feed !TD",
            "not_due",
            ["NOT COUNTED", "UNSEEN"] + _RANKS,
        ),
    ):
        table = Table(inputs)
        assert table.shoe.pending.waits()
        assert enums.POSITIONS[table.shoe.pending.position] == position, inputs
        assert not table.released
        assert table.choices() == shown, inputs


def test_the_second_card_of_a_double_feed_waits_for_an_error_of_the_first():
    table = _at("burning", "?double_feed")
    recorded = table.play("!CUT")  # misplaced: that is cleared first
    assert recorded[-1] == "error cut_card_misplaced CUT none", recorded
    assert table.play("key- key+")[-1] == "error unreadable None double_feed"
    assert table.play("!9S")[-2:] == ["card 9S burn by_hand", "lock 1"]


def test_a_void_ends_both_cards_of_a_double_feed():
    for first, unread in (("", 2), ("!9S", 1)):
        table = _at("one card", "?double_feed " + first)
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


def test_a_ninth_copy_stops_play_wherever_it_comes():
    for name in IN_PLAY:
        table = _at(name)
        table.already_out("9S", 8)
        recorded = table.play("9S")
        if name == "betting":
            assert recorded.pop(0) == "betting_closed card"
        lock = ["lock 0"] if SITUATIONS[name][1] else []
        assert recorded == ["error surplus_copy 9S none"] + lock, (name, recorded)
        again = ["DRAW AGAIN"] if SITUATIONS[name][1] else []
        assert table.choices() == ["AS READ"] + again + _RANKS, name


def _one_too_many(name, error):
    """Return a shoe in a situation in which 9S is one too many, and one in which it is not."""
    table, other = _at(name), _at(name)
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
            before, after = _split(table.play("!as_read"))
            assert before[-1] == "resolved %s none %s as_read" % (error, _position(name))
            expected = [line for line in other.play("9S") if line[:4] != "lock"]
            if name == "betting":
                expected.pop(0)
            assert after == expected, (name, error)
            places = _CARDS, _COUNTS, _UNREAD
            assert _without(table.snapshot(), *places) == _without(other.snapshot(), *places)
            assert table.shoe.cards == other.shoe.cards + 1


def test_a_card_one_too_many_is_put_aside_and_the_next_one_drawn():
    for name in [name for name in IN_PLAY if SITUATIONS[name][1]]:
        for error in ("surplus_copy", "card_too_many"):
            table, _ = _one_too_many(name, error)
            drawn = table.shoe.cards
            recorded = table.play("!again")
            assert recorded[1:] == [
                "resolved %s none %s drawn_again" % (error, _position(name)),
                "error_cleared " + error,
                "card 9S not_due",
                "lock 1",
            ]
            places = _CARDS, _COUNTS, _UNREAD
            expected = _betting_closed(name).snapshot()
            assert _without(table.snapshot(), *places) == _without(expected, *places), name
            assert table.shoe.cards == drawn + 1, "it came out nevertheless"


def test_a_card_that_was_read_wrongly_is_entered_from_its_face():
    for name in IN_PLAY:
        table, other = _one_too_many(name, "surplus_copy")
        other.already_out("9S", 1)
        _, after = _split(table.play("!8S"))
        expected = [line for line in other.play("8S") if line[:4] != "lock"]
        if name == "betting":
            expected.pop(0)
        assert after == [expected[0] + " by_hand"] + expected[1:], name
        assert table.snapshot() == other.snapshot(), name


def test_a_card_entered_that_is_one_too_many_stops_play_again_until_it_is_taken():
    for name in IN_PLAY:
        table = _at(name)
        table.already_out("9S", 8)
        for inputs in ("?bad_code !9S", "!9S", "!9S"):
            recorded = table.play(inputs)
            assert "error surplus_copy 9S none" in recorded, (name, recorded)
            assert table.shoe.pending.waits() and not table.released
        unread = table.shoe.inventory.unread
        recorded = table.play("!as_read")
        assert "card 9S %s by_hand" % _position(name) in recorded, (name, recorded)
        assert not table.shoe.pending.waits() and unread == table.shoe.inventory.unread == 0


def test_a_void_with_a_card_one_too_many_counts_the_card():
    for name in IN_PLAY:
        for error in ("surplus_copy", "card_too_many"):
            table, _ = _one_too_many(name, error)
            drawn = table.shoe.cards
            recorded = table.play("void")
            assert recorded[1:4] == [
                "resolved %s none %s void" % (error, _position(name)),
                "error_cleared " + error,
                "card 9S not_due",
            ]
            if name in ROUND_OPEN:
                assert recorded[4] == "round_void supervisor"
            assert table.shoe.asked == (name not in ROUND_OPEN)
            assert table.shoe.cards == drawn + 1


def test_a_ninth_copy_while_play_is_stopped_is_put_aside_and_recorded():
    for name in IN_PLAY:
        table = _at(name, "TEST")
        table.already_out("9S", 8)
        assert table.play("9S") == [
            "card 9S not_due",
            "error card_not_due 9S none",
            "error surplus_copy 9S none",
        ]
        assert enums.ERRORS[table.shoe.error] == "test_card"
        assert not table.shoe.pending.waits()


def test_an_unreadable_card_while_play_is_stopped_is_counted_and_not_resolved():
    for fault in _FAULTS:
        table = _at("one card", "?jam")
        unread = table.shoe.inventory.unread
        table.play("?" + fault)
        assert enums.FAULTS[table.shoe.fault] == "jam", "the first error stays"
        assert table.shoe.inventory.unread == unread + _OUT.get(fault, 1)
        table.play("!9S")
        assert not table.shoe.error and table.released, fault


def _figures(actions, shape):
    return [list(values[-5:]) for kind, _, _, values in actions if kind is shape]


def test_figures_of_a_pass_are_kept_and_a_card_entered_by_hand_has_none():
    table = _at("one card")
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
