"""Counts again what a centre has, and finds what is gone since it was taken.

The newest event of each unit, and the numbers that no day has, are looked for each time. Days are
counted in turn, the newest first, for no more than a small part of the notary's time: so a small
centre is counted whole in each look, and a large one within days.
"""

import time
from collections.abc import Callable
from datetime import date

from sabot.log.postgres.checks import gone
from sabot.log.postgres.checks.gone import Gone, without
from sabot.log.postgres.sessions import PostgresConnection
from sabot.log.postgres.store import PostgresStore

_AT_ONCE_S = 0.5
"""So long days are counted in one look."""
_REST = 20.0
"""After a long day so many times its time passes before the next one is counted."""


class Recount:
    """Finds what is gone from a centre."""

    def __init__(self, store: PostgresStore, now_s: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._now_s = now_s
        self._left: list[date] = []
        """The days of this turn that are not counted yet."""
        self._next_s = now_s()
        self._missing: list[Gone] = []
        """What the centre said at the last look that it lacks."""
        self.filled: list[Gone] = []
        """What has come again since the last look but one."""
        self.others: list[tuple[str, int]] = []
        """The units whose newest event has another MAC than their head, with that event."""
        self.turns = 0
        """How often every day was counted."""

    def look(self) -> list[Gone]:
        """Return what is gone, and is not yet known to be."""
        with self._store.reading() as connection:
            before, self._missing = self._missing, gone.missing(connection)
            self.filled = [part for each in before for part in _less(each, self._missing)]
            found = set(gone.uncovered(connection))
            heads = gone.heads(connection)
            self.others = [(each.unit, each.newest) for each in heads if each.differs]
            soon = {each.day for each in heads if each.is_gone and each.day is not None}
            for day in sorted(soon):
                found.update(gone.of_day(connection, day))
            found.update(self._of_days(connection))
        self._missing += found  # the notary says so to the centre
        return sorted(found)

    def _of_days(self, connection: PostgresConnection) -> set[Gone]:
        """Count the next days."""
        found: set[Gone] = set()
        begun_s = now_s = self._now_s()
        if now_s < self._next_s:
            return found
        if not self._left:
            self._left = gone.days(connection)[::-1]
        while self._left and now_s - begun_s < _AT_ONCE_S:
            found.update(gone.of_day(connection, self._left.pop()))
            now_s = self._now_s()
        if now_s - begun_s >= _AT_ONCE_S:
            self._next_s = now_s + _REST * (now_s - begun_s)
        if not self._left:
            self.turns += 1
        return found


def _less(each: Gone, others: list[Gone]) -> list[Gone]:
    """The parts of what was gone that are in none of `others`."""
    of_unit = [(other.first, other.last) for other in others if other.unit == each.unit]
    return [Gone(each.unit, *part) for part in without((each.first, each.last), of_unit)]
