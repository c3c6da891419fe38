"""Shoes of cards for the figures about their order: honest ones, and cheats."""

from collections.abc import Sequence

import numpy as np

Dice = np.random.Generator

DECKS = 8
CUT = 14
"""Cards that are not dealt."""
_PACK = [*range(39, 52), *range(26, 39), *range(12, -1, -1), *range(25, 12, -1)]
"""Spades and hearts from the ace to the king, clubs and diamonds from the king to the ace."""


def honest(dice: Dice) -> list[int]:
    """A shoe that was shuffled well."""
    shoe: list[int] = dice.permutation(np.tile(np.arange(52), DECKS)).tolist()
    return shoe


def new_packs() -> list[int]:
    """Packs as they come from the maker."""
    return _PACK * DECKS


def riffled(stack: Sequence[int], times: int, dice: Dice) -> list[int]:
    """A stack after riffles (Gilbert, Shannon, Reeds): of all ways in which a left half falls into
    a right one each is as likely."""
    shoe = np.array(list(stack))
    for _ in range(times):
        bits = dice.integers(0, 2, len(shoe))
        # The cards of the left half, in order, go to the places with bit 0, the others to bit 1.
        places = np.argsort(bits, kind="stable")
        out = np.empty_like(shoe)
        out[places] = shoe
        shoe = out
    result: list[int] = shoe.tolist()
    return result


def with_noise(slug: Sequence[int], each: float, dice: Dice) -> list[int]:
    """A run of cards of which this part is missing, as many are added, and as many exchanged."""
    made = []
    for card in slug:
        roll = dice.random()
        if roll < each:
            continue
        if roll < 2 * each:
            made.append(int(dice.integers(52)))
        made.append(int(dice.integers(52)) if 2 * each <= roll < 3 * each else card)
    return made


def planted(slug: Sequence[int], at: int, dice: Dice) -> list[int]:
    """An honest shoe with a run of cards at a place; the packs stay whole."""
    left = np.bincount(new_packs(), minlength=52) - np.bincount(slug, minlength=52)
    rest: list[int] = dice.permutation(np.repeat(np.arange(52), np.maximum(0, left))).tolist()
    return [*rest[:at], *slug, *rest[at:]]
