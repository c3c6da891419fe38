"""The manifest of a release, as the builder and the shoe read it.

A release is a folder with `manifest.cbor`, `manifest.sig` and the files that the manifest names.
"""

import binascii
import hashlib

from sabot_protocol import cbor

MANIFEST = "manifest.cbor"
SIGNATURE = "manifest.sig"
"""64 bytes: Ed25519 over the result of `signed`."""

MANIFEST_VERSION = 1
MAX_MANIFEST = 8192
"""Bytes of the largest manifest."""
MAX_FILES = 96
MAX_FILE = 65536
MAX_TOTAL = 400000
"""The most bytes of all files. It is the size of a slot; a Pico's file system holds two slots and
the other files."""
MAX_PATH = 48
MAX_LIST = MAX_FILES * 128
"""The most bytes of all lines of `Manifest.line`."""

START = "sabot_firmware/main.mpy"
"""The file of a release that is run."""

_SIGNED = b"sabot release 1"
_FOLDERS = ("sabot_firmware", "sabot_protocol")
_SUFFIX = ".mpy"
_DIGEST_SIZE = 32
_FIELDS = (
    ("release", int),
    ("version", str),
    ("board", str),
    ("protocol", int),
    ("journal", int),
    ("micropython", str),
    ("may_go_back", bool),
    ("files", list),
)
_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_"


class ReleaseError(ValueError):
    """The bytes are not a manifest, or not a manifest of this version."""


class Manifest:
    """The checked fields of a manifest. Raises ReleaseError, which says what is wrong."""

    def __init__(self, data: "bytes | memoryview") -> None:
        if len(data) > MAX_MANIFEST:
            raise ReleaseError("manifest of more than %d bytes" % MAX_MANIFEST)
        try:
            fields = cbor.decode(data, 0, len(data))
        except cbor.CborError as error:
            raise ReleaseError("manifest is not CBOR: " + str(error))
        if not isinstance(fields, dict) or len(fields) != len(_FIELDS):
            raise ReleaseError("manifest has other fields")
        for name, kind in _FIELDS:
            if type(fields.get(name)) is not kind:
                raise ReleaseError("manifest." + name)
        if fields["release"] != MANIFEST_VERSION:
            raise ReleaseError("manifest of version %d" % fields["release"])
        self.version: str = fields["version"]
        """Version of the firmware, as `1.2.3`."""
        self.board: str = fields["board"]
        """Name of the board that it is for."""
        self.protocol: int = fields["protocol"]
        self.journal: int = fields["journal"]
        """Version of the format on the journal's chip."""
        self.micropython: str = fields["micropython"]
        """The oldest MicroPython that it runs on, as `1.28.0`."""
        self.may_go_back: bool = fields["may_go_back"]
        """Whether it may replace a newer release."""
        self.files: "list[tuple[str, int, bytes]]" = []
        """Path, size in bytes and SHA-256 of each file, in the order of the paths."""
        numbers_of(self.version)
        numbers_of(self.micropython)
        self._take_files(fields["files"])

    def line(self, number: int) -> bytes:
        """Return the line `SHA-256 size path` of the file `number`, as in a slot's list
        (sabot_firmware/release/boot.py). The SHA-256 of all lines is the `build` of the release."""
        path, size, digest = self.files[number]
        return ("%s %d %s\n" % (_hex(digest), size, path)).encode()

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum([size for _, size, _ in self.files])

    def _take_files(self, files: "list[object]") -> None:
        if len(files) > MAX_FILES:
            raise ReleaseError("more than %d files" % MAX_FILES)
        before = ""
        for entry in files:
            if not isinstance(entry, list) or len(entry) != 3:
                raise ReleaseError("manifest.files")
            path, size, digest = entry
            if not isinstance(path, str) or not _is_path(path):
                raise ReleaseError("a file is not a module")
            if path <= before:
                raise ReleaseError(path + " is out of order")
            if type(size) is not int or not 0 < size <= MAX_FILE:
                raise ReleaseError(path + " has no size")
            if not isinstance(digest, bytes) or len(digest) != _DIGEST_SIZE:
                raise ReleaseError(path + " has no SHA-256")
            before = path
            self.files.append((path, size, digest))
        if self.size > MAX_TOTAL:
            raise ReleaseError("files have more than %d bytes" % MAX_TOTAL)
        if not [path for path, _, _ in self.files if path == START]:
            raise ReleaseError("no " + START)


def _hex(digest: bytes) -> str:
    return binascii.hexlify(digest).decode()


def signed(manifest: "bytes | memoryview") -> bytes:
    """Return the message that the signature of a release covers, from the bytes of its manifest.

    It has 47 bytes: with the 64 before them they fit into one block of SHA-512, which takes 40 ms
    on a Pico.
    """
    return _SIGNED + hashlib.sha256(manifest).digest()


def numbers_of(version: str) -> "tuple[int, ...]":
    """Return the three numbers of a version such as `1.2.3`, to compare. Raises ReleaseError."""
    parts = version.split(".")
    for part in parts:
        if not 0 < len(part) < 5 or [digit for digit in part if digit not in "0123456789"]:
            raise ReleaseError("not a version: " + version[:MAX_PATH])
    if len(parts) != 3:
        raise ReleaseError("not a version: " + version[:MAX_PATH])
    return tuple([int(part) for part in parts])


def refusal(manifest: Manifest, board: str, micropython: str, running: str) -> "tuple[str, str]":
    """Return why a shoe on `board`, with this MicroPython and the firmware `running`, must refuse a
    release: one of `enums.REFUSALS`, and the property of the shoe that does not fit. The signature
    is not checked here.
    """
    if manifest.board != board:
        return "bad_board", board
    if numbers_of(micropython) < numbers_of(manifest.micropython):
        return "old_python", micropython
    if not manifest.may_go_back and numbers_of(manifest.version) < numbers_of(running):
        return "older", running
    return "none", ""


def _is_path(path: str) -> bool:
    if len(path) > MAX_PATH or not path.endswith(_SUFFIX):
        return False
    parts = path[: -len(_SUFFIX)].split("/")
    if len(parts) < 2 or parts[0] not in _FOLDERS:
        return False
    for part in parts:
        if not part or [letter for letter in part if letter not in _NAME]:
            return False
    return True
