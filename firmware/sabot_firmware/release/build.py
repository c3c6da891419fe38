"""The hash of the code that runs, for a start without a boot loader: computed from the files of the
two packages, in the form of a slot's list.
"""

import hashlib
import os
from binascii import hexlify

import sabot_firmware
import sabot_protocol
from sabot_firmware.release import boot

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Sequence

_SIZE = 6  # place in the result of os.stat


def build_of_packages(chunk: bytearray) -> bytes:
    """Return the hash of the packages that run. Files are read into `chunk`."""
    packages = (sabot_firmware.__path__, sabot_protocol.__path__)
    return build_hash([_folder_of(path) for path in packages], chunk)


def build_hash(packages: "list[str]", chunk: bytearray) -> bytes:
    """Return the SHA-256 of the list (boot.LIST) of the code in the folders `packages`, in the
    order of their names. Files are read into `chunk`."""
    whole = hashlib.sha256()
    for package in packages:
        at = package.rfind("/") + 1
        root = package[:at]
        paths: "list[str]" = []
        _collect(root, package[at:], paths)
        paths.sort()
        for path in paths:
            size = os.stat(root + path)[_SIZE]
            with open(root + path, "rb") as file:
                digest = hexlify(boot.sha256_of(file, size, chunk).digest()).decode()
            whole.update(("%s %d %s\n" % (digest, size, path)).encode())
    return whole.digest()


def _folder_of(path: "Sequence[str]") -> str:
    return path if isinstance(path, str) else path[0]  # CPython has a list


def _collect(root: str, folder: str, paths: "list[str]") -> None:
    for name in os.listdir(root + folder):
        path = folder + "/" + name
        if "." not in name:
            if name != "__pycache__":
                _collect(root, path, paths)
        elif name.endswith(".py") or name.endswith(".mpy"):
            paths.append(path)
