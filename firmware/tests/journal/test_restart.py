"""The whole shoe on a scripted board, over losses of power."""

import random

import sabot_firmware.buffers  # noqa: F401 - first, as main.py does
from firmware.tests.fakes.fake_flash import FIRST_KEY, PowerCut, new_chip
from firmware.tests.support.naive_chain import NaiveChain
from firmware.tests.support.scripted import (
    BURN,
    KEY,
    KEY_TURNED,
    LID,
    NEXT,
    REVEAL,
    VOID,
    ScriptedBoard,
    again,
    card_samples,
    check_chain,
    kinds_of,
    loaded,
    parts_of,
    provision,
    recorded,
    scripted_item,
    started,
)
from firmware.tests.test_store import Folder
from protocol.tests.helpers import raised, seed_random
from sabot_firmware import (
    panel,
)
from sabot_firmware.journal.journal import JournalError
from sabot_firmware.journal.recovery import state_of
from sabot_firmware.journal.ring import NOTE, PASSING, STATE
from sabot_firmware.shoe import Shoe
from sabot_firmware.store import SettingsStore
from sabot_firmware.table import inputs
from sabot_protocol import baccarat, cards, enums, games, messages

# The start


def test_a_new_unit_records_its_start_first_under_its_own_chain():
    with Folder() as folder:
        _, shoe = started(folder)
        ((kind, values),) = recorded(shoe)
        assert kind == "boot" and values[5] == NaiveChain(FIRST_KEY).name
        assert shoe.recorder.boot == 1


def test_no_host_is_answered_before_the_start_is_on_flash():
    for busy_polls in (0, 4):
        with Folder() as folder:
            flash = provision(folder, new_chip(busy_polls=busy_polls))
            for boot in range(1, 5):
                flash.power_on()
                board, shoe = started(folder, flash)
                journal = shoe.journal
                assert not journal.unwritten() and journal.durable == journal.number - 1
                assert shoe.recorder.boot == boot and not shoe.link.attached
                assert shoe.link.fill(0) == 0
                welcome = shoe.welcome(3)[0]
                fields = [name for name, _ in messages.WELCOME.fields]
                assert welcome[1 + fields.index("boot")] == boot
                assert welcome[1 + fields.index("last_held")] == journal.durable
                while flash.busy():
                    pass
                assert kinds_of(shoe).count("boot") == boot
                board.play(shoe, inputs.switched(2, boot % 2 == 1))
                journal.drain()
                board.switches_on = (boot % 2) << 2


def test_a_unit_without_a_key_is_out_of_service():
    with Folder() as folder:
        assert raised(JournalError, Shoe, ScriptedBoard(folder, new_chip()))


def test_a_cut_at_the_very_first_start_leaves_a_unit_that_starts():
    seed_random()
    for cut_at in range(9):
        with Folder() as folder:
            flash = provision(folder, new_chip())
            flash.cut_at, flash.cut = flash.operations + cut_at, random.randrange(3)
            try:
                started(folder, flash)
            except PowerCut:
                pass
            flash.power_on()
            _, shoe = started(folder, flash)
            check_chain(shoe)
            assert recorded(shoe)[-1][1][5] == NaiveChain(FIRST_KEY).name


# The state before the loss of power


def test_after_a_loss_of_power_the_shoe_is_in_the_same_state():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C", "2D")
        shown, lit = board.text, panel.lamps_of(shoe.dealing)
        board, after = again(folder, board)
        assert state_of(after.dealing) == state_of(shoe.dealing)
        assert board.seen == ["open"] and board.text == shown
        assert panel.lamps_of(after.dealing) == lit
        board.play(after, card_samples("KC"))
        assert recorded(after)[-1][1][:2] == [
            cards.number_of("KC"),
            enums.POSITIONS.index("player_2"),
        ]
        boots = [values[0] for kind, values in recorded(after) if kind == "boot"]
        assert len(boots) == 2


def test_an_error_that_showed_still_shows_after_a_loss_of_power():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C")
        board.play(shoe, inputs.switched(LID, True))
        shown = board.text
        board, after = again(folder, board, switches_on=1 << LID)
        assert board.text == shown and "LID OPENED" in shown and board.seen == ["shut"]
        assert kinds_of(after)[-1] == "boot"


def test_a_switch_that_was_moved_without_power_is_noticed_at_the_start():
    with Folder() as folder:
        board, _ = loaded(folder, "9C")
        board, after = again(folder, board, switches_on=1 << LID)
        assert kinds_of(after)[-4:] == ["boot", "lid", "error", "lock"]
        assert "LID OPENED" in board.text
        board, after = again(folder, board, switches_on=1 << KEY)
        assert kinds_of(after)[-4:] == ["lid", "key", "error_cleared", "lock"]


def test_a_card_that_passed_when_the_power_went_is_for_the_supervisor():
    with Folder() as folder:
        board, shoe = loaded(folder, "9C")
        known, _, _ = parts_of(card_samples("2D"), 380)
        board.play(shoe, known)
        shoe.journal.drain()
        board, after = again(folder, board)
        assert recorded(after)[-3][1][:2] == [
            enums.FAULTS.index("power_lost"),
            enums.POSITIONS.index("banker_1"),
        ]
        assert kinds_of(after)[-4:] == ["boot", "unreadable", "error", "lock"]
        assert "POWER LOST" in board.text and board.seen[-1] == "shut"


def test_a_checkpoint_that_was_not_on_flash_is_recorded_once():
    seed_random()
    ended = ["lid+", "lid-", "AC", "2C", "key+", "void", "void", "burn"]
    with Folder() as folder:
        board, shoe = started(folder)
        for text in ended[:-1]:
            board.play(shoe, scripted_item(text))
        begun = board.flash.save()
        for cut_at in range(6):
            for cut in range(3):
                board.flash.load(begun)
                board, shoe = again(folder, board, switches_on=1 << KEY)
                board.flash.cut_at = board.flash.operations + cut_at
                board.flash.cut = cut
                try:
                    board.play(shoe, scripted_item(ended[-1]))
                except PowerCut:
                    pass
                board, shoe = again(folder, board, switches_on=1 << KEY)
                kinds = kinds_of(shoe)
                count = kinds.count("composition")
                assert kinds.count("checkpoint") == count <= 1
                if count:
                    assert kinds.index("composition") < kinds.index("checkpoint")
                    values = recorded(shoe)[kinds.index("checkpoint")][1]
                    assert values[0] == kinds.index("checkpoint")
                check_chain(shoe)


def test_only_a_few_notes_have_to_be_replayed():
    with Folder() as folder:
        board, shoe = loaded(folder)
        for n in range(80):
            board.play(shoe, inputs.switched(2, n % 2 == 0))
            found = []
            shoe.journal.each_since_state(lambda kind, payload, found=found: found.append(kind))
            assert found[0] == STATE and found.count(NOTE) <= 33, n


def test_a_passing_card_is_marked_before_it_is_known_and_none_without_a_shoe_of_cards():
    with Folder() as folder:
        for in_play in (False, True):
            board, shoe = loaded(folder) if in_play else started(folder)
            whole = card_samples("9C")
            board.play(shoe, whole[:60], whole[60:120])
            found = []
            shoe.journal.each_since_state(lambda kind, payload, found=found: found.append(kind))
            assert found.count(PASSING) == in_play


def test_a_card_after_lost_samples_is_marked_too():
    with Folder() as folder:
        board, shoe = loaded(folder)
        whole = bytes(card_samples("9C"))
        board.play(shoe, whole[:150], ("overrun", bytes(200)))
        assert enums.ERRORS[shoe.dealing.error] == "samples_lost"
        board.play(shoe, *KEY_TURNED, whole[:150])
        board, after = again(folder, board)
        assert enums.FAULTS[after.dealing.fault] == "power_lost"


def test_the_game_document_stays_and_the_shoes_of_cards_are_counted_on():
    with Folder() as folder:
        document = games.encode(dict(baccarat.MINI, name="other", burn="none"))
        SettingsStore(folder.path).save("game", document)
        board, shoe = started(folder)
        for n in range(1, 4):
            lid = [inputs.switched(LID, True), inputs.switched(LID, False)]
            board.play(shoe, *lid)
            assert shoe.dealing.shoe == n and shoe.dealing.game.document == document
            board, shoe = again(folder, board)
            assert (shoe.dealing.shoe, shoe.dealing.round) == (n, 1)
            key = [inputs.switched(KEY, True), VOID, VOID, BURN]
            key.append(inputs.switched(KEY, False))
            board.play(shoe, *key)
            assert shoe.dealing.can_change_game()
            board, shoe = again(folder, board)
            assert shoe.dealing.can_change_game() and shoe.dealing.shoe == n


def test_what_is_hidden_in_midi_stays_hidden_over_a_loss_of_power():
    with Folder() as folder:
        midi = dict(baccarat.MINI, name="midi", shown="after_reveal", burn="none")
        SettingsStore(folder.path).save("game", games.encode(midi))
        board, shoe = started(folder)
        board.play(shoe, inputs.switched(LID, True), inputs.switched(LID, False), NEXT)
        for name in ("9C", "2D", "KC", "2H"):
            board.play(shoe, card_samples(name))
            shown = board.text
            board, shoe = again(folder, board)
            assert board.text == shown and "9" not in shown
            lit = [lamps for lamps in board.outputs if isinstance(lamps, int)]
            assert lit == [0], "not even for an instant"
            assert board.outputs == [0, shown]
        board.play(shoe, NEXT, REVEAL)
        assert shoe.dealing.current_round.winner >= 0 and board.text != shown
