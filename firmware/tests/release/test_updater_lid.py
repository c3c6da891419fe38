"""The updater watches the lid of a shoe of cards in play: the shoe then asks for the supervisor."""

from firmware.tests.fakes.fake_flash import new_chip
from firmware.tests.support.scripted import LID, Over, ScriptedBoard
from firmware.tests.test_store import Folder
from sabot_firmware.release.updater import Updater
from sabot_firmware.table import inputs
from sabot_protocol import enums


class _Reset(Exception):
    pass


def _watched_after(script, watched=True, switches_on=0):
    """Return whether the shoe starts again with its lid watched, after these changes of inputs."""
    with Folder() as folder:
        board = ScriptedBoard(folder, new_chip())
        board.lid_watched = watched
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
        assert [enums.RESET_CAUSES[cause] for cause in causes] == ["command"]
        return board.lid_watched


def test_a_shoe_whose_lid_stayed_shut_deals_on():
    assert _watched_after([])


def test_a_lid_that_was_opened_meanwhile_makes_the_shoe_ask():
    opened, closed = inputs.switched(LID, True), inputs.switched(LID, False)
    assert not _watched_after([opened, closed])
    assert not _watched_after([], switches_on=1 << LID)


def test_a_power_that_was_off_during_an_update_makes_the_shoe_ask():
    assert not _watched_after([], watched=False)
