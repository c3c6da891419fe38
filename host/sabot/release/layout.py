"""What a release is on the file system of a board that had none before: the boot loader, the
release in the first slot and once more as the rescue, and the boot loader's state.
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

micropython.kbd_intr(3)  # behind it is a prompt, in a debug session
"""
"""The file that MicroPython runs at its own start. 8 s is what the watchdog of an RP2040 can."""

_FIRST = boot.SLOTS[0]
_BOOT = "sabot_firmware/release/boot.mpy"


def build_of(files: Mapping[str, bytes]) -> bytes:
    """The `build` that a shoe tells once it runs these modules (protocol/README.md, Releases)."""
    return sha256(_list(files)).digest()


def slot_files(name: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """A slot that holds these modules."""
    code = b"".join(data for _, data in sorted(files.items()))
    return {name + boot.CODE: code, name + boot.LIST: _list(files)}


def flashed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """What flashing puts on a board that is to run these modules. Raises KeyError where these have
    no boot loader."""
    lists = dict.fromkeys(boot.SLOTS, boot.EMPTY) | {_FIRST: build_of(files).hex()}
    return {
        "main.py": STARTER,
        "boot.mpy": files[_BOOT],
        **slot_files(_FIRST, files),
        **slot_files(boot.RESCUE, files),
        boot.STATE[1:]: boot.State(_FIRST, boot.NOTHING, lists).line().encode(),
    }


def contents(files: Mapping[str, bytes], public: bytes) -> dict[str, bytes]:
    """The same, and whose releases the board takes: those that the owner of `public` has signed.
    That is put there when a unit is provisioned."""
    return flashed(files) | {"state/release_key.cbor": document(public)}


def _list(files: Mapping[str, bytes]) -> bytes:
    return b"".join(
        f"{sha256(data).hexdigest()} {len(data)} {path}\n".encode()
        for path, data in sorted(files.items())
    )
