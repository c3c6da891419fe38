"""Whether the lock was right for a card that is due, from the moves of its pin alone.

The card is due itself. After it either another card is due, or none is (a *last card*). So the lock
must be released from the card's edge at the first sensor to its last mark. After that it must be
shut within LIMIT_MS of the last mark and stay shut, or it must be released in the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

LIMIT_MS = 4.2
"""From a last card's last mark to the lock: 5 ms, less 15 % (hil_tests/README.md)."""

Moves = Sequence[tuple[float, bool]]
"""Each move of the lock: when, in ms, and whether it was released then."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the lock did for one card."""

    found_shut_ms: float | None
    """When the card first found the lock shut, in ms from its edge; None: never. 0: it was shut
    when the card came."""
    held_ms: float
    """For how long the lock was shut between the card's edge and its last mark."""
    settled_ms: float | None
    """From the card's last mark until the lock was for good what it must be, shut or released; 0 if
    it was before. None if it never was."""
    reopened: bool
    """Whether the lock was released again after a last card."""

    def late(self, last: bool) -> bool:
        """Whether the lock did not shut in time after a last card."""
        return last and (self.settled_ms is None or self.settled_ms > LIMIT_MS)

    def faults(self, last: bool) -> list[str]:
        """Return what was wrong, in words."""
        found = []
        if self.found_shut_ms is not None:
            found.append(f"it found the lock shut {self.found_shut_ms:.1f} ms after its edge")
        if self.reopened:
            found.append("the lock opened again")
        elif self.settled_ms is None:
            found.append("the lock did not shut" if last else "the lock stayed shut")
        elif self.late(last):
            found.append(f"the lock shut {self.settled_ms:.1f} ms after the last mark")
        return found


def outcome(
    released: bool, moves: Moves, edge_ms: float, last_mark_ms: float, last: bool
) -> Outcome:
    """Return what the lock did. `released` is whether it was before the first of `moves`, and
    `last` whether no card is due after this one."""
    found_shut_ms: float | None = None
    held_ms = 0.0
    for since_ms, until_ms in _times_shut(released, moves):
        begin_ms, end_ms = max(since_ms, edge_ms), min(until_ms, last_mark_ms)
        if begin_ms < end_ms:
            held_ms += end_ms - begin_ms
            if found_shut_ms is None:
                found_shut_ms = begin_ms - edge_ms
    at_end = moves[-1][1] if moves else released
    settled_ms: float | None = None
    if at_end != last:
        settled_ms = max(0.0, moves[-1][0] - last_mark_ms) if moves else 0.0
    reopened = last and any(open_ and at_ms > last_mark_ms for at_ms, open_ in moves)
    return Outcome(found_shut_ms, held_ms, settled_ms, reopened)


def _times_shut(released: bool, moves: Moves) -> list[tuple[float, float]]:
    """Return from when until when the lock was shut, each time."""
    times, since_ms = [], None if released else float("-inf")
    for at_ms, open_ in moves:
        if open_ and since_ms is not None:
            times.append((since_ms, at_ms))
            since_ms = None
        elif not open_ and since_ms is None:
            since_ms = at_ms
    if since_ms is not None:
        times.append((since_ms, float("inf")))
    return times
