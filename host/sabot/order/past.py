"""Shoes of cards that were dealt before, and where runs of cards are in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sabot.order.chances import PACK

RUN = 4
"""So many cards that came in the same order begin a comparison with a shoe of the table: by chance
one card in a hundred does so among a hundred shoes."""
LAST = 100
"""Shoes of its own that a table is compared with."""
_BETWEEN = bytes([255]) * RUN
"""Between two shoes: no card."""


@dataclass(frozen=True, slots=True)
class PastShoe:
    """A shoe of cards that has ended."""

    unit: str
    shoe: int
    """Its number, counted by the unit."""
    first_event: int
    """Of its cards: a unit that lost its memory counts its shoes from 1 again."""
    cards: bytes
    """Those that are known, 0 to 51, in the order in which they came."""
    decks: int = 8
    ended_unix_ms: int | None = None
    """By the clock of the unit; None without one."""


Place = tuple[int, int, int]
"""Which shoe of a sequence; the place of a card in it, from 0; 1, or -1 if it is read backwards."""


_BITS = 1 << 19
"""Of the filter of a table: a run that the last shoes do not have is in it once in twelve times."""


class RecentShoes:
    """The last shoes of a table, the newest last."""

    def __init__(self, shoes: Sequence[PastShoe] = ()) -> None:
        self.shoes = tuple(shoes[-LAST:])
        joined = np.frombuffer(
            b"".join(each.cards + _BETWEEN for each in self.shoes), dtype=np.uint8
        )
        lengths = [len(each.cards) + RUN for each in self.shoes]
        self._begins = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        wide = joined.astype(np.uint32)
        count = max(0, len(wide) - RUN + 1)
        self._runs = np.zeros(count, dtype=np.uint32)
        places = np.zeros(count, dtype=np.uint32)
        for at in range(RUN):
            self._runs = (self._runs << np.uint32(8)) | wide[at : at + count]
            places = places * np.uint32(PACK) + wide[at : at + count]
        bits = np.zeros(_BITS, dtype=bool)
        bits[places % np.uint32(_BITS)] = True
        self._filter = np.packbits(bits).tobytes() if count else b""

    def places(self, run: bytes) -> Iterator[Place]:
        """Yield the place of the last card of a run of RUN cards, wherever it came before, in its
        order or backwards."""
        if not self._filter:
            return
        for step in (1, -1):
            wanted = run[::step]
            if not self._may_have(wanted):
                continue
            for at in np.flatnonzero(self._runs == int.from_bytes(wanted)):
                shoe = int(self._begins.searchsorted(at, side="right")) - 1
                yield shoe, int(at - self._begins[shoe]) + (RUN - 1 if step > 0 else 0), step

    def _may_have(self, run: bytes) -> bool:
        place = 0
        for card in run:
            place = place * PACK + card
        place %= _BITS
        return bool(self._filter[place >> 3] & 0x80 >> (place & 7))


class OwnRuns:
    """The cards of the shoe that is dealt, as far as they are known."""

    def __init__(self) -> None:
        self.cards = bytearray()
        self._ends: dict[bytes, list[int]] = {}

    def add(self, card: int) -> None:
        """Take the next card."""
        self.cards.append(card)
        if len(self.cards) >= RUN:
            run = bytes(self.cards[-RUN:])
            self._ends.setdefault(run, []).append(len(self.cards) - 1)

    def places(self) -> Iterator[Place]:
        """Yield the places of the last card of the last run, wherever that run came before in this
        shoe without a card in common."""
        run, latest = bytes(self.cards[-RUN:]), len(self.cards) - RUN
        for end in self._ends.get(run, ()):
            if end < latest:
                yield 0, end, 1
        for end in self._ends.get(run[::-1], ()):
            if end < latest:
                yield 0, end - RUN + 1, -1
