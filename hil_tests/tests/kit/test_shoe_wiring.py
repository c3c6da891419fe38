"""The drawing and the table of the shoe's wiring agree with its pin table and with the Pico."""

import re

from firmware.tests.fakes import fake_pico
from firmware.tests.fakes.fake_pico import board as pico
from sabot_hil.kit import shoe_wiring
from sabot_hil.kit.wiring import SHOE_TABLE, pin_rows

_PICO_PINS = range(1, 41)


def _wires() -> list[shoe_wiring.ShoeWire]:
    return shoe_wiring.shoe_wires(pin_rows(SHOE_TABLE))


def test_the_drawing_is_what_the_script_draws() -> None:
    assert shoe_wiring.DRAWING.read_text(encoding="utf-8") == shoe_wiring.svg(_wires())


def test_the_table_of_the_page_is_what_the_script_prints() -> None:
    page = (shoe_wiring.DOCS / "building.md").read_text(encoding="utf-8")
    begin = page.index("| part | pin of the Pico |")
    rows = page[begin : page.index("\n\n", begin)].split("\n")[2:]
    assert rows == shoe_wiring.table_rows(_wires())


def test_the_pin_table_is_read_as_python_reads_it() -> None:
    read = [(row.gpio, row.part, row.on_high) for row in pin_rows(SHOE_TABLE)]
    assert read == [(gpio, part, level == pico.HIGH) for gpio, part, level in pico.PINS]


def test_every_pin_of_the_pico_is_in_the_table_once() -> None:
    cells = [row.split("|")[2] for row in shoe_wiring.table_rows(_wires())]
    pins = [int(pin) for cell in cells for pin in re.findall(r"\d+", cell.split("pin")[1])]
    assert sorted(pins) == [*_PICO_PINS]


def test_the_firmware_drives_and_pulls_up_what_the_drawing_says() -> None:
    _, world = fake_pico.new_board()
    drawn = {wire.row.gpio: (wire.row.part, wire.direction) for wire in _wires()}
    outputs = {*world.outputs} - {pico.LED}  # on the Pico itself: no wire
    for gpio in outputs:
        assert drawn[gpio][1] == "out", drawn[gpio]
    for gpio in world.pulled_up:
        assert drawn[gpio][1] == "in", drawn[gpio]
    simple = {gpio for gpio in drawn if not drawn[gpio][0].startswith(_ON_A_BUS)}
    assert simple == {*outputs, *world.pulled_up}


_ON_A_BUS = (
    "host_",
    "display_",
    "journal_clock",
    "journal_mosi",
    "journal_miso",
    "buzzer",
)
"""Parts at a peripheral of the chip, which the fake has no levels of."""
