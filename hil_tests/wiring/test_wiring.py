"""The drawing and the table of the wiring are what the two pin tables say."""

from firmware.bench import pins
from firmware.tests.fake_pico import pico
from hil_tests.rigcheck import PLUG
from hil_tests.wiring import draw

_README = (draw.HERE / "README.md").read_text(encoding="utf-8")


def _tables() -> tuple[dict[str, int], dict[str, int]]:
    return draw.pin_table(draw.BENCH_TABLE), draw.pin_table(draw.SHOE_TABLE)


def test_the_drawing_is_what_the_script_draws() -> None:
    assert draw.DRAWING.read_text(encoding="utf-8") == draw.svg(draw.wires(*_tables()))


def test_the_table_is_what_the_script_prints() -> None:
    rows = [line for line in _README.split("\n") if line.startswith("|") and "GP" in line]
    assert rows == draw.table_rows(draw.wires(*_tables()))


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
