"""How often a password may be tried, by the user's name and by the address that it comes from.

After FREE failed tries each further one must wait, twice as long each time, up to LONGEST_WAIT_S.
One that succeeds, or a quiet time, begins the count again. So a guesser has some hundred tries a
day at a name, and a user who mistypes waits for seconds. Kept in memory: a restart forgets it.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

FREE = 5
FREE_OF_ORIGIN = 20
"""An address may be that of a whole room."""
FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 900.0
FORGOTTEN_S = 3600.0
_MOST_KEPT = 10_000  # names and addresses; those that failed longest ago are forgotten first


@dataclass(slots=True)
class _Failed:
    count: int
    last_s: float


class Tries:
    """Counts the failed tries. Not thread-safe."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._failed: OrderedDict[tuple[str, str], _Failed] = OrderedDict()

    def wait_s(self, name: str, origin: str) -> float:
        """How long the next try of `name` from `origin` must wait; 0 if it may come now."""
        now = self._now_s()
        return max(self._wait_s(key, free, now) for key, free in _keys(name, origin))

    def failed(self, name: str, origin: str) -> None:
        """A try has failed, or begins: it is taken back by `succeeded`."""
        now = self._now_s()
        for key, _ in _keys(name, origin):
            before = self._failed.pop(key, None)
            count = 0 if before is None or now - before.last_s > FORGOTTEN_S else before.count
            self._failed[key] = _Failed(count + 1, now)
        while len(self._failed) > _MOST_KEPT:
            self._failed.popitem(last=False)

    def succeeded(self, name: str, origin: str) -> None:
        """A try has succeeded."""
        for key, _ in _keys(name, origin):
            self._failed.pop(key, None)

    def _wait_s(self, key: tuple[str, str], free: int, now: float) -> float:
        failed = self._failed.get(key)
        if failed is None or failed.count < free or now - failed.last_s > FORGOTTEN_S:
            return 0.0
        doublings = min(failed.count - free, 20)  # far above the longest wait
        wait_s = min(FIRST_WAIT_S * float(1 << doublings), LONGEST_WAIT_S)
        return max(0.0, failed.last_s + wait_s - now)


def _keys(name: str, origin: str) -> tuple[tuple[tuple[str, str], int], ...]:
    return (("name", name), FREE), (("origin", origin), FREE_OF_ORIGIN)
