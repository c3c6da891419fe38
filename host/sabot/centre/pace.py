"""How much to send at once, and how long to wait after a link was lost."""

import random

TARGET_S = 1.0
"""What is sent at once is to take about so long: little is sent again if the link fails within."""
_ROUND_TRIPS = 20
"""It takes so many round trips at least, so that a slow answer costs a small part of the time."""
_LONGEST_S = 10.0
MOST = 100_000
"""Records that are sent at once at most, of all units together."""
_FIRST = 1000
_GROWTH = 64

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0


class BatchSize:
    """How many records are sent at once: 1 to MOST, by how long the last ones took."""

    def __init__(self) -> None:
        self.records = _FIRST
        self.target_s = TARGET_S
        """How long what is sent at once is to take."""
        self._round_trip_s = 0.0

    def answered(self, seconds: float) -> None:
        """A short question was answered after so long."""
        self._round_trip_s = min(seconds, _LONGEST_S / 2)
        self.target_s = min(max(TARGET_S, _ROUND_TRIPS * seconds), _LONGEST_S)

    def took(self, records: int, seconds: float) -> None:
        """A batch of so many records has taken so long."""
        # The round trip is paid once, however many go.
        work_s = max(seconds - self._round_trip_s, seconds / _ROUND_TRIPS, 1e-6)
        within_target = int(records * (self.target_s - self._round_trip_s) / work_s)
        if within_target < self.records:
            if records >= self.records or seconds > self.target_s:  # one that was full, or slow
                self.records = max(1, within_target, self.records // 4)
        elif records >= self.records:
            self.records = min(MOST, within_target, _GROWTH * self.records)

    def failed(self) -> None:
        """The link failed within a batch: the next one is a quarter of it."""
        self.records = max(1, self.records // 4)


class BackOff:
    """How long to wait before the next attempt: longer each time, and never the same for all
    sites, which else would come back together when the centre does."""

    def __init__(self, rng: random.Random | None = None) -> None:
        self._rng = rng or random.Random()
        self._longest_s = FIRST_WAIT_S

    def next_s(self) -> float:
        """The time to wait after one more failure."""
        longest_s = self._longest_s
        self._longest_s = min(2 * longest_s, LONGEST_WAIT_S)
        return longest_s * self._rng.uniform(0.5, 1.0)

    def worked(self) -> None:
        """An attempt worked: the next failure waits as the first one."""
        self._longest_s = FIRST_WAIT_S
