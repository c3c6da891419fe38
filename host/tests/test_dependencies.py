"""The dependencies: pyproject.toml has a range for each, .constraints.txt a version in it."""

import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_ROOT = Path(__file__).resolve().parents[2]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
_EXTRAS = _PROJECT["optional-dependencies"]
_LIBRARY = [*_PROJECT["dependencies"], *_EXTRAS["hil"], *_EXTRAS["emulator"], *_EXTRAS["feeds"]]
_REQUIRED = {Requirement(line).name: Requirement(line) for line in [*_LIBRARY, *_EXTRAS["dev"]]}
_OURS = "sabot"


def _pins() -> dict[str, str]:
    lines = (_ROOT / ".constraints.txt").read_text().splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert len({name for name, _ in pins}) == len(pins), "a package is pinned twice"
    return {str(canonicalize_name(name)): version for name, version in pins}


@pytest.mark.parametrize("name", sorted(_REQUIRED.keys() - {_OURS}))
def test_every_dependency_is_pinned_inside_its_range(name: str) -> None:
    assert _REQUIRED[name].specifier.contains(_pins()[canonicalize_name(name)])


@pytest.mark.parametrize("line", [line for line in _LIBRARY if not line.startswith(_OURS)])
def test_the_ranges_of_the_library_have_both_ends(line: str) -> None:
    assert sorted(each.operator for each in Requirement(line).specifier) == ["<", ">="]


def test_dependencies_of_dependencies_are_pinned_too() -> None:
    pins = _pins()
    seen: set[str] = set()
    waiting = [(name, frozenset(_REQUIRED[name].extras)) for name in _REQUIRED.keys() - {_OURS}]
    while waiting:
        name, extras = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        assert name in pins, f"{name} has no fixed version; pin it in .constraints.txt"
        for line in requires(name) or ():
            needed = Requirement(line)
            wanted = [{"extra": extra} for extra in extras or {""}]
            if needed.marker is None or any(needed.marker.evaluate(each) for each in wanted):
                waiting.append((canonicalize_name(needed.name), frozenset(needed.extras)))
    assert len(seen) > len(_REQUIRED)


def test_the_commands_install_these_versions() -> None:
    makefile = (_ROOT / "Makefile").read_text()
    assert "-c .constraints.txt -e '.[dev]'" in makefile
