"""Tries again until something works: a shoe that restarts, a port that comes back."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

from sabot.errors import NoShoe, PortBusy, PortNotFound, SabotError

_T = TypeVar("_T")

_PAUSE_S = 0.2
_PATIENCE_S = 60.0
"""How long a shoe may be away. An ordinary restart takes two seconds, the first start as a unit
11 s, and plugging in a cable longer."""

_ABSENT = (NoShoe, PortNotFound, PortBusy)
"""A shoe that restarts. PortBusy: another program, such as `sabot ports`, looks at the port."""


def retried(
    attempt: Callable[[], _T],
    *errors: type[SabotError],
    within_s: float,
    every_s: float,
    now_s: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> _T:
    """Call `attempt` every `every_s` seconds until it raises none of `errors`; return its result.

    Raises the error of the first attempt that fails more than `within_s` seconds after the call.
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
    on_absent: Callable[[], None] = lambda: None,
    *,
    patience_s: float = _PATIENCE_S,
    now_s: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> str:
    """Do a task over as many sessions with a shoe as it takes; return the result of `advance`.

    `attached` opens a session. `advance` does what can be done in it, and returns "" if another one
    must follow, for example after a restart. `on_absent` is called whenever the shoe is lost or not
    found. Raises NoShoe, PortNotFound or PortBusy if the first session cannot be opened, or a later
    one cannot be opened within `patience_s` seconds.
    """
    seen = False
    while True:
        opened = False
        try:
            with ExitStack() as stack:
                within_s = patience_s if seen else 0.0
                client = _open_session(attached, stack, on_absent, now_s, pause, within_s)
                opened = seen = True
                done = advance(client)
            if done:
                return done
        except _ABSENT:
            if not opened:
                raise
            on_absent()
        pause(_PAUSE_S)


def _open_session(
    attached: Callable[[], AbstractContextManager[_T]],
    stack: ExitStack,
    on_absent: Callable[[], None],
    now_s: Callable[[], float],
    pause: Callable[[float], None],
    within_s: float,
) -> _T:
    """Open a session that `stack` closes. The shoe may be away for `within_s` seconds."""

    def attempt() -> _T:
        try:
            return stack.enter_context(attached())
        except _ABSENT:
            if within_s:
                on_absent()
            raise

    if not within_s:
        return attempt()
    return retried(
        attempt,
        *_ABSENT,
        within_s=within_s,
        every_s=_PAUSE_S,
        now_s=now_s,
        pause=pause,
    )
