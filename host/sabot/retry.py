"""Tries again until something works: a shoe that restarts, a port that comes back."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

from sabot.errors import NoShoe, PortNotFound, SabotError

_T = TypeVar("_T")

_PAUSE_S = 0.2
_PATIENCE_S = 60.0
"""How long a shoe may be away. An ordinary restart takes two seconds, the first start as a unit
11 s, and plugging in a cable longer."""


def retried(
    attempt: Callable[[], _T],
    *errors: type[SabotError],
    within_s: float,
    every_s: float,
    now_s: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> _T:
    """What `attempt` returns as soon as it raises none of `errors`; it is called every `every_s`.

    The error of the first attempt that ends more than `within_s` seconds after the call is raised.
    """
    deadline_s = now_s() + within_s
    while True:
        try:
            return attempt()
        except errors:
            if now_s() > deadline_s:
                raise
        pause(every_s)


def over_sessions(
    attached: Callable[[], AbstractContextManager[_T]],
    advance: Callable[[_T], str],
    away: Callable[[], None] = lambda: None,
    *,
    now_s: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> str:
    """What `advance` says once it is done, over as many sessions with a shoe as that takes.

    `attached` opens a session. `advance` does what can be done in it, and returns "" where another
    one must follow, as after a restart. `away` is called whenever the shoe is lost or not found.
    Raises NoShoe or PortNotFound where the first session cannot be opened, and where a later one
    cannot within a minute.
    """
    seen = False
    while True:
        opened = False
        try:
            with ExitStack() as stack:
                client = _opened(attached, stack, away, now_s, pause, wait=seen)
                opened = seen = True
                done = advance(client)
            if done:
                return done
        except (NoShoe, PortNotFound):
            if not opened:
                raise
            away()
        pause(_PAUSE_S)


def _opened(
    attached: Callable[[], AbstractContextManager[_T]],
    stack: ExitStack,
    away: Callable[[], None],
    now_s: Callable[[], float],
    pause: Callable[[float], None],
    *,
    wait: bool,
) -> _T:
    """A session that `stack` closes. With `wait` the shoe may be away for a while."""

    def attempt() -> _T:
        try:
            return stack.enter_context(attached())
        except (NoShoe, PortNotFound):
            if wait:
                away()
            raise

    if not wait:
        return attempt()
    return retried(
        attempt,
        NoShoe,
        PortNotFound,
        within_s=_PATIENCE_S,
        every_s=_PAUSE_S,
        now_s=now_s,
        pause=pause,
    )
