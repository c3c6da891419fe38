"""Compares lamps and display with tables of what must show in each situation."""

import random

from firmware.tests.support.table import CARDS, DEALT, INPUTS, SITUATIONS, Table
from protocol.tests.helpers import seed_random
from sabot_firmware import panel
from sabot_protocol import cards, enums

# By situation: first line of the display, lamps.
_SHOWN = {
    "no shoe": ("LOAD CARDS", ""),
    "lid open to load": ("LOAD CARDS", ""),
    "first burn": ("BURN: FIRST CARD", "ready"),
    "burning": ("BURN: 2 LEFT", "ready"),
    "betting": ("BETTING OPEN", "ready"),
    "no more bets": ("NO MORE BETS", "ready"),
    "one card": ("NO MORE BETS", "ready"),
    "two cards": ("NO MORE BETS", "ready"),
    "three cards": ("NO MORE BETS", "ready"),
    "four cards": ("NO MORE BETS", "ready"),
    "five cards": ("NO MORE BETS", "ready"),
    "between": ("NEXT ROUND?", "tie"),
    "burn between": ("BURN: 1 LEFT", "ready tie"),
    "last round": ("NO MORE BETS", "ready"),
    "ended": ("SHOE ENDED", "tie"),
}

# By input: the line with the error, the line with the remedy.
_ERRORS = {
    "lid+": ("LID OPENED", "CLOSE LID, KEY"),
    "lid+ lid-": ("LID OPENED", "TURN KEY"),
    "TEST": ("TEST CARD", "TURN KEY"),
    "CUT CUT": ("CUT CARD MISPLCD", "TURN KEY"),
    "?double_feed": ("DOUBLE FEED", "TURN KEY"),
    "?pushed_back": ("PUSHED BACK", "TURN KEY"),
    "?reversed": ("REVERSED", "TURN KEY"),
    "?no_code": ("NO CODE", "TURN KEY"),
    "?bad_code": ("BAD CODE", "TURN KEY"),
    "?foreign_set": ("FOREIGN SET", "TURN KEY"),
    "?jam": ("JAM", "TURN KEY"),
    "?sensor_fault": ("SENSOR FAULT", "TURN KEY"),
    "?power_lost": ("POWER LOST", "TURN KEY"),
    "?jam lid+ lid-": ("JAM", "TURN KEY"),
    "?jam key+ lid+": ("JAM", "CLOSE LID, KEY"),
    "?jam key+ next key-": ("JAM", "TURN KEY"),
    "?sensor": ("SENSOR FAULT", "TURN KEY"),
    "?samples": ("SAMPLES LOST", "TURN KEY"),
    "?full": ("JOURNAL FULL", "TURN KEY"),
    "9S 9S 9S 9S next 9S 9S 9S 9S next 9S": ("SURPLUS COPY 9S", "TURN KEY"),
}


def _lines(table, link=panel.HOST):
    """Return the lines of the display. Checks that each fits, in characters every display has."""
    text = panel.text_of(table.shoe, link)
    lines = text.split("\n")
    assert len(lines) == 8, lines
    for line in lines:
        assert len(line) <= 16, line
        assert not [letter for letter in line if not " " <= letter <= "~"], line
    return [line.rstrip() for line in lines]


def test_every_situation_shows_what_is_going_on():
    assert sorted(_SHOWN) == sorted(SITUATIONS)
    for name in SITUATIONS:
        table = Table(SITUATIONS[name][0])
        title, lamps = _SHOWN[name]
        assert _lines(table)[0] == title, name
        assert table.lamps() == lamps, name
        assert _lines(table)[5:7] == ["", ""], name


def test_every_error_is_named_with_its_remedy():
    for inputs in _ERRORS:
        table = Table(DEALT + " " + inputs)
        name, remedy = _ERRORS[inputs]
        lines = _lines(table)
        assert (lines[0], lines[5], lines[6]) == ("STOP", name, remedy), (inputs, lines)
        assert table.lamps() == "error", inputs


def test_a_card_too_many_and_cards_missing_are_named():
    table = Table(DEALT)
    table.shoe.inventory.unread = 414
    table.play("9S")
    assert _lines(table)[5:7] == ["CARD TOO MANY 9S", "TURN KEY"]
    table = Table(SITUATIONS["ended"][0], cut_from_end=16)
    lines = _lines(table)
    assert (lines[0], lines[5], lines[6]) == ("STOP", "CARDS MISSING", "TURN KEY")
    table.play("key+")
    assert _lines(table)[0] == "SHOE ENDED"


# The buttons pressed after the key was turned, and the last four lines.
_OF_SUPERVISOR = (
    ("", ("CARD --", "NEXT CHOOSES", "", "VOID ENDS ROUND")),
    ("burn reveal", ("CARD --", "NEXT CHOOSES", "", "VOID ENDS ROUND")),
    ("next", ("DRAW AGAIN", "NEXT CHOOSES", "", "REVEAL OK  VOID")),
    ("next burn", ("DRAW AGAIN", "NEXT CHOOSES", "", "REVEAL OK  VOID")),
    ("next next", ("CARD A-", "NEXT RANK", "BURN SUIT", "VOID ENDS ROUND")),
    ("next next reveal", ("CARD A-", "NEXT RANK", "BURN SUIT", "VOID ENDS ROUND")),
    ("next next burn", ("CARD AC", "NEXT RANK", "BURN SUIT", "REVEAL OK  VOID")),
    ("next next burn burn next", ("CARD 2D", "NEXT RANK", "BURN SUIT", "REVEAL OK  VOID")),
    ("next next burn burn burn burn", ("CARD AS", "NEXT RANK", "BURN SUIT", "REVEAL OK  VOID")),
    ("next next" + " burn" * 5, ("CARD AC", "NEXT RANK", "BURN SUIT", "REVEAL OK  VOID")),
    ("next " * 14, ("CARD K-", "NEXT RANK", "BURN SUIT", "VOID ENDS ROUND")),
    ("next " * 15, ("CUT CARD", "NEXT CHOOSES", "", "REVEAL OK  VOID")),
    ("next " * 15 + "burn", ("CUT CARD", "NEXT CHOOSES", "", "REVEAL OK  VOID")),
    ("next " * 16, ("DRAW AGAIN", "NEXT CHOOSES", "", "REVEAL OK  VOID")),
    ("next next burn key- key+", ("CARD --", "NEXT CHOOSES", "", "VOID ENDS ROUND")),
    ("next next key- key+ next next", ("CARD A-", "NEXT RANK", "BURN SUIT", "VOID ENDS ROUND")),
)  # fmt: skip


def test_the_supervisor_sees_what_is_wrong_and_what_each_button_does():
    for pressed, shown in _OF_SUPERVISOR:
        table = Table(DEALT + " 4C ?jam key+ " + pressed)
        lines = _lines(table)
        assert lines[:4] == ["STOP BANKER 1", "JAM", "P 4C         4", "B"], pressed
        assert tuple(lines[4:]) == shown, (pressed, lines)
        assert table.lamps() == "error", pressed


def test_the_error_and_its_position_fit_the_display_for_every_choice():
    for name in SITUATIONS:
        for fault in enums.FAULTS[1:]:
            table = Table(SITUATIONS[name][0] + " ?" + fault)
            if not table.shoe.pending.waits():
                continue
            table.play("key+")
            lines = _lines(table)
            position = SITUATIONS[name][1] or "not_due"
            assert lines[0] == "STOP " + position.upper().replace("_", " "), name
            assert lines[1] == fault.upper().replace("_", " "), name
            ends = "VOID ENDS ROUND" if table.shoe.current_round.open else "VOID ASKS"
            assert lines[7] == ends, name
            for _ in range(20):
                table.play("next burn")
                _lines(table)


def test_the_second_card_of_a_double_feed_is_named():
    table = Table(DEALT + " ?double_feed !9S")
    assert _lines(table)[:3] == ["STOP BANKER 1", "DOUBLE FEED 2ND", "P 9S         9"]
    table.play("key-")
    assert _lines(table)[5:7] == ["DOUBLE FEED 2ND", "TURN KEY"]
    table.play("!9D key+ void void burn key- ?jam")
    assert _lines(table)[5:7] == ["JAM", "TURN KEY"], "the double feed is over"


def test_a_card_that_was_not_due_is_named_and_leaves_the_result_lit():
    table = Table(SITUATIONS["between"][0] + " 9S")
    lines = _lines(table)
    assert (lines[0], lines[5], lines[6]) == ("STOP", "CARD NOT DUE", "TURN KEY")
    assert table.lamps() == "error tie"


def test_the_ready_lamp_is_lit_only_when_the_lock_is_open():
    for name in SITUATIONS:
        for text in INPUTS:
            table = Table(SITUATIONS[name][0] + " " + text)
            assert ("ready" in table.lamps()) == table.released, (name, text)


def test_hands_and_totals_show_as_they_are_dealt():
    table = Table(DEALT)
    assert _lines(table)[2:5] == ["P", "B", ""]
    table.play("4C 2D")
    assert _lines(table)[2:5] == ["P 4C         4", "B 2D         2", ""]
    table.play("AC TH KS")
    assert _lines(table)[2:5] == ["P 4C AC KS   5", "B 2D TH      2", ""]
    table.play("3H")
    assert _lines(table)[2:5] == ["P 4C AC KS   5", "B 2D TH 3H   5", "TIE HAND"]


def test_the_winner_shows_until_the_next_round():
    for inputs, line, lamps in (
        ("9C 2D KC 2H", "PLAYER WINS", "player"),
        ("2D 4C 2H 4D", "BANKER WINS", "banker"),
        ("9C 9D KC KD", "TIE HAND", "tie"),
    ):
        table = Table(DEALT + " " + inputs)
        assert (_lines(table)[4], table.lamps()) == (line, lamps)
        table.play("next")
        assert (_lines(table)[4], table.lamps()) == ("", "ready")


_EZ = ["player", "banker", "tie", "dragon_7", "panda_8"]
_TREASURES = ["player", "banker", "tie", "fortune_7", "golden_8"]
_DRAGON_7, _PANDA_8 = "KC KH QD QS JC 7C", "KC KH QD 7S 8H"


def test_dragon_7_and_panda_8_are_announced_if_the_game_has_them():
    for wagers, dragon_7, panda_8 in (
        (_EZ, "DRAGON 7", "PANDA 8"),
        (_EZ[:4], "DRAGON 7", "PLAYER WINS"),
        (_TREASURES, "BANKER WINS", "PLAYER WINS"),
        (["player", "banker", "tie"], "BANKER WINS", "PLAYER WINS"),
    ):
        table = Table(DEALT + " " + _DRAGON_7, wagers=wagers)
        assert (_lines(table)[4], table.lamps()) == (dragon_7, "banker")
        table.play("next " + _PANDA_8)
        assert (_lines(table)[4], table.lamps()) == (panda_8, "player")
        table.play("next " + "9C 2D KC 2H")
        assert _lines(table)[4] == "PLAYER WINS"


def test_nothing_is_announced_if_the_house_does_not_want_it():
    table = Table(DEALT + " 4C 2D AC TH", announced=False, wagers=_EZ)
    assert _lines(table)[2:5] == ["P 4C AC", "B 2D TH", ""]
    for cards_of_round, lamp in ((_DRAGON_7, "banker"), (_PANDA_8, "player"), (CARDS, "tie")):
        table = Table(DEALT + " " + cards_of_round, announced=False, wagers=_EZ)
        assert (_lines(table)[4], table.lamps()) == ("", lamp)
        assert not _lines(table)[2][-1].isdigit() and "  " not in _lines(table)[2]
    assert _lines(Table(DEALT + " CUT", announced=False))[4] == "LAST ROUND"


def test_a_void_round_shows_no_winner_and_no_cards():
    table = Table(DEALT + " 9C 2D KC key+ void key-")
    assert _lines(table)[:5] == ["NEXT ROUND?", "SHOE 8 R1", "P", "B", ""]
    assert table.lamps() == ""


def test_the_last_round_is_announced_from_its_beginning():
    table = Table(DEALT + " 4C CUT 2D")
    assert _lines(table)[4] == "", "one more follows"
    table.play("AC TH KS 3H next")
    assert _lines(table)[4] == "LAST ROUND"
    assert _lines(Table(DEALT + " CUT"))[4] == "LAST ROUND"


def test_the_last_line_says_whether_a_host_listens():
    for link, line in ((panel.NO_HOST, "NO HOST"), (panel.LOG_BEHIND, "LOG BEHIND")):
        assert _lines(Table(DEALT), link)[7] == line


def test_a_notice_shows_while_no_error_does():
    for name in SITUATIONS:
        table = Table(SITUATIONS[name][0])
        text = panel.text_of(table.shoe, panel.HOST, "CLEAN SENSOR A")
        assert text.split("\n")[5:7] == ["CLEAN SENSOR A", ""], name
        table.play("TEST")
        text = panel.text_of(table.shoe, panel.HOST, "CLEAN SENSOR A")
        assert text.split("\n")[5] == "TEST CARD" and "CLEAN" not in text, name


def test_every_line_fits_through_a_whole_shoe_of_a_large_number():
    seed_random()
    for number in (9, 999, 9998, 99998):
        table = Table()
        table.shoe.shoe = number
        table.play("lid+ lid-")
        assert _lines(table)[1] == "SHOE %d R0" % (number + 1)
        pile = [card % 52 for card in range(416)]
        while len(pile) > 10:
            card = pile.pop(random.randrange(len(pile)))
            table.play(cards.name_of(card) if table.released else "next")
            if random.random() < 0.02:
                void = table.shoe.current_round.open
                stop = ("lid+ lid-", "?sensor_fault", "?double_feed")[
                    random.randrange(3 if void else 1)
                ]
                table.play(stop)
                _lines(table, panel.LOG_BEHIND)
                table.play("key+ key-" if stop == "lid+ lid-" else "key+ void key-")
            lines = _lines(table)
            if table.shoe.round:
                assert lines[1] == "SHOE %d R%d" % (number + 1, table.shoe.round), lines
        assert table.shoe.round > 50 and table.shoe.cards > 300, "this was not a whole shoe"
