"""A folder with the slots of a board, and what is in them."""

import binascii
import hashlib
import os

from sabot_firmware.release import boot

try:
    import vfs
except ImportError:
    vfs = None


FILES = {
    "sabot_firmware/__init__.mpy": b"",
    "sabot_firmware/main.mpy": b"M\x06main" * 1000,  # more than is read at once
    "sabot_firmware/boards/pico/board.mpy": b"board",
    "sabot_protocol/cbor.mpy": b"cbor",
}
LISTS = {"a": "1" * 64, "b": "2" * 64}


def hex_of(data):
    return binascii.hexlify(hashlib.sha256(data).digest()).decode()


class SlotBoard:
    """A folder with slots in it, as on a board."""

    def __init__(self, root):
        self.root = root
        os.mkdir(root + "/state")

    def fill(self, slot, files=FILES):
        """Put modules and their list into a slot; return the hash of the list."""
        code = lines = b""
        for path in sorted(files):
            code += files[path]
            lines += ("%s %d %s\n" % (hex_of(files[path]), len(files[path]), path)).encode()
        self.write(slot + boot.CODE, code)
        self.write(slot + boot.LIST, lines)
        return hex_of(lines)

    def write(self, path, data):
        with open(self.root + "/" + path, "wb") as file:
            file.write(data)

    def modules(self, slot, digest):
        return boot.modules(self.root + "/" + slot, digest)
