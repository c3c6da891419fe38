"""How much a shoe may send, so that a false one cannot fill the disk."""

from collections.abc import Callable

JOURNAL_BYTES = 16 << 20
"""The whole journal chip of a shoe (W25Q128JV): after weeks without a host no shoe has more."""

REFILL_S = 24 * 3600.0
"""Within this time a shoe may send a whole journal again. 4,000 rounds a day, more than a table
deals, make a seventh of it: 13 events of 46 bytes a round, with their MACs."""

_LEAST_BYTES = 16 << 10  # when it goes on after a pause: more than is received at once


class Quota:
    """The bytes that a shoe may send now: at first JOURNAL_BYTES, refilled evenly in REFILL_S.

    `now_s` is the clock.
    """

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._filled_s = now_s()
        self._left = float(JOURNAL_BYTES)

    def take(self, size: int) -> bool:
        """Count `size` bytes that were received; return whether with them half is used up."""
        self._fill()
        before, self._left = self._left, self._left - size
        return before >= JOURNAL_BYTES / 2 > self._left

    def pause_s(self) -> float:
        """How long to take nothing more from the shoe; 0 while it is within its quota."""
        self._fill()
        return 0.0 if self._left > 0 else (_LEAST_BYTES - self._left) * REFILL_S / JOURNAL_BYTES

    def _fill(self) -> None:
        now_s = self._now_s()
        more = (now_s - self._filled_s) * JOURNAL_BYTES / REFILL_S
        self._filled_s, self._left = now_s, min(self._left + more, float(JOURNAL_BYTES))
