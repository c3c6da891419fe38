"""The rooms of the project: what may import what (`pyproject.toml`), and their size."""

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_MOST_MODULES = 16
PACKAGES = {
    "firmware/sabot_firmware": "firmware/tests",
    "protocol/sabot_protocol": "protocol/tests",
    "protocol/sabot_definitions": "protocol/tests",
    "host/sabot": "host/tests",
    "hil_tests/sabot_hil": "hil_tests/tests",
}


def _rooms(package: str) -> dict[str, list[str]]:
    """The modules in each folder of a package."""
    found: dict[str, list[str]] = {}
    for path in sorted((_ROOT / package).rglob("*.py")):
        if path.name != "__init__.py":
            found.setdefault(path.parent.relative_to(_ROOT).as_posix(), []).append(path.name)
    return found


@pytest.mark.slow
def test_no_import_runs_upward_between_rooms() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    run = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_a_room_has_few_modules(package: str) -> None:
    crowded = {room: len(names) for room, names in _rooms(package).items()}
    assert not {room: count for room, count in crowded.items() if count > _MOST_MODULES}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_test_is_in_a_package_and_no_module_beside_it(package: str) -> None:
    assert not [path for path in (_ROOT / package).rglob("test_*.py") if "suite" not in path.parts]
    outside = {path.name for path in (_ROOT / package).parent.glob("*.py")}
    assert not outside, "modules belong in the package"


@pytest.mark.parametrize("package", PACKAGES)
def test_the_folders_of_tests_are_named_after_the_rooms_that_they_test(package: str) -> None:
    own = {"adversary", "bare_server", "fakes", "support", "samples", "rig", "__pycache__"}
    rooms = {path.name for path in (_ROOT / package).iterdir() if path.is_dir()} | own
    folders = {path.name for path in (_ROOT / PACKAGES[package]).iterdir() if path.is_dir()}
    assert not folders - rooms
