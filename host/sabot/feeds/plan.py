"""Which message of a feed goes next, and when: pure, time is passed in.

Each unit's messages go one after the other. A message that is not taken is tried again later, and
keeps only its unit waiting. If messages of several units in a row are not taken, the receiver is
taken for broken: then the whole feed waits, and tries one message at a time, of one unit after the
other.
"""

import random
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from sabot.feeds.message import Message, Position

_FIRST_PAUSE_S = 1.0
_LONGEST_REFUSED_S = 3600.0
_LONGEST_FAILED_S = 300.0
_LONGEST_ASKED_S = 86_400.0
_MOST_DOUBLED = 20
_BROKEN = 3
"""So many units in a row whose messages are not taken: it is the receiver, not the messages."""


def pause_s(tries: int, longest_s: float, rng: random.Random) -> float:
    """How long to wait after so many tries that failed: twice as long each time, and a random part
    less, so that not all come back at once."""
    doubled = 2.0 ** min(tries - 1, _MOST_DOUBLED)
    return min(longest_s, _FIRST_PAUSE_S * doubled) * rng.uniform(0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Page:
    """The next messages of a unit that a feed wants."""

    messages: Sequence[Message]
    end: Position
    """Where the feed is once these are delivered: those that it does not want are passed over."""


@dataclass(slots=True)
class _Active:
    """A unit whose messages are at hand."""

    rest: deque[Message]
    end: Position


@dataclass(slots=True)
class _Held:
    """A unit whose next message was not taken."""

    tries: int
    until_s: float
    refused: bool


class Plan:
    """Plans one feed. At most `width` units have messages at hand at a time."""

    def __init__(self, width: int, rng: random.Random) -> None:
        self._width, self._rng = width, rng
        self._waiting: dict[str, None] = {}
        self._active: dict[str, _Active] = {}
        self._held: dict[str, _Held] = {}
        self._failed: set[str] = set()
        """Units of which a message was not taken, since the last one that was."""
        self._until_s = 0.0

    @property
    def failing(self) -> bool:
        """Whether the last try failed."""
        return bool(self._failed)

    @property
    def waiting_units(self) -> int:
        """How many units have, or may have, messages to send."""
        return len({*self._waiting, *self._active, *self._held})

    @property
    def refused_units(self) -> int:
        """How many units wait because the receiver does not want a message."""
        return sum(held.refused for held in self._held.values())

    def notify(self, units: Iterable[str]) -> None:
        """There may be new messages of these units."""
        for unit in units:
            if unit not in self._held:  # it is looked at again when its time has come
                self._waiting[unit] = None

    def to_load(self, now_s: float) -> list[str]:
        """The units whose next page is to be loaded now. Say `load` for each."""
        for unit, held in self._held.items():
            if held.until_s <= now_s and unit not in self._active:
                self._waiting[unit] = None
        free = self._width - len(self._active)
        if now_s < self._until_s or free <= 0:
            return []
        return [*islice((unit for unit in self._waiting if unit not in self._active), free)]

    def load(self, unit: str, page: Page) -> None:
        """Take the next page of a unit. One without messages: there are none now."""
        self._waiting.pop(unit, None)
        if page.messages:
            self._active[unit] = _Active(deque(page.messages), page.end)
        else:
            self._held.pop(unit, None)

    def batch(self, now_s: float) -> list[Message]:
        """The messages to try now, each of another unit."""
        if now_s < self._until_s:
            return []
        most = 1 if self.failing else self._width
        return [active.rest[0] for active in [*self._active.values()][:most]]

    def delivered(self, message: Message, now_s: float) -> Position:
        """A message was delivered. Return where the feed is now in its unit."""
        if len(self._failed) >= _BROKEN:
            self._mended(now_s)
        self._failed.clear()
        self._until_s = 0.0
        unit = message.unit
        self._held.pop(unit, None)
        active = self._active.pop(unit)
        active.rest.popleft()
        if active.rest:
            self._active[unit] = active  # after the others
            return message.position
        self._waiting[unit] = None
        return max(message.position, active.end)

    def _mended(self, now_s: float) -> None:
        """The receiver works again: what failed because it did not is tried at once."""
        for held in self._held.values():
            if not held.refused:
                held.tries, held.until_s = 1, now_s

    def refused(self, message: Message, now_s: float, wait_s: float = 0.0) -> None:
        """The receiver does not want this message."""
        self._hold(message.unit, now_s, _LONGEST_REFUSED_S, wait_s)
        self._held[message.unit].refused = True

    def failed(self, message: Message, now_s: float, wait_s: float = 0.0) -> None:
        """The receiver failed. It may have asked to be left alone for a time."""
        self._hold(message.unit, now_s, _LONGEST_FAILED_S, 0.0)
        if wait_s:
            self._until_s = max(self._until_s, now_s + min(wait_s, _LONGEST_ASKED_S))

    def _hold(self, unit: str, now_s: float, longest_s: float, wait_s: float) -> None:
        """Let a unit wait, and the feed: for longer the more units failed in a row."""
        before = self._held.get(unit)
        tries = 1 if before is None else before.tries + 1
        until_s = now_s + max(pause_s(tries, longest_s, self._rng), min(wait_s, _LONGEST_ASKED_S))
        self._held[unit] = _Held(tries, until_s, refused=False)
        self._active.pop(unit, None)
        self._waiting.pop(unit, None)
        if now_s >= self._until_s:  # once for all that were tried together
            paused_s = pause_s(len(self._failed) + 1, _LONGEST_FAILED_S, self._rng)
            self._until_s = now_s + paused_s
        self._failed.add(unit)

    def due_s(self, now_s: float) -> float | None:
        """When there is something to do next, if nothing new comes; None for never."""
        if self._active or self._waiting:
            return max(now_s, self._until_s)
        times = [held.until_s for held in self._held.values()]
        return max(min(times), self._until_s) if times else None
