"""Waiting for what has to happen before a part is stopped."""

import time
from collections.abc import Callable

READY_S = 60.0


def wait_until(condition: Callable[[], str], why: Callable[[], str]) -> str:
    """Wait until `condition` returns something, and return that. Raises AssertionError, which says
    `why`."""
    give_up_s = time.monotonic() + READY_S
    while not (found := condition()):
        assert time.monotonic() < give_up_s, why()
        time.sleep(0.1)
    return found
