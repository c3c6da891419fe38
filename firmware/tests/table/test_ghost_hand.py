"""Ghost hands by the document: Washington, "Ghost hands". A round that is dealt face up without
wagers, as often in a shoe of cards as the house determines; no other document has them."""

from firmware.tests.support.table import CARDS, DEALT, SITUATIONS, Table, note_of
from sabot_firmware.journal.recovery import restore, state_of
from sabot_firmware.table import input_log
from sabot_protocol import baccarat


def _table(allowed, inputs=DEALT, **changed):
    house = dict(baccarat.MINI["house"], ghost_hands=allowed)
    return Table(inputs, house=house, **changed)


def test_reveal_twice_before_the_first_card_marks_a_ghost_hand():
    table = _table(3)
    assert table.play("reveal") == ["button reveal"] and table.display()[6] == "REVEAL: GHOST"
    assert table.play("reveal") == ["button reveal", "ghost_hand 1"]
    assert table.display()[5:7] == ["GHOST HAND 1", ""]
    recorded = table.play("reveal reveal " + CARDS)
    assert "ghost_hand" not in " ".join(recorded), "once"
    assert table.display()[4:6] == ["TIE HAND", "GHOST HAND 1"]
    table.play("next")
    assert table.display()[5] == "" and table.play("reveal reveal")[-1] == "ghost_hand 2"


def test_one_press_and_a_card_or_no_more_bets_marks_nothing():
    for text in ("9C", "next"):
        table = _table(3, DEALT + " reveal " + text)
        assert table.display()[5:7] == ["", ""] and table.shoe.ghosts == 0
        assert "ghost_hand" not in " ".join(table.play("reveal reveal"))


def test_only_a_round_that_waits_for_its_first_card_can_be_one():
    for name in SITUATIONS:
        table = _table(3, SITUATIONS[name][0])
        marked = "ghost_hand 1" in table.play("reveal reveal")
        assert marked == (name == "betting"), name
        host = _table(3, SITUATIONS[name][0])
        assert host.shoe.can_be_ghost() == (name == "betting"), name
        assert bool(host.shoe.ghost_hand()) == (name == "betting"), name


def test_the_shoe_refuses_more_than_the_house_allows_in_a_shoe_of_cards():
    for allowed in (0, 1, 2):
        table = _table(allowed)
        for number in range(1, 4):
            recorded = table.play("reveal reveal")
            assert ("ghost_hand %d" % number in recorded) == (number <= allowed)
            if number > allowed:
                assert table.display()[6] == "" and table.shoe.ghost_hand() == []
                assert not table.shoe.can_be_ghost()
            table.play(CARDS + " next")
        assert table.shoe.ghosts == allowed
        table.play("key+ void void burn key- lid+ lid- AC 2C")
        assert table.shoe.ghosts == 0, "a new shoe of cards"
        assert ("ghost_hand 1" in table.play("reveal reveal")) == (allowed > 0)


def test_a_house_that_names_no_maximum_allows_none():
    house = dict(baccarat.MINI["house"])
    del house["ghost_hands"]
    for each in (house, dict(house, ghost_hands=True), dict(house, ghost_hands="3")):
        table = Table(DEALT, house=each)
        assert table.play("reveal reveal") == ["button reveal", "button reveal"]


def test_a_ghost_hand_is_dealt_face_up_where_others_are_hidden():
    table = _table(3, DEALT + " reveal reveal 9C 2D KC 2H", shown="after_reveal")
    assert table.display()[2:4] == ["P 9C KC      9", "B 2D 2H      4"]
    assert table.display()[4:6] == ["PLAYER WINS", "GHOST HAND 1"]
    assert table.lamps() == "player" and table.play("next")[-2] == "betting_open"
    table.play("9C")
    assert table.display()[2:6] == ["P", "B", "REVEAL IF TURNED", ""], "the next one is hidden"


def test_a_void_or_misdealt_ghost_hand_still_counts():
    table = _table(2, DEALT + " reveal reveal 9C key+ void key- next")
    assert table.shoe.ghosts == 1
    table.play("reveal reveal " + CARDS + " key+ void void key- next")
    assert table.shoe.ghosts == 2 and "ghost_hand 3" not in table.play("reveal reveal")


def test_marks_and_question_survive_a_loss_of_power_after_any_input():
    script = DEALT + " reveal reveal " + CARDS + " next reveal 9C"
    done, table = [], _table(3, "")
    for text in script.split():
        table.play(text)
        done.append(text)
        for kept_at in (0, len(done) // 2, len(done)):
            before, after = _table(3, " ".join(done[:kept_at])), _table(3, "")
            restore(after.shoe, state_of(before.shoe))
            for each in done[kept_at:]:
                input_log.carry_out(after.shoe, note_of(each))
            assert state_of(after.shoe) == state_of(table.shoe), done
