"""A release written into the idle slot of a folder: what is accepted, refused and kept."""

import binascii
import gc
import hashlib
import os

from firmware.tests.support.slots import SlotBoard
from firmware.tests.test_store import Folder
from sabot_firmware import MICROPYTHON, VERSION
from sabot_firmware.release import boot, ed25519
from sabot_firmware.release.update import CHECKING, CODE, IDLE, REFUSED, STAGED, Update
from sabot_protocol import cbor, release

_PUBLIC = b"house of a release, 32 bytes .."
_FILES = {
    "sabot_firmware/__init__.mpy": b"M\x06\x00\x1f",
    "sabot_firmware/boards/pico/board.mpy": b"board" * 300,
    "sabot_firmware/main.mpy": b"main" * 1000,
    "sabot_protocol/cbor.mpy": b"cbor",
}
_PART = 400
_MOST_STEPS = 5000


def _manifest(files=_FILES, **fields):
    said = {
        "release": release.MANIFEST_VERSION,
        "version": "99.0.0",
        "board": "none",
        "protocol": 4,
        "journal": 1,
        "micropython": "1.0.0",
        "may_go_back": False,
        "files": [
            [path, len(files[path]), hashlib.sha256(files[path]).digest()] for path in sorted(files)
        ],
    }
    said.update(fields)
    buf = bytearray(release.MAX_MANIFEST)
    return bytes(buf[: cbor.encode_into(buf, 0, said)])


def _code_of(files=_FILES):
    return b"".join([files[path] for path in sorted(files)])


def _signature(manifest, by=_PUBLIC):
    """Return a substitute for a signature: real ones take long and have separate tests."""
    return hashlib.sha256(by + release.signed(manifest)).digest() * 2


def _verification(public, signature, message):
    yield False
    yield False
    yield signature == hashlib.sha256(public + message).digest() * 2


class _Unit:
    """A board that runs from slot a."""

    def __init__(self, folder, public=_PUBLIC):
        self.board = SlotBoard(folder.path)
        self.list = self.board.fill("a", {"sabot_firmware/main.mpy": b"the one that runs"})
        boot.keep(folder.path, boot.State("a", boot.NOTHING, {"a": self.list, "b": boot.EMPTY}))
        self.public = public
        self.update = None
        self.lost = []  # files open at a loss of power; CPython would write them when it drops them
        self.start()

    def start(self):
        """Start with what the boot loader would run."""
        root = self.board.root
        state = boot.load(root)
        slot, kept = boot.choose(state, lambda slot: self.board.modules(slot, state.lists[slot]))
        if kept.line() != state.line():
            boot.keep(root, kept)
        self.lost.append(self.update)
        self.update = Update(root, slot, self.public, "none")
        return slot

    def work(self):
        real, ed25519.verification = ed25519.verification, _verification
        try:
            for _ in range(_MOST_STEPS):
                if not self.update.busy():
                    return
                self.update.step()
        finally:
            ed25519.verification = real
        raise AssertionError("it never ends")

    def send_head(self, manifest, signature=None):
        head = (signature or _signature(manifest)) + manifest
        self.update.begin(len(head))
        for at in range(0, len(head), _PART):
            if not self.update.take(at, head[at : at + _PART]):
                break
        self.work()

    def send_code(self, files=_FILES, most=_MOST_STEPS):
        """Send what is asked for; return how many bytes that was."""
        update, sent = self.update, 0
        code = _code_of(files)
        while update.stage == CODE and most:
            part = code[update.offset : update.offset + _PART]
            assert update.take(update.offset, part)
            sent += len(part)
            self.work()
            most -= 1
        return sent

    def send(self, manifest=None, files=_FILES, signature=None):
        self.send_head(manifest or _manifest(files), signature)
        return self.send_code(files)

    def kept(self):
        return boot.load(self.board.root)


class _Pieces:
    """A heap without `size` free bytes in one piece. On CPython there is always enough."""

    def __init__(self, size):
        self._held = []
        if not hasattr(gc, "threshold"):
            return
        gc.collect()
        try:
            while True:
                self._held.append(bytearray(size))
        except MemoryError:
            for i in range(0, len(self._held), 2):
                self._held[i] = None
        gc.collect()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._held = []


def test_a_release_is_accepted_with_a_fragmented_heap_and_a_second_time():
    """Once the old list was read in one piece of 12 KB, and the updater gave up."""
    files = dict(_FILES)
    for i in range(56):
        files["sabot_protocol/as_many_as_a_shoe_has_%d.mpy" % i] = bytes([i])
    manifest = _manifest(files)
    with Folder() as folder:
        unit = _Unit(folder)
        for _ in range(2):
            with _Pieces(8192):
                unit.send_head(manifest)
                assert unit.update.stage == CODE, unit.update.refusal
        unit.send_code(files)
        assert unit.update.stage == STAGED, unit.update.refusal


def test_a_release_is_refused_if_the_heap_has_no_room_for_it():
    def no_room(public, signature, message):
        raise MemoryError
        yield

    with Folder() as folder:
        unit = _Unit(folder)
        manifest = _manifest()
        unit.update.begin(64 + len(manifest))
        assert unit.update.take(0, bytes(64) + manifest)
        real, ed25519.verification = ed25519.verification, no_room
        try:
            unit.update.step()
        finally:
            ed25519.verification = real
        assert (unit.update.stage, unit.update.refusal) == (REFUSED, "no_heap")
        unit.send()
        assert unit.update.stage == STAGED


def test_a_release_is_staged_and_then_tried():
    with Folder() as folder:
        unit = _Unit(folder)
        assert unit.update.stage == IDLE
        assert unit.send() == len(_code_of())
        assert unit.update.stage == STAGED and unit.kept().other == boot.NEW
        assert unit.start() == "b" and unit.kept().other == boot.TRIED


def test_what_is_staged_is_exactly_what_was_signed_with_the_documented_hash():
    with Folder() as folder:
        unit = _Unit(folder)
        manifest = _manifest()
        unit.send(manifest)
        assert unit.update.manifest == hashlib.sha256(manifest).digest()
        with open(folder.path + "/b.code", "rb") as file:
            assert file.read() == _code_of()
        lines = b""
        for path in sorted(_FILES):
            digest = binascii.hexlify(hashlib.sha256(_FILES[path]).digest())
            lines += digest + (" %d %s\n" % (len(_FILES[path]), path)).encode()
        digest = binascii.hexlify(hashlib.sha256(lines).digest()).decode()
        assert unit.kept().lists == {"a": unit.list, "b": digest}


def test_a_release_that_is_not_confirmed_is_given_up_and_can_be_sent_again():
    with Folder() as folder:
        unit = _Unit(folder)
        unit.send()
        assert [unit.start() for _ in range(3)] == ["b", "a", "a"]
        assert unit.kept().other == boot.UNDONE and unit.update.stage == IDLE
        assert unit.send() == 0  # all is there
        assert unit.update.stage == STAGED and unit.start() == "b"


def _refused(refusal, manifest=None, public=_PUBLIC, detail="", **how):
    """Check that it is refused for this reason, and that nothing has changed."""
    with Folder() as folder:
        unit = _Unit(folder, public)
        before = unit.kept().line()
        unit.send(manifest or _manifest(), **how)
        assert unit.update.stage == REFUSED
        assert unit.update.refusal == refusal and detail in unit.update.detail, unit.update.detail
        assert unit.kept().line() == before
        assert not [name for name in os.listdir(folder.path) if name[:2] == "b."]
        assert unit.start() == "a"


def test_a_release_not_signed_by_the_house_is_refused_before_anything_is_written():
    manifest = _manifest()
    _refused("not_ours", signature=_signature(manifest, b"another house"))
    _refused("not_ours", manifest=manifest, signature=bytes(64))
    _refused("not_ours", manifest + b"x", signature=_signature(manifest))


def test_a_unit_without_a_release_key_accepts_no_release():
    _refused("no_key", public=None)


def test_releases_that_are_older_or_for_another_board_or_interpreter_are_refused():
    _refused("bad_board", _manifest(board="mars"), detail="none")
    _refused("older", _manifest(version="0.0.1"), detail=VERSION)
    _refused("old_python", _manifest(micropython="99.0.0"), detail=MICROPYTHON)


def test_an_older_release_that_may_go_back_is_accepted():
    with Folder() as folder:
        unit = _Unit(folder)
        unit.send(_manifest(version="0.0.1", may_go_back=True))
        assert unit.update.stage == STAGED


def test_a_manifest_that_is_signed_and_makes_no_sense_is_refused():
    for junk in (b"\xa0", b"no cbor", _manifest(files={"sabot_firmware/shoe.mpy": b"no main"})):
        _refused("bad_head", junk)
    for path in (
        "../main.mpy",
        "sabot_firmware/../../x.mpy",
        "state/boot.mpy",
        "sabot_firmware/main.py",
    ):
        _refused(
            "bad_head", _manifest(files={"sabot_firmware/main.mpy": b"main", path: b"elsewhere"})
        )


def test_impossible_sizes_in_a_head_are_refused():
    for size in (0, 64, 65 + release.MAX_MANIFEST, 1 << 40):
        with Folder() as folder:
            unit = _Unit(folder)
            unit.update.begin(size)
            assert unit.update.stage == REFUSED
            assert not unit.update.take(0, b"x")


def test_code_that_is_not_as_signed_is_refused_never_runs_and_can_be_sent_again():
    for path in _FILES:
        for damage in (lambda data: b"x" + data[1:], lambda data: data[:-1] + b"\0"):
            with Folder() as folder:
                unit = _Unit(folder)
                files = dict(_FILES)
                files[path] = damage(files[path])
                unit.send(_manifest(), files)
                assert unit.update.stage == REFUSED
                assert unit.update.refusal == "damaged"
                assert unit.kept().lists["b"] == boot.EMPTY
                assert unit.start() == "a"
                assert unit.send() == len(_code_of())
                assert unit.update.stage == STAGED


def test_parts_that_were_not_asked_for_change_nothing():
    with Folder() as folder:
        unit = _Unit(folder)
        update, manifest = unit.update, _manifest()
        assert not update.take(0, b"too early")
        head = _signature(manifest) + manifest
        update.begin(len(head))
        for offset, part in ((1, b"x"), (0, b""), (0, head + b"x"), (1 << 40, b"x")):
            assert not update.take(offset, part), offset
        assert update.take(0, head[:100])
        assert not update.take(0, head[:100]) and update.offset == 100
        assert update.take(100, head[100:])
        assert update.stage == CHECKING and not update.take(0, b"x")
        unit.work()
        code = _code_of()
        for offset, part in ((1, code[1:]), (0, code + b"x"), (0, b"")):
            assert not update.take(offset, part)
        assert unit.send_code() == len(code)
        assert update.stage == STAGED and not update.take(len(code), b"x")


_LONG = dict(_FILES)
_LONG["sabot_firmware/long.mpy"] = b"long" * 10000


def test_after_a_loss_of_power_what_is_on_flash_is_not_sent_again():
    whole = len(_code_of(_LONG))
    resumed = set()
    for most in range(1, whole // _PART + 2, 7):
        with Folder() as folder:
            unit = _Unit(folder)
            unit.send_head(_manifest(_LONG))
            sent = unit.send_code(_LONG, most)
            on_flash = _size(folder.path + "/b.code")
            assert sent - on_flash <= 17000
            assert unit.start() == "a" and unit.update.stage == IDLE
            assert unit.send(files=_LONG) == whole - on_flash
            assert unit.update.stage == STAGED and unit.start() == "b"
            resumed.add(on_flash)
    assert len(resumed) > 2, resumed


def _size(path):
    return os.stat(path)[6]


def test_the_rest_of_another_release_is_not_used_as_a_part_of_this_one():
    for left in (b"", b"x", b"x" * 1000, b"x" * 100000):
        with Folder() as folder:
            unit = _Unit(folder)
            unit.board.write("b.code", left)
            assert unit.send() == len(_code_of()) and unit.update.stage == STAGED
            unit.start()
            unit.start()
            unit.board.write("b.code", left)  # under the same list
            unit.send()
            if unit.update.stage == REFUSED:
                unit.send()
            assert unit.update.stage == STAGED and unit.start() == "b"


def test_another_release_replaces_one_that_is_incomplete_or_staged():
    others = {"sabot_firmware/main.mpy": b"other", "sabot_firmware/more/deep.mpy": b"x" * 900}
    for most in (3, _MOST_STEPS):
        with Folder() as folder:
            unit = _Unit(folder)
            unit.send_head(_manifest())
            unit.send_code(most=most)
            assert unit.send(_manifest(others), others) == 905
            assert unit.update.stage == STAGED
            found = unit.board.modules("b", unit.kept().lists["b"])
            assert sorted(found) == ["/" + path for path in sorted(others)]
            assert unit.start() == "b"


def test_a_release_that_is_refused_leaves_the_one_that_is_staged():
    with Folder() as folder:
        unit = _Unit(folder)
        unit.send()
        unit.send_head(_manifest(version="0.0.1"))
        assert unit.update.stage == REFUSED
        assert unit.start() == "b"


class _FullFile:
    def write(self, data):
        raise OSError(28)

    def close(self):
        pass


def test_a_full_flash_is_reported_and_leaves_what_runs():
    with Folder() as folder:
        unit = _Unit(folder)
        unit.send_head(_manifest())
        assert unit.update.stage == CODE
        unit.update._file.close()
        unit.update._file = _FullFile()
        assert not unit.update.take(0, _code_of()[:4])
        assert (unit.update.stage, unit.update.refusal) == (REFUSED, "bad_flash")
        assert unit.start() == "a"


def test_a_staged_release_stays_staged_after_a_start_without_the_boot_loader():
    with Folder() as folder:
        unit = _Unit(folder)
        unit.send()
        assert Update(unit.board.root, "a", _PUBLIC, "none").stage == STAGED
