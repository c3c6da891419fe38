"""The roads of a shoe of cards for a report, as self-contained SVG.

No meaning depends on colour alone: winners have letters, and every picture has a label in words.
"""

from collections.abc import Iterable, Sequence
from html import escape

from sabot.reports.roads import LETTERS, ROWS, BigCell, Outcome, bead_plate, big_road
from sabot.reports.svg import picture

_CELL = 22
_FEWEST_COLUMNS = 14
_COLOURS = {"player": "#1d4ed8", "banker": "#b91c1c", "tie": "#15803d"}


def roads_of(outcomes: Sequence[Outcome]) -> str:
    """The roads of a shoe of cards as HTML, with what their marks mean."""
    return (
        f"<h2>Bead plate</h2>{bead_plate_of(outcomes)}"
        f"<h2>Big Road</h2>{big_road_of(outcomes)}"
        "<p><small>P Player, B Banker, T tie; a star marks a natural; a dot on the top left a "
        "Banker pair, on the bottom right a Player pair. In the Big Road a green stroke is a tie "
        "after the round, a number the count of several ties.</small></p>"
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
    return _road("bead plate", columns, parts, outcomes)


def big_road_of(outcomes: Sequence[Outcome]) -> str:
    """The Big Road: rings with P or B; a green stroke for ties, with their number if several."""
    cells = big_road(outcomes)
    parts = [_big_cell(cell) for cell in cells]
    columns = max((cell.column + 1 for cell in cells), default=0)
    return _road("Big Road", columns, parts, outcomes)


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


def _centre(column: int, row: int) -> tuple[int, int]:
    return 1 + _CELL * column + _CELL // 2, 1 + _CELL * row + _CELL // 2


def _road(name: str, columns: int, parts: Iterable[str], outcomes: Sequence[Outcome]) -> str:
    columns = max(columns, _FEWEST_COLUMNS)
    width, height = _CELL * columns, _CELL * ROWS
    vertical = (f"M{1 + _CELL * i} 1v{height}" for i in range(columns + 1))
    horizontal = (f"M1 {1 + _CELL * i}h{width}" for i in range(ROWS + 1))
    grid = f'<path d="{"".join((*vertical, *horizontal))}" fill="none" stroke="#bbb"/>'
    letters = " ".join(LETTERS[each.winner] for each in outcomes) or "no rounds"
    return picture(width + 2, height + 2, f"{name}: {letters}", grid + "".join(parts), "road")
