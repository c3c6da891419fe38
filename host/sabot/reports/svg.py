"""Pictures for a report, as self-contained SVG: hands of cards. The roads are in `drawn_roads`.

No meaning depends on colour alone: suits have shapes, and every picture has a label in words.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

CARD_WIDTH, CARD_HEIGHT = 30, 42
FACE_DOWN = "SEALED"
"""In place of the name of a card that is sealed."""
_GAP = 4
_INK = {"C": "#111", "D": "#c00", "H": "#c00", "S": "#111"}
_SUIT_NAMES = {"C": "clubs", "D": "diamonds", "H": "hearts", "S": "spades"}
_RANK_NAMES = {"A": "ace", "T": "10", "J": "jack", "Q": "queen", "K": "king"}

# Each in a square of 20. They are paths, because fonts differ and some show suits as emoji.
_SUITS = {
    "H": '<path d="M10 18C4 13 1 10 1 6.5C1 3.5 3.2 2 5.5 2C7.5 2 9.2 3.2 10 5'
    'C10.8 3.2 12.5 2 14.5 2C16.8 2 19 3.5 19 6.5C19 10 16 13 10 18Z"/>',
    "D": '<path d="M10 1L17 10L10 19L3 10Z"/>',
    "S": '<path d="M10 1C10.8 3.5 19 8 19 12.5C19 15 17.2 16.5 15 16.5C13 16.5 11.6 15.4 10.8 14'
    "C11 16.5 11.8 18 13.5 19L6.5 19C8.2 18 9 16.5 9.2 14C8.4 15.4 7 16.5 5 16.5"
    'C2.8 16.5 1 15 1 12.5C1 8 9.2 3.5 10 1Z"/>',
    "C": '<circle cx="10" cy="5.4" r="4.2"/><circle cx="5.2" cy="12" r="4.2"/>'
    '<circle cx="14.8" cy="12" r="4.2"/>'
    '<path d="M9 8L11 8L11.5 12L10.8 14C11 16.5 11.8 18 13.5 19L6.5 19C8.2 18 9 16.5 9.2 14'
    'L8.5 12Z"/>',
}


@dataclass(frozen=True, slots=True)
class ShownCard:
    """A card such as "7H" as it is drawn."""

    card: str
    sideways: bool = False
    """Turned as the third card of a hand is on the layout."""
    by_hand: bool = False
    """Entered by the supervisor: a dashed frame and an "H"."""


def card_name(card: str) -> str:
    """A card such as "7H" in words: "7 of hearts"."""
    suit = _SUIT_NAMES.get(card[1:])
    if suit is None:
        return {"CUT": "cut card", "TEST": "test card", FACE_DOWN: "sealed card"}.get(card, card)
    return f"{_RANK_NAMES.get(card[0], card[0])} of {suit}"


def symbols(cards: Iterable[str]) -> str:
    """Definitions of these cards, to which `hand` refers. A document has them once, before all
    hands."""
    drawn = "".join(_symbol(card) for card in sorted(set(cards)))
    return f'<svg width="0" height="0" aria-hidden="true" class="defs"><defs>{drawn}</defs></svg>'


def hand(cards: Iterable[ShownCard], label: str) -> str:
    """Cards side by side. `label` describes the picture in words."""
    x, parts = 1, list[str]()
    for each in cards:
        turned = each.sideways
        width, height = (CARD_HEIGHT, CARD_WIDTH) if turned else (CARD_WIDTH, CARD_HEIGHT)
        y = 1 + (CARD_HEIGHT - height)
        at = f'href="#card-{each.card}" width="{CARD_WIDTH}" height="{CARD_HEIGHT}"'
        if turned:
            parts.append(f'<use {at} transform="translate({x + width} {y}) rotate(90)"/>')
        else:
            parts.append(f'<use {at} x="{x}" y="{y}"/>')
        if each.by_hand:
            parts.append(
                f'<rect x="{x + 1}" y="{y + 1}" width="{width - 2}" height="{height - 2}" rx="3" '
                'fill="none" stroke="#b45309" stroke-width="2" stroke-dasharray="4 3"/>'
                f'<text x="{x + width - 6}" y="{y + height - 4}" font-size="9" font-weight="bold" '
                'text-anchor="middle" fill="#b45309">H</text>'
            )
        x += width + _GAP
    return picture(max(x - _GAP, 1) + 1, CARD_HEIGHT + 2, label, "".join(parts), "hand")


def picture(width: int, height: int, label: str, inside: str, kind: str) -> str:
    """A picture of the class `kind`, with a label in words."""
    title = escape(label)
    return (
        f'<svg class="{kind}" role="img" aria-label="{title}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><title>{title}</title>{inside}</svg>'
    )


def _symbol(card: str) -> str:
    frame = (
        f'<rect x="0.75" y="0.75" width="{CARD_WIDTH - 1.5}" height="{CARD_HEIGHT - 1.5}" rx="3" '
        'fill="#fff" stroke="#555" stroke-width="1"/>'
    )
    ink = _INK.get(card[1:])
    if card == FACE_DOWN:
        face = (
            f'<rect x="4" y="4" width="{CARD_WIDTH - 8}" height="{CARD_HEIGHT - 8}" rx="2" '
            'fill="#ddd" stroke="#555" stroke-dasharray="2 2"/>'
        )
    elif ink is None:
        word = "CUT" if card == "CUT" else "TEST"
        face = f'<text x="15" y="25" font-size="10" text-anchor="middle">{word}</text>'
    else:
        rank = "10" if card[0] == "T" else card[0]
        face = (
            f'<g fill="{ink}"><text x="15" y="19" font-size="18" font-weight="bold" '
            f'text-anchor="middle">{rank}</text>'
            f'<g transform="translate(7 22) scale(0.8)">{_SUITS[card[1]]}</g></g>'
        )
    view = f'viewBox="0 0 {CARD_WIDTH} {CARD_HEIGHT}"'
    return f'<symbol id="card-{card}" {view}>{frame}{face}</symbol>'
