"""The boot loader starts what is in the slots of a temporary folder."""

import os
import sys

from firmware.tests.test_store import Folder
from sabot_firmware.release import boot

try:
    import vfs
except ImportError:
    vfs = None
from firmware.tests.support.slots import SlotBoard


class _Reset(Exception):
    pass


def _reset():
    raise _Reset


class _Ran:
    """A module `ran` that the programs of slots import."""

    def __init__(self):
        self.list = []


# Bytecode says where it ends. These programs are sources, so a module ends with those after it.
_PROGRAM = """
if __name__ == "sabot_firmware.main":
    def main(root, slot, state, feed):
        import ran
        ran.list.append((slot, state.lists[slot], feed))
        %s
"""
_UPDATER = b"""
if __name__ == "sabot_firmware.release.updater":
    def main(root, slot, state, feed):
        import ran
        ran.list.append(("updater", slot))
"""


class _Slots:
    """A board that can start. `ran` lists what ran. The programs are source files here."""

    def __init__(self, folder):
        self.board = SlotBoard(folder.path)
        self.watched = 0
        self.board.write("state/unit.cbor", b"")
        self.board.fill(
            "rescue",
            {"sabot_firmware/__init__.py": b"", "sabot_firmware/release/updater.py": _UPDATER},
        )

    def fill(self, slot, ends="pass", updater=_UPDATER):
        source = (_PROGRAM % ends).encode()
        files = {"sabot_firmware/__init__.py": b"", "sabot_firmware/main.py": source}
        files["sabot_firmware/release/updater.py"] = updater
        return self.board.fill(slot, files)

    def _watch(self):
        self.watched += 1
        return "feed"

    def start(self):
        """Start, and return what ran until the reset."""
        ran = sys.modules["ran"] = _Ran()
        mounted = []
        boot.Slot.umount = lambda slot: None  # a board never unmounts it

        def mount(slot, path):
            mounted.append(path)
            vfs.mount(slot, path)

        path, mine = sys.path[:], {}
        for name in list(sys.modules):
            if name.split(".")[0] in ("sabot_firmware", "sabot_protocol"):
                mine[name] = sys.modules.pop(name)
        try:
            boot.start(self.board.root, mount, _reset, self._watch)
        except _Reset:
            return ran.list
        finally:
            del sys.modules["ran"]
            for name in list(sys.modules):
                if name.split(".")[0] in ("sabot_firmware", "sabot_protocol"):
                    del sys.modules[name]
            sys.path[:] = path
            sys.modules.update(mine)
            for path in mounted:
                vfs.umount(path)
        raise AssertionError("the boot loader came back")


def _with_slots(test):
    """Mark a test that needs MicroPython's file systems: CPython cannot import from them."""

    def run():
        if vfs is None:
            return
        with Folder() as folder:
            test(_Slots(folder))

    return run


@_with_slots
def test_the_current_slot_runs_with_the_hash_of_its_list_and_unwatched(slots):
    lists = {"a": boot.EMPTY, "b": slots.fill("b")}
    boot.keep(slots.board.root, boot.State("b", boot.NOTHING, lists))
    assert slots.start() == [("b", lists["b"], None), ("updater", "")] and not slots.watched


def test_a_release_on_trial_is_watched_and_ends_with_a_reset_and_the_old_one():
    for ends in ("pass", "raise ValueError", "import nothing_of_that_name", "raise SystemExit"):
        _a_release_on_trial(ends)


def _a_release_on_trial(ends):
    @_with_slots
    def held(slots):
        lists = {"a": slots.fill("a"), "b": slots.fill("b", ends)}
        boot.keep(slots.board.root, boot.State("a", boot.NEW, lists))
        assert slots.start() == [("b", lists["b"], "feed")] and slots.watched == 1
        assert slots.start()[0] == ("a", lists["a"], None)
        assert boot.load(slots.board.root).other == boot.UNDONE

    held()


@_with_slots
def test_the_release_that_runs_keeps_the_state_with_the_boot_loaders_code(slots):
    lists = {
        "a": slots.fill("a", "from sabot_firmware.release import boot; ran.list.append(boot)"),
        "b": boot.EMPTY,
    }
    boot.keep(slots.board.root, boot.State("a", boot.NOTHING, lists))
    assert slots.start()[1] is boot


@_with_slots
def test_it_is_kept_as_tried_before_it_runs(slots):
    """The power may fail right after the start."""
    root = slots.board.root
    kept = "ran.list.append(open(%r).read())" % (root + boot.STATE)
    lists = {"a": slots.fill("a"), "b": slots.fill("b", kept)}
    boot.keep(root, boot.State("a", boot.NEW, lists))
    assert slots.start()[1] == boot.State("a", boot.TRIED, lists).line()


@_with_slots
def test_without_a_good_slot_rescue_runs(slots):
    assert slots.start() == [("updater", "")]
    boot.keep(slots.board.root, boot.State("a", boot.NOTHING, {"a": "1" * 64, "b": "2" * 64}))
    slots.fill("a")
    slots.fill("b")
    assert slots.start() == [("updater", "")]


@_with_slots
def test_after_a_release_that_can_no_longer_start_rescue_runs(slots):
    lists = {"a": slots.fill("a", "raise MemoryError"), "b": boot.EMPTY}
    boot.keep(slots.board.root, boot.State("a", boot.NOTHING, lists))
    assert [ran[0] for ran in slots.start()] == ["a", "updater"]


@_with_slots
def test_an_update_that_was_asked_for_is_taken_by_the_slots_own_updater_once(slots):
    lists = {"a": slots.fill("a"), "b": boot.EMPTY}
    boot.keep(slots.board.root, boot.State("a", boot.NOTHING, lists))
    boot.ask_for(boot.WANTED, slots.board.root)
    assert slots.start() == [("updater", "a")]
    assert slots.start()[0] == ("a", lists["a"], None)


@_with_slots
def test_after_an_updater_that_fails_the_slot_runs_again_and_no_rescue(slots):
    fails = _UPDATER + b"        raise MemoryError\n"
    lists = {"a": slots.fill("a", updater=fails), "b": boot.EMPTY}
    boot.keep(slots.board.root, boot.State("a", boot.NOTHING, lists))
    boot.ask_for(boot.WANTED, slots.board.root)
    assert slots.start() == [("updater", "a")]
    assert slots.start()[0] == ("a", lists["a"], None)


@_with_slots
def test_a_board_that_is_not_a_unit_runs_its_slots_updater_until_it_is_one(slots):
    os.remove(slots.board.root + boot.UNIT)
    lists = {"a": slots.fill("a"), "b": boot.EMPTY}
    boot.keep(slots.board.root, boot.State("a", boot.NOTHING, lists))
    assert slots.start()[0] == slots.start()[0] == ("updater", "a")
    slots.board.write("state/unit.cbor", b"")
    assert slots.start()[0] == ("a", lists["a"], None)


@_with_slots
def test_a_board_that_is_not_a_unit_and_has_no_good_slot_runs_rescue(slots):
    os.remove(slots.board.root + boot.UNIT)
    fails = _UPDATER + b"        raise MemoryError\n"
    lists = {"a": slots.fill("a", updater=fails), "b": boot.EMPTY}
    boot.keep(slots.board.root, boot.State("a", boot.NOTHING, lists))
    assert slots.start() == [("updater", "a"), ("updater", "")]
    slots.board.write("a.code", b"")
    assert slots.start() == [("updater", "")]


def test_a_prompt_that_was_asked_for_comes_once_and_nothing_is_run_or_kept():
    with Folder() as folder:
        board = SlotBoard(folder.path)
        boot.ask_for(boot.DEBUG, board.root)
        boot.start(board.root, _never, _never, _never)
        assert os.listdir(board.root + "/state") == []


def _never(*arguments):
    raise AssertionError("a prompt wants nothing")


@_with_slots
def test_a_release_on_trial_is_tried_whatever_was_asked_for(slots):
    lists = {"a": slots.fill("a"), "b": slots.fill("b")}
    boot.keep(slots.board.root, boot.State("a", boot.NEW, lists))
    boot.ask_for(boot.WANTED, slots.board.root)
    assert slots.start() == [("b", lists["b"], "feed")]
