"""What waits at a site for the centre, and for how long none of it has gone.

It is measured against the site's log at the moment of the question, not when the forwarder looked
last: a link that swallows what is sent keeps the forwarder waiting for minutes.
"""

import threading
import time
from collections.abc import Callable, Mapping

from sabot.log.store import Store
from sabot.receipts import kept


class Progress:
    """What waits of the log `store`. Thread-safe. Its questions raise DatabaseUnusable."""

    def __init__(self, store: Store, now_s: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._follower = store.follower()
        self._now_s = now_s
        self._lock = threading.Lock()  # of the follower, and of what follows
        self._newest: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._went_s: float | None = None
        """When something went last, or nothing waited; None before the first question."""

    def close(self) -> None:
        """Close what follows the log."""
        with self._lock:
            self._follower.close()

    def reached(self, numbers: Mapping[str, int]) -> None:
        """The centre has each unit up to this event."""
        with self._lock:
            if any(number > self._numbers.get(unit, 0) for unit, number in numbers.items()):
                self._went_s = self._now_s()
            self._numbers.update(numbers)

    def waiting(self) -> dict[str, int]:
        """How many events of each unit the centre lacks: the newest number in the log, less that
        which the centre has. Before the first connection it is known to have what it signed for."""
        with self._lock:
            return self._waiting()

    def stuck(self) -> tuple[int, float]:
        """How many events wait in all, and for how many seconds none has gone; 0 if none waits."""
        with self._lock:
            events = sum(self._waiting().values())
            now_s = self._now_s()
            if self._went_s is None or not events:
                self._went_s = now_s
            return events, now_s - self._went_s

    def _waiting(self) -> dict[str, int]:
        self._newest |= self._follower.poll()
        for unit in self._newest.keys() - self._numbers.keys():
            receipt = kept.last_receipt(self._store, unit)
            self._numbers[unit] = 0 if receipt is None else receipt.number
        return {
            unit: max(0, newest - self._numbers[unit])
            for unit, newest in sorted(self._newest.items())
            if newest
        }
