"""The processes that check for a notary."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).resolve().parents[3]
_NOTARY = """
import multiprocessing, os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from sabot.centre.checks import checkers

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(1, context, checkers._begin, (Path("none"), None))
    print(pool.submit(os.getpid).result(), flush=True)
    input()
"""
_PATIENCE_S = 60.0


def test_they_end_when_the_notary_is_killed(tmp_path: Path) -> None:
    """They have the keys of the units in memory."""
    script = tmp_path / "notary.py"
    script.write_text(_NOTARY)
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_ROOT
    ) as notary:
        assert notary.stdout is not None
        worker = int(notary.stdout.readline())
        os.kill(worker, 0)
        notary.kill()
    deadline_s = time.monotonic() + _PATIENCE_S
    while _runs(worker):
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    """Whether a process runs; not one that has ended and that no one has asked for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
