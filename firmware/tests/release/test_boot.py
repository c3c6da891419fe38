"""The boot loader: the table in the documentation, and slots in temporary folders."""

import binascii
import hashlib
import os
import sys

from firmware.tests.test_store import Folder
from protocol.tests.helpers import raised
from sabot_firmware.release import boot

try:
    import vfs
except ImportError:
    vfs = None

_FILES = {
    "sabot_firmware/__init__.mpy": b"",
    "sabot_firmware/main.mpy": b"M\x06main" * 1000,  # more than is read at once
    "sabot_firmware/boards/pico/board.mpy": b"board",
    "sabot_protocol/cbor.mpy": b"cbor",
}
_LISTS = {"a": "1" * 64, "b": "2" * 64}


def _hex(data):
    return binascii.hexlify(hashlib.sha256(data).digest()).decode()


def _table():
    """Return the rows of the table in README.md: other slot, current is, other is, runs, kept."""
    path = __file__.replace("\\", "/").rsplit("/", 3)[0] + "/README.md"
    with open(path) as file:
        text = file.read()
    rows = []
    for line in text[text.index("### Which slot runs") :].split("\n"):
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if len(cells) == 5 and cells[0] in ("nothing", "new", "tried", "undone"):
            rows.append(cells)
    return rows


def _allowed(cell):
    return (True, False) if cell == "any" else (cell == "good",)


def test_every_case_is_in_exactly_one_row_of_the_table_and_has_its_outcome():
    cases = {}
    for other, current_cell, other_cell, runs, then in _table():
        for current_good in _allowed(current_cell):
            for other_good in _allowed(other_cell):
                case = (other, current_good, other_good)
                assert case not in cases, case
                cases[case] = (runs, then)
    assert len(cases) == 4 * 2 * 2
    for other, current_good, other_good in cases:
        runs, then = cases[other, current_good, other_good]
        for current in boot.SLOTS:
            other_slot = boot.other_slot(current)
            good = {current: current_good, other_slot: other_good}
            before = boot.State(current, other, _LISTS)
            run, after = boot.choose(before, good.get)
            by_name = {"current": current, "other": other_slot, "none": ""}
            assert run == by_name[runs]
            now_current, now_other = then.split(", ")
            assert (after.current, after.other) == (by_name[now_current], now_other)
            assert after.lists == _LISTS


def test_never_a_slot_that_is_not_good():
    for other in (boot.NOTHING, boot.NEW, boot.TRIED, boot.UNDONE):
        for a in (True, False):
            for b in (True, False):
                good = {"a": a, "b": b}
                for current in boot.SLOTS:
                    state = boot.State(current, other, _LISTS)
                    run, _ = boot.choose(state, good.get)
                    assert good[run] if run else not (a or b)


def test_a_release_that_is_never_confirmed_runs_once_however_often_the_power_goes():
    state = boot.State("a", boot.NEW, _LISTS)
    ran = []
    for _ in range(5):
        slot, state = boot.choose(state, lambda slot: True)
        ran.append(slot)
    assert ran == ["b", "a", "a", "a", "a"]
    assert state.other == boot.UNDONE


class SlotBoard:
    """A folder with slots in it, as on a board."""

    def __init__(self, root):
        self.root = root
        os.mkdir(root + "/state")

    def fill(self, slot, files=_FILES):
        """Put modules and their list into a slot; return the hash of the list."""
        code = lines = b""
        for path in sorted(files):
            code += files[path]
            lines += ("%s %d %s\n" % (_hex(files[path]), len(files[path]), path)).encode()
        self.write(slot + boot.CODE, code)
        self.write(slot + boot.LIST, lines)
        return _hex(lines)

    def write(self, path, data):
        with open(self.root + "/" + path, "wb") as file:
            file.write(data)

    def modules(self, slot, digest):
        return boot.modules(self.root + "/" + slot, digest)


def test_a_slot_that_holds_what_its_list_says_has_all_of_its_modules():
    with Folder() as folder:
        board = SlotBoard(folder.path)
        found = board.modules("a", board.fill("a"))
        assert sorted(found) == ["/" + path for path in sorted(_FILES)]
        with open(folder.path + "/a" + boot.CODE, "rb") as file:
            code = file.read()
        for path in _FILES:
            at = found["/" + path]
            assert code[at : at + len(_FILES[path])] == _FILES[path]


def test_a_slot_with_any_changed_byte_has_none():
    with Folder() as folder:
        board = SlotBoard(folder.path)
        digest = board.fill("a")
        with open(folder.path + "/a" + boot.CODE, "rb") as file:
            code = file.read()
        for at in (0, 1, len(code) // 2, len(code) - 1):
            changed = bytearray(code)
            changed[at] ^= 1
            board.write("a" + boot.CODE, changed)
            assert not board.modules("a", digest), at
        for changed in (b"", code[:-1], code + b"\0"):
            board.write("a" + boot.CODE, changed)
            assert not board.modules("a", digest), len(changed)
        board.write("a" + boot.CODE, code)
        assert board.modules("a", digest)


def test_a_slot_whose_list_is_another_has_none():
    with Folder() as folder:
        board = SlotBoard(folder.path)
        digest = board.fill("a")
        others = board.fill("b", {"sabot_firmware/main.mpy": b"other"})
        assert not board.modules("a", others) and not board.modules("b", digest)
        assert not board.modules("a", boot.EMPTY) and not board.modules("a", "")
        for junk in (
            b"",
            b"\n",
            b"\xff\xfe",
            b"1 2 3 4\n",
            b"word\n",
            b"1 x sabot_firmware/main.mpy\n",
        ):
            board.write("a" + boot.LIST, junk)
            assert not board.modules("a", _hex(junk)), junk


def test_a_slot_that_is_not_there_has_none():
    with Folder() as folder:
        board = SlotBoard(folder.path)
        assert not board.modules("a", boot.EMPTY)
        digest = board.fill("a")
        for suffix in (boot.CODE, boot.LIST):
            os.remove(folder.path + "/a" + suffix)
            assert not board.modules("a", digest)
            digest = board.fill("a")


def _read(file, size):
    """Read as MicroPython's loader does: in pieces, and beyond the module's end."""
    found, piece = b"", bytearray(240)
    while len(found) < size:
        found += piece[: file.readinto(piece)]
    return found[:size]


def test_the_file_system_of_a_slot_has_its_modules_and_no_other_files():
    with Folder() as folder:
        board = SlotBoard(folder.path)
        found = board.modules("a", board.fill("a"))
        slot = boot.Slot(folder.path + "/a", found)
        for path in _FILES:
            assert slot.stat("/" + path)[0] == 0x8000
            assert _read(slot.open("/" + path, "rb"), len(_FILES[path])) == _FILES[path]
        for path in ("/sabot_firmware", "/sabot_protocol", "/sabot_firmware/boards"):
            assert slot.stat(path)[0] == 0x4000
        for path in (
            "/sabot_firmware/shoe.mpy",
            "/sabot_firmware/main.py",
            "/asyncio",
            "/state/boot",
            "/",
            "",
        ):
            assert raised(KeyError, slot.stat, path), path


def test_what_checks_a_game_can_be_loaded_for_each_game_and_the_others_once():
    with Folder() as folder:
        slot = boot.Slot(_filled(folder), {boot._AGAIN: 0, "/other.mpy": 0})
        for _ in range(3):
            assert slot.open(boot._AGAIN, "rb")
        slot.open("/other.mpy", "rb")
        assert raised(KeyError, slot.open, "/other.mpy", "rb") and list(slot._modules) == [
            boot._AGAIN
        ]


def _filled(folder):
    with open(folder.file("a.code"), "wb") as file:
        file.write(b"code")
    return folder.file("a")


def test_the_state_comes_back_as_it_was_kept():
    with Folder() as folder:
        board = SlotBoard(folder.path)
        for current in boot.SLOTS:
            for other in (boot.NOTHING, boot.NEW, boot.TRIED, boot.UNDONE):
                state = boot.State(current, other, {"a": "1" * 64, "b": boot.EMPTY})
                boot.keep(board.root, state)
                assert boot.load(board.root).line() == state.line()


def test_a_state_that_is_not_there_or_damaged_is_that_of_empty_slots():
    with Folder() as folder:
        board = SlotBoard(folder.path)
        empty = boot.load(board.root).line()
        whole = boot.State("b", boot.NEW, _LISTS).line().encode()
        damaged = [b"", b"\0", b"\xff\xfe", whole[:20], whole + b" more", b"2" + whole[1:]]
        damaged += [whole.replace(b" b ", b" c "), whole.replace(b"new", b"old")]
        for data in damaged:
            board.write("state/boot", data)
            assert boot.load(board.root).line() == empty, data


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
