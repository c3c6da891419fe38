"""Finds every run of a shoe of cards that was dealt before, by card or by rank alone, once it has
ended: for what is looked at afterwards.

The chance of each is bounded as while it is dealt (chances.py), with the weight 1 for this one
question. By rank the chance of a card is that of its rank, so that a run must be longer.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sabot.order.alignments import GOES, Alignments, Track
from sabot.order.chances import PACK
from sabot.order.past import PastShoe
from sabot.order.run_index import RUN, RunIndex

_RANKS = 13
_SHOE = 416  # cards: a run is as likely to begin at each place of so many


@dataclass(frozen=True, slots=True)
class Repeat:
    """A run of a shoe that an earlier one has too."""

    of: PastShoe
    reversed: bool
    one_in: float
    """Under honest shuffling at most one shoe in so many has such a run at all."""
    pairs: tuple[tuple[int, int], ...]
    """Places of both shoes; cards that differ are among them."""


def repeats(
    shoe: PastShoe, index: RunIndex, *, by_rank: bool = False, least: float = 1e6
) -> list[Repeat]:
    """Return the runs of a shoe that others of the index have, and that at most one honest shoe in
    `least` has: of each earlier shoe the best one in each direction, the most certain first. The
    shoe itself and those that came after it at its unit are left out."""
    cards = _translated(shoe.cards, by_rank)
    others: dict[int, tuple[PastShoe, int]] = {}
    known: list[bytes] = []
    following = Alignments(known)
    chances: list[float] = []
    best: dict[tuple[int, int], Repeat] = {}
    among = 2.0 * max(1, len(index)) * _SHOE * _SHOE
    for place, (card, chance) in enumerate(_chances(cards, shoe.decks, by_rank)):
        following.add(card, chance, place)
        chances.append(chance)
        if place + 1 >= RUN:
            begin = place + 1 - RUN
            product = 1 / among
            for each in chances[-RUN:]:
                product *= GOES / each
            run = shoe.cards[begin : place + 1]
            for number, at, step in index.places(run, by_rank=by_rank):
                if number not in others:
                    other = index.shoe(number)
                    if other.unit == shoe.unit and other.first_event >= shoe.first_event:
                        continue
                    others[number] = other, len(known)
                    known.append(_translated(other.cards, by_rank))
                there = others[number][1]
                first = at - step * (RUN - 1)
                following.begin((there, at, step), Track(product, begin, ((begin, first),)))
        following.sum()
        for (there, _, step), track in following.tracks.items():
            before = best.get((there, step))
            if track.product >= least and (before is None or track.product > before.one_in):
                of = next(other for other, at in others.values() if at == there)
                pairs = tuple(track.pairs(place, step))
                best[there, step] = Repeat(of, step < 0, track.product, pairs)
    return sorted(best.values(), key=lambda each: -each.one_in)


def _translated(cards: bytes, by_rank: bool) -> bytes:
    return bytes(card % _RANKS for card in cards) if by_rank else cards


def _chances(cards: bytes, decks: int, by_rank: bool) -> Iterator[tuple[int, float]]:
    """Each card, or rank, with its chance under honest shuffling."""
    kinds = _RANKS if by_rank else PACK
    left, total = [decks * PACK // kinds] * kinds, decks * PACK
    for card in cards:
        if left[card] > 0:
            yield card, left[card] / total
            left[card] -= 1
            total -= 1
        else:  # a copy too many says nothing
            yield card, 1.0
