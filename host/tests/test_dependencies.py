"""The dependencies: pyproject.toml has a range for each, .lock a version in it with its hashes."""

import re
import subprocess
import sys
import tomllib
import zipfile
from hashlib import sha256
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_ROOT = Path(__file__).resolve().parents[2]
_TOML = tomllib.loads((_ROOT / "pyproject.toml").read_text())
_PROJECT, _GROUPS = _TOML["project"], _TOML["dependency-groups"]
_EXTRAS = _PROJECT["optional-dependencies"]
_LIBRARY = [*_PROJECT["dependencies"], *_EXTRAS["hil"], *_EXTRAS["emulator"], *_EXTRAS["feeds"]]
_REQUIRED = {Requirement(line).name: Requirement(line) for line in [*_LIBRARY, *_EXTRAS["dev"]]}
_OURS = "sabot"


_LOCKS = {path.stem: path.read_text() for path in (_ROOT / ".lock").glob("*.txt")}


def _pins(lock: str = "dev") -> dict[str, str]:
    """The version of each package that a lock has."""
    found = re.findall(r"^([\w.-]+)==(\S+)", _LOCKS[lock], re.M)
    assert len({name for name, _ in found}) == len(found), "a package is pinned twice"
    return {str(canonicalize_name(name)): version for name, version in found}


def _locked(extra: str) -> list[str]:
    """The direct dependencies of an installation with an extra, and with the extras in it."""
    lines = list(_EXTRAS.get(extra, ()))
    for line in list(lines):
        if line.startswith(_OURS):
            lines.remove(line)
            for each in Requirement(line).extras:
                lines += [more for more in _EXTRAS[each] if not more.startswith(_OURS)]
    return [*_PROJECT["dependencies"], *_GROUPS["build"], *lines]


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
        assert name in pins, f"{name} has no fixed version; `make lock` adds it"
        for line in requires(name) or ():
            needed = Requirement(line)
            wanted = [{"extra": extra} for extra in extras or {""}]
            if needed.marker is None or any(needed.marker.evaluate(each) for each in wanted):
                waiting.append((canonicalize_name(needed.name), frozenset(needed.extras)))
    assert len(seen) > len(_REQUIRED)


@pytest.mark.parametrize("extra", ["sabot", "feeds", "hil", "emulator", "dev"])
def test_a_lock_has_what_its_installation_needs_in_the_versions_of_development(extra: str) -> None:
    pins, development = _pins(extra), _pins()
    assert pins.items() <= development.items()
    for line in _locked(extra):
        assert canonicalize_name(Requirement(line).name) in pins, line


@pytest.mark.parametrize("lock", sorted(_LOCKS))
def test_each_package_of_a_lock_has_its_hashes_and_nothing_else(lock: str) -> None:
    """So that pip refuses any other file, and no address of a registry is kept."""
    one = r"[\w.-]+==\S+( ; [^\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    assert re.fullmatch(f"({one})+", _LOCKS[lock])


def test_what_builds_sabot_is_locked_too() -> None:
    assert set(_TOML["build-system"]["requires"]) <= set(_GROUPS["build"])


@pytest.mark.slow
def test_pip_refuses_a_file_with_another_hash(tmp_path: Path) -> None:
    wheel = tmp_path / "sabot_example-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("sabot_example.py", "")
        about = "Metadata-Version: 2.1\nName: sabot-example\nVersion: 1\n"
        made.writestr("sabot_example-1.dist-info/METADATA", about)
        tag = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        made.writestr("sabot_example-1.dist-info/WHEEL", tag)
        made.writestr("sabot_example-1.dist-info/RECORD", "")
    right = sha256(wheel.read_bytes()).hexdigest()
    for digest, code in ((right, 0), (right[::-1], 1)):
        lock = tmp_path / "lock.txt"
        lock.write_text(f"sabot-example==1 \\\n    --hash=sha256:{digest}\n")
        command = [sys.executable, "-m", "pip", "install", "--require-hashes", "--no-index"]
        command += [
            "--find-links",
            str(tmp_path),
            "--target",
            str(tmp_path / "to"),
            "-r",
            str(lock),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
    assert "DO NOT MATCH THE HASHES" in done.stderr


def test_every_documented_installation_checks_the_hashes() -> None:
    """And installs Sabot itself without anything more."""
    # A program of its own, and one that receives a feed, have environments that are not Sabot's.
    others = "library.md", "feeds.md"
    pages = [path for path in (_ROOT / "docs").glob("*.md") if path.name not in others]
    texts = [path.read_text() for path in pages]
    lines = "\n".join([*texts, (_ROOT / "Makefile").read_text(), (_ROOT / "README.md").read_text()])
    installs = re.findall(r"(?:pip install|\$\(PIP\)) ([^\n`]*)", lines)
    ours = [each for each in installs if not each.startswith("--quiet")]
    assert len(ours) >= 5
    for each in ours:
        assert each.startswith(("--require-hashes ", "--no-deps --no-build-isolation ")), each
