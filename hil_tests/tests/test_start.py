"""What pytest imports before a test: counted, because a time says less on a busy machine."""

import subprocess
import sys
from pathlib import Path

import pytest

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


def _printed_by(folder: Path, test: str, *begin: str, room: str = "host") -> str:
    """What pytest prints of a test with the fixtures of a room; it must pass."""
    (folder / "test_it.py").write_text(test)
    options = ["-c", "pyproject.toml", "-p", "no:cacheprovider", "-p", f"{room}.tests.conftest"]
    command = [*begin, sys.executable, "-m", "pytest", *options, "-s", str(folder)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_pytest_imports_little_for_a_test_that_needs_nothing(tmp_path: Path) -> None:
    found = _printed_by(tmp_path, _TEST).rpartition(_SHOWN)[2].split()
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


@pytest.mark.slow
@pytest.mark.parametrize("room", ["host", "hil_tests"])
def test_in_the_background_of_a_shell_and_another_time_zone_tests_begin_as_anywhere(
    tmp_path: Path, room: str
) -> None:
    test = """
import subprocess

def test_a_program_is_in_utc():
    assert subprocess.check_output(["date", "+%Z"]) == b"UTC\\n"

def test_a_program_ends():
    program = subprocess.Popen(["sleep", "60"])
    program.send_signal(2)
    assert program.wait(30) == -2
"""
    elsewhere = ("env", "--ignore-signal=INT", "TZ=Pacific/Auckland")
    _printed_by(tmp_path, test, *elsewhere, room=room)
