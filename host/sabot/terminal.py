"""Texts for a terminal: no text from outside gets through that controls it."""

from rich.text import Text

from sabot.text import card_symbol, printable, shortened

MOST_IN_NAME = 64
"""The most letters of a name in a table."""


def plain(text: str) -> Text:
    """Return a text without markup, and without characters that control a terminal."""
    return Text(printable(text))


def name_text(name: str) -> Text:
    """Return a name for a column of a table, so short that no part of it looks like a row."""
    return plain(shortened(name, MOST_IN_NAME))


def card_text(card: str) -> Text:
    """Return a card such as "7H" as people write it, hearts and diamonds in red."""
    return Text(card_symbol(card), style="red" if card[1:] in ("D", "H") else "")
