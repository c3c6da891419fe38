"""The self-test of a whole shoe, with each part broken in turn."""

import hashlib
import os

from firmware.tests.fakes.fake_flash import RING
from firmware.tests.support import scripted
from firmware.tests.support.scripted import LID
from firmware.tests.test_store import Folder
from sabot_firmware.boards.nor import SECTOR
from sabot_firmware.link import commands
from sabot_firmware.release import boot
from sabot_firmware.release.running import RunningRelease
from sabot_firmware.table import inputs
from sabot_protocol import enums, events, messages

_FILES = (b"first" * 300, b"second" * 700, b"")


class _Parts:
    """What a board reports about its parts."""

    def __init__(self, board):
        self.display, self.samples, self.levels, self.temperature = True, True, 0, 31
        board.display_answers = lambda: self.display
        board.samples_come = lambda: self.samples
        board.levels = lambda: self.levels
        board.temperature_c = lambda: self.temperature


def _asked(shoe, command_id=7):
    answer = commands.run(shoe, messages.SELF_TEST, [command_id])
    assert answer[0] == messages.SELF_TEST_REPORT.number, answer
    messages.SELF_TEST_REPORT.check(answer[1:])
    assert answer[1] == command_id
    return answer[2:]


def _failed(shoe):
    failed = _asked(shoe)[0]
    return [name for i, name in enumerate(enums.SELF_TESTS) if failed >> i & 1]


def _records(shoe, count):
    for _ in range(count):
        shoe.recorder.record(events.IDENTIFIED, 0, 0, ())


def _of_slot(folder):
    """Return a `RunningRelease` from a slot that holds _FILES."""
    slot = folder.path + "/a"
    lines = ""
    with open(slot + boot.CODE, "wb") as file:
        for number, content in enumerate(_FILES):
            file.write(content)
            digest = hashlib.sha256(content).digest()
            lines += "%s %d %d.mpy\n" % (_hex(digest), len(content), number)
    with open(slot + boot.LIST, "w") as file:
        file.write(lines)
    listed = _hex(hashlib.sha256(lines.encode()).digest())
    return RunningRelease(
        folder.path, "a", boot.State("a", boot.NOTHING, {"a": listed, "b": boot.EMPTY})
    )


def _hex(digest):
    return "".join(["%02x" % octet for octet in digest])


def test_a_whole_shoe_finds_nothing():
    with Folder() as folder:
        board, shoe = scripted.started(folder)
        _Parts(board)
        _records(shoe, 5)
        assert _asked(shoe) == [0, 0, 31, RING, 1, 0, 0, True]


def test_it_measures_the_heap_after_a_collection():
    with Folder() as folder:
        board, shoe = scripted.started(folder)
        _Parts(board)
        shoe.heap.free = shoe.heap.used = 0
        _asked(shoe)
        assert shoe.heap.free > 0 and shoe.heap.used > 0


def test_a_display_that_does_not_answer_and_samples_that_do_not_come_are_found():
    with Folder() as folder:
        board, shoe = scripted.started(folder)
        parts = _Parts(board)
        parts.display = False
        assert _failed(shoe) == ["display"]
        parts.display, parts.samples, parts.levels = True, False, 5
        assert _failed(shoe) == ["samples"] and _asked(shoe)[1] == 5


def test_a_processor_without_a_temperature_reports_null():
    with Folder() as folder:
        board, shoe = scripted.started(folder)
        _Parts(board).temperature = None
        assert _asked(shoe)[2] is None


def test_a_newest_event_that_the_chip_returns_changed_is_found():
    with Folder() as folder:
        flash = scripted.provision(folder, scripted.FileFlash(folder, RING))
        board, shoe = scripted.started(folder, flash)
        _Parts(board)
        _records(shoe, 3)
        assert _failed(shoe) == []
        journal = shoe.journal
        flash.flip(journal._address(journal._open) + journal._at - 6)  # in the newest MAC
        assert _failed(shoe) == ["journal"]


def test_a_chip_that_stays_busy_is_found_and_not_waited_for():
    with Folder() as folder:
        board, shoe = scripted.started(folder)
        _Parts(board)
        ticks = iter(range(0, 10**6, 10))
        board.ticks_ms = lambda: next(ticks)
        shoe.journal.busy = lambda: True
        assert _failed(shoe) == ["journal"] and next(ticks) < 2000


def test_sectors_are_counted_over_the_life_of_the_chip():
    with Folder() as folder:
        flash = scripted.provision(folder, scripted.FileFlash(folder, RING))
        board, shoe = scripted.started(folder, flash)
        _Parts(board)
        while shoe.journal.number * 40 < 3 * RING * SECTOR:
            _records(shoe, 50)
            shoe.journal.drain()
            shoe.journal.acknowledge(shoe.journal.durable)
        begun = _asked(shoe)[4]
        assert 2 * RING < begun < 6 * RING
        shoe.reader = shoe.passes = shoe.health = shoe.link = board.shoe = None
        shoe.sensing = shoe.acting = shoe.presenting = shoe.ticking = None
        shoe = None
        board, shoe = scripted.started(folder, flash)
        _Parts(board)
        assert begun <= _asked(shoe)[4] <= begun + 2


def test_code_on_flash_that_is_not_what_was_signed_is_found():
    with Folder() as folder:
        running = _of_slot(folder)
        assert running.is_whole()
        slot = folder.path + "/a"
        whole = _content(slot + boot.CODE)
        listed = _content(slot + boot.LIST)
        for at in (0, 1499, 1500, 1501, len(whole) - 1):
            _write(slot + boot.CODE, whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            assert not running.is_whole(), at
        for code in (b"", whole[:-1], whole + b"x"):
            _write(slot + boot.CODE, code)
            assert not running.is_whole(), len(code)
        _write(slot + boot.CODE, whole)
        for lines in (b"", b"no list\n", listed[:-1], listed + listed, listed.upper()):
            _write(slot + boot.LIST, lines)
            assert not running.is_whole(), lines
        os.remove(slot + boot.LIST)
        assert not running.is_whole()
        _write(slot + boot.LIST, listed)
        assert running.is_whole()


def test_the_code_is_among_what_is_tested():
    with Folder() as folder:
        board, shoe = scripted.started(folder)
        _Parts(board)
        shoe.running = _of_slot(folder)
        assert _failed(shoe) == []
        os.remove(folder.path + "/a" + boot.CODE)
        assert _failed(shoe) == ["code"]


def test_while_a_card_may_come_nothing_is_tested():
    with Folder() as folder:
        board, shoe = scripted.started(folder)
        _Parts(board)
        board.play(shoe, inputs.switched(LID, True), inputs.switched(LID, False))
        answer = commands.run(shoe, messages.SELF_TEST, [1])
        assert answer == [messages.REPLY.number, 1, enums.REFUSALS.index("in_play"), ""]


def _content(path):
    with open(path, "rb") as file:
        return file.read()


def _write(path, content):
    with open(path, "wb") as file:
        file.write(content)
