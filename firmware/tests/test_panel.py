"""Lamps and display against tables of what must show in each situation."""

import random

from firmware import panel
from firmware.tests.table import DEALT, INPUTS, SITUATIONS, Table
from protocol import cards, words
from protocol.tests.helpers import seed_random

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

# By input: the line that names the error, the line that says what to do.
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
    "?jam lid+ lid-": ("JAM", "TURN KEY"),
}


def _lamps(table):
    lit = panel.lamps_of(table.shoe)
    assert 0 <= lit < 1 << len(words.LAMPS)
    return " ".join(sorted([words.LAMPS[n] for n in range(len(words.LAMPS)) if lit >> n & 1]))


def _lines(table, link=panel.HOST):
    """The display's lines, of which each must fit, in letters that every display has."""
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
        assert _lamps(table) == lamps, name
        assert _lines(table)[5:7] == ["", ""], name


def test_every_error_is_named_with_its_remedy():
    for inputs in _ERRORS:
        table = Table(DEALT + " " + inputs)
        name, remedy = _ERRORS[inputs]
        lines = _lines(table)
        assert (lines[0], lines[5], lines[6]) == ("STOP", name, remedy), (inputs, lines)
        assert _lamps(table) == "error", inputs


def test_a_card_that_was_not_due_is_named_and_leaves_the_result_lit():
    table = Table(SITUATIONS["between"][0] + " 9S")
    lines = _lines(table)
    assert (lines[0], lines[5], lines[6]) == ("STOP", "CARD NOT DUE", "TURN KEY")
    assert _lamps(table) == "error tie"


def test_the_ready_lamp_is_lit_where_the_lock_is_open_and_nowhere_else():
    for name in SITUATIONS:
        for text in INPUTS:
            table = Table(SITUATIONS[name][0] + " " + text)
            assert ("ready" in _lamps(table)) == table.released, (name, text)


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
        assert (_lines(table)[4], _lamps(table)) == (line, lamps)
        table.play("next")
        assert (_lines(table)[4], _lamps(table)) == ("", "ready")


def test_a_void_round_shows_no_winner_and_no_cards():
    table = Table(DEALT + " 9C 2D KC key+ void key-")
    assert _lines(table)[:5] == ["NEXT ROUND?", "SHOE 8 R1", "P", "B", ""]
    assert _lamps(table) == ""


def test_the_last_round_is_announced_from_its_beginning():
    table = Table(DEALT + " 4C CUT 2D")
    assert _lines(table)[4] == "", "one more follows"
    table.play("AC TH KS 3H next")
    assert _lines(table)[4] == "LAST ROUND"
    assert _lines(Table(DEALT + " CUT"))[4] == "LAST ROUND"


def test_the_last_line_says_whether_a_host_listens():
    for link, line in ((panel.NO_HOST, "NO HOST"), (panel.LOG_BEHIND, "LOG BEHIND")):
        assert _lines(Table(DEALT), link)[7] == line


def test_every_line_fits_through_a_whole_shoe_of_a_large_number():
    seed_random()
    for number in (9, 999, 9998, 99998):
        table = Table()
        table.shoe.shoe = number
        table.play("lid+ lid-")
        assert _lines(table)[1] == "SHOE %d R0" % (number + 1)
        for _ in range(510):
            table.play(cards.name_of(random.randrange(52)) if table.released else "next")
            if random.random() < 0.02:
                table.play(random.choice(("?sensor_fault", "?double_feed", "lid+ lid-")))
                _lines(table, panel.LOG_BEHIND)
                table.play("key+ key-")
            lines = _lines(table)
            if table.shoe.round:
                assert lines[1] == "SHOE %d R%d" % (number + 1, table.shoe.round), lines
        assert table.shoe.round > 50 and table.shoe.cards > 300, "this was no whole shoe"
