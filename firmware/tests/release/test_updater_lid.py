"""The updater watches the lid of a shoe of cards in play: the shoe then asks for the supervisor."""

from firmware.tests.fakes.fake_flash import new_chip
from firmware.tests.support.scripted import LID, Over, ScriptedBoard
from firmware.tests.test_store import Folder
from sabot_firmware.release.updater import Updater
from sabot_firmware.table import inputs
from sabot_protocol import enums


class _Reset(Exception):
    pass


def _cause_after(script, started_by="command", switches_on=0):
    """Return the cause of the restart after these changes of inputs."""
    with Folder() as folder:
        board = ScriptedBoard(folder, new_chip())
        board.reset_cause = enums.RESET_CAUSES.index(started_by)
        board.switches_on = switches_on
        causes = []

        def reset(cause):
            causes.append(cause)
            raise _Reset

        board.reset = reset
        board._script = list(script)
        updater = Updater(board, folder.path, "a")
        look = updater._look()
        try:
            while True:
                look.send(None)
        except Over:
            pass
        updater._restart_due = True
        try:
            updater._talk().send(None)
        except _Reset:
            pass
        return [enums.RESET_CAUSES[cause] for cause in causes]


def test_a_shoe_whose_lid_stayed_shut_restarts_by_the_command():
    assert _cause_after([]) == ["command"]


def test_a_lid_that_was_opened_meanwhile_makes_the_shoe_ask():
    opened, closed = inputs.switched(LID, True), inputs.switched(LID, False)
    assert _cause_after([opened, closed]) == ["software"]
    assert _cause_after([], switches_on=1 << LID) == ["software"]


def test_a_power_that_was_off_during_an_update_makes_the_shoe_ask():
    for cause in enums.RESET_CAUSES:
        expected = "command" if cause == "command" else "software"
        assert _cause_after([], started_by=cause) == [expected], cause
