"""A release: the firmware of a board as bytecode, with a manifest and a signature, and beside them
what it consists of and from what it was built (origin.py).

The same sources and the same key always give the same bytes, on any machine.
"""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import cbor2

import sabot_firmware
import sabot_protocol
from sabot.errors import ReleaseUnusable, did_you_mean
from sabot.keys import signing
from sabot.release import origin
from sabot.release.compiling.modules import ARCHITECTURES, modules_of, sources_of
from sabot_firmware.journal import ring
from sabot_protocol import release

_FILE_MODE, _FOLDER_MODE = 0o644, 0o755


@dataclass(frozen=True, slots=True)
class Release:
    """A release: `files` by their paths on the board, and the `signature` over the `manifest`."""

    manifest: bytes
    signature: bytes
    files: Mapping[str, bytes]
    beside: Mapping[str, bytes] = field(default_factory=dict)
    """The files of `origin.NAMES` that it has, by name."""


def build(board: str, private: signing.PrivateKey, *, may_go_back: bool = False) -> Release:
    """Build the release of this firmware for `board`, signed with `private`.

    With `may_go_back`, shoes also take it in place of a newer release. Raises ReleaseUnusable if
    the board is unknown or a module does not compile.
    """
    if board not in ARCHITECTURES:
        raise ReleaseUnusable(f"unknown board {board}; {did_you_mean(board, ARCHITECTURES)}")
    try:
        files = modules_of(board)
    except ValueError as error:
        raise ReleaseUnusable(f"{error}; fix it and build again") from None
    fields = {
        "release": release.MANIFEST_VERSION,
        "version": sabot_firmware.VERSION,
        "board": board,
        "protocol": sabot_protocol.VERSION,
        "journal": ring.VERSION,
        "micropython": sabot_firmware.MICROPYTHON,
        "may_go_back": may_go_back,
        "files": [[path, len(data), sha256(data).digest()] for path, data in sorted(files.items())],
    }
    manifest = cbor2.dumps(fields, canonical=True)
    release.Manifest(manifest)  # checks it as a shoe does
    signature = signing.sign(private, release.signed(manifest))
    return Release(manifest, signature, files, origin.made(manifest, sources_of(board), private))


def load(folder: Path) -> Release:
    """Read the release in `folder` and check it against its manifest. Raises ReleaseUnusable.

    The signature is not checked here: the shoe does that. Nor is what is beside it: `origin.faults`
    does that.
    """
    manifest = _read(folder / release.MANIFEST, release.MAX_MANIFEST)
    signature = _read(folder / release.SIGNATURE, signing.SIGNATURE_SIZE)
    try:
        listed = release.Manifest(manifest)
    except release.ReleaseError as error:
        raise ReleaseUnusable(f"{folder}: not a release ({error}); build it again") from None
    if len(signature) != signing.SIGNATURE_SIZE:
        raise ReleaseUnusable(f"{folder}: its signature is cut off; build it again")
    files = {}
    for path, size, digest in listed.files:
        files[path] = _read(folder / path, size)
        if sha256(files[path]).digest() != digest:
            raise ReleaseUnusable(f"{folder}: {path} is damaged; build it again")
    beside = {
        name: _read(folder / name, origin.MOST_BYTES)
        for name in origin.NAMES
        if (folder / name).exists()
    }
    return Release(manifest, signature, files, beside)


def _read(file: Path, size: int) -> bytes:
    """Read a file, at most one byte more than `size`."""
    try:
        with file.open("rb") as stream:
            return stream.read(size + 1)
    except OSError as error:
        raise ReleaseUnusable(
            f"{file}: cannot be read ({error.strerror}); name a folder that `sabot build` has made"
        ) from None


def check_free(folder: Path) -> None:
    """Raise ReleaseUnusable if `folder` exists: a release overwrites nothing."""
    if folder.exists():
        raise ReleaseUnusable(
            f"{folder}: exists already and is not overwritten; name another folder with -o"
        )


def save(built: Release, folder: Path) -> None:
    """Write a release to a new folder. After an error or Ctrl-C the folder does not exist.

    Raises ReleaseUnusable if the folder exists already or cannot be written.
    """
    contents = {
        release.MANIFEST: built.manifest,
        release.SIGNATURE: built.signature,
        **built.files,
        **built.beside,
    }
    check_free(folder)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
            draft = Path(temporary) / folder.name
            draft.mkdir(_FOLDER_MODE)
            for path, data in contents.items():
                _write(draft, path, data)
            _sync(draft)
            draft.rename(folder)
            _sync(folder.parent)
    except OSError as error:
        raise ReleaseUnusable(
            f"{folder}: cannot be written ({error.strerror}); name another folder with -o"
        ) from None


def _write(root: Path, path: str, data: bytes) -> None:
    file = root / path
    file.parent.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
    with file.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    file.chmod(_FILE_MODE)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
