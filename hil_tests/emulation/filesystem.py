"""What is on a Pico's own file system: the firmware, compiled, and the documents of a unit."""

import hashlib
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import cbor2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from littlefs import LittleFS, UserContext

from hil_tests.emulation.package import cache
from sabot import signing
from sabot.documents import document
from sabot.release import modules
from sabot.release.layout import contents

BEGIN = 0xA0000
"""Where MicroPython v1.28 for the Pico has its file system in the flash."""

BLOCK = 4096
BLOCKS = 352
SIZE = BLOCK * BLOCKS
"""All of its area: MicroPython's start formats an area that a file system does not fill."""

HOUSE = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"emulated units' house").digest())
"""Signs what the units here run. No secret: nothing else has it."""

_PAGE = 256
_DISK_VERSION = 0x00020000
_BENCH_STARTER = b"from firmware.bench.main import main\n\nmain()\n"


def image(files: Mapping[str, bytes]) -> bytes:
    """A file system with these files, by path; SIZE bytes."""
    context = UserContext(buffsize=SIZE)
    system = LittleFS(
        context=context,
        block_size=BLOCK,
        block_count=BLOCKS,
        prog_size=_PAGE,
        disk_version=_DISK_VERSION,
    )
    for path in sorted(files):
        folder = path.rpartition("/")[0]
        if folder:
            system.makedirs(folder, exist_ok=True)
        with system.open(path, "wb") as file:
            file.write(files[path])
    system.unmount()
    return bytes(context.buffer)


def shoe_files(documents: Mapping[str, object]) -> dict[str, bytes]:
    """The files of a unit that was flashed, and its documents by name."""
    files = contents(compiled_firmware(), signing.public_of(HOUSE))
    for name, content in documents.items():
        files[f"state/{name}.cbor"] = document(content)
    return files


def bench_files() -> dict[str, bytes]:
    """The files of a bench board: its firmware, and what starts it; those of hil_tests/wiring."""
    return _kept("bench", modules.bench_modules) | {"main.py": _BENCH_STARTER}


def compiled_firmware() -> dict[str, bytes]:
    """What a Pico in a shoe runs, by its path there."""
    return _kept("shoe", lambda: modules.modules_of("pico"))


def _kept(what: str, compiled: Callable[[], dict[str, bytes]]) -> dict[str, bytes]:
    """Kept between runs under a name that depends on all of the sources."""
    digest = hashlib.sha256(what.encode())
    for path, source in modules.sources().items():
        digest.update(f"{path} {len(source)}\n".encode() + source)
    file = cache() / f"mpy-{digest.hexdigest()[:32]}.cbor"
    if not file.exists():
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as unfinished:
            unfinished.write(cbor2.dumps(compiled()))
        Path(unfinished.name).rename(file)  # another run may do the same now
    found: dict[str, bytes] = cbor2.loads(file.read_bytes())
    return found
