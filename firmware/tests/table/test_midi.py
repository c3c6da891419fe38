"""Midi: from a round's first card until it is revealed the shoe shows nothing about its cards."""

import random

from firmware.tests.support.table import CARDS, DEALT, INPUTS, Table, plan_of
from protocol.tests.helpers import seed_random, times
from sabot_protocol import cards, enums

_MIDI = {"name": "midi", "turned_by": "players", "shown": "after_reveal"}
_EZ = ["player", "banker", "tie", "dragon_7", "panda_8"]
_HIDDEN = ["NO MORE BETS", "SHOE 8 R1", "P", "B", "REVEAL IF TURNED", "", "", "HOST"]

# Rounds of every length, winner and announcement.
_ROUNDS = (
    "9C 2D KC 2H", "2D 4C 2H 4D", "9C 9D KC KD", "7C 6D KC KD", "4C 4D KC 3H TS",
    "KC 7D KD KH 8C", "6C 5D KC KD 7H", "7C AD KC KD 9H", "6C TD KC KD TH", CARDS,
    "KC 3D KD KH AC 4C", "KC 4D KD KH 2C 3C", "AC 5D AD KH 4C TC", "TC JD QH KS TD JH",
)  # fmt: skip


def _midi(inputs="", **changed):
    game = dict(_MIDI)
    game.update(changed)
    return Table(inputs, **game)


def _outputs(table):
    return table.lamps(), table.display()


def _deals():
    """Return cards of rounds as text: those above, and random ones of every length."""
    deals = list(_ROUNDS)
    lengths = {4: 0, 5: 0, 6: 0}
    while min(lengths.values()) < 15:
        pile = [random.randrange(52) for _ in range(6)]
        size = len(plan_of(pile))
        lengths[size] += 1
        if lengths[size] <= 15:
            deals.append(" ".join([cards.name_of(card) for card in pile[:size]]))
    return deals


def _sealed(shown, wait):
    """Return what midi records where mini records `shown`; add what waits for the reveal."""
    recorded = []
    for line in shown:
        if line.startswith(("decision", "result")):
            wait.append(line)
        elif line.startswith("card"):
            recorded.append("sealed_" + line)
        elif line[:4] != "lock":
            recorded.append(line)
        if line.startswith("betting_closed"):
            recorded.append("seal")
    return recorded


def test_every_output_is_the_same_from_the_first_card_until_reveal():
    seed_random()
    for deal in _deals():
        table, mini = _midi(DEALT, wagers=_EZ), Table(DEALT, wagers=_EZ)
        wait = []
        for name in deal.split():
            recorded, shown = table.play(name), mini.play(name)
            assert [line for line in recorded if line[:4] != "lock"] == _sealed(shown, wait)
            assert table.released == mini.released, (deal, name)
            assert _outputs(table) == ("", _HIDDEN), (deal, name)
        assert wait[-1].startswith("result ") and recorded[-1] == "lock 0"
        for early in ("next", "burn", "void", "service+", "service-", "key+", "key-"):
            assert len(table.play(early)) == 1 and _outputs(table) == ("", _HIDDEN), early
        assert table.play("reveal") == ["button reveal", "unsealed"] + wait
        assert _outputs(table) == _outputs(mini), deal
        assert table.play("next") == mini.play("next")


def test_the_cut_card_shows_nothing_wherever_it_comes_in_a_round():
    for after_cut in (0, 1, 2):
        for deal in _ROUNDS:
            names = deal.split()
            for at in range(1, len(names)):
                table = _midi(DEALT, rounds_after_cut=after_cut)
                for name in names[:at] + ["CUT"] + names[at:]:
                    table.play(name)
                    assert _outputs(table) == ("", _HIDDEN), (deal, at, name)
                table.play("reveal")
                ended = table.display()[0] == "SHOE ENDED"
                assert ended == (after_cut == 0), (after_cut, table.display())


def test_the_last_round_is_announced_before_its_first_card():
    table = _midi(DEALT + " 9C CUT 2D KC 2H reveal next")
    assert table.display()[4] == "LAST ROUND"
    table.play("9C")
    assert table.display()[4] == "REVEAL IF TURNED"


def test_reveal_counts_once_the_round_has_its_result():
    for deal in _ROUNDS:
        table = _midi(DEALT)
        for name in deal.split():
            assert table.play("reveal") == ["button reveal"]
            table.play(name)
            assert table.display()[2:4] == ["P", "B"]
        phase = table.shoe.phase
        assert enums.PHASES[phase] == "dealing" and not table.shoe.card_due()
        table.play("reveal")
        assert enums.PHASES[table.shoe.phase] == "between"
        assert table.play("reveal") == ["button reveal"], "once is enough"


def test_the_last_round_ends_the_shoe_when_it_is_revealed_and_only_then():
    table = _midi(DEALT + " CUT", cut_from_end=16)
    assert table.play(CARDS)[-2:] == ["sealed_card 3H banker_3", "lock 0"]
    assert not table.shoe.can_change_game()
    assert table.play("lid+ lid- key+ key-")[1] == "error lid_opened None none"
    recorded = table.play("reveal")
    assert recorded[:2] == ["button reveal", "unsealed"]
    assert recorded[-4:] == [
        "result tie 7 7 0 0 0", "shoe_ended cut_card 1 8", "composition 0 416",
        "error cards_missing None none",
    ]  # fmt: skip
    assert table.display()[4] == "TIE HAND"


def test_a_cut_card_after_the_last_card_belongs_to_the_round_which_waits_for_its_reveal():
    for after_cut in (0, 1, 2):
        table = _midi(DEALT + " 9C 2D KC 2H", rounds_after_cut=after_cut)
        recorded = table.play("CUT")
        left = 1 + after_cut
        assert recorded == ["cut_card %d" % left, "error cut_card_misplaced CUT none"]
        assert table.display()[2:6] == ["P", "B", "REVEAL IF TURNED", "CUT CARD MISPLCD"]
        for _ in range(after_cut):
            table.play("key+ key- reveal next " + CARDS)
        ended = [line for line in table.play("key+ key- reveal") if line.startswith("shoe_ended")]
        assert ended[0].startswith("shoe_ended cut_card %d " % left)


def test_void_acts_the_same_before_and_after_the_hidden_result():
    names = CARDS.split()
    for dealt in range(1, 7):
        table = _midi(DEALT + " " + " ".join(names[:dealt]) + " key+")
        recorded = table.play("void")
        assert recorded[:3] == ["button void", "unsealed", "round_void supervisor"], dealt
        assert table.display() == ["NEXT ROUND?", "SHOE 8 R1", "P", "B", "", "", "", "HOST"]
        assert table.lamps() == "" and table.shoe.rounds == 0
        assert table.play("next")[-2:] == ["betting_open", "lock 1"]


# What stops play, and the line of the error on the display.
_STOPS = (
    ("lid+", "LID OPENED"),
    ("TEST", "TEST CARD"),
    ("CUT CUT", "CUT CARD MISPLCD"),
    ("?double_feed", "DOUBLE FEED"),
    ("?reversed", "REVERSED"),
    ("?jam", "JAM"),
    ("?sensor", "SENSOR FAULT"),
    ("9S", "SURPLUS COPY"),
    ("7H", "SURPLUS COPY"),
)


def _stopped(dealt, stop, already=("9S", "7H")):
    table = _midi(DEALT)
    for name in already:
        table.already_out(name, 8)
    table.play(dealt)
    table.play(stop)
    return table


def test_an_error_shows_and_names_no_card_and_no_hand():
    seed_random()
    for stop, line in _STOPS:
        for dealt in (1, 2, 3, 4):
            shown = []
            for deal in ("2D 3C KH JS", "4C 2D AC 2H", "TC JD QH KS", "AC AD 2C 2D"):
                names = deal.split()[:dealt]
                if dealt == 4:
                    assert (
                        len(plan_of([cards.number_of(name) for name in deal.split() + names])) > 4
                    )
                shown.append(_outputs(_stopped(" ".join(names), stop)))
            title, _, *hands = shown[0][1][:5]
            assert (shown[0][0], title, hands) == ("error", "STOP", ["P", "B", "REVEAL IF TURNED"])
            assert shown[0][1][5] == line, (stop, shown[0])
            assert shown == [shown[0]] * len(shown), (stop, dealt)


def test_a_card_that_was_not_due_is_not_named_before_reveal():
    table = _midi(DEALT + " 9C 2D KC 2H 7H")
    assert _outputs(table)[1][4:6] == ["REVEAL IF TURNED", "CARD NOT DUE"]
    assert table.play("reveal") == ["button reveal"], "not while play is stopped"
    table.play("key+ key-")
    assert _outputs(table) == ("", _HIDDEN)
    table.play("reveal")
    assert table.display()[2:5] == ["P 9C KC      9", "B 2D 2H      4", "PLAYER WINS"]


def test_the_first_card_of_a_round_is_not_named_either():
    for begun in ("", "next"):
        table = _stopped(begun, "9S")
        assert table.display()[2:6] == ["P", "B", "", "SURPLUS COPY"]
        assert table.play("key+") == ["key 1"] and table.display()[1] == "SURPLUS COPY"
        table.play("!as_read key- 2D KC 2H")
        assert _outputs(table) == ("", _HIDDEN)
    table = _midi("lid+ lid-")
    table.already_out("9S", 8)
    table.play("9S")
    assert table.display()[5] == "SURPLUS COPY 9S", "a burned card"


def test_the_supervisor_resolves_without_seeing_the_hands():
    for dealt, position in ((1, "BANKER 1"), (2, "PLAYER 2"), (3, "BANKER 2"), (4, "PLAYER 3")):
        for deal in ("2D 3C KH JS", "4C 2D AC 2H", "TC JD QH KS"):
            table = _stopped(" ".join(deal.split()[:dealt]), "?bad_code key+")
            lines = ["STOP " + position, "BAD CODE", "P", "B", "CARD --", "NEXT CHOOSES", ""]
            assert _outputs(table) == ("error", lines + ["VOID ENDS ROUND"])
            table.play("!8S key-")
            assert _outputs(table) == ("", _HIDDEN)


def test_void_of_a_card_after_the_last_voids_the_round_as_before_it():
    table = _midi(DEALT + " 9C 2D KC 2H ?no_code key+")
    assert table.display()[7] == "VOID ENDS ROUND" and table.display()[0] == "STOP NOT DUE"
    assert table.play("void")[1:] == [
        "resolved unreadable no_code not_due void",
        "error_cleared unreadable",
        "unsealed",
        "round_void unreadable",
    ]


def test_the_round_after_a_void_one_is_hidden_like_the_first():
    table = _midi(DEALT + " 9C 2D key+ void key- next")
    assert table.display()[0] == "BETTING OPEN"
    table.play("9C")
    assert _outputs(table)[1] == [line.replace("R1", "R2") for line in _HIDDEN]


def test_burned_cards_are_not_hidden():
    table = _midi("lid+ lid- 3C 5C")
    assert _outputs(table)[0] == "ready" and table.display()[0] == "BURN: 2 LEFT"
    table = _midi(DEALT + " 9C 2D KC 2H reveal burn")
    assert _outputs(table)[0] == "player ready"


def test_random_inputs_show_no_hand_before_it_is_revealed():
    seed_random()
    hidden = revealed = 0
    shoes = times(40, 8)
    for _ in range(shoes):
        table = _midi()
        for _ in range(250):
            if random.random() < 0.1 or table.shoe.error:
                table.play(random.choice(INPUTS + ("key+", "key-", "lid-")))
            elif table.shoe.card_due():
                table.play(cards.name_of(random.randrange(52)))
            else:
                table.play(random.choice(("next", "reveal", "lid+", "lid-", "key+", "key-")))
            lines, lamps = table.display(), table.lamps()
            if table.shoe.current_round.hidden:
                hidden += 1
                assert "P" in lines[2:4] and "B" in lines[2:5], lines
                assert lamps in ("", "error"), lamps
            elif table.shoe.current_round.winner >= 0:
                revealed += 1
    assert hidden > 12 * shoes and revealed > shoes, (hidden, revealed)
