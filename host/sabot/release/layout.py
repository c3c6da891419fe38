"""The files of a release on a new board: the boot loader, the release in the first slot and again
in the rescue slot, and the boot loader's state.
"""

from collections.abc import Mapping
from hashlib import sha256

from sabot.release.documents import document
from sabot_firmware.release import boot

STARTER = b"""\
import micropython

micropython.kbd_intr(-1)  # before all else: a host may be talking, and byte 3 would end the start

import machine
import vfs
from boot import start

start("", vfs.mount, machine.reset, lambda: machine.WDT(timeout=8000).feed)

micropython.kbd_intr(3)  # a prompt follows, in a debug session
"""
"""The file that MicroPython runs at its start. 8 s is about the longest watchdog of an RP2040."""

_FIRST = boot.SLOTS[0]
_BOOT = "sabot_firmware/release/boot.mpy"


def build_of(files: Mapping[str, bytes]) -> bytes:
    """Return the `build` that a shoe reports when it runs these modules (protocol/README.md,
    Releases)."""
    return sha256(_list(files)).digest()


def slot_files(name: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of the slot `name` that holds these modules."""
    code = b"".join(data for _, data in sorted(files.items()))
    return {name + boot.CODE: code, name + boot.LIST: _list(files)}


def flashed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return all files that flashing puts on a board to run these modules.

    Raises KeyError if the boot loader is not among them.
    """
    lists = dict.fromkeys(boot.SLOTS, boot.EMPTY) | {_FIRST: build_of(files).hex()}
    return {
        "main.py": STARTER,
        "boot.mpy": files[_BOOT],
        **slot_files(_FIRST, files),
        **slot_files(boot.RESCUE, files),
        boot.STATE[1:]: boot.State(_FIRST, boot.NOTHING, lists).line().encode(),
    }


def contents(files: Mapping[str, bytes], public: bytes) -> dict[str, bytes]:
    """Return the files of `flashed` and the release key: the board takes releases signed by the
    owner of `public`. On a real board, provisioning writes that key."""
    return flashed(files) | {"state/release_key.cbor": document(public)}


def _list(files: Mapping[str, bytes]) -> bytes:
    return b"".join(
        f"{sha256(data).hexdigest()} {len(data)} {path}\n".encode()
        for path, data in sorted(files.items())
    )
