"""A release: the firmware of a board as bytecode, what the manifest says of it, and the signature.

The same sources and the same key give the same bytes, wherever and whenever that is.
"""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import cbor2

import sabot_firmware
import sabot_protocol
from sabot.errors import ReleaseUnusable, did_you_mean
from sabot.keys import signing
from sabot.release.modules import ARCHITECTURES, modules_of
from sabot_firmware.journal import ring
from sabot_protocol import release

_FILE_MODE, _FOLDER_MODE = 0o644, 0o755


@dataclass(frozen=True, slots=True)
class Release:
    """`files` by their paths on the board; `signature` is over `manifest`."""

    manifest: bytes
    signature: bytes
    files: Mapping[str, bytes]


def build(board: str, private: signing.PrivateKey, *, may_go_back: bool = False) -> Release:
    """The release of this firmware for `board`. Raises ReleaseUnusable for one that is unknown or a
    module that does not compile.

    With `may_go_back` shoes take it in place of a newer one.
    """
    if board not in ARCHITECTURES:
        raise ReleaseUnusable(f"no board {board}; {did_you_mean(board, ARCHITECTURES)}")
    try:
        files = modules_of(board)
    except ValueError as error:
        raise ReleaseUnusable(f"{error}; mend it and build again") from None
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
    release.Manifest(manifest)  # a shoe would not take what this does not
    return Release(manifest, signing.sign(private, release.signed(manifest)), files)


def load(folder: Path) -> Release:
    """The release in `folder`, which is whole and as its manifest says. Whose signature it has is
    for the shoe to find. Raises ReleaseUnusable.
    """
    manifest = _read(folder / release.MANIFEST, release.MAX_MANIFEST)
    signature = _read(folder / release.SIGNATURE, signing.SIGNATURE_SIZE)
    try:
        said = release.Manifest(manifest)
    except release.ReleaseError as error:
        raise ReleaseUnusable(f"{folder}: no release ({error}); build it again") from None
    if len(signature) != signing.SIGNATURE_SIZE:
        raise ReleaseUnusable(f"{folder}: its signature is cut off; build it again")
    files = {}
    for path, size, digest in said.files:
        files[path] = _read(folder / path, size)
        if sha256(files[path]).digest() != digest:
            raise ReleaseUnusable(f"{folder}: {path} is damaged; build it again")
    return Release(manifest, signature, files)


def _read(file: Path, size: int) -> bytes:
    """What is in a file; where it is more than `size` bytes, one more than that."""
    try:
        with file.open("rb") as stream:
            return stream.read(size + 1)
    except OSError as error:
        raise ReleaseUnusable(
            f"{file}: cannot be read ({error.strerror}); name a folder that `sabot build` has made"
        ) from None


def check_free(folder: Path) -> None:
    """Raise ReleaseUnusable where a release would overwrite something."""
    if folder.exists():
        raise ReleaseUnusable(
            f"{folder}: is there already and is not overwritten; name another folder with -o"
        )


def save(built: Release, folder: Path) -> None:
    """Write a release into a new folder: there whole, or not at all, after an error and Ctrl-C.

    Raises ReleaseUnusable where the folder is there already or cannot be written.
    """
    contents = {
        release.MANIFEST: built.manifest,
        release.SIGNATURE: built.signature,
        **built.files,
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
