"""The roads of a shoe of cards for a report, as self-contained SVG.

No meaning depends on colour alone: winners have letters, a blue mark of a derived road is broken in
two, and every picture has a label in words.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from sabot.reports.derived_roads import (
    DerivedCell,
    Mark,
    big_eye_boy,
    cockroach_pig,
    small_road,
)
from sabot.reports.roads import LETTERS, ROWS, BigCell, Outcome, bead_plate, big_road
from sabot.reports.svg import picture

_CELL = 22
_FEWEST_COLUMNS = 14
_RED, _BLUE, _GREEN = "#b91c1c", "#1d4ed8", "#15803d"
_COLOURS = {"player": _BLUE, "banker": _RED, "tie": _GREEN}

_SMALL_CELL = 11
_PEN = {Mark.REGULAR: _RED, Mark.CHOPPY: _BLUE}


@dataclass(frozen=True, slots=True)
class _Shape:
    """The form of a derived road's marks, as paths from the centre of a cell."""

    whole: str
    broken: str
    filled: bool = False


_RING = _Shape(
    "m-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0",
    "m-1.2-3.2a3.4 3.4 0 0 0 0 6.4m2.4 0a3.4 3.4 0 0 0 0-6.4",
)
_DOT = _Shape(
    "m-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0",
    "m-1-4a4.2 4.2 0 0 0 0 8zm2 0a4.2 4.2 0 0 1 0 8z",
    filled=True,
)
_SLASH = _Shape("m-4 4l8-8", "m-4 4l2.9-2.9m2.2-2.2l2.9-2.9")


def roads_of(outcomes: Sequence[Outcome]) -> str:
    """The roads of a shoe of cards as HTML, with what their marks mean."""
    return (
        f"<h2>Bead plate</h2>{bead_plate_of(outcomes)}"
        f"<h2>Big Road</h2>{big_road_of(outcomes)}"
        "<p><small>P Player, B Banker, T tie; a star marks a natural; a dot on the top left a "
        "Banker pair, on the bottom right a Player pair. In the Big Road a green stroke is a tie "
        "after the round, a number the count of several ties.</small></p>"
        '<h2>Derived roads</h2><div class="derived">'
        f"{_derived_road('Big Eye Boy', 'next', big_eye_boy(outcomes), _RING)}"
        f"{_derived_road('Small Road', 'second', small_road(outcomes), _DOT)}"
        f"{_derived_road('Cockroach Pig', 'third', cockroach_pig(outcomes), _SLASH)}</div>"
        "<p><small>A mark for each round that Player or Banker won, from the first that can be "
        "compared: red and whole where the Big Road repeats itself, blue and broken in two where "
        "it does not.</small></p>"
    )


def bead_plate_of(outcomes: Sequence[Outcome]) -> str:
    """The bead plate, newest to the right: P, B or T, a star for a natural, dots for pairs."""
    parts = []
    beads = bead_plate(outcomes)
    for bead in beads:
        x, y = _centre(bead.column, bead.row)
        winner = bead.outcome.winner
        parts.append(
            f"<g><title>{escape(_outcome_text(bead.outcome))}</title>"
            f'<circle cx="{x}" cy="{y}" r="9" fill="{_COLOURS[winner]}"/>'
            f'<text x="{x}" y="{y + 4}" font-size="11" font-weight="bold" text-anchor="middle" '
            f'fill="#fff">{LETTERS[winner]}</text>{_flags(bead.outcome, x, y)}</g>'
        )
    columns = max((bead.column + 1 for bead in beads), default=0)
    return _road("bead plate", columns, parts, _letters(outcomes))


def big_road_of(outcomes: Sequence[Outcome]) -> str:
    """The Big Road: rings with P or B; a green stroke for ties, with their number if several."""
    cells = big_road(outcomes)
    parts = [_big_cell(cell) for cell in cells]
    columns = max((cell.column + 1 for cell in cells), default=0)
    return _road("Big Road", columns, parts, _letters(outcomes))


def _derived_road(name: str, which: str, cells: Sequence[DerivedCell], shape: _Shape) -> str:
    """A derived road in small cells, with its name below, and `which` column it compares with."""
    columns = max((cell.column + 1 for cell in cells), default=0)
    marks = " ".join(cell.mark.value for cell in cells) or "no marks"
    parts = [_derived_cell(cell, shape) for cell in cells]
    shown = _road(name, columns, parts, marks, _SMALL_CELL)
    compared = f"each column of the Big Road against the {which} to its left"
    caption = f"{name} <small>{compared}</small>"
    return f"<figure>{shown}<figcaption>{caption}</figcaption></figure>"


def _derived_cell(cell: DerivedCell, shape: _Shape) -> str:
    x, y = (1 + _SMALL_CELL * (place + 0.5) for place in (cell.column, cell.row))
    path = shape.whole if cell.mark is Mark.REGULAR else shape.broken
    pen = _PEN[cell.mark]
    paint = f'fill="{pen}"' if shape.filled else f'fill="none" stroke="{pen}" stroke-width="2"'
    title = f"round {cell.round}: {cell.mark.value}, {cell.mark.name.lower()}"
    return f'<g><title>{title}</title><path d="M{x} {y}{path}" {paint}/></g>'


def _big_cell(cell: BigCell) -> str:
    x, y = _centre(cell.column, cell.row)
    shown = title = ""
    if cell.outcome is not None:
        winner = cell.outcome.winner
        title = _outcome_text(cell.outcome)
        shown = (
            f'<circle cx="{x}" cy="{y}" r="8" fill="#fff" stroke="{_COLOURS[winner]}" '
            'stroke-width="2.5"/>'
            f'<text x="{x}" y="{y + 3.5}" font-size="10" text-anchor="middle" '
            f'fill="{_COLOURS[winner]}">{LETTERS[winner]}</text>'
            f"{_flags(cell.outcome, x, y)}"
        )
    if cell.ties:
        title = ", ".join(filter(None, (title, f"ties: {cell.ties}")))
        shown += (
            f'<line x1="{x - 9}" y1="{y + 9}" x2="{x + 9}" y2="{y - 9}" '
            f'stroke="{_COLOURS["tie"]}" stroke-width="2"/>'
            f'<text x="{x - 7}" y="{y - 4}" font-size="8" font-weight="bold" '
            f'text-anchor="middle" fill="{_COLOURS["tie"]}">'
            f"{'T' if cell.ties == 1 else cell.ties}</text>"
        )
    return f"<g><title>{escape(title)}</title>{shown}</g>"


def _flags(outcome: Outcome, x: int, y: int) -> str:
    """A star for a natural (top right), dots for a Banker pair (top left), a Player pair (bottom
    right)."""
    parts = []
    if outcome.natural:
        parts.append(
            f'<text x="{x + 8}" y="{y - 1}" font-size="12" font-weight="bold" '
            'text-anchor="middle" fill="#000">*</text>'
        )
    for is_pair, winner, side in (
        (outcome.banker_pair, "banker", -1),
        (outcome.player_pair, "player", 1),
    ):
        if is_pair:
            parts.append(
                f'<circle cx="{x + 7 * side}" cy="{y + 7 * side}" r="3" '
                f'fill="{_COLOURS[winner]}" stroke="#fff" stroke-width="1"/>'
            )
    return "".join(parts)


def _outcome_text(outcome: Outcome) -> str:
    parts = [f"round {outcome.round}: {outcome.winner}"]
    parts += ["natural"] * outcome.natural
    parts += ["Player pair"] * outcome.player_pair + ["Banker pair"] * outcome.banker_pair
    return ", ".join(parts)


def _letters(outcomes: Iterable[Outcome]) -> str:
    return " ".join(LETTERS[each.winner] for each in outcomes) or "no rounds"


def _centre(column: int, row: int) -> tuple[int, int]:
    return 1 + _CELL * column + _CELL // 2, 1 + _CELL * row + _CELL // 2


def _road(name: str, columns: int, parts: Iterable[str], words: str, cell: int = _CELL) -> str:
    """A grid of six rows with the `parts`; `words` say what they show."""
    columns = max(columns, _FEWEST_COLUMNS * _CELL // cell)
    width, height = cell * columns, cell * ROWS
    vertical = (f"M{1 + cell * i} 1v{height}" for i in range(columns + 1))
    horizontal = (f"M1 {1 + cell * i}h{width}" for i in range(ROWS + 1))
    grid = f'<path d="{"".join((*vertical, *horizontal))}" fill="none" stroke="#ccc"/>'
    return picture(width + 2, height + 2, f"{name}: {words}", grid + "".join(parts), "road")
