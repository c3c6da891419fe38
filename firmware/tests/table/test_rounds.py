"""The seam between a shoe of cards and a round: a second family is dealt from the same shoe."""

from firmware.tests.support import highcard
from firmware.tests.support.table import SET, action_text, note_of
from protocol.tests.helpers import allocates
from sabot_firmware import panel
from sabot_firmware.journal.recovery import Recovery, keep_state, state_of
from sabot_firmware.journal.ring import NOTE, STATE
from sabot_firmware.table import dealing, input_log, shoe_of_cards
from sabot_protocol import baccarat, cards, cbor, enums, events, games

_LOADED = []


def _load():
    _LOADED.append(1)
    return highcard.HighCardRound


shoe_of_cards.ROUNDS["high card"] = _load

_DEALT = "lid+ lid- 9C"  # one is burned
_HAND = "next 5D KH 7S reveal"


class _Shoe:
    """A shoe of cards that checks at every input what `lock_after` said about the lock; with its
    journal, as far as `keep_state` and the recovery use one."""

    def __init__(self, text="", game=None):
        self.game = game or highcard.game()
        self.dealing = dealing.Dealing(self.game, SET, 7)
        self.entries = []
        keep_state(self, 1, self.dealing, bytearray(events.MAX_SIZE))
        self.play(text)

    def play(self, text):
        """Give it the inputs; return what it recorded, without the lock."""
        recorded = []
        for each in text.split():
            note = note_of(each)
            released = expected = self.dealing.card_due()
            if note[0] == input_log.CARD:
                expected = self.dealing.lock_after(note[1])
            lines = self._input(note)
            if note[0] == input_log.CARD:
                assert self.dealing.card_due() == expected, each
            dealt = [line for line in lines if line[:5] == "card " and "not_due" not in line]
            assert released or not dealt or "resolved" in " ".join(lines), (each, lines)
            recorded += lines
        return [line for line in recorded if line[:4] != "lock"]

    def _input(self, note):
        buf = bytearray(64)
        self.put(NOTE, buf, cbor.encode_array(buf, 0, note, len(note)))
        return [action_text(action) for action in input_log.carry_out(self.dealing, note)]

    def display(self):
        return panel.text_of(self.dealing, panel.HOST).split("\n")

    def choose(self, shown):
        """Turn the supervisor's key and step until the display has this line."""
        recorded = self.play("key+")
        seen = []
        while self.display()[4] != shown:
            self.play("next")
            assert self.display()[4] not in seen, seen
            seen.append(self.display()[4])
        return recorded

    def choices(self):
        self.play("key+ next")
        seen = []
        while self.display()[4] not in seen:
            seen.append(self.display()[4])
            self.play("next")
        self.play("key-")
        return [choice for choice in seen if choice[:5] != "CARD " and choice != "CUT CARD"]

    # The journal.

    def put(self, kind, payload, size):
        self.entries.append((kind, bytes(payload[:size])))

    def acknowledged(self):
        return 0

    def each_since_state(self, visit):
        for kind, payload in self.entries:
            visit(kind, memoryview(payload))

    def resumed(self):
        """Return the dealing after a loss of power, from the state and the notes after it."""
        after = dealing.Dealing(self.game, SET, 0)
        Recovery(self, after)
        return after


def _phase(shoe):
    return enums.PHASES[shoe.dealing.phase]


def test_each_family_of_a_game_document_has_its_round():
    made_up = [name for name in shoe_of_cards.ROUNDS if name not in games.FAMILIES]
    assert made_up == ["high card"]
    assert all([name in shoe_of_cards.ROUNDS for name in games.FAMILIES])
    assert baccarat.Game(baccarat.document_of("mini")).family == "baccarat"


def test_a_family_is_loaded_when_a_game_of_it_is_dealt():
    del _LOADED[:]
    mini = baccarat.Game(baccarat.document_of("mini"))
    shoe = dealing.Dealing(mini, SET, 7)
    assert not _LOADED
    shoe.change_game(highcard.game())
    assert len(_LOADED) == 1 and isinstance(shoe.current_round, highcard.HighCardRound)
    shoe.change_game(mini)
    assert not isinstance(shoe.current_round, highcard.HighCardRound) and shoe.game is mini


def test_a_round_waits_for_its_button_and_a_card_before_it_is_not_due():
    shoe = _Shoe()
    assert shoe.play(_DEALT) == [
        "lid 1", "lid 0", "shoe_loaded 1 high card 4", "burn 1", "card 9C burn", "betting_open",
    ]  # fmt: skip
    assert _phase(shoe) == "betting" and not shoe.dealing.card_due()
    assert panel.lamps_of(shoe.dealing) == 0
    assert shoe.play("2C") == ["card 2C not_due", "error card_not_due 2C none"]
    shoe.play("key+ key-")
    assert shoe.play("next") == ["button next", "betting_closed button"]
    assert shoe.dealing.card_due() and panel.lamps_of(shoe.dealing) == 1 << panel.READY_LAMP


def test_a_round_is_dealt_with_a_burn_in_the_middle_and_ended_by_a_button():
    shoe = _Shoe(_DEALT)
    assert shoe.play(_HAND) == [
        "button next", "betting_closed button", "card 5D player_1", "card KH burn",
        "card 7S banker_1", "button reveal", "result banker 7 5 0 0 0",
    ]  # fmt: skip
    assert _phase(shoe) == "between" and shoe.dealing.rounds == 1
    assert shoe.display()[:5] == ["NEXT ROUND?", "SHOE 8 R1", "5D 7S", "2 SEATS", "SEAT 2 WINS"]
    assert shoe.play("next") == ["button next", "betting_open"] and shoe.dealing.round == 2


def test_the_lock_is_shut_while_a_round_with_all_its_cards_waits_for_a_button():
    shoe = _Shoe(_DEALT + " next 5D KH 7S")
    assert shoe.dealing.current_round.open and not shoe.dealing.card_due()
    assert shoe.play("2C")[-1] == "error card_not_due 2C none"
    assert shoe.play("key+ key- reveal")[-1] == "result banker 7 5 0 0 0"


def test_the_burn_button_between_rounds_belongs_to_the_family_and_its_choice_stays():
    shoe = _Shoe(_DEALT + " " + _HAND)
    for seats in (3, 4, 2, 3):
        assert shoe.play("burn") == ["button burn"] and _phase(shoe) == "between"
        assert shoe.display()[3] == "%d SEATS" % seats
    for _ in range(2):
        recorded = shoe.play("next next 2C 3C 4C 5C reveal")
        positions = [line.split()[2] for line in recorded if line[:5] == "card "]
        assert positions == ["player_1", "burn", "banker_1", "player_2"]
        assert recorded[-1].startswith("result ")
        shoe.dealing.inventory.load(1)


def test_the_state_of_the_lock_is_known_without_an_allocation():
    for text in ("", " 5D", " 5D KH"):
        shoe = _Shoe(_DEALT + " next" + text)
        card = cards.number_of("7S")
        assert not allocates(lambda shoe=shoe, card=card: shoe.dealing.lock_after(card)), text


def test_the_cut_card_ends_the_shoe_of_cards_after_the_rounds_that_the_game_has():
    for after_cut in (0, 1):
        shoe = _Shoe(_DEALT, highcard.game(rounds_after_cut=after_cut))
        recorded = shoe.play("next 5D CUT KH 7S")
        assert "cut_card %d" % (1 + after_cut) in recorded and not shoe.dealing.error
        recorded = shoe.play("reveal")
        if after_cut:
            assert _phase(shoe) == "between"
            shoe.play("next")
            assert shoe.display()[4] == "LAST ROUND"
            recorded = shoe.play("next 6D 2H 8S reveal")
        count = 1 + 3 * (1 + after_cut)
        ended = "shoe_ended cut_card %d %d" % (1 + after_cut, count)
        assert recorded[-2:] == [ended, "composition 0 52"]
    shoe = _Shoe(_DEALT)  # betting is open, and no card is due
    assert shoe.play("CUT") == ["cut_card 1", "error cut_card_misplaced CUT none"]


def test_an_unreadable_card_is_resolved_by_how_it_lies_on_the_table():
    shoe = _Shoe(_DEALT + " next ?no_code")
    assert shoe.display()[0] == "STOP" and shoe.choices() == [], "it counts: only by its face"
    shoe.choose("CARD 5-")
    assert shoe.display()[0] == "STOP PLAYER 1"
    recorded = shoe.play("burn burn reveal key-")
    assert "card 5D player_1 by_hand" in recorded and shoe.dealing.card_due()
    shoe.play("?no_code")
    assert shoe.choices() == ["UNSEEN"], "a burned card need not be known"
    shoe.choose("UNSEEN")
    recorded = shoe.play("reveal key-")
    assert recorded[1] == "resolved unreadable no_code burn unseen"
    assert shoe.dealing.inventory.unread == 1 and shoe.dealing.current_round.burned == 1
    assert shoe.play("7S reveal")[-1] == "result banker 7 5 0 0 0"


def test_one_copy_too_many_is_not_named_while_the_round_hides_it():
    shoe = _Shoe(_DEALT + " next 5D KH 5D")
    assert shoe.display()[5] == "SURPLUS COPY" and shoe.choices() == ["AS READ", "DRAW AGAIN"]
    shoe.choose("AS READ")
    assert "card 5D banker_1" in shoe.play("reveal key-")


def test_void_ends_the_round_and_between_rounds_it_asks():
    for text in ("", "next", "next 5D", "next 5D KH", "next 5D KH 7S"):
        shoe = _Shoe(_DEALT + " " + text)
        assert "round_void supervisor" in shoe.play("key+ void key-"), text
        assert _phase(shoe) == "between" and shoe.display()[2] == "" and not shoe.dealing.rounds
        assert shoe.play("next")[-1] == "betting_open"
    shoe = _Shoe(_DEALT + " " + _HAND)
    assert shoe.play("key+ void") == ["key 1", "button void"]
    assert shoe.play("void") == ["button void", "round_void misdeal"]
    assert shoe.play("void burn")[-2].startswith("shoe_ended supervisor 0 4")


def test_no_lamp_and_no_line_depends_on_the_cards_until_reveal():
    shown = []
    for deal in ("5D KH 7S", "AC 2C 3C", "KD QD JD"):
        shoe = _Shoe(_DEALT + " next")
        each = []
        for name in deal.split():
            shoe.play(name)
            each.append((panel.lamps_of(shoe.dealing), shoe.display()))
        shown.append(each)
        shoe.play("reveal")
        assert deal.split()[0] in shoe.display()[2]
    assert shown[0] == shown[1] == shown[2]


def test_after_a_loss_of_power_it_has_the_same_state():
    script = "%s burn next next 2C 3C ?no_code key+ void key- next next 5C 6C 7C 8C lid+" % _HAND
    shoe = _Shoe()
    for text in (_DEALT + " " + script).split():
        shoe.play(text)
        for _ in range(2):  # from the notes alone, then from the kept state
            after = shoe.resumed()
            assert state_of(after) == state_of(shoe.dealing), text
            assert after.current_round.due == shoe.dealing.current_round.due, text
            assert after.current_round.open == shoe.dealing.current_round.open, text
            assert after.card_due() == shoe.dealing.card_due(), text
            assert panel.text_of(after, "") == panel.text_of(shoe.dealing, ""), text
            kept = shoe.entries
            shoe.entries = []
            keep_state(shoe, 1, shoe.dealing, bytearray(events.MAX_SIZE))
            assert shoe.entries[0][0] == STATE
        shoe.entries = kept


_PENDING = [-1, -1, [0, 0, 0, 0], False, False, "", -1, -1]
_NEW_IN_PENDING = [b"", 0, 0]
# As firmware 0.1.0 kept them: phase, cards, winner, position, and whether a card is due.
_OLD_STATES = (
    ("betting", [], [], -1, "player_1", True),
    ("dealing", [3, 0], [14], -1, "banker_2", True),
    ("dealing", [8, 12], [14, 25], 0, "banker_2", False),  # midi, not revealed
    ("between", [8, 12], [14, 25], 0, "banker_2", False),
    ("between", [], [], -1, "player_1", False),  # a round was voided
    ("burning", [8, 12], [14, 25], 0, "banker_2", True),
)


def test_a_state_that_firmware_0_1_0_kept_is_read():
    game = baccarat.Game(baccarat.document_of("mini"))
    for phase, player, banker, winner, position, due in _OLD_STATES:
        fields = [
            8, 1, enums.PHASES.index(phase), 0, 0, False, False, False, player, banker, winner, 0,
            phase != "dealing" or winner < 0, 1, 0, -1, enums.POSITIONS.index(position),
            enums.PHASES.index("between"), due, False, 0,
        ]  # fmt: skip
        state = [1, 5, 41, [fields, [8, bytes(52), 0], _PENDING]]
        buf = bytearray(events.MAX_SIZE)
        shoe = _Shoe(game=game)
        shoe.entries = []
        shoe.put(STATE, buf, cbor.encode_array(buf, 0, state, len(state)))
        after = shoe.resumed()
        play = after.current_round
        assert (play.player, play.banker, play.winner) == (player, banker, winner)
        assert after.card_due() == due, phase
        assert play.open == (phase in ("betting", "dealing") and winner < 0)
        kept = state_of(after)
        if play.open:
            assert kept[0] == fields + [False, False, 0, 0, False, b""] and len(fields) == 21
            assert enums.POSITIONS[play.due] == position
        assert kept[1:] == [state[3][1], _PENDING + _NEW_IN_PENDING]
        play.pressed(enums.BUTTONS.index("reveal"))
        if winner >= 0:
            assert not play.hidden and play.phase == enums.PHASES.index("between")
