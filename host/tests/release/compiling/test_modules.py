"""Which modules a board gets, and that compiling them again gives the same bytes."""

import ast
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from sabot.release.compiling import modules
from sabot.release.compiling.modules import (
    ARCHITECTURES,
    PACKAGES,
    bench_modules,
    bytecode,
)
from sabot.release.compiling.modules import sources as read_sources
from sabot_hil.kit.releases import compiled

pytestmark = pytest.mark.slow

# MicroPython, py/persistentcode.h: MP_NATIVE_ARCH_...
_NATIVE_ARMV6M, _NATIVE_ARMV7EMSP = 4, 7


modules_of, sources = cache(compiled), cache(read_sources)  # each takes a second


@pytest.fixture(scope="module")
def pico() -> dict[str, bytes]:
    return modules_of("pico")


def _imports_of(source: bytes) -> set[str]:
    """Our modules that a module imports anywhere in its source, by their paths on a board."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{name.name}" for name in node.names)]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        for name in names:
            path = name.replace(".", "/")
            found |= {path + suffix for suffix in (".py", "/__init__.py")} & set(sources())
    return {path for path in found if sources()[path]}


def test_a_pico_has_every_module_that_its_firmware_imports(pico: dict[str, bytes]) -> None:
    other_board = {path for path in sources() if "/sim/" in path or "/pico2/" in path}
    known, new = set(other_board), {"sabot_firmware/main.py"}
    while new:
        known |= new
        new = set().union(*(_imports_of(sources()[path]) for path in new)) - known
    needed = {Path(path).with_suffix(".mpy").as_posix() for path in known - other_board}
    assert needed <= set(pico), needed - set(pico)
    assert (
        "sabot_firmware/boards/pico/board.mpy" in needed
        and "sabot_firmware/cards/scan.mpy" in needed
    )


def test_a_pico_has_no_module_of_another_board_and_no_tests(pico: dict[str, bytes]) -> None:
    assert not [path for path in pico if "sim" in path or "tests" in path or "rig" in path]
    assert list(pico) == sorted(pico)


def test_each_board_gets_the_modules_of_its_own_folder() -> None:
    for board in ARCHITECTURES:
        own = [path for path in sources() if path.startswith(f"sabot_firmware/boards/{board}/")]
        assert {
            Path(path).with_suffix(".mpy").as_posix() for path in own if sources()[path]
        } <= set(modules_of(board))


def test_native_code_is_for_the_processor_of_a_pico(pico: dict[str, bytes]) -> None:
    assert pico["sabot_firmware/cards/scan.mpy"][:2] == b"M\x06"
    assert pico["sabot_firmware/cards/scan.mpy"][2] >> 2 == _NATIVE_ARMV6M


def test_a_pico_2_has_the_parts_of_the_pico_that_it_uses_for_its_own_processor() -> None:
    pico2 = modules_of("pico2")
    assert pico2["sabot_firmware/cards/scan.mpy"][2] >> 2 == _NATIVE_ARMV7EMSP
    boards = [path for path in pico2 if path.startswith("sabot_firmware/boards/pico")]
    assert "sabot_firmware/boards/pico2/board.mpy" in boards
    assert "sabot_firmware/boards/pico/lock.mpy" in boards
    assert not [path for path in pico2 if "sim" in path or "rig" in path]


def test_a_release_that_lacks_a_part_that_it_imports_is_not_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A part of another board's folder, if that is not named; it would fail at its first start."""
    alone = modules.BoardCode("armv7emsp", ("pico2",))
    monkeypatch.setitem(modules.BOARDS, "pico2", alone)
    with pytest.raises(
        ValueError, match=r"pico2/board\.py imports .*/pico/board\.py, which pico2 wo"
    ):
        modules.sources_of("pico2")


def test_what_is_imported_for_type_checkers_only_is_not_lacking() -> None:
    tree = ast.parse("if 1 - 1:\n    from a import b\nfrom c.d import e\nimport f")
    assert modules.imported_by(tree) == {
        f"{name}{suffix}" for name in ("c/d", "c/d/e", "f") for suffix in (".py", "/__init__.py")
    }


def test_bytecode_names_its_source_as_an_import_names_the_module(pico: dict[str, bytes]) -> None:
    """A board has that name already; another one would take heap, and be searched for each time."""
    for path, code in pico.items():
        assert f"{Path(path).stem}.py".encode() not in code, path
    # It is the first of the names, after the head, two counts, and its own length.
    assert b"panel\0" in pico["sabot_firmware/panel.mpy"][:16]


def test_a_bench_board_has_the_rigs_modules_and_not_the_shoes() -> None:
    bench = bench_modules()
    assert "sabot_rig/main.mpy" in bench and "sabot_firmware/shoe.mpy" not in bench


def test_the_same_sources_give_the_same_bytes_in_another_folder_and_time_zone(
    pico: dict[str, bytes], tmp_path: Path
) -> None:
    code = "import sys; from sabot.release.compiling.modules import modules_of\n"
    code += "for path, data in modules_of('pico').items(): print(path, data.hex())"
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONHASHSEED": "7", "TZ": "Asia/Macau"}
    other = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert other.stdout.split() == [part for path in pico for part in (path, pico[path].hex())]
    for folder in PACKAGES.values():
        assert str(folder).encode() not in b"".join(pico.values())


def test_a_source_that_does_not_compile_is_named() -> None:
    with pytest.raises(ValueError, match=r"firmware/x\.py does not compile: .*SyntaxError"):
        bytecode({"firmware/x.py": b"def :"}, "armv6m")
