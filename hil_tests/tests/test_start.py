"""What pytest imports before a test: counted, because a time says less on a busy machine."""

import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_SHOWN = "imported:"
_TEST = f"""
import atexit
import sys

atexit.register(lambda: print("{_SHOWN}", *sys.modules))

def test_nothing():
    pass
"""
_MOST = 430
"""Of 384; it was 806 when each conftest imported what a few of its tests need."""
_NEEDED_BY_FEW = {"anyio", "hypothesis", "numpy", "psycopg", "sabot.link.events", "sabot.log.store"}


def test_pytest_imports_little_for_a_test_that_needs_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text(_TEST)
    options = ["-c", "pyproject.toml", "-p", "no:cacheprovider", "-p", "host.tests.conftest"]
    command = [sys.executable, "-m", "pytest", *options, "-s", str(tmp_path)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = done.stdout.rpartition(_SHOWN)[2].split()
    assert not _NEEDED_BY_FEW & {*found}
    assert len(found) <= _MOST


def test_every_test_that_uses_hypothesis_has_it_without_clocks() -> None:
    rooms = ("protocol", "firmware", "host", "hil_tests")
    texts = {
        path.name: path.read_text()
        for room in rooms
        for path in (_ROOT / room / "tests").rglob("test_*.py")
    }
    using = {name for name, text in texts.items() if "\nfrom hypothesis" in text}
    assert len(using) > 5
    assert {name for name in using if "tests.without_clocks" not in texts[name]} == set()
