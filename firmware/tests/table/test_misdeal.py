"""A misdeal, and the question that keeps it apart from the end of the shoe of cards.

Expected here by the rule documents, not by the code: "In case of misdeal all hands are called dead
and bets returned to the player" (mini-baccarat-pairs). A round can be called so with the key from
its result until the next round begins; the shoe of cards goes on.
"""

import random

from firmware.tests.support.table import CARDS, DEALT, INPUTS, SITUATIONS, Table, note_of
from protocol.tests.helpers import seed_random
from sabot_firmware import panel
from sabot_firmware.journal.recovery import restore, state_of
from sabot_firmware.table import input_log

_ROUND = DEALT + " " + CARDS
_ASKED = ["MISDEAL?", "SHOE 8 R1", "P 4C AC 2S   7", "B 2D 2H 3H   7", "TIE HAND", "",
          "VOID: MISDEAL", "BURN: ENDS SHOE"]  # fmt: skip
# From the situation with a result: what is still before the next round opens.
_UNTIL_THE_NEXT = ("", "burn", "burn 9S", "TEST", "?sensor", "lid+ lid-")


def test_void_twice_with_the_key_is_a_misdeal_and_the_shoe_of_cards_goes_on():
    table = Table(_ROUND + " key+")
    lamps = table.lamps()
    assert table.play("void") == ["button void"] and table.display() == _ASKED
    assert "error" in table.lamps()
    assert table.play("void") == ["button void", "round_void misdeal"]
    assert table.display()[:5] == ["NEXT ROUND?", "SHOE 8 R1", "P", "B", ""]
    assert table.lamps() == "" and lamps == "tie"
    assert table.play("key- next") == ["key 0", "button next", "betting_open", "lock 1"]
    assert table.shoe.round == 2 and table.shoe.rounds == 0


def test_burn_ends_the_shoe_of_cards():
    table = Table(_ROUND + " key+ void")
    assert table.play("burn") == ["button burn", "shoe_ended supervisor 1 8", "composition 0 416"]
    assert table.display()[0] == "SHOE ENDED" and not table.shoe.asked


def test_without_a_round_to_call_so_only_the_end_of_the_shoe_is_asked():
    for name in ("first burn", "burning"):
        table = Table(SITUATIONS[name][0] + " key+ void")
        lines = table.display()
        assert (lines[0], lines[6], lines[7]) == ("END OF SHOE?", "", "BURN: ENDS SHOE")
        before = table.snapshot()
        assert table.play("void") == ["button void"] and table.snapshot() == before
        assert "shoe_ended" in " ".join(table.play("void burn"))
    table = Table(_ROUND + " key+ void void void")
    assert table.display()[0] == "END OF SHOE?", "the round is void already"
    for name in ("no shoe", "lid open to load"):
        table = Table(SITUATIONS[name][0] + " key+ void")
        assert not table.shoe.asked and table.display()[0] == "LOAD CARDS", name


def test_any_other_answer_changes_nothing():
    for more in _UNTIL_THE_NEXT:
        for answer in ("next", "reveal", "key-", "service+"):
            table, other = (
                Table(_ROUND + " " + more + " key+"),
                Table(_ROUND + " " + more + " key+"),
            )
            table.play("void")
            recorded = table.play(answer)
            assert len(recorded) == 1, (more, answer, recorded)
            if answer[-1] in "+-":
                other.play(answer)
            assert table.snapshot() == other.snapshot(), (more, answer)
            assert table.shoe.asked == (answer == "service+"), (more, answer)


def test_a_misdeal_can_be_called_until_the_next_round_opens():
    for more in _UNTIL_THE_NEXT:
        table = Table(_ROUND + " " + more + " key+")
        left = table.shoe.burn_left
        recorded = table.play("void void")
        assert recorded[:2] == ["button void", "button void"] and "round_void misdeal" in recorded
        assert table.shoe.burn_left == left and not table.shoe.can_change_game(), more
    table = Table(_ROUND + " next key+")
    assert table.play("void")[1] == "round_void supervisor", "the open round, not the one before"


def test_the_last_round_can_be_a_misdeal_after_the_shoe_of_cards_has_ended():
    table = Table(SITUATIONS["ended"][0] + " key+ void")
    lines = table.display()
    assert (lines[0], lines[6], lines[7]) == ("MISDEAL?", "VOID: MISDEAL", "")
    before = table.snapshot()
    assert table.play("burn") == ["button burn"] and table.snapshot() == before
    assert table.play("void void") == ["button void", "button void", "round_void misdeal"]
    assert table.display()[0] == "SHOE ENDED" and table.display()[2:5] == ["P", "B", ""]
    assert table.play("void void") == ["button void", "button void"], "only once"
    assert not Table(SITUATIONS["ended"][0] + " lid+ lid- key+ void void").shoe.rounds


def test_without_the_key_void_asks_nothing():
    for name in SITUATIONS:
        table = Table(SITUATIONS[name][0])
        assert table.play("void void burn")[:2] == ["button void", "button void"]
        assert not table.shoe.asked, name


def test_the_question_survives_an_error_and_the_answer_clears_it():
    for error in ("TEST", "?sensor", "?samples", "?full", "lid+ lid-"):
        table = Table(_ROUND + " key+ void " + error)
        assert table.shoe.asked and table.display()[0] == "MISDEAL?", error
        assert table.display()[5] != "", "the error shows too"
        recorded = table.play("void")
        assert recorded[1].startswith("error_cleared"), recorded
        assert recorded[2] == "round_void misdeal" and not table.shoe.error


def test_a_card_that_stops_play_comes_before_the_question():
    table = Table(_ROUND + " burn key+ void ?no_code")
    assert not table.shoe.asked and table.display()[0] == "STOP BURN"
    assert table.display()[7] == "VOID ASKS"
    assert table.play("void")[1:3] == ["resolved unreadable no_code burn void",
                                       "error_cleared unreadable"]  # fmt: skip
    assert table.display()[0] == "MISDEAL?"


def test_the_question_and_the_round_survive_a_loss_of_power_after_any_input():
    script = _ROUND + " key+ void key- key+ void service+ void next key- burn 9S key+ void"
    done = []
    table = Table()
    for text in script.split():
        table.play(text)
        done.append(text)
        for kept_at in (0, len(done) // 2, len(done)):
            before, after = Table(" ".join(done[:kept_at])), Table()
            restore(after.shoe, state_of(before.shoe))
            for each in done[kept_at:]:
                input_log.carry_out(after.shoe, note_of(each))
            assert state_of(after.shoe) == state_of(table.shoe), done
            assert panel.text_of(after.shoe, "") == panel.text_of(table.shoe, ""), done


def test_a_shorter_state_of_before_asks_nothing():
    table, after = Table(_ROUND + " key+ void"), Table()
    state = state_of(table.shoe)
    state[0] = state[0][:21]
    restore(after.shoe, state)
    assert not after.shoe.asked and not after.shoe.decided
    assert after.shoe.rounds == 1 and after.display()[4] == "TIE HAND"


def test_random_hands_never_end_a_shoe_of_cards_or_call_a_misdeal_without_the_question():
    seed_random()
    seen = set()
    for _ in range(30):
        table = Table(_ROUND)
        for _ in range(60):
            text = random.choice(INPUTS + ("key+", "void", "void", "burn", "key-", "next"))
            title = table.display()[0]
            recorded = " ".join(table.play(text))
            asked = title in ("MISDEAL?", "END OF SHOE?") and table.shoe.key_on
            if "shoe_ended supervisor" in recorded:
                assert asked and text == "burn"
                seen.add("end")
            if "misdeal" in recorded:
                assert title == "MISDEAL?" and text == "void"
                seen.add("misdeal")
    assert seen == {"end", "misdeal"}
