"""Shoes of cards for tests of their order: honest ones, new packs, riffles, planted runs."""

import random
from collections.abc import Sequence

from host.tests.support.helpers import FirmwareLog
from sabot.order.past import PastShoe
from sabot_protocol import cards

CUT = 14
"""Cards that are not dealt."""


def new_packs(decks: int = 8) -> list[int]:
    """Packs as a maker orders them: ace to king of spades and hearts, king to ace of clubs and
    diamonds."""
    ranks = cards.RANKS
    pack = [rank + suit for suit in "SH" for rank in ranks]
    pack += [rank + suit for suit in "CD" for rank in reversed(ranks)]
    return [cards.number_of(name) for name in pack] * decks


def honest(dice: random.Random, decks: int = 8) -> list[int]:
    """A shoe of cards that was shuffled well."""
    shoe = list(range(cards.DECK_SIZE)) * decks
    dice.shuffle(shoe)
    return shoe


def riffled(stack: Sequence[int], times: int, dice: random.Random) -> list[int]:
    """A stack after riffles by the model of Gilbert, Shannon and Reeds: cut at a binomial place,
    then each next card from a half with the chance of its part of what is left."""
    cut = list(stack)
    for _ in range(times):
        size = sum(dice.random() < 0.5 for _ in cut)
        left, right, cut = cut[:size][::-1], cut[size:][::-1], []
        while left or right:
            from_left = dice.random() * (len(left) + len(right)) < len(left)
            cut.append((left if from_left else right).pop())
    return cut


def past(shoes: Sequence[Sequence[int]], unit: str = "U1") -> list[PastShoe]:
    """Shoes that a unit dealt up to the cut card, numbered from 1."""
    return [
        PastShoe(unit, at + 1, 1000 * at + 1, bytes(shoe[:-CUT])) for at, shoe in enumerate(shoes)
    ]


def dealt_shoes(*shoes: Sequence[int], game: bytes | None = None) -> FirmwareLog:
    """A unit that dealt these shoes of cards one after the other, each up to its cut card."""
    log = FirmwareLog(firmware="0.3.0", **{} if game is None else {"game": game})
    for shoe in shoes:
        names = [cards.name_of(card) for card in shoe]
        log.deal_shoe([*names[:-CUT], "CUT", *names[-CUT:]])
    return log
