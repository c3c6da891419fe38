"""Draws the wiring of bench board and shoe from the two pin tables: `wiring.svg` and the table.

python -m sabot_hil.kit.wiring         writes wiring.svg
python -m sabot_hil.kit.wiring --table prints the rows of the table in README.md
"""

import ast
import sys
from dataclasses import dataclass
from pathlib import Path

from sabot.release.compiling.modules import PACKAGES
from sabot_hil.kit import diagram

BENCH_TABLE = PACKAGES["sabot_rig"] / "pins.py"
SHOE_TABLE = PACKAGES["sabot_firmware"] / "boards/pico/board.py"
DRAWING = Path(__file__).resolve().parents[2] / "wiring" / "wiring.svg"

_SWITCHED = "supply switch"
_PINS_OF_GPIO = (
    1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 14, 15, 16, 17, 19, 20, 21, 22, 24, 25, 26, 27, 29,
    0, 0, 0, 31, 32, 34,
)  # fmt: skip
"""The pin for each GPIO in the Pico's two rows; 0: it is not led out (Pico data sheet)."""

_GROUPS = (
    # prefix of the parts' names, what they are, direction seen from the bench board, colour
    ("sensor_", "sensor head", "out", "#1f77b4"),
    ("button_", "buttons", "out", "#2ca02c"),
    ("switch_", "switches", "out", "#2ca02c"),
    ("lamp_", "lamps", "in", "#b8860b"),
    ("lock", "lock", "in", "#b8860b"),
    ("buzzer", "buzzer", "in", "#b8860b"),
    ("display_", "display", "in", "#8a2be2"),
    ("supply", "supply", "in", "#c0392b"),
    ("power", "supply", "out", "#c0392b"),
)
_SERIES = "1 k\N{GREEK CAPITAL LETTER OMEGA}"
_PULL_UP = "pulled up: 4.7 k to 3.3 V of the shoe"

_ROW = 26
_TOP = 118
_WIDTH = 1000
_BENCH_X, _SHOE_X, _BOX = 60, 720, 220


@dataclass(frozen=True, slots=True)
class PinRow:
    """A row of a table PINS."""

    gpio: int
    part: str
    on_high: bool
    """The level at which the part is on."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A wire from a pin of the bench board; `shoe` is the shoe's GPIO, None if the wire goes to the
    supply switch."""

    part: str
    bench: int
    shoe: int | None
    direction: str
    colour: str
    through: str


def pin_rows(path: Path) -> list[PinRow]:
    """Return a module's PINS. The module is not imported: it needs the Pico's own modules."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "PINS":
            assert isinstance(node.value, ast.Tuple)
            rows = [row.elts for row in node.value.elts if isinstance(row, ast.Tuple)]
            return [
                PinRow(ast.literal_eval(gpio), ast.literal_eval(part), ast.unparse(level) == "HIGH")
                for gpio, part, level in rows
            ]
    raise ValueError(f"{path}: has no table PINS")


def pin_table(path: Path) -> dict[str, int]:
    """Return the GPIOs by part, from a module's PINS."""
    return {row.part: row.gpio for row in pin_rows(path)}


def wires(bench: dict[str, int], shoe: dict[str, int]) -> list[Wire]:
    """Return a wire for each pin of the bench board, in the order of its pins."""
    found = []
    for part, gpio in sorted(bench.items(), key=lambda item: item[1]):
        start, _, direction, colour = next(g for g in _GROUPS if part.startswith(g[0]))
        through = {"display_": _PULL_UP, "supply": "", "power": ""}.get(start, _SERIES)
        found.append(Wire(part, gpio, shoe.get(part), direction, colour, through))
    return found


def pin_of(gpio: int) -> str:
    """Return a GPIO with its pin on the Pico: "GP2, pin 4"."""
    return f"GP{gpio}, pin {_PINS_OF_GPIO[gpio]}"


def table_rows(found: list[Wire]) -> list[str]:
    """Return the rows of the table in README.md."""
    return [
        f"| {wire.part} | {pin_of(wire.bench)} | {'→' if wire.direction == 'out' else '←'} "
        f"| {_other_end(wire)} | {wire.through} |".replace("|  |", "| |")
        for wire in found
    ]


def _other_end(wire: Wire) -> str:
    if wire.shoe is not None:
        return pin_of(wire.shoe)
    if wire.part == "supply":
        return f"{_SWITCHED}: output, 6.8 k to it, 10 k to ground"
    return f"{_SWITCHED}: enable, 10 k to ground"


def svg(found: list[Wire]) -> str:
    """Return the drawing."""
    straight = [wire for wire in found if wire.shoe is not None]
    switched = [wire for wire in found if wire.shoe is None]
    last_y = _TOP + _ROW * (len(straight) - 1)
    box_end = last_y + _ROW * 5.5
    height = round(box_end + 70)
    out = [
        diagram.text(_WIDTH / 2, 32, "Sabot: the bench board at a shoe", size=18, bold=True),
        diagram.box(
            _BENCH_X, 56, _BOX, box_end - 56, "bench board", "Raspberry Pi Pico, firmware/sabot_rig"
        ),
        diagram.box(
            _SHOE_X, 56, _BOX, box_end - 56, "shoe under test", "Raspberry Pi Pico, firmware"
        ),
    ]
    for n, wire in enumerate(straight):
        out += _straight(wire, _TOP + _ROW * n)
    out += _supply(switched, last_y + _ROW * 1.6)
    out.append(
        diagram.text(
            _WIDTH / 2,
            height - 38,
            "Arrows: who drives. Sensor head, buttons, switches and display of the shoe are not "
            "connected; its driver boards may stay.",
        )
    )
    out.append(
        diagram.text(
            _WIDTH / 2,
            height - 16,
            f"{_SERIES}: a resistor in the wire. Ground goes along with every eight wires, and "
            "first of all. Lines of 3.3 V, at most 0.5 m.",
        )
    )
    return diagram.document(_WIDTH, height, out)


def _straight(wire: Wire, y: float) -> list[str]:
    assert wire.shoe is not None
    begin, end = _BENCH_X + _BOX, _SHOE_X
    right = wire.direction == "out"
    drawn = [
        diagram.line(wire.colour, (begin, y), (end, y)),
        diagram.arrow(end - 14 if right else begin + 14, y, right, wire.colour),
        diagram.text(_BENCH_X + 10, y + 4, wire.part, "start"),
        diagram.text(begin - 8, y + 4, pin_of(wire.bench), "end", 11),
        diagram.text(end + 8, y + 4, pin_of(wire.shoe), "start", 11),
        diagram.text(_SHOE_X + _BOX - 10, y + 4, wire.part, "end"),
    ]
    middle = (begin + end) / 2
    if wire.through == _SERIES:
        drawn.append(
            f'<rect x="{middle - 24:g}" y="{y - 8:g}" width="48" height="16" fill="white" '
            f'stroke="{wire.colour}"/>'
        )
        drawn.append(diagram.text(middle, y + 4, wire.through, size=11))
    else:
        drawn.append(diagram.text(middle, y - 5, wire.through, size=11))
    return drawn


def _supply(switched: list[Wire], y: float) -> list[str]:
    """Draw the switch in the 5 V wire of the shoe's USB cable, and the bench board's wires."""
    begin, end = _BENCH_X + _BOX, _SHOE_X
    left, width = begin + 110, 200
    colour = switched[0].colour
    drawn = [
        f'<rect x="{left}" y="{y - 14:g}" width="{width}" height="{_ROW * 3.2:g}" rx="6" '
        f'fill="#fdecea" stroke="{colour}"/>',
        diagram.text(left + width / 2, y + 4, "high-side switch", bold=True),
        diagram.text(left + width / 2, y + 22, "in the 5 V wire of the", size=11),
        diagram.text(left + width / 2, y + 37, "shoe's USB cable", size=11),
        diagram.text(left + width / 2, y + 54, "5 V from the computer", size=11),
    ]
    places = {"power": y, "supply": y + _ROW}
    labels = {"power": "enable, 10 k to ground", "supply": "output, 6.8 k : 10 k"}
    for wire in switched:
        at = places[wire.part]
        right = wire.direction == "out"
        drawn += [
            diagram.line(colour, (begin, at), (left, at)),
            diagram.arrow(left - 8 if right else begin + 14, at, right, colour),
            diagram.text(_BENCH_X + 10, at + 4, wire.part, "start"),
            diagram.text(begin - 8, at + 4, pin_of(wire.bench), "end", 11),
            diagram.text((begin + left) / 2, at + 16, labels[wire.part], size=9),
        ]
    ground = y + _ROW * 3.2
    drawn += [
        diagram.line(colour, (left + width, y), (end, y)),
        diagram.arrow(end - 14, y, True, colour),
        diagram.text(end + 8, y + 4, "5 V at its USB plug", "start", 11),
        diagram.text(end + 8, y + _ROW + 4, "D+, D- go on to the computer", "start", 11),
        diagram.line("#222", (begin, ground), (end, ground)),
        diagram.text(begin - 8, ground + 4, "GND, pins 3, 8, 13, 18", "end", 11),
        diagram.text(end + 8, ground + 4, "GND, pins 3, 8, 13, 18", "start", 11),
    ]
    return drawn


def main() -> None:
    found = wires(pin_table(BENCH_TABLE), pin_table(SHOE_TABLE))
    if "--table" in sys.argv[1:]:
        print("\n".join(table_rows(found)))
    else:
        DRAWING.write_text(svg(found), encoding="utf-8")


if __name__ == "__main__":
    main()
