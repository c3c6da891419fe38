"""A full disk and a wrong clock for one program and what it starts, without rights of any kind.

A small library, compiled from `hardship.c`, is loaded before the program's own: once its files have
grown by a number of bytes they grow no more, and writes fail with ENOSPC as on a full disk; and its
clock is off. Both can be changed while the program runs. Where there is no C compiler there is no
library, and these faults have to be left out.
"""

import hashlib
import mmap
import os
import shlex
import shutil
import struct
import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from sabot_hil.kit.cache import cache

_SOURCE = Path(__file__).with_name("hardship.c")
_LAYOUT = "<qq"  # room in bytes, clock's error in ms
_ANY = -1
_OPTIONS = ("-O2", "-shared", "-fPIC")
_TIMEOUT_S = 60.0


class Hardship:
    """The disk and the clock of the programs that were started with `environment`."""

    def __init__(self, folder: Path, library: Path) -> None:
        """Put the control file into `folder`, where every user can reach and change it."""
        self._path = folder / "hardship"
        self._library = library
        self._path.write_bytes(struct.pack(_LAYOUT, _ANY, 0))
        self._path.chmod(0o666)
        with self._path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), struct.calcsize(_LAYOUT))

    @property
    def environment(self) -> Mapping[str, str]:
        """What a program needs in its environment."""
        return {"LD_PRELOAD": str(self._library), "SABOT_HARDSHIP": str(self._path)}

    def fill_disk(self, after_bytes: int) -> None:
        """From now on files can grow by this many bytes, and then no more."""
        self._put(0, after_bytes)

    def room_bytes(self) -> int | None:
        """By how many bytes files can still grow; None: any number."""
        (room,) = struct.unpack_from("<q", self._shared, 0)
        return None if room < 0 else int(room)

    def free_disk(self) -> None:
        """The disk has room again."""
        self._put(0, _ANY)

    def set_clock(self, off_ms: int) -> None:
        """The clock is off by this many milliseconds."""
        self._put(1, off_ms)

    def _put(self, place: int, value: int) -> None:
        struct.pack_into("<q", self._shared, 8 * place, value)


def library() -> Path | None:
    """The compiled library, in a folder that every user can read; None without a compiler."""
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    if not shutil.which(compiler[0]):
        compiler = ["cc"]
    if not shutil.which(compiler[0]):
        return None
    name = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    made = cache() / f"hardship-{name}.so"
    if not made.is_file():
        part = made.with_name(f"{made.name}.{os.getpid()}")
        command = [compiler[0], *_OPTIONS, str(_SOURCE), "-o", str(part), "-ldl"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
        assert run.returncode == 0, run.stderr
        part.replace(made)
    return made


def library_in(folder: Path) -> Path | None:
    """A copy of the library in `folder`, for a program of another user."""
    found = library()
    if found is None:
        return None
    return Path(shutil.copy(found, folder / found.name))
