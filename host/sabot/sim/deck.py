"""The cards in a simulated shoe: shuffled, or from a deck file."""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sabot.errors import BadDeck
from sabot.text import card_names, counted
from sabot_protocol import cards

DECKS = 8
CUT_FROM_END = 14
"""Cards after the cut card (common at tables: 14 or 16)."""

_LARGEST_FILE = 100_000


def shuffled(
    seed: int | None = None, *, decks: int = DECKS, cut_from_end: int = CUT_FROM_END
) -> list[int]:
    """Return `decks` decks, shuffled, with the cut card; the same `seed` gives the same order."""
    return shuffled_shoes(1, seed, decks=decks, cut_from_end=cut_from_end)[0]


def shuffled_shoes(
    count: int,
    seed: int | None = None,
    *,
    decks: int = DECKS,
    cut_from_end: int | None = CUT_FROM_END,
) -> list[list[int]]:
    """Return `count` shoes of cards as `shuffled`; the same `seed` gives the same ones. None: there
    is no cut card."""
    order = random.Random(seed)
    shoes = []
    for _ in range(count):
        deck = [card for card in range(cards.DECK_SIZE) for _ in range(decks)]
        order.shuffle(deck)
        if cut_from_end is not None:
            deck.insert(len(deck) - cut_from_end, cards.CUT_CARD)
        shoes.append(deck)
    return shoes


def read(path: Path, *, short: bool = False, decks: int = DECKS) -> list[int]:
    """Read the deck file at `path`: cards in drawing order, one a line, `CUT` for the cut card.

    Without `short` it must hold `decks` whole decks. Raises BadDeck, which names a wrong line.
    """
    try:
        with path.open("rb") as file:  # the size of a pipe or a device is not known
            data = file.read(_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            raise BadDeck(f"{path}: too large for a deck file")
        lines = data.decode("utf-8-sig").splitlines()
    except OSError as error:
        raise BadDeck(f"{path}: cannot be read ({error.strerror}); check the name") from None
    except UnicodeDecodeError:
        raise BadDeck(f"{path}: not a deck file: one card a line, such as 7H") from None
    deck = [_card(path, n, line) for n, line in enumerate(lines, 1) if line.strip()]
    check(deck, str(path), short=short, decks=decks)
    return deck


def check(deck: Sequence[int], name: str, *, short: bool, decks: int = DECKS) -> None:
    """Raise BadDeck unless `deck` is `decks` whole decks or, with `short`, a part of them."""
    counts = Counter(deck)
    if counts.pop(cards.CUT_CARD, 0) > 1:
        raise BadDeck(f"{name}: more than one CUT; leave one")
    for card, count in counts.items():
        if count > decks:
            raise BadDeck(
                f"{name}: {count} copies of {cards.name_of(card)} in {counted(decks, 'deck')}; "
                "remove the surplus"
            )
    whole = decks * cards.DECK_SIZE
    if not short and counts.total() != whole:
        raise BadDeck(
            f"{name}: {counted(counts.total(), 'card')} instead of the {whole} of "
            f"{counted(decks, 'deck')}; complete it, or use --short"
        )
    if not counts:
        raise BadDeck(f"{name}: no cards in it")


def _card(path: Path, number: int, line: str) -> int:
    try:
        (name,) = card_names(line)
        card = cards.number_of(name)
    except ValueError:
        card = cards.TEST_CARD
    if card == cards.TEST_CARD:
        shown = line.strip()[:20]
        raise BadDeck(f"{path}, line {number}: {shown!r} is not a card; write 7H, TC or CUT")
    return card
