"""Games in which only the dealer closes betting: the lock stays shut until "no more bets".

Pennsylvania, paragraph 2: "After announcing "no more bets", the game starts with four cards dealt".
Maryland, chapter 7 D: no wager after the dealer has announced it.
"""

from firmware.tests.support.table import CARDS, INPUTS, Table
from sabot_protocol import enums

_DEALT = "lid+ lid- AC 2C"
_HINT = "NEXT CLOSES BETS"
_NAMES = CARDS.split()


def _table(inputs=_DEALT, **changed):
    return Table(inputs, rules="maryland", betting_closed_by="dealer", **changed)


def test_no_card_is_due_before_the_dealer_has_closed_betting():
    for burn, dealt in (("by_first", _DEALT), ("one", "lid+ lid- AC"), ("none", "lid+ lid-")):
        table = _table(dealt, burn=burn)
        assert enums.PHASES[table.shoe.phase] == "betting" and not table.released
        assert table.display()[0] == "BETTING OPEN" and table.display()[6] == _HINT
        assert table.lamps() == "", "ready stays dark"
        assert table.play("next") == ["button next", "betting_closed button", "lock 1"]
        assert table.display()[0] == "NO MORE BETS" and table.display()[6] == ""


def test_the_round_is_dealt_as_ever_and_the_next_one_waits_again():
    table, other = _table(_DEALT + " next"), Table(_DEALT + " next")
    for name in _NAMES:
        assert table.play(name) == other.play(name)
    assert table.play("next") == ["button next", "betting_open"]
    assert not table.released and other.play("next")[-1] == "lock 1"


def test_no_button_but_next_opens_the_lock():
    for button in ("reveal", "burn", "void", "service+", "service-", "key+", "key-"):
        table = _table()
        table.play(button)
        assert not table.released, button
        assert table.display()[0] == "BETTING OPEN", button


def test_a_card_forced_out_before_is_not_due_and_closes_nothing():
    for card in ("4C", "TH"):
        table = _table()
        assert table.play(card) == [
            "card %s not_due" % card, "error card_not_due %s none" % card,
        ]  # fmt: skip
        assert table.display()[:1] + table.display()[5:7] == ["STOP", "CARD NOT DUE", "TURN KEY"]
        assert table.play("next") == ["button next"], "while play is stopped nothing closes betting"
        assert table.play("key+ key-")[-1] == "key 0" and not table.released
        assert table.display()[6] == _HINT
        table.play("next " + CARDS)
        assert table.rounds == 1


def test_a_card_forced_out_unread_is_decided_by_the_supervisor_and_betting_goes_on():
    for fault in ("bad_code", "double_feed", "jam", "power"):
        table = _table()
        table.play("?" + fault)
        assert table.shoe.pending.waits() and not table.released
        while table.shoe.pending.waits():
            table.play("!unseen")
        table.play("key-")
        assert enums.PHASES[table.shoe.phase] == "betting" and not table.released
        table.play("next " + CARDS)
        assert table.rounds == 1


def test_the_cut_card_before_the_first_card_fits_only_after_no_more_bets():
    early = _table()
    assert early.play("CUT")[-1] == "error cut_card_misplaced CUT none"
    table = _table(_DEALT + " next")
    assert table.play("CUT") == ["cut_card 1"]
    assert table.display()[4] == "LAST ROUND"
    ended = table.play(CARDS)
    assert any([line.startswith("shoe_ended") for line in ended])


def test_a_round_may_be_voided_before_and_after_no_more_bets():
    for inputs in ("", "next"):
        table = _table(_DEALT + " " + inputs + " key+")
        assert table.play("void")[:2] == ["button void", "round_void supervisor"]
        table.play("key- next")
        assert not table.released, "the next round waits too"


def test_any_input_before_no_more_bets_leaves_the_lock_shut():
    for first in INPUTS:
        for second in INPUTS:
            table = _table()
            for name in (first, second):
                recorded = table.play(name)
                closed = "betting_closed button" in recorded
                assert closed == (name == "next" and "lock 1" in recorded), (first, second)
                if closed:
                    break
                assert not table.released, (first, second)


def test_midi_says_what_to_press_and_shows_nothing_of_its_cards():
    table = _table(_DEALT, turned_by="players", shown="after_reveal")
    assert table.display()[6] == _HINT
    table.play("next 4C")
    assert table.display()[2:5] == ["P", "B", "REVEAL IF TURNED"] and table.display()[6] == ""
