"""Compares the composition of a shoe of cards with the cards in the log."""

from collections.abc import Sequence

from sabot.text import card_symbol, counted
from sabot_protocol import cards

_MAX_DIFFERENCES = 3  # how many differences are shown


def wrong_composition(
    counts: bytes, unread: int, expected: int, drawn: Sequence[int], unread_drawn: int, decks: int
) -> str:
    """What is wrong with a composition, for people; empty if nothing is. `counts`, `unread` and
    `expected` are its fields; the log has `drawn` of each card, and `unread_drawn` cards that are
    not known, of a shoe of this many decks."""
    differing = [
        f"{stated} of {card_symbol(cards.name_of(card))}, {right} in the log"
        for card, (stated, right) in enumerate(zip(counts, drawn, strict=False))
        if stated != right
    ]
    if len(counts) != cards.DECK_SIZE:
        differing.append(f"{len(counts)} kinds of card")
    if unread != unread_drawn:
        differing.append(f"{unread} unread, {unread_drawn} in the log")
    if expected != decks * cards.DECK_SIZE:
        differing.append(f"{counted(expected, 'card')} in {counted(decks, 'deck')}")
    return "; ".join(differing[:_MAX_DIFFERENCES])
