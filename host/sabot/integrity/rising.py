"""Rising sequences: in how many passes over the old order the new one can be read off."""

from bisect import bisect_left

from sabot.integrity.dealt_shoe import KINDS, UNKNOWN, Cards


def rising_sequences(before: Cards, cards: Cards) -> int:
    """Return how often one must begin again at the top of the new order `cards` to find in it the
    cards of the order `before`, one after the other.

    Of equal cards the next one that is still free is taken. So eight decks that were riffled once
    need some ten passes and not two; those that were shuffled well need about a hundred.
    """
    free: list[list[int]] = [[] for _ in range(KINDS)]
    for place, card in enumerate(cards.tolist()):
        if card != UNKNOWN:
            free[card].append(place)
    passes, at = 0, len(cards)
    for card in before.tolist():
        places = free[card] if card != UNKNOWN else []
        if not places:
            continue
        next_one = bisect_left(places, at)
        if next_one == len(places):
            passes, next_one = passes + 1, 0
        at = places.pop(next_one)
    return passes
