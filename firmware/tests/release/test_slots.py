"""The slots of the boot loader: what their lists say, and what is loaded from them."""

import os

from firmware.tests.test_store import Folder
from protocol.tests.helpers import raised
from sabot_firmware.release import boot

try:
    import vfs
except ImportError:
    vfs = None
from firmware.tests.support.slots import FILES, SlotBoard, hex_of


def test_a_slot_that_holds_what_its_list_says_has_all_of_its_modules():
    with Folder() as folder:
        board = SlotBoard(folder.path)
        found = board.modules("a", board.fill("a"))
        assert sorted(found) == ["/" + path for path in sorted(FILES)]
        with open(folder.path + "/a" + boot.CODE, "rb") as file:
            code = file.read()
        for path in FILES:
            at = found["/" + path]
            assert code[at : at + len(FILES[path])] == FILES[path]


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
            assert not board.modules("a", hex_of(junk)), junk


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
        for path in FILES:
            assert slot.stat("/" + path)[0] == 0x8000
            assert _read(slot.open("/" + path, "rb"), len(FILES[path])) == FILES[path]
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
