"""Texts for a terminal: no text from outside gets through that controls it."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from sabot.text import card_symbol, printable, shortened

MOST_IN_NAME = 64
"""The most letters of a name in a table."""


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line that is not folded at the width of the terminal."""

    text: str


def plain(text: str) -> Text:
    """Return a text without markup, and without characters that control a terminal."""
    return Text(printable(text))


def name_text(name: str) -> Text:
    """Return a name for a column of a table, so short that no part of it looks like a row."""
    return plain(shortened(name, MOST_IN_NAME))


def card_text(card: str) -> Text:
    """Return a card such as "7H" as people write it, hearts and diamonds in red."""
    return Text(card_symbol(card), style="red" if card[1:] in ("D", "H") else "")


def hand_text(hand: Sequence[str], total: int | None) -> Text:
    """Return a hand's total and its cards."""
    text = Text("-" if total is None else str(total), style="bold")
    for card in hand:
        text.append("  ").append_text(card_text(card))
    return text
