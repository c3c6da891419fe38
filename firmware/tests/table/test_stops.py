"""What stops the dealing, in every situation: errors, lid, key, void, buttons out of turn.

test_resolving, test_double_feed and test_surplus_card have the decisions about a pending card.
"""

from firmware.tests.support.table import (
    CARDS,
    IN_PLAY,
    INPUTS,
    NOT_IN_PLAY,
    ROUND_OPEN,
    SITUATIONS,
    Table,
)
from sabot_protocol import enums

_DUE = [name for name in SITUATIONS if SITUATIONS[name][1]]
_NOT_DUE = [name for name in SITUATIONS if not SITUATIONS[name][1]]

# What a button does without the key, beyond being recorded. Others do nothing.
_BUTTON_ACTS = {
    ("next", "betting"): ["betting_closed button"],
    ("next", "between"): ["betting_open", "lock 1"],
    ("burn", "between"): ["lock 1"],
}

# The input that causes an error while a card is due, and its event.
_ERRORS = (
    ("TEST", "error test_card TEST none"),
    ("?bad_code", "error unreadable None bad_code"),
    ("lid+", "error lid_opened None none"),
    ("?sensor", "error sensor_fault None sensor_fault"),
    ("?samples", "error samples_lost None none"),
    ("?full", "error journal_full None none"),
)
# Errors that need only the key, in every situation.
_KEY_ONLY = (
    ("TEST", "error test_card TEST none"),
    ("?sensor", "error sensor_fault None sensor_fault"),
    ("?samples", "error samples_lost None none"),
    ("?full", "error journal_full None none"),
)


def _at(name):
    return Table(SITUATIONS[name][0])


def test_a_card_is_drawn_at_the_position_that_is_due():
    for name in _DUE:
        recorded = _at(name).play("9S")
        assert "card 9S " + SITUATIONS[name][1] in recorded, (name, recorded)


def test_a_card_that_is_not_due_stops_play_until_the_key():
    for name in _NOT_DUE:
        table = _at(name)
        before = table.snapshot()
        recorded = table.play("9S")
        assert recorded == ["card 9S not_due", "error card_not_due 9S none"], (name, recorded)
        stopped = table.snapshot()
        table.play("key- next burn reveal void lid-" if table.shoe.lid_open else "key- next void")
        if name != "lid open to load":
            assert table.snapshot() == stopped, name
            assert table.play("key+") == ["key 1", "error_cleared card_not_due"], name
            assert table.snapshot()[:2] == before[:2], name


def test_a_card_while_play_is_stopped_is_not_due_and_not_in_the_round():
    for name in _DUE:
        for text, error in _ERRORS:
            table = _at(name)
            table.play(text)
            hands = (
                table.shoe.current_round.player[:],
                table.shoe.current_round.banker[:],
                table.shoe.cards,
            )
            recorded = table.play("9S")
            assert recorded == ["card 9S not_due", "error card_not_due 9S none"], (
                name,
                text,
                recorded,
            )
            assert (table.shoe.current_round.player, table.shoe.current_round.banker) == hands[
                :2
            ], (name, text)
            assert table.shoe.cards == hands[2] + 1
            assert enums.ERRORS[table.shoe.error] == error.split()[1], "the first error stays"


def test_every_error_closes_the_lock_and_no_button_opens_it():
    for name in _DUE:
        for text, error in _ERRORS:
            table = _at(name)
            recorded = table.play(text)
            assert error in recorded and recorded[-1] == "lock 0", (name, text, recorded)
            before = table.snapshot()
            for button in enums.BUTTONS:
                assert table.play(button) == ["button " + button], (name, text, button)
            assert table.snapshot() == before, (name, text)


def test_the_key_continues_play_where_it_stopped():
    for name in SITUATIONS:
        for text, error in _KEY_ONLY:
            table = _at(name)
            if table.shoe.lid_open:
                continue
            before = table.snapshot()
            lock = ["lock"] if SITUATIONS[name][1] else []
            assert table.play(text) == [error] + [w + " 0" for w in lock], name
            assert enums.FAULTS[table.shoe.fault] == error.split()[-1]
            stopped = table.snapshot()
            table.play("next reveal burn void")
            assert table.snapshot() == stopped, name
            recorded = table.play("key+ key-")
            cleared = ["error_cleared " + error.split()[1]]
            assert recorded == ["key 1"] + cleared + [w + " 1" for w in lock] + ["key 0"], (
                name,
                recorded,
            )
            assert table.snapshot() == before, name


def test_the_first_error_stays_until_the_key_and_all_are_recorded():
    for first, error in _KEY_ONLY:
        for second, other in _KEY_ONLY:
            table = _at("one card")
            assert table.play(first + " " + second)[-1] == other
            assert enums.ERRORS[table.shoe.error] == error.split()[1]


def test_the_key_clears_nothing_if_nothing_is_wrong():
    for name in SITUATIONS:
        table = _at(name)
        before = table.snapshot()
        assert table.play("key+ key-") == ["key 1", "key 0"], name
        assert table.snapshot() == before, name


def test_the_lid_opened_in_play_stops_it_until_it_is_closed_and_the_key_is_turned():
    for name in IN_PLAY:
        table = _at(name)
        before = table.snapshot()
        lock = ["lock"] if SITUATIONS[name][1] else []
        recorded = table.play("lid+")
        assert recorded == ["lid 1", "error lid_opened None none"] + [w + " 0" for w in lock], name
        assert table.play("key+ key-") == ["key 1", "key 0"], (
            "with the lid open the key does nothing"
        )
        assert table.play("lid-") == ["lid 0"], name
        recorded = table.play("key+")
        assert recorded == ["key 1", "error_cleared lid_opened"] + [w + " 1" for w in lock], name
        assert table.snapshot() == before, name


def test_a_key_left_on_does_not_clear_an_error_that_comes_later():
    for name in IN_PLAY:
        table = _at(name)
        table.play("key+ lid+ lid-")
        assert enums.ERRORS[table.shoe.error] == "lid_opened" and not table.released, name


def test_the_lid_between_shoes_loads_cards_and_is_no_error():
    for name in ("no shoe", "ended"):
        table = _at(name)
        number = table.shoe.shoe
        assert table.play("lid+") == ["lid 1"], name
        assert table.play("lid-") == ["lid 0", "shoe_loaded 8 mini 4", "lock 1"], name
        assert (table.shoe.shoe, table.shoe.round, table.shoe.cards) == (number + 1, 0, 0), name
        recorded = table.play("AC 2C next " + CARDS)
        assert recorded[-2] == "result tie 7 7 0 0 0", "the cut card of the last shoe is forgotten"


def test_an_error_from_before_the_cards_were_loaded_must_be_cleared_first():
    table = Table("9S lid+ lid-")
    assert enums.PHASES[table.shoe.phase] == "first_burn" and not table.released
    assert table.play("key+")[-2:] == ["error_cleared card_not_due", "lock 1"]


def test_void_without_the_key_is_recorded_and_changes_nothing():
    for name in SITUATIONS:
        table = _at(name)
        before = table.snapshot()
        assert table.play("void") == ["button void"], name
        assert table.snapshot() == before, name


def test_void_with_the_key_voids_the_round_or_asks():
    for name in SITUATIONS:
        table = _at(name)
        table.play("key+")
        rounds, number = table.shoe.rounds, table.shoe.cards
        recorded = table.play("void")
        lock = ["lock 0"] if SITUATIONS[name][1] else []
        if name == "last round":
            ends = ["round_void supervisor", "shoe_ended cut_card %d %d" % (rounds, number)]
            ends.append("composition 0 416")
        elif name in ROUND_OPEN:
            ends = ["round_void supervisor"]
        elif name in IN_PLAY:
            ends = lock = []
        else:
            ends = []
        assert recorded == ["button void"] + ends + lock, (name, recorded)
        if name in ROUND_OPEN:
            assert not table.shoe.current_round.player and not table.shoe.current_round.banker, name


def test_void_with_the_lid_open_voids_the_round_and_does_not_clear_the_error():
    for name in ROUND_OPEN:
        table = _at(name)
        recorded = table.play("lid+ key+ void")
        assert "round_void supervisor" in recorded, (name, recorded)
        assert enums.ERRORS[table.shoe.error] == "lid_opened", name


def test_void_ends_one_thing_at_a_time_with_the_key_left_on_and_an_error_showing():
    for name in IN_PLAY:
        if name == "last round":
            continue  # there the shoe ends with the round
        for text, _ in _ERRORS[:2]:
            table = _at(name)
            table.play("key+ " + text)
            presses = "void" if name in ROUND_OPEN else "void burn"
            recorded = [line.split()[0] for line in table.play(presses)]
            ends = [word for word in recorded if word in ("round_void", "shoe_ended")]
            expected = ["round_void"] if name in ROUND_OPEN else ["shoe_ended"]
            assert ends == expected, (name, text, recorded)


def test_an_unreadable_card_stops_play_at_the_position_that_was_due():
    for name in SITUATIONS:
        for fault in enums.FAULTS[1:]:
            table = _at(name)
            recorded = table.play("?" + fault)
            position = SITUATIONS[name][1] or "not_due"
            if name == "betting":  # the first card closes it in any case
                assert recorded.pop(0) == "betting_closed card"
            assert recorded[:2] == [
                "unreadable %s %s" % (fault, position),
                "error unreadable None " + fault,
            ], (name, recorded)  # fmt: skip
            assert not table.released and enums.FAULTS[table.shoe.fault] == fault, name


def test_an_unreadable_card_without_a_shoe_in_play_needs_nothing_but_the_key():
    for name in ("no shoe", "ended"):
        for fault in enums.FAULTS[1:]:
            table = _at(name)
            before = table.snapshot()
            recorded = table.play("?%s void reveal key+ key-" % fault)
            assert recorded[2:] == [
                "button void", "button reveal", "key 1", "error_cleared unreadable", "key 0",
            ], (name, recorded)  # fmt: skip
            assert table.snapshot() == before, name


def test_a_card_that_passed_when_the_power_went_counts_as_unreadable():
    for name in SITUATIONS:
        table, other = _at(name), _at(name)
        before = table.snapshot()
        recorded = table.play("?power")
        if name in NOT_IN_PLAY:
            assert (recorded, table.snapshot()) == ([], before), name
        else:
            assert recorded == other.play("?power_lost"), name
            assert table.snapshot() == other.snapshot(), name


def test_the_burn_button_burns_one_card_between_rounds():
    table = _at("between")
    assert table.play("burn") == ["button burn", "lock 1"]
    assert table.play("9S") == ["card 9S burn", "lock 0"]
    assert table.play("burn 9S") == ["button burn", "lock 1", "card 9S burn", "lock 0"]
    assert table.play("next") == ["button next", "betting_open", "lock 1"]
    assert table.shoe.round == 2


def test_buttons_out_of_turn_are_recorded_and_change_nothing():
    for name in SITUATIONS:
        for button in enums.BUTTONS:
            table = _at(name)
            before = table.snapshot()
            acts = _BUTTON_ACTS.get((button, name), [])
            assert table.play(button) == ["button " + button] + acts, (name, button)
            if not acts:
                assert table.snapshot() == before, (name, button)


def test_the_service_switch_is_recorded_and_changes_nothing():
    for name in SITUATIONS:
        table = _at(name)
        before = table.snapshot()
        assert table.play("service+ service-") == ["service 1", "service 0"], name
        assert table.snapshot() == before, name


def test_no_input_is_lost_in_any_situation():
    kinds = {"lid": "lid", "key": "key", "service": "service"}
    errors = {"?sensor": "sensor_fault", "?samples": "samples_lost", "?full": "journal_full"}
    for name in SITUATIONS:
        for text in INPUTS:
            recorded = " / ".join(_at(name).play(text))
            if text == "?power" and name in NOT_IN_PLAY:
                assert recorded == "", name  # no shoe was in play
            elif text in enums.BUTTONS:
                assert recorded.startswith("button " + text), (name, recorded)
            elif text[-1] in "+-":
                assert recorded.startswith(kinds[text[:-1]] + " "), (name, recorded)
            elif text[0] == "?":
                assert "error " + errors.get(text, "unreadable") in recorded, (name, recorded)
            elif text == "CUT":
                assert recorded.startswith("cut_card "), (name, recorded)
            else:
                assert text in recorded, (name, recorded)


def test_a_shoe_that_has_not_begun_or_has_ended_is_open_for_another_game():
    for name in SITUATIONS:
        assert _at(name).shoe.can_change_game() == (name in NOT_IN_PLAY), name
