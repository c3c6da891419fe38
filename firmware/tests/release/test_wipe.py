"""What removed files have left in a file system is overwritten, and the other files stay."""

import os
import random

from protocol.tests.helpers import random_bytes, seed_random
from sabot_firmware.release import wipe as wipe_module
from sabot_firmware.release.wipe import wipe

try:
    import vfs
except ImportError:
    vfs = None

_BLOCK = 4096
_BLOCKS = 24
_ERASED = b"\xff" * _BLOCK
_PROGRAMMED = (256, 32)
"""Bytes that littlefs programs at once, on a Pico and on the simulated board."""
_PATH = "/wipe-test"
_COUNT, _SIZE, _ERASE = 4, 5, 6  # requests of MicroPython's block devices


class _Gone(Exception):
    """A loss of power."""


class _Blocks:
    """A flash in memory that loses its power before a given operation."""

    def __init__(self, blocks=None):
        self.blocks = [bytearray(_ERASED) for _ in range(_BLOCKS)] if blocks is None else blocks
        self.left = -1

    def holds(self, secret):
        return any([block.find(secret) >= 0 for block in self.blocks])

    def after_the_cut(self):
        """Return the flash with new power. MicroPython closes the files that were open when it
        collects garbage: that must not reach it."""
        blocks, self.blocks = self.blocks, []
        return _Blocks(blocks)

    def readblocks(self, block, buf, offset=0):
        if not self.blocks:
            return
        buf[:] = memoryview(self.blocks[block])[offset : offset + len(buf)]

    def writeblocks(self, block, buf, offset=0):
        self._operation()
        if self.blocks:
            self.blocks[block][offset : offset + len(buf)] = buf

    def ioctl(self, request, argument):
        if request == _ERASE:
            self._operation()
            if self.blocks:
                self.blocks[argument][:] = _ERASED
        return {_COUNT: _BLOCKS, _SIZE: _BLOCK}.get(request, 0)

    def _operation(self):
        if not self.blocks:
            return
        if not self.left:
            raise _Gone
        self.left -= 1


class _Mounted:
    """A file system on a flash in memory, as on a Pico or on the simulated board."""

    def __init__(self, progsize, blocks=None):
        self._progsize = progsize
        if blocks is None:
            blocks = _Blocks()
            vfs.VfsLfs2.mkfs(blocks, progsize=progsize)
        self.blocks = blocks

    def __enter__(self):
        vfs.mount(vfs.VfsLfs2(self.blocks, progsize=self._progsize), _PATH)
        return self

    def __exit__(self, kind, error, trace):
        vfs.umount(_PATH)


def _write(name, data):
    with open(_PATH + "/" + name, "wb") as file:
        file.write(data)


def _read(name):
    with open(_PATH + "/" + name, "rb") as file:
        return file.read()


def _leave(secret):
    """Write files with a secret, many times, and remove them; return files that stay, as small as
    those of a unit."""
    stays = {}
    os.mkdir(_PATH + "/state")
    for n in range(random.randrange(30, 60)):
        name = "state/" + str(random.randrange(4))
        _write(name, secret * random.choice((1, 2, 3, 60, 150)))
        if n % 6 == 0:
            stays["state/kept" + str(n)] = random_bytes(random.choice((20, 40, 100, 1000)))
            _write("state/kept" + str(n), stays["state/kept" + str(n)])
    for name in os.listdir(_PATH + "/state"):
        if not name.startswith("kept"):
            os.remove(_PATH + "/state/" + name)
    return stays


def _check(stays):
    assert sorted(os.listdir(_PATH + "/state")) == sorted([name[6:] for name in stays])
    for name in stays:
        assert _read(name) == stays[name]


def test_nothing_of_removed_files_is_left_and_the_others_stay():
    if vfs is None:
        return
    seed_random()
    for progsize in _PROGRAMMED * 6:
        with _Mounted(progsize) as mounted:
            secret = random_bytes(32)
            stays = _leave(secret)
            assert mounted.blocks.holds(secret), "else the test shows nothing"
            free = os.statvfs(_PATH)[3]
            wipe(_PATH + "/state")
            assert not mounted.blocks.holds(secret)
            assert os.statvfs(_PATH)[3] >= free - 2, "other files may be moved"
            _check(stays)


class _Endless:
    """A folder on a computer's disk, which never is full, in place of `open` and `os`."""

    def __init__(self) -> None:
        self.size = 0
        self.removed = []
        self.remove = self.removed.append

    def __call__(self, name, mode):
        self.size = 0
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def write(self, data):
        self.size += len(data)


def test_a_disk_that_never_is_full_gets_no_more_than_a_board_s_flash_has():
    folder = _Endless()
    wipe_module.open, whole = folder, wipe_module.os
    wipe_module.os = folder
    try:
        wipe("/somewhere")
    finally:
        del wipe_module.open
        wipe_module.os = whole
    assert 16 << 20 <= folder.size < 32 << 20 and folder.removed == ["/somewhere/wiped"]


def test_after_a_loss_of_power_there_is_room_and_the_next_one_completes_it():
    if vfs is None:
        return
    seed_random()
    for progsize in _PROGRAMMED:
        _cut_and_complete(progsize)


def _cut_and_complete(progsize):
    with _Mounted(progsize) as mounted:
        secret = random_bytes(32)
        stays = _leave(secret)
        free = os.statvfs(_PATH)[3]
    blocks = mounted.blocks
    before = [bytes(block) for block in blocks.blocks]
    for _ in range(20):
        for number in range(_BLOCKS):
            blocks.blocks[number][:] = before[number]
        blocks.left = random.choice((random.randrange(100), random.randrange(800)))
        try:
            with _Mounted(progsize, blocks):
                wipe(_PATH + "/state")
        except _Gone:
            pass
        blocks = blocks.after_the_cut()
        with _Mounted(progsize, blocks):
            assert os.statvfs(_PATH)[3] >= free - 2
            wipe(_PATH + "/state")
            assert not blocks.holds(secret)
            _check(stays)
