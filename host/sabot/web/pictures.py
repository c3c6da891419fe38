"""Small pictures of roads, as SVG of a few paths each: a page has a thousand of them.

The colours are those of the style sheet. No meaning depends on them: winners have letters.
"""

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from sabot.reports.roads import LETTERS, ROWS, Outcome

_CELL = 20
_GLYPHS = {
    "player": "m-2.6 5v-10h3a3 3 0 0 1 0 6h-3",
    "banker": "m-2.8-5v10h3a2.7 2.7 0 0 0 0-5.4h-3h2.6a2.3 2.3 0 0 0 0-4.6z",
    "tie": "m-3.6-4.8h7.2m-3.6 0v9.8",
}
"""The letters P, B and T as lines from the centre of a cell. Fonts differ."""


def small_plate(outcomes: Sequence[Outcome], columns: int) -> Markup:
    """The last columns of the bead plate: discs with letters, a dot for each pair, a bar below a
    natural."""
    first = max(0, (len(outcomes) + ROWS - 1) // ROWS - columns) * ROWS
    shown = list(enumerate(outcomes[first:]))
    parts = []
    for winner in LETTERS:
        cells = [place for place, each in shown if each.winner == winner]
        dots = "".join(f"{_moved(place)}h0" for place in cells)  # with round ends they are discs
        parts.append(f'<path class="discs {winner}" d="{dots}"/>' if dots else "")
    letters = "".join(f"{_moved(place)}{_GLYPHS[each.winner]}" for place, each in shown)
    naturals = "".join(f"{_moved(place)}m-4 7.4h8" for place, each in shown if each.natural)
    parts.append(f'<path class="letters" d="{letters}{naturals}"/>' if letters else "")
    for kind, corner in (("banker", "m-7-6.4"), ("player", "m7 6.4")):
        pairs = "".join(
            f"{_moved(place)}{corner}h0" for place, each in shown if getattr(each, f"{kind}_pair")
        )
        parts.append(f'<path class="pairs {kind}" d="{pairs}"/>' if pairs else "")
    width, height = _CELL * columns, _CELL * ROWS
    return Markup(
        f'<svg class="plate" role="img" aria-label="{_words(outcomes[first:])}" '
        f'viewBox="0 0 {width} {height}"><use href="#plate-grid"/>{"".join(parts)}</svg>'
    )


def plate_grid(columns: int) -> Markup:
    """The grid of all small plates, which a page has once, before them."""
    vertical = (f"M{_CELL * place} 0v{_CELL * ROWS}" for place in range(columns + 1))
    across = (f"M0 {_CELL * place}h{_CELL * columns}" for place in range(ROWS + 1))
    lines = "".join((*vertical, *across))
    return Markup(
        '<svg class="marks" width="0" height="0" aria-hidden="true"><defs>'
        f'<path id="plate-grid" class="grid" d="{lines}"/></defs></svg>'
    )


def _centre(place: int) -> tuple[int, int]:
    column, row = divmod(place, ROWS)
    return _CELL * column + _CELL // 2, _CELL * row + _CELL // 2


def _moved(place: int) -> str:
    x, y = _centre(place)
    return f"M{x} {y}"


def _words(outcomes: Iterable[Outcome]) -> str:
    return "last results: " + (" ".join(LETTERS[each.winner] for each in outcomes) or "none")
