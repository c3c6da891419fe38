"""Events of one unit that are not in the log, and whether the shoe itself reported their loss."""

from collections.abc import Iterable
from dataclasses import dataclass

from sabot.audit.checks.findings import ReportFinding

MOST_ODD = 10_000
"""This many holes, or misplaced rows, are remembered; further ones are reported at once."""


@dataclass(slots=True)
class _Hole:
    """Consecutive events that are missing."""

    first: int
    last: int
    detail: str
    refilled: bool = False  # by rows in another place


class Holes:
    """The holes in one unit's log. `report` takes findings."""

    def __init__(self, report: ReportFinding) -> None:
        self._report = report
        self.missing: list[tuple[int, int]] = []
        """First and last event of each hole that was reported as `missing`."""
        self._holes: list[_Hole] = []
        self._declared: list[tuple[int, int, str]] = []
        self._next: dict[int, tuple[bytes, bytes]] = {}

    def add(self, first: int, last: int, following: tuple[bytes, bytes] | None) -> None:
        """Note that events `first` to `last` are missing. `following` is the record and MAC of the
        event after them; it is checked as soon as the MAC of event `last` is known."""
        hole = _Hole(first, last, f"events {first} to {last} are not in the log")
        if len(self._holes) >= MOST_ODD:
            self._report(first, "missing", hole.detail)
            return
        self._holes.append(hole)
        if following is not None:
            self._next[last + 1] = following

    def refill(self, number: int) -> bool:
        """Note that event `number` is elsewhere in the log. Return whether it was in a hole."""
        refilled = [hole for hole in self._holes if hole.first <= number <= hole.last]
        for hole in refilled:
            hole.refilled = True
        return bool(refilled)

    def declare(self, first: int, last: int, why: str) -> None:
        """Note that the shoe itself reported the loss of these events."""
        if len(self._declared) < MOST_ODD:
            self._declared.append((first, last, why))

    def take_following(self, number: int) -> tuple[bytes, bytes]:
        """Record and MAC of event `number` after a hole, to be checked now; both are empty if there
        is nothing to check."""
        return self._next.pop(number, (b"", b""))

    def ended(self) -> None:
        """After the last event, report the holes: as `gap` if the shoe itself reported the loss."""
        declared = _joined((first, last) for first, last, _ in self._declared)
        for hole in self._holes:
            if hole.refilled:
                detail = f"events from {hole.first} on are elsewhere in the log"
                self._report(hole.first, "reordered", detail)
            elif any(low <= hole.first and hole.last <= high for low, high in declared):
                why = next(
                    why
                    for first, last, why in reversed(self._declared)
                    if first <= hole.last and hole.first <= last
                )
                unsure = hole.last + 1 in self._next
                unchecked = f"; event {hole.last + 1} could not be checked" if unsure else ""
                detail = f"{why}: events {hole.first} to {hole.last}{unchecked}"
                self._report(hole.first, "gap", detail)
            else:
                self._report(hole.first, "missing", hole.detail)
                self.missing.append((hole.first, hole.last))


def _joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same numbers in as few ranges as possible."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined
