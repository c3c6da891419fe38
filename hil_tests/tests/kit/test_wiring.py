"""The drawing and the table of the wiring agree with the two pin tables."""

import re
from pathlib import PurePosixPath

import pytest

from firmware.tests.fakes.fake_pico import board as pico
from sabot.release.compiling.modules import bench_modules
from sabot_hil.kit import wiring
from sabot_hil.targets.rig_check import PLUG
from sabot_rig import pins

_README = (wiring.DRAWING.parent / "README.md").read_text(encoding="utf-8")


def _tables() -> tuple[dict[str, int], dict[str, int]]:
    return wiring.pin_table(wiring.BENCH_TABLE), wiring.pin_table(wiring.SHOE_TABLE)


def test_the_drawing_is_what_the_script_draws() -> None:
    assert wiring.DRAWING.read_text(encoding="utf-8") == wiring.svg(wiring.wires(*_tables()))


def test_the_table_is_what_the_script_prints() -> None:
    before_parts = _README.split("## Parts")[0]
    rows = [line for line in before_parts.split("\n") if line.startswith("|") and "GP" in line]
    assert rows == wiring.table_rows(wiring.wires(*_tables()))


def test_the_tables_are_read_as_python_reads_them() -> None:
    bench, _ = _tables()
    assert bench == {part: gpio for gpio, part, _ in pins.PINS}


def test_every_part_of_the_shoe_that_hands_and_eyes_reach_has_its_wire() -> None:
    bench, shoe = _tables()
    reached = {part for part in shoe if not part.startswith(("host_", "journal_"))}
    assert reached == set(bench) - {"supply", "power"}


def test_parts_are_on_at_the_same_level_at_both_ends() -> None:
    shoe = {part: level for _, part, level in pico.PINS}
    for _, part, level in pins.PINS:
        if part not in ("supply", "power"):
            assert shoe[part] == level, part


def test_the_check_plug_is_described_as_it_is_checked() -> None:
    for sense, parts in PLUG.items():
        assert f"| {sense} | {', '.join(parts)} |" in _README


@pytest.mark.slow
def test_the_readme_copies_all_that_the_bench_board_runs() -> None:
    copied = re.findall(
        r"(?:firmware|protocol)/(sabot_[\w/.]+)", _README[_README.index("mpremote cp") :]
    )
    for module in bench_modules():
        source = PurePosixPath(module).with_suffix(".py")
        assert {str(source), *map(str, source.parents)} & {*copied}, module
