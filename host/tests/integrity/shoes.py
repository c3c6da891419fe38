"""Shoes of cards for the tests, shuffled or not, made by Python's own random numbers."""

import numpy as np

from sabot.integrity.dealt_shoe import DealtShoe
from sabot_hil.sweeps.integrity.planted import new_cards, riffled, shuffled

__all__ = ["new_cards", "riffled", "shoe_of", "shuffled"]


def shoe_of(
    cards: list[int], number: int = 1, unit: str = "SHOE-7", decks: int = 8, **more: object
) -> DealtShoe:
    """A shoe of these cards, in rounds of five."""
    rounds = [(place + 1, first) for place, first in enumerate(range(0, len(cards) - 5, 5))]
    return DealtShoe(
        unit=unit,
        shoe=number,
        decks=decks,
        cards=np.array(cards, dtype=np.int8),
        seen=np.ones(len(cards), dtype=bool),
        rounds=np.array(rounds, dtype=np.int32).reshape(-1, 2),
        **more,  # type: ignore[arg-type]
    )
