"""Finds the marks of a code in samples: a second opinion, independent of the firmware's reader.

A hole splits a mark into two pieces, and a mark may be missing or added. So the pieces are assigned
to the places of the code in the way that needs the least change of speed from one mark or gap to
the next, because a hand cannot change its speed at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, log

import numpy as np
import numpy.typing as npt

from sabot.sim.waveform import (
    CARD_MM,
    EXIT_MM,
    FIRST_MARK_MM,
    MARK_MM,
    PITCH_MM,
    UV_MM,
    A,
    B,
    E,
    Levels,
    X,
)
from sabot_protocol.cards import MARK_COUNT

Interval = tuple[int, int]
"""The first sample, and the first one after the interval."""

_FILTER_SAMPLES = 5
"""Of so many samples in a row, the majority counts: a mark has at least twice as many."""

_MOST_PIECES = 2 * MARK_COUNT
_MOST_OF_ONE_MARK = 3
_MOST_COST = 18.0
_MOST_MISSING = 4
_MOST_HOLES = 5
_MOST_ADDED = 2
"""On each side of the code, and between two marks."""

# What an assignment costs. A change of speed costs the logarithm of its factor, up to `_STOP`: a
# hand may stop, and then one mark or gap takes any time. The others were set by trial with passes
# of all kinds of pulls and disturbances, as in the tests.
_STOP = 1.8
_MISSING = 3.0
_ADDED = 4.5
_HOLE = 0.15
_WIDE_HOLE = 3.0  # wide, or the second in a mark
_OUTSIDE = 8.0
_MARK_TO_MARK = 0.5
_CLEARLY = 0.6

_WIDEST_HOLE_SHARE = 0.22  # of the mark
_GAP_MM = PITCH_MM - MARK_MM
_GAPS = [log(_GAP_MM + missing * PITCH_MM) for missing in range(_MOST_MISSING + 1)]
"""The logarithm of the gap between two marks, by the number of marks that are missing in it."""
_LEAD_MM = FIRST_MARK_MM + UV_MM - EXIT_MM
_REST_MM = CARD_MM - (FIRST_MARK_MM + UV_MM + PITCH_MM * (MARK_COUNT - 1) + MARK_MM)


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark that was found, and its place 0 to 13 in the code. The place is None if it is not
    known, and for a mark that was added to the code."""

    begin: int
    end: int
    place: int | None


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of a pass in the order in which they came."""

    found: list[Mark]
    clear: bool
    """Whether the places are known. Otherwise the marks are the pieces, as they are."""
    missing: list[int] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether there are exactly the marks of a code."""
        return self.clear and [mark.place for mark in self.found] == list(range(MARK_COUNT))


def cleaned(levels: Levels) -> Levels:
    """The samples without single wrong ones: of each channel the majority in a short window."""
    clean = np.zeros_like(levels)
    half = _FILTER_SAMPLES // 2
    for channel in (E, A, B, X):
        on = np.pad(((levels & channel) > 0).astype(np.uint8), half)
        votes = sum(on[i : i + len(levels)] for i in range(_FILTER_SAMPLES))
        clean[votes > half] |= channel
    return clean


def intervals(on: npt.NDArray[np.bool_]) -> list[Interval]:
    """The intervals in which it is on."""
    change = np.diff(on.astype(np.int8), prepend=0, append=0)
    begins, ends = np.flatnonzero(change == 1).tolist(), np.flatnonzero(change == -1).tolist()
    return list(zip(begins, ends, strict=True))


def span(clean: Levels, channel: int) -> Interval | None:
    """From the first to the last sample at which a channel is on; None if it never is."""
    on = np.flatnonzero(clean & channel)
    return (int(on[0]), int(on[-1]) + 1) if len(on) else None


def went_back(clean: Levels) -> bool:
    """Whether the card left the exit before it left the entry."""
    entry, exit_ = span(clean, E), span(clean, X)
    return entry is not None and exit_ is not None and exit_[1] < entry[1]


def marks_in(clean: Levels) -> Marks:
    """The marks in cleaned samples of one pass."""
    pieces = intervals((clean & (A | B)) > 0)
    as_they_are = Marks([Mark(*piece, None) for piece in pieces], clear=False)
    if not pieces or len(pieces) > _MOST_PIECES:
        return as_they_are
    entry, exit_ = span(clean, E), span(clean, X)
    if went_back(clean):
        return as_they_are
    exit_on = exit_[0] if exit_ else None
    entry_off = entry[1] if entry else None
    cost, found = _Assignment(pieces, exit_on, entry_off, _MOST_COST).best()
    if found is None:
        return as_they_are
    there = {mark.place for mark in found}
    missing = [place for place in range(MARK_COUNT) if place not in there]
    added = [mark for mark in found if mark.place is None]
    if len(missing) > _MOST_MISSING or len(added) > _MOST_ADDED:
        return as_they_are
    if len(pieces) - len(found) > _MOST_HOLES or _wide_holes(pieces, found) > 1:
        return as_they_are
    for place in missing[:1]:
        _, other = _Assignment(pieces, exit_on, entry_off, cost + _CLEARLY, needs=place).best()
        if other is not None:
            return as_they_are
    return Marks(found, clear=True, missing=missing)


@dataclass(slots=True)
class _Candidate:
    """Pieces `first` to `last` as the mark at `place`, after the cheapest marks before it."""

    cost: float
    speed: float
    before: "_Candidate | None"
    first: int
    last: int
    place: int


class _Assignment:
    """Assigns pieces to places, at a cost of less than `limit`. With `needs`, that place must not
    be missing."""

    def __init__(
        self,
        pieces: list[Interval],
        exit_on: int | None,
        entry_off: int | None,
        limit: float,
        needs: int | None = None,
    ) -> None:
        self._pieces = pieces
        self._exit_on = exit_on
        self._entry_off = entry_off
        self._limit = limit
        self._needs = needs

    def best(self) -> tuple[float, list[Mark] | None]:
        """The cheapest assignment and its cost; None if no assignment is cheap enough."""
        ending: list[list[_Candidate]] = []
        for last in range(len(self._pieces)):
            firsts = range(max(0, last - _MOST_OF_ONE_MARK + 1), last + 1)
            ending.append(
                [each for first in firsts for each in self._candidates(first, last, ending)]
            )
        best_cost, best = self._limit, None
        for each in (each for some in ending[-1 - _MOST_ADDED :] for each in some):
            cost = each.cost + self._end_cost(each)
            if cost < best_cost:
                best_cost, best = cost, each
        return best_cost, None if best is None else self._marks(best)

    def _candidates(
        self, first: int, last: int, ending: list[list[_Candidate]]
    ) -> Iterator[_Candidate]:
        """These pieces as one mark, at each place at which it can be."""
        begin, end = self._pieces[first][0], self._pieces[last][1]
        speed = log(MARK_MM / (end - begin))
        costs = [inf] * MARK_COUNT
        earlier: list[_Candidate | None] = [None] * MARK_COUNT
        if first <= _MOST_ADDED:
            costs = [self._begin_cost(first, place, begin, speed) for place in range(MARK_COUNT)]
        for skipped in range(min(_MOST_ADDED + 1, first)):
            before = first - 1 - skipped
            time = log(begin - self._pieces[before][1])
            for each in ending[before]:
                so_far = each.cost + skipped * _ADDED
                so_far += _change(each.speed, speed) * _MARK_TO_MARK
                if so_far >= self._limit:
                    continue
                places = range(each.place + 1, min(each.place + 2 + _MOST_MISSING, MARK_COUNT))
                for missing, place in enumerate(places):
                    if self._leaves_out(each.place, place):
                        break
                    gap = _GAPS[missing] - time
                    cost = so_far + missing * _MISSING
                    cost += _change(each.speed, gap) + _change(gap, speed)
                    if cost < costs[place]:
                        costs[place], earlier[place] = cost, each
        own = self._own_cost(first, last)
        for place in range(MARK_COUNT):
            if costs[place] + own < self._limit:
                yield _Candidate(costs[place] + own, speed, earlier[place], first, last, place)

    def _own_cost(self, first: int, last: int) -> float:
        begin, end = self._pieces[first][0], self._pieces[last][1]
        cost = 0.0
        for i in range(first, last):
            hole = self._pieces[i + 1][0] - self._pieces[i][1]
            cost += _WIDE_HOLE if i > first or _is_wide(hole, end - begin) else _HOLE
        outside = self._exit_on is not None and begin < self._exit_on
        outside |= self._entry_off is not None and end > self._entry_off
        return cost + outside * _OUTSIDE

    def _begin_cost(self, first: int, place: int, begin: int, speed: float) -> float:
        """The cost of a first mark at `place`, with `first` pieces left out before it."""
        if place > _MOST_MISSING or self._leaves_out(-1, place):
            return inf
        cost = first * _ADDED + place * _MISSING
        if self._exit_on is not None and begin > self._exit_on:
            lead = log((_LEAD_MM + place * PITCH_MM) / (begin - self._exit_on))
            cost += _change(lead, speed) / 2
        return cost

    def _end_cost(self, last: _Candidate) -> float:
        missing = MARK_COUNT - 1 - last.place
        if missing > _MOST_MISSING or self._leaves_out(last.place, MARK_COUNT):
            return inf
        cost = (len(self._pieces) - 1 - last.last) * _ADDED + missing * _MISSING
        end = self._pieces[last.last][1]
        if self._entry_off is not None and end < self._entry_off:
            rest = log((_REST_MM + missing * PITCH_MM) / (self._entry_off - end))
            cost += _change(rest, last.speed) / 2
        return cost

    def _leaves_out(self, before: int, after: int) -> bool:
        return self._needs is not None and before < self._needs < after

    def _marks(self, last: _Candidate) -> list[Mark]:
        found: list[Mark] = []
        each: _Candidate | None = last
        after = len(self._pieces)
        while each is not None:
            found += [Mark(*piece, None) for piece in self._pieces[each.last + 1 : after][::-1]]
            found.append(Mark(self._pieces[each.first][0], self._pieces[each.last][1], each.place))
            after, each = each.first, each.before
        found += [Mark(*piece, None) for piece in self._pieces[:after][::-1]]
        return found[::-1]


def _is_wide(hole: int, mark: int) -> bool:
    return hole > _WIDEST_HOLE_SHARE * mark


def _wide_holes(pieces: list[Interval], found: list[Mark]) -> int:
    """How many holes in marks are not those of ink: they are wide, or the second in a mark."""
    count = 0
    for mark in found:
        own = [piece for piece in pieces if mark.begin <= piece[0] < mark.end]
        holes = [begin - end for (_, end), (begin, _) in pairwise(own)]
        wide = [_is_wide(hole, mark.end - mark.begin) for hole in holes]
        count += sum(wide[:1]) + len(wide[1:])
    return count


def _change(speed: float, other: float) -> float:
    return min(abs(speed - other), _STOP)
