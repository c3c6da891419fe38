"""The five roads of a shoe of cards of baccarat as SVG, for the screens and for reports.

The colours are those of the style sheet around them. No meaning depends on them: winners have
letters, and a mark of a derived road that is blue is broken in two.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from markupsafe import Markup, escape

from sabot.games.baccarat.family import FAMILY
from sabot.reports.derived_roads import (
    DerivedCell,
    Mark,
    big_eye_boy,
    cockroach_pig,
    small_road,
)
from sabot.reports.roads import LETTERS, ROWS, BigCell, Outcome, bead_plate, big_road

_CELL = 24
_HALF = _CELL // 2


@dataclass(frozen=True, slots=True)
class Columns:
    """How many columns the pictures have at least."""

    bead: int
    big: int
    derived: int
    last: bool
    """Whether a road with more columns shows its last ones; if not, all become smaller."""
    in_report: bool = False
    """Whether pictures have a size of their own, derived roads half of it, and each mark of these
    its round in words."""


PAGE = Columns(14, 34, 32, last=False)
BOARD = Columns(14, 20, 20, last=True)

MARKS = FAMILY.marks
"""How the roads mark a hit that a wager of the game depends on. Pairs have dots."""
REPORT = Columns(14, 14, 28, last=False, in_report=True)

MARKS = FAMILY.marks
"""How the roads mark a hit that a wager of the game depends on. Pairs have dots."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The form of a derived road's marks, as paths from the centre of a cell."""

    whole: str
    broken: str
    filled: bool = False


_RING = _Shape(
    "m-8 0a8 8 0 1 0 16 0a8 8 0 1 0-16 0", "m-2.6-7.6a8 8 0 0 0 0 15.2m5.2 0a8 8 0 0 0 0-15.2"
)
_DOT = _Shape(
    "m-9 0a9 9 0 1 0 18 0a9 9 0 1 0-18 0", "m-2-8.8a9 9 0 0 0 0 17.6zm4 0a9 9 0 0 1 0 17.6z", True
)
_SLASH = _Shape("m-8.5 8.5l17-17", "m-8.5 8.5l6-6m5-5l6-6")


@dataclass(frozen=True, slots=True)
class Roads:
    """The five roads of a shoe of cards."""

    bead_plate: Markup
    big_road: Markup
    big_eye_boy: Markup
    small_road: Markup
    cockroach_pig: Markup


def roads_of(outcomes: Sequence[Outcome], columns: Columns = PAGE) -> Roads:
    """The roads of these rounds."""
    beads, cells = bead_plate(outcomes), big_road(outcomes)
    words = " ".join(LETTERS[each.winner] for each in outcomes) or "no rounds yet"
    size = _CELL if columns.in_report else None
    return Roads(
        _road(
            f"Bead plate: {words}",
            (_bead(each.outcome, *_centre(each.column, each.row)) for each in beads),
            _span(beads, columns.bead, columns),
            size,
        ),
        _road(
            f"Big Road: {words}", map(_big_cell, cells), _span(cells, columns.big, columns), size
        ),
        _derived("Big Eye Boy", big_eye_boy(outcomes), _RING, columns),
        _derived("Small Road", small_road(outcomes), _DOT, columns),
        _derived("Cockroach Pig", cockroach_pig(outcomes), _SLASH, columns),
    )


def totals_of(outcomes: Sequence[Outcome]) -> list[tuple[str, int]]:
    """How often each result came, by name."""
    won = Counter(each.winner for each in outcomes)
    return [
        *((winner.capitalize(), won[winner]) for winner in LETTERS),
        ("naturals", sum(each.natural for each in outcomes)),
        ("Player pairs", sum(each.player_pair for each in outcomes)),
        ("Banker pairs", sum(each.banker_pair for each in outcomes)),
    ]


def title_of(outcome: Outcome) -> str:
    """The result of a round in words."""
    parts = [f"round {outcome.round}: {outcome.winner}"]
    parts += ["natural"] * outcome.natural
    parts += ["Player pair"] * outcome.player_pair + ["Banker pair"] * outcome.banker_pair
    parts += [hit.replace("_", " ") for hit in outcome.hits if hit in MARKS]
    return ", ".join(parts)


def _bead(outcome: Outcome, x: int, y: int) -> str:
    letter = LETTERS[outcome.winner]
    return (
        f"<g><title>{escape(title_of(outcome))}</title>"
        f'<circle class="{outcome.winner}" cx="{x}" cy="{y}" r="10.4"/>'
        f"{_letter(letter, x, y, outcome, 'on-disc')}{_flags(outcome, x, y)}</g>"
    )


def _big_cell(cell: BigCell) -> str:
    x, y = _centre(cell.column, cell.row)
    shown = title = ""
    if cell.outcome is not None:
        winner = cell.outcome.winner
        title = title_of(cell.outcome)
        shown = (
            f'<circle class="ring {winner}" cx="{x}" cy="{y}" r="9.4"/>'
            f"{_letter(LETTERS[winner], x, y, cell.outcome, winner)}{_flags(cell.outcome, x, y)}"
        )
    if cell.ties:
        title = ", ".join(filter(None, (title, f"ties: {cell.ties}")))
        count = f'<text class="count tie" x="{x - 7}" y="{y - 4}">{cell.ties}</text>'
        shown += f'<path class="stroke tie" d="M{x - 9} {y + 9}l18-18"/>{count * (cell.ties > 1)}'
    return f"<g><title>{escape(title)}</title>{shown}</g>"


def _letter(letter: str, x: int, y: int, outcome: Outcome, kind: str) -> str:
    """The winner's letter, and below it what a wager of the game depends on."""
    marks = [MARKS[hit] for hit in outcome.hits if hit in MARKS]
    if not marks:
        return f'<text class="letter {kind}" x="{x}" y="{y + 4.4}">{letter}</text>'
    return (
        f'<text class="letter {kind}" x="{x}" y="{y + 1}">{letter}</text>'
        f'<text class="hit {kind}" x="{x}" y="{y + 7.6}">{escape(marks[0])}</text>'
    )


def _flags(outcome: Outcome, x: int, y: int) -> str:
    """A bar for a natural (top right), dots for a Banker pair (top left), a Player pair (bottom
    right)."""
    parts = [f'<path class="natural" d="M{x + 5} {y - 8}h5"/>'] * outcome.natural
    for is_pair, winner, side in (
        (outcome.banker_pair, "banker", -1),
        (outcome.player_pair, "player", 1),
    ):
        dot = f'<circle class="pair {winner}" cx="{x + 8 * side}" cy="{y + 8 * side}" r="3.4"/>'
        parts += [dot] * is_pair
    return "".join(parts)


def _derived(name: str, cells: Sequence[DerivedCell], shape: _Shape, columns: Columns) -> Markup:
    words = " ".join(cell.mark.value for cell in cells) or "no marks"
    drawn = _marks_in_words(cells, shape) if columns.in_report else _marks(cells, shape)
    size = _CELL // 2 if columns.in_report else None
    return _road(f"{name}: {words}", drawn, _span(cells, columns.derived, columns), size)


def _marks(cells: Sequence[DerivedCell], shape: _Shape) -> Iterator[str]:
    """Yield one path for all marks of each kind: a page has hundreds of them."""
    for mark in Mark:
        of_kind = [cell for cell in cells if cell.mark is mark]
        if of_kind:
            yield _path(of_kind, shape)


def _marks_in_words(cells: Sequence[DerivedCell], shape: _Shape) -> Iterator[str]:
    for cell in cells:
        title = f"round {cell.round}: {cell.mark.value}, {cell.mark.name.lower()}"
        yield f"<g><title>{title}</title>{_path([cell], shape)}</g>"


def _path(cells: Sequence[DerivedCell], shape: _Shape) -> str:
    """Marks of one kind."""
    mark = cells[0].mark
    path = shape.whole if mark is Mark.REGULAR else shape.broken
    centres = (_centre(cell.column, cell.row) for cell in cells)
    drawn = "".join(f"M{x} {y}{path}" for x, y in centres)
    return f'<path class="{"filled " * shape.filled}mark {mark.value}" d="{drawn}"/>'


class _Placed(Protocol):
    """A cell of a road."""

    @property
    def column(self) -> int: ...


def _span(cells: Iterable[_Placed], columns: int, all_: Columns) -> tuple[int, int]:
    """The first and the last column of a picture, the latter not included."""
    end = max([columns, *(cell.column + 1 for cell in cells)])
    return (end - columns if all_.last else 0), end


def _road(label: str, parts: Iterable[str], span: tuple[int, int], size: int | None) -> Markup:
    """A grid with the `parts`. `size` is that of a cell in px; if None, the sheet decides."""
    first, end = span
    left, width, height = _CELL * first, _CELL * (end - first), _CELL * ROWS
    vertical = "".join(f"M{_CELL * place} 0v{height}" for place in range(first, end + 1))
    across = "".join(f"M{left} {_CELL * place}h{width}" for place in range(ROWS + 1))
    scale = 0 if size is None else size / _CELL
    fixed = f'width="{(width + 2) * scale:g}" height="{(height + 2) * scale:g}" ' if scale else ""
    return Markup(
        f'<svg class="road" role="img" aria-label="{label}" {fixed}'
        f'viewBox="{left - 1} -1 {width + 2} {height + 2}">'
        f'<path class="grid" d="{vertical}{across}"/>{"".join(parts)}</svg>'
    )


def _centre(column: int, row: int) -> tuple[int, int]:
    return _CELL * column + _HALF, _CELL * row + _HALF
