"""Shoes of cards for the tests, shuffled or not, made by Python's own random numbers."""

from random import Random

import numpy as np

from sabot.integrity.dealt_shoe import DealtShoe


def new_cards(decks: int = 8) -> list[int]:
    """The cards of so many decks, by number."""
    return list(range(52)) * decks


def riffled(cards: list[int], random: Random) -> list[int]:
    """Cards after one riffle (Gilbert, Shannon and Reeds): each card comes from one of two packets,
    the more likely the more cards are left in it."""
    cut = sum(random.random() < 0.5 for _ in cards)
    left, right = cards[:cut], cards[cut:]
    mixed: list[int] = []
    a = b = 0
    while a < len(left) or b < len(right):
        if random.random() * (len(left) - a + len(right) - b) < len(left) - a:
            mixed.append(left[a])
            a += 1
        else:
            mixed.append(right[b])
            b += 1
    return mixed


def shuffled(random: Random, decks: int = 8) -> list[int]:
    """The cards of so many decks in a random order."""
    cards = new_cards(decks)
    random.shuffle(cards)
    return cards


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
