"""How long the tests of a suite take, and an estimate of the time that is left.

`durations.json` has the seconds of each test on the emulated Pico. Only their relations count: how
fast this machine and this target are is learnt from the tests that have ended.
"""

import json
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from statistics import median

_TABLE = Path(__file__).with_name("durations.json")
_LEARNT_AFTER_S = 60.0
"""Of expected time: before that, the speed first assumed counts for more than the measured one."""


@cache
def durations() -> Mapping[str, float]:
    """Return the seconds that a test takes on the emulated Pico, by the name of its function."""
    found: dict[str, float] = json.loads(_TABLE.read_text())
    return found


def expected_s(test: str) -> float:
    """Return the seconds that the test with this id takes on the emulated Pico; the median of all
    tests if it is not in the table."""
    name = test.partition("[")[0].rpartition("::")[2]
    return durations().get(name) or median(durations().values())


class TimeLeft:
    """The time left of a run of `tests` (their ids) that `workers` run side by side."""

    def __init__(self, tests: Collection[str], workers: int, slowness: float) -> None:
        self._left = {test: expected_s(test) for test in tests}
        self._begun: dict[str, float] = {}
        self._workers = workers
        self._expected_s = _LEARNT_AFTER_S
        self._took_s = _LEARNT_AFTER_S * slowness

    @property
    def running(self) -> Mapping[str, float]:
        """When each of the tests that run now has begun."""
        return self._begun

    def begin(self, test: str, now_s: float) -> None:
        """The test begins."""
        self._begun[test] = now_s

    def end(self, test: str, took_s: float | None) -> None:
        """The test has ended; None if that says nothing about the time of others."""
        self._begun.pop(test, None)
        expected = self._left.pop(test, 0.0)
        if took_s is not None:
            self._expected_s += expected
            self._took_s += took_s

    def seconds(self, now_s: float) -> float:
        """Return how many seconds are left."""
        slowness = self._took_s / self._expected_s
        each = {test: expected * slowness for test, expected in self._left.items()}
        for test, begun_s in self._begun.items():
            each[test] = max(0.0, each.get(test, 0.0) - (now_s - begun_s))
        return max([sum(each.values()) / self._workers, *each.values()])
