"""A shoe that runs from a slot: what it records about that, and what it does on trial."""

import binascii
import os

import sabot_firmware.buffers  # noqa: F401 - first, as main.py does
from firmware.tests.fakes import fake_gc  # noqa: F401  # CPython lacks a part of gc
from firmware.tests.fakes.fake_flash import new_chip
from firmware.tests.support import scripted  # CPython lacks a part of gc
from firmware.tests.support.scripted import LID, NEXT, VOID, kinds_of, recorded
from firmware.tests.test_store import Folder
from sabot_firmware.link import commands
from sabot_firmware.release import boot
from sabot_firmware.release.running import TRIAL_MS, RunningRelease
from sabot_firmware.shoe import Shoe
from sabot_firmware.table import inputs
from sabot_protocol import enums, messages

_A, _B = "a1" * 32, "b2" * 32
_LID = [inputs.switched(LID, True), inputs.switched(LID, False)]


class _Reset(Exception):
    pass


class _Unit:
    """A unit that starts from a slot, again and again."""

    def __init__(self, folder):
        self._folder = folder
        self._flash = scripted.provision(folder, new_chip())
        os.mkdir(folder.path + "/state")

    def start(self, slot, current, other):
        """Start with this state of the boot loader."""
        root = self._folder.path
        state = boot.State(current, other, {"a": _A, "b": _B})
        boot.keep(root, state)
        board = scripted.ScriptedBoard(self._folder, self._flash)
        board.reset = self._reset
        feed = (lambda: None) if slot != current else None
        board.shoe = Shoe(board, RunningRelease(root, slot, state, feed))
        return board, board.shoe

    def again(self, board, slot, current, other):
        """Start again after a loss of power."""
        before = board.shoe  # free its memory first: the heap is as small as the board's
        before.reader = before.passes = before.health = before.link = before._runs = None
        board.shoe = None
        self._flash.power_on()
        return self.start(slot, current, other)

    def state(self):
        state = boot.load(self._folder.path)
        return state.current, state.other

    def _reset(self, cause):
        raise _Reset


def _command(shoe, shape, *values):
    """Return why it was refused, "none" if it was done."""
    number, _, refusal, detail = commands.run(shoe, shape, [1] + list(values))
    assert number == messages.REPLY.number and not detail
    return enums.REFUSALS[refusal]


def test_the_build_of_what_runs_is_the_hash_of_its_list():
    with Folder() as folder:
        _, shoe = _Unit(folder).start("b", "b", boot.NOTHING)
        assert shoe.build == binascii.unhexlify(_B) and not shoe.running.on_trial
        found = [values for kind, values in recorded(shoe) if kind == "boot"]
        assert found[0][2] == binascii.unhexlify(_B)


def test_a_release_that_was_given_up_is_recorded_once():
    with Folder() as folder:
        unit = _Unit(folder)
        board, shoe = unit.start("a", "a", boot.UNDONE)
        found = [values for kind, values in recorded(shoe) if kind == "update_undone"]
        assert found == [[binascii.unhexlify(_B)]]
        assert unit.state() == ("a", boot.NOTHING)
        board, shoe = unit.again(board, "a", "a", boot.NOTHING)
        assert kinds_of(shoe).count("update_undone") == 1


def test_on_trial_the_lock_stays_shut_and_buttons_do_nothing():
    with Folder() as folder:
        unit = _Unit(folder)
        board, shoe = unit.start("a", "a", boot.NOTHING)
        board.play(shoe, *_LID)
        assert shoe.dealing.lock_released()
        board, shoe = unit.again(board, "b", "a", boot.TRIED)
        board.seen = []
        board.play(shoe, NEXT, VOID, NEXT)
        assert shoe.running.on_trial and "open" not in board.seen
        assert shoe.dealing.lock_released() and "button" not in kinds_of(shoe)
        assert "NEW FIRMWARE" in board.text


def test_once_confirmed_it_deals_and_says_so():
    with Folder() as folder:
        unit = _Unit(folder)
        board, shoe = unit.start("b", "a", boot.TRIED)
        assert _command(shoe, messages.CONFIRM) == "none"
        assert unit.state() == ("b", boot.NOTHING) and not shoe.running.on_trial
        kind, values = recorded(shoe)[-1]
        assert kind == "updated" and values[1] == binascii.unhexlify(_B)
        board.play(shoe, *_LID)
        assert "open" in board.seen
        assert _command(shoe, messages.CONFIRM) == "no_trial"


def test_a_trial_ends_without_a_host_that_confirms_it():
    with Folder() as folder:
        unit = _Unit(folder)
        _, shoe = unit.start("b", "a", boot.TRIED)
        assert shoe.running.may_go_on(TRIAL_MS - 1)
        assert not shoe.running.may_go_on(TRIAL_MS)
        shoe.running.confirm()
        assert shoe.running.may_go_on(TRIAL_MS * 10)


def test_a_release_that_is_not_on_trial_goes_on():
    with Folder() as folder:
        unit = _Unit(folder)
        _, shoe = unit.start("a", "a", boot.NOTHING)
        assert shoe.running.may_go_on(TRIAL_MS * 10)


def test_a_restart_waits_until_no_card_can_come():
    with Folder() as folder:
        unit = _Unit(folder)
        board, shoe = unit.start("a", "a", boot.NOTHING)
        assert _command(shoe, messages.RESTART) == "none" and shoe.restart_due
        shoe.restart_due = False
        board.play(shoe, *_LID)
        assert _command(shoe, messages.RESTART) == "in_play"
        assert _command(shoe, messages.UPDATE, 1000) == "in_play"
        assert not shoe.restart_due


def test_an_update_is_left_to_the_updater_of_the_next_start():
    with Folder() as folder:
        unit = _Unit(folder)
        _, shoe = unit.start("a", "a", boot.NOTHING)
        assert _stage(shoe, messages.UPDATE_STATUS) == "idle" and not shoe.restart_due
        assert _command(shoe, messages.UPDATE_PART, 0, b"x") == "no_update"
        assert _stage(shoe, messages.UPDATE, 1000) == "restarting" and shoe.restart_due
        assert boot.WANTED.split("/")[-1] in os.listdir(folder.path + "/state")


def _stage(shoe, shape, *values):
    return enums.UPDATE_STAGES[commands.run(shoe, shape, [1] + list(values))[2]]


def test_a_shoe_reports_whether_a_release_is_staged_or_on_trial():
    with Folder() as folder:
        unit = _Unit(folder)
        board, shoe = unit.start("a", "a", boot.NEW)
        assert _stage(shoe, messages.UPDATE_STATUS) == "staged"
        board, shoe = unit.again(board, "b", "a", boot.TRIED)
        assert _stage(shoe, messages.UPDATE_STATUS) == "on_trial"
        assert _command(shoe, messages.UPDATE, 1000) == "on_trial"


def test_without_slots_there_are_no_updates():
    with Folder() as folder:
        _, shoe = scripted.started(folder)
        assert _command(shoe, messages.UPDATE, 1000) == "no_slot"
        assert _stage(shoe, messages.UPDATE_STATUS) == "idle"
