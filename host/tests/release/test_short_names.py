"""Short private names: what runs with them does the same, and nothing else is renamed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sabot.release.modules import modules_of, sources
from sabot.release.short_names import shortened, table
from sabot.sim.process import interpreter

_BASE = b"""
_LIMIT = 3
_count = 0

def _more(_by=1):
    global _count
    _count += _by
    return _count

class Base:
    _shared = "shared"

    def __init__(self, value):
        self._value = value
        self._kept = "by its name"

    def _double(self):
        return 2 * self._value

    def both(self):
        try:
            raise ValueError(self._double())
        except ValueError as _error:
            return self._shared, _error.args, _more(_by=_LIMIT), getattr(self, "_kept")
"""

_DERIVED = b"""
from made.base import Base, _more as _again

class Derived(Base):
    def __init__(self):
        super().__init__(21)
        self._own = 5
        self._other = [_each for _each in range(3)]

    def __len__(self):
        return self._own

    def all(self):
        def _inner():
            nonlocal _total
            _total += 1
            return _total
        _total = self._own
        text = f"{self._value:03d}"
        return self.both(), self._own, self._other, _inner(), text, _again(), len(self)

print(Derived().all())
"""

_MADE = {"made/base.py": _BASE, "made/derived.py": _DERIVED}


def _run(made: dict[str, bytes], folder: Path, command: list[str]) -> str:
    for path, source in made.items():
        (folder / path).parent.mkdir(exist_ok=True, parents=True)
        (folder / path).write_bytes(source)
    (folder / "main.py").write_text("import made.derived\n")
    done = subprocess.run(
        [*command, "main.py"], cwd=folder, capture_output=True, text=True, check=True, timeout=20
    )
    return done.stdout


@pytest.mark.parametrize(
    "command", [[sys.executable], interpreter()], ids=["CPython", "MicroPython"]
)
def test_a_program_does_the_same_with_short_names(tmp_path: Path, command: list[str]) -> None:
    wanted = (
        "((('shared', (42,), 3, 'by its name'), 5, [0, 1, 2], 6, '021', 4, 5))".replace(
            "((", "(", 1
        )
    ).removesuffix(")")
    assert _run(_MADE, tmp_path / "long", command).strip() == wanted
    assert _run(shortened(_MADE), tmp_path / "short", command).strip() == wanted


def test_no_private_name_is_left_and_every_public_one() -> None:
    text = b"\n".join(shortened(_MADE).values()).decode()
    private = set(re.findall(r"\b_[a-z]\w*", text))
    assert {name for name in private if not re.fullmatch(r"_[0-9a-f]{1,2}", name)} == {"_kept"}
    for name in ("Base", "Derived", "both", "all", "value", "__init__", "__len__", "super"):
        assert re.search(rf"\b{name}\b", text), name


def test_names_of_a_class_and_of_its_base_in_another_module_differ() -> None:
    rows = table(_MADE)
    short = {name: new for _, new, name in rows}
    in_both = [short[name] for name in ("_value", "_double", "_shared", "_own", "_other", "_more")]
    assert len(set(in_both)) == len(in_both), rows


def test_modules_that_have_nothing_in_common_share_their_short_names() -> None:
    made = {f"{n}.py": f"_one_{n} = 1\n_two_{n} = 2\n".encode() for n in range(20)}
    assert {new for _, new, _ in table(made)} == {"_0", "_1"}


def test_a_name_that_two_modules_use_is_the_same_in_both() -> None:
    made = {"a.py": b"class A:\n    _x = 1\n    _y = 2\n", "b.py": b"def f(a):\n    return a._x\n"}
    rows = {(path, name): new for path, new, name in table(made)}
    assert rows["a.py", "_x"] == rows["b.py", "_x"] != rows["a.py", "_y"]


def test_a_release_has_no_long_private_name_but_those_in_strings() -> None:
    left = {
        name
        for code in modules_of("pico").values()
        for name in re.findall(rb"\b_[a-z]\w{3,}\b", code)
        if not name.startswith(b"__")
    }
    in_strings = re.findall(rb"\"(_\w+)\"", b"".join(sources().values()))
    assert left <= set(in_strings)


def test_the_boot_loader_and_a_slot_of_another_release_share_no_private_name() -> None:
    boot = "sabot_firmware/release/boot.py"
    uses = re.compile(rb"\bboot\._\w+|from sabot_firmware\.release\.boot import [^\n]*\b_")
    for path, source in sources().items():
        assert path == boot or not uses.search(source), path
