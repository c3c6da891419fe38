"""Runs the portable tests of firmware/ and protocol/ under real MicroPython.

A test module is portable unless its name ends in `_cpython`; portable ones import nothing
that MicroPython lacks, so pytest runs them directly and this module runs them under MicroPython.
"""

import subprocess
from pathlib import Path

import pytest

from sabot.sim.process import HEAP_BYTES, environment, interpreter

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).resolve().parents[2]
# What a test module and its helpers take, which no board has in its heap: 16 KB. The sources have
# their long names here, which a release has not (docs/decisions/short-names.md): 32 KB.
_TEST_BYTES = 48_000
# What waits to be collected: run.py has garbage collected after every 64 KB. After every 16 KB the
# tests take a third longer.
_GARBAGE_BYTES = 48 << 10


def _portable() -> list[str]:
    folders = ("protocol/tests", "firmware/tests")
    found = [path for folder in folders for path in _ROOT.glob(f"{folder}/**/test_*.py")]
    names = [".".join(path.relative_to(_ROOT).with_suffix("").parts) for path in found]
    return sorted(name for name in names if not name.endswith("_cpython"))


@pytest.mark.parametrize("module", _portable())
def test_passes_under_micropython_with_the_heap_of_the_board(module: str) -> None:
    run = subprocess.run(
        [
            *interpreter(HEAP_BYTES + _TEST_BYTES + _GARBAGE_BYTES),
            "-m",
            "firmware.tests.run",
            module,
        ],
        cwd=_ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert " 0 failed" in run.stdout and not run.stdout.startswith("0 passed")
