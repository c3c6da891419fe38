"""The hash of the code that runs, computed over a temporary folder."""

import binascii
import hashlib
import os

from firmware.tests.test_store import Folder
from sabot_firmware.release.build import build_hash

_CHUNK = 512

_FILES = {
    "sabot_firmware/__init__.py": b'VERSION = "1"\n',
    "sabot_firmware/shoe.py": b"shoe = 1\n" * 100,  # more than _CHUNK
    "sabot_firmware/boards/sim/board.py": b"board = 1\n",
    "sabot_firmware/native.mpy": b"M\x06\x00\x1f",
    "sabot_protocol/cbor.py": b"",
    "sabot_protocol/deep/er/still.py": b"\0\xff",
}

_NO_CODE = {
    "tests/test_shoe.py": b"pass\n",
    "sabot_firmware/clean.samples": bytes(50),
    "sabot_firmware/boards/__pycache__/more.py": b"1\n",
    "sabot_protocol/__pycache__/cbor.py": b"2\n",
    "sabot_firmware/README.md": b"# Firmware\n",
    "host/client.py": b"3\n",
    "counters.cbor": b"\0",
}


class _Tree:
    """A folder with both packages in it."""

    def __init__(self, folder, files):
        self.root = folder.path
        for path in files:
            self.write(path, files[path])

    def write(self, path, data):
        parts = path.split("/")
        for n in range(1, len(parts)):
            try:
                os.mkdir(self.root + "/" + "/".join(parts[:n]))
            except OSError:  # the folder exists
                pass
        with open(self.root + "/" + path, "wb") as file:
            file.write(data)

    def rename(self, old, new):
        os.rename(self.root + "/" + old, self.root + "/" + new)

    def remove(self, path):
        os.remove(self.root + "/" + path)

    def hash(self):
        packages = [self.root + "/" + name for name in ("sabot_firmware", "sabot_protocol")]
        return build_hash(packages, bytearray(_CHUNK))


def test_the_hash_is_sha_256_over_the_list_of_all_files():
    lines = b""
    for path in sorted(_FILES):
        digest = hashlib.sha256(_FILES[path]).digest()
        size = str(len(_FILES[path])).encode()
        lines += binascii.hexlify(digest) + b" " + size + b" " + path.encode() + b"\n"
    with Folder() as folder:
        assert _Tree(folder, _FILES).hash() == hashlib.sha256(lines).digest()


def test_the_hash_does_not_depend_on_the_order_in_which_files_were_made():
    paths = sorted(_FILES)
    paths.reverse()
    with Folder() as one, Folder() as other:
        hashed = _Tree(one, _FILES).hash()
        tree = _Tree(other, {})
        for path in paths:
            tree.write(path, _FILES[path])
        assert tree.hash() == hashed


def test_any_changed_byte_changes_the_hash():
    with Folder() as folder:
        tree = _Tree(folder, _FILES)
        before = tree.hash()
        for path in _FILES:
            data = _FILES[path]
            for at in (0, len(data) // 2, len(data) - 1):
                if data:
                    changed = bytearray(data)
                    changed[at] ^= 1
                    tree.write(path, changed)
                    assert tree.hash() != before, (path, at)
            for other in (data + b"\0", data + b"x", data[:-1]):
                if other != data:
                    tree.write(path, other)
                    assert tree.hash() != before, (path, len(other))
            tree.write(path, data)
            assert tree.hash() == before


def test_any_changed_name_changes_the_hash():
    with Folder() as folder:
        tree = _Tree(folder, _FILES)
        before = tree.hash()
        for path in _FILES:
            folder_of, _, name = path.rpartition("/")
            renamed = folder_of + "/x" + name
            tree.rename(path, renamed)
            assert tree.hash() != before, path
            tree.rename(renamed, path)
            assert tree.hash() == before


def test_a_file_added_or_removed_changes_the_hash():
    with Folder() as folder:
        tree = _Tree(folder, _FILES)
        before = tree.hash()
        for path in (
            "sabot_firmware/more.py",
            "sabot_protocol/more.mpy",
            "sabot_firmware/boards/pico/board.py",
        ):
            tree.write(path, b"")
            assert tree.hash() != before, path
            tree.remove(path)
        for path in _FILES:
            tree.remove(path)
            assert tree.hash() != before, path
            tree.write(path, _FILES[path])
        assert tree.hash() == before


def test_files_that_do_not_run_are_not_in_the_hash():
    with Folder() as folder:
        tree = _Tree(folder, _FILES)
        before = tree.hash()
        for path in _NO_CODE:
            tree.write(path, _NO_CODE[path])
            assert tree.hash() == before, path
