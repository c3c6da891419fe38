"""What `sabot` imports before it answers: counted, because a time says less on a busy machine."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from sabot.cli.commands import MODULES, imported, what_it_does

_SHOWN = "imported:"
_START = f"""
import sys
from sabot.command import main
try:
    main()
finally:
    print("{_SHOWN}", *sys.modules)
"""
_MOST = {"--version": 270, "--help": 400, "rounds --help": 520}
"""Of 247, 371 and 467; all commands together import 1,155."""


def _imported_by(folder: Path, *arguments: str, code: int = 0) -> set[str]:
    """The modules that `sabot` has imported at the end of a call."""
    command = [sys.executable, "-P", "-c", _START, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return set(done.stdout.rpartition(_SHOWN)[2].split())


@pytest.mark.slow
@pytest.mark.parametrize("call", _MOST)
def test_few_modules_are_imported(tmp_path: Path, call: str) -> None:
    assert len(_imported_by(tmp_path, *call.split())) <= _MOST[call]


@pytest.mark.slow
@pytest.mark.parametrize(("call", "code"), [("--version", 0), ("--help", 0), ("nonsense", 2)])
def test_without_a_command_no_module_of_one_is_imported(
    tmp_path: Path, call: str, code: int
) -> None:
    found = _imported_by(tmp_path, call, code=code)
    assert not found & {*MODULES.values(), "sabot.log.store", "sabot.link.events"}


@pytest.mark.slow
def test_a_command_imports_no_other(tmp_path: Path) -> None:
    of_rounds = MODULES["rounds"]
    found = _imported_by(tmp_path, "rounds", "--help")
    assert found & {*MODULES.values(), "pydantic"} == {of_rounds}


@pytest.mark.parametrize("name", MODULES)
def test_what_a_command_does_is_known_without_its_import(name: str) -> None:
    known, _, _ = what_it_does(name).partition("\n\n")
    said, _, _ = (imported(name).help or "").partition("\n\n")
    assert known == said and inspect.cleandoc(known) == known
