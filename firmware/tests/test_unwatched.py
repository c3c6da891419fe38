"""A start after which no program has watched the lid: the supervisor checks the cards before play
goes on."""

from firmware.tests.support.scripted import (
    BURN,
    KEY,
    KEY_TURNED,
    LID,
    NEXT,
    VOID,
    again,
    card_samples,
    check_chain,
    kinds_of,
    loaded,
    parts_of,
    recorded,
    started,
)
from firmware.tests.test_store import Folder
from protocol.tests.helpers import raised
from sabot_firmware.shoe import Shoe
from sabot_firmware.store import SettingsStore
from sabot_firmware.table import input_log, inputs
from sabot_firmware.table.dealing import UNREADABLE
from sabot_firmware.table.shoe_of_cards import ENDED, NO_ERROR, POWER_WAS_OFF
from sabot_protocol import enums

_POWER_WAS_OFF = enums.ERRORS.index("power_was_off")
_OPENED, _CLOSED = inputs.switched(LID, True), inputs.switched(LID, False)
_KEY_ON, _KEY_OFF = KEY_TURNED


def _cut(folder, board, switches_on=0):
    return again(folder, board, switches_on, "power_on")


def test_every_cause_but_a_hang_an_error_a_full_memory_and_a_command_asks_and_shuts_the_lock():
    for cause in enums.RESET_CAUSES:
        with Folder() as folder:
            board, _ = loaded(folder, "4C")
            board, shoe = again(folder, board, cause=cause)
            asks = cause not in ("watchdog", "error", "memory", "command")
            assert shoe.dealing.lock_released() != asks, cause
            assert (board.seen[-1] == "shut") == asks, cause
            assert ("CHECK CARDS, KEY" in board.text) == asks, cause
            assert ("POWER WAS OFF" in board.text) == asks, cause


def test_the_key_lets_play_go_on_where_it_was_and_all_is_recorded_once():
    with Folder() as folder:
        board, before = loaded(folder, "4C")
        seen = str(before.dealing.__dict__.get("round")), before.dealing.cards
        board, shoe = _cut(folder, board)
        board, shoe = _cut(folder, board)  # it waits over another loss of power
        assert shoe.dealing.error == POWER_WAS_OFF and shoe.dealing.unchecked
        board.play(shoe, card_samples("9S"))
        assert shoe.dealing.cards == seen[1] + 1 and not shoe.dealing.lock_released()
        board, shoe = _cut(folder, board)
        board.play(shoe, NEXT, VOID, BURN)
        assert shoe.dealing.error == POWER_WAS_OFF, "no button does it"
        board.play(shoe, *KEY_TURNED)
        assert shoe.dealing.error == NO_ERROR and shoe.dealing.lock_released()
        errors = [own for kind, own in recorded(shoe) if kind == "error"]
        assert errors[0] == [_POWER_WAS_OFF, None, 0]
        assert [own[0] for own in errors].count(_POWER_WAS_OFF) == 1
        assert kinds_of(shoe).count("error_cleared") == 1
        check_chain(shoe)
        board, shoe = again(folder, board)
        assert shoe.dealing.error == NO_ERROR and shoe.dealing.lock_released()


def test_it_is_asked_between_rounds_too_and_not_without_cards_in_play():
    with Folder() as folder:
        board, shoe = started(folder)
        board, shoe = _cut(folder, board)
        assert shoe.dealing.error == NO_ERROR and "LOAD CARDS" in board.text
        names = ("AC", "2C", "9C", "2D", "KC", "2H")
        board.play(shoe, _OPENED, _CLOSED, *[card_samples(name) for name in names])
        assert "NEXT ROUND?" in board.text
        board, shoe = _cut(folder, board)
        board.play(shoe, NEXT)
        assert shoe.dealing.error == POWER_WAS_OFF and "NEXT ROUND?" not in board.text
        board.play(shoe, *KEY_TURNED, NEXT)
        assert "BETTING OPEN" in board.text
        board.play(shoe, _KEY_ON, VOID, VOID, BURN, _KEY_OFF)
        assert shoe.dealing.phase == ENDED
        board, shoe = _cut(folder, board)
        assert shoe.dealing.error == NO_ERROR and not shoe.dealing.unchecked


def test_a_pending_card_comes_first_and_the_cards_are_checked_after_it():
    with Folder() as folder:
        board, shoe = loaded(folder, "4C")
        known, tail, _ = parts_of(card_samples("7D"), 800)
        board.play(shoe, known + tail[:20])  # the power goes while it passes
        board, shoe = _cut(folder, board)
        assert (shoe.dealing.error, shoe.dealing.fault) == (
            UNREADABLE,
            enums.FAULTS.index("power_lost"),
        )
        assert "TURN KEY" in board.text and shoe.dealing.unchecked
        board, shoe = _cut(folder, board)  # kept while the card waits
        board.play(shoe, _KEY_ON, NEXT, inputs.pressed(1))  # drawn again
        assert shoe.dealing.error == POWER_WAS_OFF and not shoe.dealing.lock_released()
        board.play(shoe, _KEY_OFF)
        assert shoe.dealing.error == POWER_WAS_OFF, "the key that resolved the card was on before"
        board.play(shoe, *KEY_TURNED)
        assert shoe.dealing.error == NO_ERROR and shoe.dealing.lock_released()


def test_after_another_error_that_stood_the_cards_are_checked_too():
    with Folder() as folder:
        board, shoe = loaded(folder, "4C")
        board.play(shoe, _OPENED, _CLOSED)
        board, shoe = _cut(folder, board)
        assert "LID OPENED" in board.text
        board.play(shoe, *KEY_TURNED)
        assert "CHECK CARDS, KEY" in board.text
        board.play(shoe, *KEY_TURNED)
        assert shoe.dealing.lock_released()


def test_a_key_that_was_turned_without_power_has_checked_nothing():
    with Folder() as folder:
        board, shoe = loaded(folder, "4C")
        board, shoe = _cut(folder, board, 1 << KEY)
        assert shoe.dealing.key_on and shoe.dealing.error == POWER_WAS_OFF
        board.play(shoe, _KEY_OFF)
        assert shoe.dealing.error == POWER_WAS_OFF
        board.play(shoe, _KEY_ON)
        assert shoe.dealing.error == NO_ERROR


def test_with_the_lid_open_the_key_does_not_do():
    with Folder() as folder:
        board, shoe = loaded(folder, "4C")
        board, shoe = _cut(folder, board)
        board.play(shoe, _OPENED, *KEY_TURNED)
        assert "CLOSE LID, KEY" in board.text and not shoe.dealing.lock_released()
        board.play(shoe, _CLOSED, *KEY_TURNED)
        assert shoe.dealing.error == NO_ERROR


def _with_latch(opened, compartment, chosen, cause="power_on"):
    """Return the board, and whether a shoe whose house has chosen so asks."""
    with Folder() as folder:
        SettingsStore(folder.path).save("settings", {"set": 0, "check_cards": chosen})
        board, _ = loaded(folder, "4C")
        board, shoe = started(
            folder,
            board.flash,
            cause=cause,
            lid_opened=opened,
            SENSES=True,
            compartment_opened=compartment,
        )
        own = [own for kind, own in recorded(shoe) if kind == "boot"][-1]
        assert own[-2:] == [opened, compartment]
        shoe.ticking.tick()
        assert board.armed == 1
        return shoe.dealing.error == POWER_WAS_OFF


def test_the_house_may_choose_not_to_be_asked_only_where_a_latch_says_that_the_lid_stayed_shut():
    assert not _with_latch(False, None, "if_opened")
    assert not _with_latch(False, False, "if_opened")
    assert _with_latch(None, None, "if_opened"), "there is no latch"
    assert _with_latch(True, None, "if_opened")
    assert _with_latch(False, True, "if_opened"), "the compartment was opened"
    assert _with_latch(False, None, "always")
    assert _with_latch(False, None, None), "a unit that was provisioned before"


def test_an_opened_latch_asks_even_if_the_power_stayed():
    assert _with_latch(True, None, "if_opened", "watchdog")
    assert not _with_latch(False, None, "if_opened", "watchdog")


def test_the_latches_are_made_ready_once_the_closed_lid_is_on_flash():
    with Folder() as folder:
        board, shoe = loaded(folder, "4C")
        board, shoe = started(folder, board.flash, SENSES=True)
        shoe.ticking.tick()
        assert board.armed == 1
        board.play(shoe, _OPENED)
        shoe.ticking.tick()
        assert board.armed == 1
        board.play(shoe, _CLOSED)
        shoe.ticking.tick()
        assert board.armed == 2


def test_no_operation_of_the_journals_chip_begins_while_the_supply_falls():
    with Folder() as folder:
        board, shoe = loaded(folder, "4C")
        begun = []
        program, erase = board.flash.program, board.flash.erase
        board.flash.program = lambda *given: (begun.append("program"), program(*given))
        board.flash.erase = lambda *given: (begun.append("erase"), erase(*given))
        board.supply = False
        shoe.acting.carry_out([input_log.PRESSED, 0])
        for _ in range(50):
            shoe.journal.step(True)
        assert not begun and shoe.journal.unwritten()
        board.supply = True
        shoe.journal.drain()
        assert begun and not shoe.journal.unwritten()


def test_a_start_waits_for_the_supply_before_it_writes_and_says_so_if_it_does_not_come():
    with Folder() as folder:
        board, _ = loaded(folder, "4C")
        board.supply = False
        assert raised(RuntimeError, Shoe, board)


def test_a_trial_asks_once_it_is_confirmed_and_hands_the_question_on_if_it_is_not():
    with Folder() as folder:
        board, shoe = loaded(folder, "4C")
        shoe.acting.unchecked = shoe.running.on_trial = True
        board.lid_watched = False
        shoe.ticking.tick()
        assert shoe.dealing.error == NO_ERROR
        resets = []
        board.reset = resets.append
        shoe.running.may_go_on = lambda now_ms: False
        shoe.ticking.restart_if_due(False)
        assert [enums.RESET_CAUSES[cause] for cause in resets] == ["command"]
        assert not board.lid_watched, "however it ends: the release before asks"
        shoe.running.on_trial = False
        shoe.ticking.tick()
        assert shoe.dealing.error == POWER_WAS_OFF


def test_the_lid_counts_as_watched_only_once_the_question_is_on_flash():
    """A watchdog that bites earlier must not let the next start pass over it."""
    with Folder() as folder:
        board, shoe = loaded(folder, "4C")
        board, shoe = started(folder, board.flash, lid_watched=False)
        assert shoe.dealing.error == POWER_WAS_OFF
        assert board.watches == 1, "the start has written it"
        board.lid_watched = False
        shoe.acting.carry_out([input_log.PRESSED, 0])
        assert shoe.journal.unwritten()
        shoe.ticking.tick()
        assert not board.lid_watched
        shoe.journal.drain()
        shoe.ticking.tick()
        assert board.lid_watched
        board, shoe = started(folder, board.flash)
        assert shoe.dealing.error == POWER_WAS_OFF, "it is asked until it is answered"
        assert [own for kind, own in recorded(shoe) if kind == "error"] == [
            [_POWER_WAS_OFF, None, 0]
        ]
