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
    late_ms: float | None
    """After a last card: from its last mark until the lock was shut for good, 0 if it was shut
    before; None if it never was. After another card: for how long the lock was shut for safety."""
    opened_again: bool
    """After a last card: whether the lock opened again. After another card: whether it did not."""

    def faults(self, last: bool) -> list[str]:
        """Return what was wrong, in words."""
        found = []
        if self.found_shut_ms is not None:
            found.append(f"found shut {self.found_shut_ms:.1f} ms after its edge")
        if last and self.late_ms is None:
            found.append("the lock did not shut")
        elif last and self.late_ms is not None and self.late_ms > LIMIT_MS:
            found.append(f"the lock shut {self.late_ms:.1f} ms after the last mark")
        if self.opened_again:
            found.append("the lock opened again" if last else "the lock stayed shut")
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
    after = [(at_ms, open_) for at_ms, open_ in moves if at_ms > edge_ms]
    if last:
        shut = [at_ms for at_ms, open_ in moves if not open_]
        late_ms = max(0.0, shut[-1] - last_mark_ms) if shut and not at_end else None
        return Outcome(found_shut_ms, held_ms, late_ms, any(open_ for _, open_ in after))
    safe_ms = sum(
        until_ms - max(since_ms, last_mark_ms)
        for since_ms, until_ms in _times_shut(released, moves)
        if last_mark_ms < until_ms < float("inf")
    )
    return Outcome(found_shut_ms, held_ms, safe_ms, not at_end)


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
