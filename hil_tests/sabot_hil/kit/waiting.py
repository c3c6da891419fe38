"""Functions that wait for a condition, by any clock."""

import time
from collections.abc import Callable
from typing import TypeVar

from sabot_hil.capabilities import Clock

_T = TypeVar("_T")

_NAP_S = 0.005


def _nap() -> None:
    time.sleep(_NAP_S)


def seconds_of(clock: Clock) -> Callable[[], float]:
    """Return a clock's time as `now_s` for the functions here."""
    return lambda: clock.now_us() / 1_000_000


def wait_until(
    look: Callable[[], _T],
    within_s: float,
    pause: Callable[[], object] = _nap,
    now_s: Callable[[], float] = time.monotonic,
) -> _T:
    """Call `look` until it is true or `within_s` seconds are over. Return its last value.

    `look` is called at least once; `pause` lets some time pass between two calls.
    """
    end_s = now_s() + within_s
    while not (seen := look()) and now_s() < end_s:
        pause()
    return seen


def wait_until_still(
    look: Callable[[], _T],
    still_s: float,
    within_s: float,
    pause: Callable[[], object] = _nap,
    now_s: Callable[[], float] = time.monotonic,
) -> _T | None:
    """Call `look` until its value was the same for `still_s` seconds, and return that value; None
    if it still changed after `within_s` seconds. `pause` is as in `wait_until`."""
    seen, since_s = look(), now_s()

    def still() -> bool:
        nonlocal seen, since_s
        now = look()
        if now != seen:
            seen, since_s = now, now_s()
        return now_s() - since_s >= still_s

    return seen if wait_until(still, within_s, pause, now_s) else None
