"""Follows how far the cards repeat the order of cards before them, with cards missing or added.

A hypothesis says that from some card on the shoe repeats another one from some place of it, either
way round. Then the next card is the next one of that shoe (`GOES`), or one to three cards of it
are missing (`MISSING`), or a card was added that is not in it (`ADDED`), or another one is in its
place (`OTHER`); the last two come as if shuffled. Hypotheses are followed from the moment on at
which a run of cards fits; those that never had one are left out, which only makes the sum smaller.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sabot.order.past import Place

GOES = 0.90
MISSING = (0.02, 0.01, 0.01)
ADDED = 0.03
OTHER = 0.03
_LEAST = 1e-7
"""A weight below it is left out: it could not become a finding within the next runs."""
_MOST = 1e200
_TOGETHER = 32  # hypotheses that are followed at once


@dataclass(frozen=True, slots=True)
class Track:
    """A hypothesis, after the last card."""

    product: float
    """Its part of the martingale."""
    begin: int
    """The place in this shoe of the first card that fits."""
    offsets: tuple[tuple[int, int], ...]
    """From which place of this shoe on which place of the other one it was compared with."""

    def pairs(self, place: int, step: int) -> list[tuple[int, int]]:
        """The places of this shoe up to `place`, each with that of the other one."""
        ends = [first for first, _ in self.offsets[1:]] + [place + 1]
        return [
            (at, other + step * (at - first))
            for (first, other), end in zip(self.offsets, ends, strict=True)
            for at in range(first, end)
        ]


class Alignments:
    """The hypotheses about `shoes`, which may still grow."""

    def __init__(self, shoes: Sequence[bytes | bytearray]) -> None:
        self._shoes = shoes
        self.tracks: dict[Place, Track] = {}
        self.together = _TOGETHER
        """How many hypotheses are followed at once."""

    def add(self, card: int, chance: float, place: int) -> None:
        """Take the next card, which had this chance under honest shuffling, at a place of this
        shoe."""
        if not self.tracks:
            return
        before, self.tracks = self.tracks, {}
        for (shoe, at, step), track in before.items():
            cards, product = self._shoes[shoe], track.product
            for missing, part in enumerate((GOES, *MISSING)):
                there = at + step * (1 + missing)
                if 0 <= there < len(cards) and cards[there] == card:
                    offsets = track.offsets
                    if missing:
                        offsets = (*offsets, (place, there))
                    more = min(_MOST, product * part / chance)
                    self._put((shoe, there, step), Track(more, track.begin, offsets))
            stays = (*track.offsets, (place, at))
            self._put((shoe, at, step), Track(product * ADDED, track.begin, stays))
            there = at + step
            if 0 <= there < len(cards):
                other = Track(product * OTHER, track.begin, track.offsets)
                self._put((shoe, there, step), other)

    def begin(self, where: Place, track: Track) -> None:
        """Begin to follow a hypothesis."""
        self._put(where, track)

    def sum(self) -> float:
        """The sum of the products, of the largest ones."""
        if len(self.tracks) > self.together:
            largest = sorted(self.tracks.items(), key=lambda each: each[1].product)
            self.tracks = dict(largest[-self.together :])
        return sum(each.product for each in self.tracks.values())

    @property
    def best(self) -> tuple[Place, Track] | None:
        """The hypothesis with the largest product."""
        tracks = self.tracks.items()
        return max(tracks, key=lambda each: each[1].product, default=None)

    def _put(self, where: Place, track: Track) -> None:
        if track.product < _LEAST:
            return
        known = self.tracks.get(where)
        if known is not None:
            larger = max(known, track, key=lambda each: each.product)
            product = min(_MOST, known.product + track.product)
            track = Track(product, larger.begin, larger.offsets)
        self.tracks[where] = track
