"""Predicts the next card from the ones that follow the last cards in some order, riffled or not.

A riffle cuts a stack in two and lets the halves fall into each other: each half keeps its order.
After L riffles the stack is 2^L such sequences in each other (Bayer and Diaconis, Trailing the
Dovetail Shuffle to its Lair, 1992), and a card's follower comes some 2^L cards after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sabot.order.chances import PACK, begins_at

Floats = NDArray[np.float64]

RIFFLES_OF_PACKS = (0, 1, 2, 3, 4)
"""After five, 32 sequences among 52 cards tell next to nothing."""
RIFFLES_OF_A_SHOE = (0, 1, 2)
_HONEST = (0.1, 0.15, 0.2, 0.3, 0.4)
"""By the number of riffles: the part of the cards that come as if shuffled."""
_TURNS = 0.05  # the chance that a sequence goes on in the other direction
_SEEN = 0.3  # what is left of a card's prediction once a copy of it has come
_RANKS = 13
_NONE = 1e-9  # where no card follows, none is predicted
_MOST = 1e200  # a martingale that is cut off never rises above its bound


def pack_followers() -> Floats:
    """The chances of the next card after each in a new pack: upwards, and downwards. Makers order
    two suits up and two down, and begin with aces, twos or kings: after the end of a suit comes an
    end of any."""
    up = np.zeros((PACK, PACK))
    for card in range(PACK):
        suit, rank = divmod(card, _RANKS)
        if rank < _RANKS - 1:
            up[card, card + 1] = 1
            continue
        ends = [_RANKS * each for each in range(4)]
        ends += [_RANKS * each + _RANKS - 1 for each in range(4) if each != suit]
        up[card, ends] = 1 / len(ends)
    # Downwards is the same with the ranks turned round.
    turned = [_RANKS * (card // _RANKS) + _RANKS - 1 - card % _RANKS for card in range(PACK)]
    return np.stack([up, up[np.ix_(turned, turned)]])


def shoe_followers(cards: bytes) -> Floats:
    """The same of the order of a shoe of cards: as it came, and reversed."""
    counts = np.zeros((PACK, PACK))
    came = np.frombuffer(cards, dtype=np.uint8)
    np.add.at(counts, (came[:-1], came[1:]), 1)
    made = []
    for each in (counts, counts.T):
        sums = each.sum(axis=1, keepdims=True)
        made.append(np.divide(each, sums, out=np.zeros_like(each), where=sums > 0))
    return np.stack(made)


@dataclass(frozen=True, slots=True)
class Order:
    """An order that the next cards may follow."""

    followers: Floats
    """As `pack_followers` and `shoe_followers` return them."""
    riffles: Sequence[int]
    """With each of these numbers of riffles."""
    weight: float
    """Its part of the rate of false alarms."""


class Successors:
    """Follows a shoe of `decks` packs, by each of `orders`."""

    def __init__(self, orders: Sequence[Order], decks: int) -> None:
        self._decks = decks
        riffles = [n for each in orders for n in each.riffles for _ in range(2)]
        counts = [2 * len(each.riffles) for each in orders]
        self._begins = np.concatenate(([0], np.cumsum(counts)))
        # Both directions of each order, which all its numbers of riffles share.
        self._followers = np.concatenate([e.followers for e in orders]).astype(np.float32)
        self._which = np.array(
            [2 * at + way for at, e in enumerate(orders) for _ in e.riffles for way in range(2)]
        )
        self._weights = np.repeat([e.weight for e in orders], counts) / np.repeat(counts, counts)
        self._riffles = riffles
        self._keeps = 1 - 0.5 ** np.array(riffles)[:, None]
        self._honest = np.array([_HONEST[each] for each in riffles])
        self._goes = 1 - self._honest
        self._due = np.zeros((len(riffles), PACK))
        self._products = np.zeros(len(riffles))
        self._pairs = self._products.reshape(-1, 2)
        self._turned = self._pairs[:, ::-1]
        self._place = 0

    def add(self, card: int, chance: float) -> list[float]:
        """Take the next card, which had this chance under honest shuffling. Return for each order
        the sum of the products of its hypotheses."""
        products, due, pairs = self._products, self._due, self._pairs
        products += self._weights * begins_at(self._place, self._decks)
        pairs += _TURNS * (self._turned - pairs)
        if self._place:
            part = due[:, card] / (np.add.reduce(due, axis=1) + _NONE)
            part *= self._goes
            part /= chance
            part += self._honest
            products *= part
            np.minimum(products, _MOST, out=products)
        due *= self._keeps
        due[:, card] *= _SEEN
        due += self._followers[:, card][self._which]
        self._place += 1
        sums: list[float] = np.add.reduceat(products, self._begins[:-1]).tolist()
        return sums

    def best(self, order: int) -> tuple[int, bool]:
        """The hypothesis about an order with the largest product: how many riffles, and whether it
        goes backwards."""
        first, end = self._begins[order : order + 2]
        at = first + int(self._products[first:end].argmax())
        return self._riffles[at], bool((at - first) % 2)
