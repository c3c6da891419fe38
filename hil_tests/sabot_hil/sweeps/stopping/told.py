"""Whether people were told that a part had stopped, and when. Pure but for the clock passed in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from sabot.silences import Silence, Where

_POLL_S = 0.5
LENIENCE_S = 20.0
"""On top of the time of a row: the log notes every five seconds, a screen looks every few, and the
machine is busy."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A part that works, and can be stopped."""

    stop: Callable[[], None]
    seen: Mapping[Where, Callable[[], str]]
    """What a person sees now in each place of the part's row."""


class Verdict(Enum):
    """How a person was told in one place."""

    IN_TIME = "in time"
    TOO_LATE = "too late"
    NEVER = "never"
    FALSE = "before it had stopped"


@dataclass(frozen=True, slots=True)
class Told:
    """In one place: how, and how many seconds after the part had stopped; None if not at all."""

    where: Where
    verdict: Verdict
    after_s: float | None


def watch(
    row: Silence,
    scene: Scene,
    *,
    patience_s: float,
    now_s: Callable[[], float],
    sleep: Callable[[float], None],
) -> list[Told]:
    """Stop the part of a row and look in all its places until each has the words, for `patience_s`
    seconds. Raises ValueError if the scene does not show all places of the row."""
    if missing := set(row.where) - set(scene.seen):
        raise ValueError(f"not looked at: {', '.join(sorted(each.value for each in missing))}")
    told = {
        where: Told(where, Verdict.FALSE, None)
        for where in row.where
        if row.is_told_in(scene.seen[where](), where)
    }
    scene.stop()
    begin_s = now_s()
    while len(told) < len(row.where) and now_s() - begin_s < patience_s:
        for where in row.where:
            if where not in told and row.is_told_in(scene.seen[where](), where):
                after_s = now_s() - begin_s
                late = after_s > row.after_s_in(where) + LENIENCE_S
                told[where] = Told(where, Verdict.TOO_LATE if late else Verdict.IN_TIME, after_s)
        sleep(_POLL_S)
    return [told.get(where, Told(where, Verdict.NEVER, None)) for where in row.where]
