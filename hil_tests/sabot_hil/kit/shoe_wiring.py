"""Draws the wiring of a whole shoe from its pin table: docs/shoe-wiring.svg and the table.

python -m sabot_hil.kit.shoe_wiring         writes shoe-wiring.svg
python -m sabot_hil.kit.shoe_wiring --table prints the rows of the table in docs/building.md
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sabot_hil.kit import diagram
from sabot_hil.kit.wiring import SHOE_TABLE, PinRow, pin_of, pin_rows

DOCS = Path(__file__).resolve().parents[3] / "docs"
DRAWING = DOCS / "shoe-wiring.svg"

SUPPLY_PINS = (
    # pins of the Pico, name, what is connected there (Pico data sheet, pinout)
    ((40,), "VBUS", "5 V from the USB plug; lamps, UV lamps, buzzer"),
    ((39,), "VSYS", "hold-up, if any; a second supply through a diode"),
    ((36,), "3V3", "journal chip, display, comparators, photo-interrupters, pull-ups"),
    ((3, 8, 13, 18, 23, 28, 33, 38), "GND", "ground of every part"),
    ((30,), "RUN", "output of the supply monitor, open drain"),
    ((37,), "3V3_EN", "left open"),
    ((35,), "ADC_VREF", "left open"),
)
"""The pins that are not in the pin table."""

_CLOSES = "contact that closes to ground when on; 10 k to 3.3 V"
_OPENS = "contact to ground that opens when on; 10 k to 3.3 V"
_DRIVER = "driver's input, 10 k to ground"

_GROUPS = (
    # prefix of the parts' names, what they are, direction seen from the Pico, colour
    ("sensor_", "sensor head", "in", "#1f77b4"),
    ("button_", "buttons", "in", "#2ca02c"),
    ("switch_", "switches", "in", "#2ca02c"),
    ("lamp_", "lamps, each with a driver", "out", "#b8860b"),
    ("buzzer", "buzzer with a driver", "out", "#b8860b"),
    ("lock", "lock: solenoid with a driver and its own supply", "out", "#c0392b"),
    ("journal_", "journal chip, W25Q128JV class", "out", "#555555"),
    ("display_", "display, SSD1306 module", "both", "#8a2be2"),
    ("host_", "serial line", "out", "#999999"),
)
_ENDS = {
    "journal_miso": "DO",
    "journal_select": "/CS, 10 k to 3.3 V",
    "journal_clock": "CLK",
    "journal_mosi": "DI",
    "display_sda": "SDA, 4.7 k to 3.3 V",
    "display_scl": "SCL, 4.7 k to 3.3 V",
    "host_tx": "left open: the firmware does not use it",
    "host_rx": "left open: the firmware does not use it",
}
_INPUTS = ("journal_miso", "host_rx")
_ARROWS = {"in": "←", "out": "→", "both": "↔"}

_ROW = 22
_TOP = 110
_WIDTH = 1000
_PICO_X, _PICO_WIDTH = 40, 260
_PARTS_X, _PARTS_WIDTH = 520, 440


@dataclass(frozen=True, slots=True)
class ShoeWire:
    """A wire from a pin of the shoe's Pico to a part."""

    row: PinRow
    group: str
    direction: str
    """Seen from the Pico: "in", "out" or "both"."""
    colour: str
    end: str
    """What is at its other end."""


def shoe_wires(rows: Iterable[PinRow]) -> list[ShoeWire]:
    """Return a wire for each row of the pin table: group after group, each by its pins."""
    found = []
    for row in sorted(rows, key=lambda row: (_place(row), row.gpio)):
        _, group, direction, colour = _GROUPS[_place(row)]
        if row.part in _INPUTS:
            direction = "in"
        found.append(ShoeWire(row, group, direction, colour, _end(row)))
    return found


def _place(row: PinRow) -> int:
    return next(n for n, group in enumerate(_GROUPS) if row.part.startswith(group[0]))


def _end(row: PinRow) -> str:
    if row.part.startswith(("button_", "switch_")):
        return _OPENS if row.on_high else _CLOSES
    if row.part.startswith("sensor_"):
        return f"output of comparator {row.part.removeprefix('sensor_').upper()}"
    return _ENDS.get(row.part, _DRIVER)


def table_rows(found: list[ShoeWire]) -> list[str]:
    """Return the rows of the table in docs/building.md."""
    wired = [
        f"| {wire.row.part} | {pin_of(wire.row.gpio)} | {_ARROWS[wire.direction]} "
        f"| {'high' if wire.row.on_high else 'low'} | {wire.end} |"
        for wire in found
    ]
    return wired + [f"| {name} | {_pins(pins)} | | | {what} |" for pins, name, what in SUPPLY_PINS]


def _pins(pins: tuple[int, ...]) -> str:
    return f"pin{'s' if len(pins) > 1 else ''} {', '.join(map(str, pins))}"


def svg(found: list[ShoeWire]) -> str:
    """Return the drawing."""
    pieces: list[str] = []
    y = _TOP
    for group in dict.fromkeys(wire.group for wire in found):
        wires = [wire for wire in found if wire.group == group]
        pieces += _frame(y, len(wires), group)
        for n, wire in enumerate(wires, start=1):
            pieces += _wire(wire, y + _ROW * n)
        y += _ROW * (len(wires) + 1) + 12
    pieces += _frame(y, len(SUPPLY_PINS), "supply")
    for n, (pins, name, what) in enumerate(SUPPLY_PINS, start=1):
        pieces += _supply(pins, name, what, y + _ROW * n)
    end = y + _ROW * (len(SUPPLY_PINS) + 1)
    heads = [
        diagram.text(_WIDTH / 2, 28, "Sabot: the wiring of a shoe", size=18, bold=True),
        diagram.box(
            _PICO_X, 44, _PICO_WIDTH, end - 40, "the shoe's controller", "Raspberry Pi Pico"
        ),
    ]
    note = (
        "Arrows: who drives. No pin takes more than 3.3 V. The solenoid's supply is a second one."
    )
    foot = diagram.text(_WIDTH / 2, end + 30, note)
    return diagram.document(_WIDTH, end + 48, [*heads, *pieces, foot])


def _frame(y: float, rows: int, title: str) -> list[str]:
    return [
        f'<rect x="{_PARTS_X}" y="{y - 16:g}" width="{_PARTS_WIDTH}" '
        f'height="{_ROW * (rows + 1) + 6}" rx="6" fill="#f4f6f8" stroke="#444"/>',
        diagram.text(_PARTS_X + 12, y, title, "start", bold=True),
    ]


def _wire(wire: ShoeWire, y: float) -> list[str]:
    begin, end = _PICO_X + _PICO_WIDTH, _PARTS_X
    drawn = [
        diagram.line(wire.colour, (begin, y), (end, y)),
        diagram.text(_PICO_X + 10, y + 4, wire.row.part, "start"),
        diagram.text(begin - 8, y + 4, pin_of(wire.row.gpio), "end", 11),
        diagram.text(end + 12, y + 4, wire.end, "start", 11),
    ]
    if wire.direction != "in":
        drawn.append(diagram.arrow(end - 14, y, True, wire.colour))
    if wire.direction != "out":
        drawn.append(diagram.arrow(begin + 14, y, False, wire.colour))
    return drawn


def _supply(pins: tuple[int, ...], name: str, what: str, y: float) -> list[str]:
    begin, end = _PICO_X + _PICO_WIDTH, _PARTS_X
    return [
        diagram.line("#222", (begin, y), (end, y)),
        diagram.text(_PICO_X + 10, y + 4, name, "start"),
        diagram.text(begin - 8, y + 4, _pins(pins), "end", 11),
        diagram.text(end + 12, y + 4, what, "start", 11),
    ]


def main() -> None:
    found = shoe_wires(pin_rows(SHOE_TABLE))
    if "--table" in sys.argv[1:]:
        print("\n".join(table_rows(found)))
    else:
        DRAWING.write_text(svg(found), encoding="utf-8")


if __name__ == "__main__":
    main()
