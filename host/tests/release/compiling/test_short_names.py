"""Short names: what runs with them does the same, and what others know keeps its name."""

import io
import keyword
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

from sabot.release.compiling.micropython_names import MICROPYTHON_NAMES
from sabot.release.compiling.modules import sources
from sabot.release.compiling.short_names import short_names, shortened, table
from sabot.sim.process import interpreter
from sabot_hil.kit.releases import compiled

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
        [*command, "main.py"], cwd=folder, capture_output=True, text=True, check=True, timeout=200
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


def test_every_name_has_a_short_one_but_those_of_python_of_modules_and_in_strings() -> None:
    left = {name for made in shortened(_MADE).values() for name in _names(made) if len(name) > 2}
    python = {
        "ValueError",
        "__init__",
        "__len__",
        "args",
        "getattr",
        "len",
        "print",
        "range",
        "super",
    }
    assert left == python | MICROPYTHON_NAMES & left | {"made", "base", "_kept"}


def test_names_that_micropython_has_stay() -> None:
    made = b"class File:\n    def ioctl(self, request):\n        self.mode = request\n"
    text = shortened({"a.py": made})["a.py"].decode()
    assert "def ioctl(self, request)" in text and "self.mode = request" in text
    assert "File" not in text


def test_names_that_begin_with_a_string_stay() -> None:
    made = b'def on_lid():\n    return 1\n\ndef only():\n    return globals()["on_" + "lid"]()\n'
    text = shortened({"a.py": made})["a.py"].decode()
    assert "def on_lid" in text and "only" not in text


def test_a_name_in_an_annotation_has_a_short_one() -> None:
    made = b'class Card:\n    pass\n\ndef deal(to: "Card") -> "Card":\n    return to\n'
    assert b"class Card" not in shortened({"a.py": made})["a.py"]


def test_no_short_name_is_one_that_stays() -> None:
    made = b"import a0, gc as a1\nfirst = a0.a2\nsecond = a1.a3\n"
    text = shortened({"made.py": made})["made.py"].decode()
    names = set(re.findall(r"\b[a-z]\w*", text))
    assert names == {"import", "as", "gc", "a0", "a1", "a2", "a3", "a4", "a5"}, text


def test_names_of_a_class_and_of_its_base_in_another_module_differ() -> None:
    rows = table(_MADE)
    short = {name: new for _, new, name in rows}
    in_both = [short[name] for name in ("_value", "_double", "_shared", "_own", "_other", "_more")]
    assert len(set(in_both)) == len(in_both), rows


def test_modules_that_have_nothing_in_common_share_their_short_names() -> None:
    made = {f"{n}.py": f"_one_{n} = 1\n_two_{n} = 2\n".encode() for n in range(20)}
    assert {new for _, new, _ in table(made)} == {"a0", "a1"}


def test_a_name_that_two_modules_use_is_the_same_in_both() -> None:
    made = {"a.py": b"class A:\n    _x = 1\n    _y = 2\n", "b.py": b"def f(a):\n    return a._x\n"}
    rows = {(path, name): new for path, new, name in table(made)}
    assert rows["a.py", "_x"] == rows["b.py", "_x"] != rows["a.py", "_y"]


@pytest.mark.slow
@pytest.mark.parametrize("board", ["pico", "sim"])
def test_a_release_has_no_long_private_name_but_those_in_strings(board: str) -> None:
    left = {
        name
        for code in compiled(board).values()
        for name in re.findall(rb"\b_[a-z][a-z0-9_]{3,}\b", code)  # in machine code too
        if not name.startswith(b"__")
    }
    in_strings = re.findall(rb"\"(_\w+)\"", b"".join(sources().values()))
    assert left <= set(in_strings)


@pytest.mark.slow
def test_the_boot_loader_and_a_slot_of_another_release_share_only_names_that_stay() -> None:
    boot = "sabot_firmware/release/boot.py"
    made = sources()
    short = short_names(made)
    assert not {name for name in _names(made[boot]) & short.keys() if not name.startswith("_")}
    uses = re.compile(rb"\bboot\._\w+|from sabot_firmware\.release\.boot import [^\n]*\b_")
    for path, source in made.items():
        assert path == boot or not uses.search(source), path


def _names(source: bytes) -> set[str]:
    words = tokenize.tokenize(io.BytesIO(source).readline)
    names = {word.string for word in words if word.type == tokenize.NAME}
    return {name for name in names if not keyword.iskeyword(name)}
