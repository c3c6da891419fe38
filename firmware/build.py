"""The hash of what runs: every file of firmware/ and protocol/ on this board."""

import hashlib
import os

_DIRECTORY = 0x4000
_NOT_OF_THE_SHOE = ("tests", "bench", "__pycache__")  # bench/ runs on the test bench's own board


def build_hash(root: str, chunk: bytearray) -> bytes:
    """SHA-256 over the paths and contents of the code below `root`, in the order of the paths.

    Files are read into `chunk`, the larger the faster: a read costs as much as 200 bytes do.
    """
    digest = hashlib.sha256()
    view = memoryview(chunk)
    paths: "list[str]" = []
    _collect(root, "firmware", paths)
    _collect(root, "protocol", paths)
    paths.sort()
    for path in paths:
        digest.update(path.encode())
        digest.update(b"\0")
        with open(root + "/" + path, "rb") as file:
            while True:
                size = file.readinto(chunk)
                if not size:
                    break
                digest.update(view[:size])
        digest.update(b"\0")
    return digest.digest()


def _collect(root: str, folder: str, paths: "list[str]") -> None:
    for entry in os.ilistdir(root + "/" + folder):  # type: ignore[attr-defined]
        name, kind = entry[0], entry[1]
        path = folder + "/" + name
        if kind == _DIRECTORY:
            if name not in _NOT_OF_THE_SHOE:
                _collect(root, path, paths)
        elif name.endswith(".py") or name.endswith(".mpy"):
            paths.append(path)
