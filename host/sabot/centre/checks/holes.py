"""Holes at the centre: numbers that never came, and whether the shoe has said why.

A shoe that lost events records a `gap` that names them, soon but not at once: a few events may come
between. So a hole is an alarm only after some more events.
"""

from collections.abc import Iterator

from sabot.centre.alarms import HOLE, LONGEST_DETAIL, Alarm
from sabot.link.events import GapEvent, JournalFaultEvent
from sabot.link.wire import WireError
from sabot.log.postgres.checks.gone import without
from sabot.log.store import Filter, Store
from sabot.silences import GONE
from sabot.text import shortened

_LATER = 16
"""A shoe has named what it lost by so many events later."""
_MOST_ALARMS = 20  # of a unit: what goes wrong all the time has one cause
_HOLES = (
    "SELECT u.unit, h.first, h.last FROM holes AS h JOIN units AS u ON u.id = h.unit"
    " WHERE u.newest >= h.last + ? ORDER BY u.unit, h.first"
)


class UnnamedHoles:
    """Finds holes that no shoe has named, each once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._judged: set[tuple[str, int, int]] = set()

    def alarms(self) -> Iterator[Alarm]:
        """The alarms of holes that were not judged before."""
        with self._store.reading() as connection:
            holes = connection.execute(_HOLES, (_LATER,)).fetchall()
        new = [(unit, first, last) for unit, first, last in holes]
        new = [each for each in new if each not in self._judged]
        for unit in dict.fromkeys(unit for unit, _, _ in new):
            of_unit = [(first, last) for name, first, last in new if name == unit]
            named = sorted(self._named(unit, of_unit[0][0]))
            unnamed = [part for hole in of_unit for part in without(hole, named)]
            for first, last in unnamed[:_MOST_ALARMS]:
                yield Alarm(unit, first, HOLE, f"{_span(first, last)} never came, and no gap of "
                            "the shoe names them")  # fmt: skip
        self._judged |= set(new)

    def _named(self, unit: str, first: int) -> Iterator[tuple[int, int]]:
        """What the shoe says that it lost, in events after event `first`."""
        kinds = tuple(kind.SHAPE.name for kind in (GapEvent, JournalFaultEvent))
        for row in self._store.rows(Filter(unit=unit, kinds=kinds, first=first)):
            try:
                event = row.event()
            except WireError:
                continue
            if isinstance(event, JournalFaultEvent) and (
                event.fault != "damaged" or not event.first
            ):
                continue
            if isinstance(event, GapEvent | JournalFaultEvent):
                yield event.first, event.last


def removed(unit: str, missing: tuple[int, int]) -> Alarm:
    """The alarm of events that the centre had taken, and does not have any more."""
    detail = GONE.say(unit=unit, first=missing[0], last=missing[1])
    return Alarm(unit, missing[0], HOLE, shortened(detail, LONGEST_DETAIL))


def _span(first: int, last: int) -> str:
    return f"events {first} to {last}"
