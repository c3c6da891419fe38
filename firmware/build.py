"""The hash of what runs, where the boot loader has not just found it: over firmware/ and protocol/
as they are, as over the list of a slot.
"""

import hashlib
import os
from binascii import hexlify

from firmware import boot

_NOT_OF_THE_SHOE = ("tests", "bench", "__pycache__")  # bench/ runs on the test bench's own board
_SIZE = 6  # in what os.stat gives


def build_hash(root: str, chunk: bytearray) -> bytes:
    """SHA-256 of the list (boot.LIST) of the code below `root`. Files are read into `chunk`."""
    paths: "list[str]" = []
    _collect(root, "firmware", paths)
    _collect(root, "protocol", paths)
    paths.sort()
    whole = hashlib.sha256()
    for path in paths:
        size = os.stat(root + "/" + path)[_SIZE]
        with open(root + "/" + path, "rb") as file:
            digest = hexlify(boot.sha256_of(file, size, chunk).digest()).decode()
        whole.update(("%s %d %s\n" % (digest, size, path)).encode())
    return whole.digest()


def _collect(root: str, folder: str, paths: "list[str]") -> None:
    for name in os.listdir(root + "/" + folder):
        path = folder + "/" + name
        if "." not in name:
            if name not in _NOT_OF_THE_SHOE:
                _collect(root, path, paths)
        elif name.endswith(".py") or name.endswith(".mpy"):
            paths.append(path)
