"""What the host knows of a unit, and no event says, as incidents: when its shoe was not logged,
from what its logs noted (sabot/log/presence.py), and when its board was replaced.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from sabot.log import boards
from sabot.log.presence import ATTACHED, SHORTEST_MS, WAITING, Span
from sabot.log.store import Store
from sabot.notable import kinds
from sabot.notable.clock_changes import ClockChange, changes_near, moved
from sabot.notable.incident import Incident
from sabot.notable.kinds import Kind

_DETAILS = {
    kinds.AWAY: "the log ran, and had no session with the shoe",
    kinds.NOT_LOGGED: "no log of the shoe ran",
}

_SEEN_MS = 60_000
"""For shorter absences no one asks whether the host's clock was set."""

_Range = tuple[int, int]  # Unix times in ms


def of_host(store: Store, name: str) -> list[Incident]:
    """Return what the host noted of a board: its absences, then whether it replaced another."""
    return [*absences_in(store, name), *replacement_of(store, name)]


def absences_in(store: Store, name: str) -> list[Incident]:
    """The absences of a board in a log, until another board took its place."""
    later = store.seam_of(boards.after(name))
    until = None if later is None else later.unix_ms
    spans = store.presence(name)
    found = absences_of(name, spans, until)
    changes = _changes_beside(store, name, spans, found)
    return absences_of(name, moved(spans, changes), until) if changes else found


def absences_of(
    unit: str, spans: Iterable[Span], replaced_unix_ms: int | None = None
) -> list[Incident]:
    """The incidents `away` and `not_logged` of a unit after its first session, in order.

    What lies between two sessions is `away` where a log waited for the shoe, and `not_logged` where
    none did. After the last session only what a log noted counts: the shoe may be in store. No log
    waits for a board any more that was replaced.
    """
    spans = list(spans)
    sessions = _joined(spans, ATTACHED)
    waits = _joined(spans, WAITING)
    if not sessions:
        return []
    found = []
    last = sessions[-1][1]
    end = max([last, *(until for _, until in waits)])
    if replaced_unix_ms is not None:
        end = max(last, min(end, replaced_unix_ms))
    for (_, begin), (until, _) in zip(sessions, [*sessions[1:], (end, end)], strict=True):
        for kind, first, after in _parts(begin, until, waits):
            if after - first >= SHORTEST_MS:
                stands = begin == last and after == end and replaced_unix_ms is None
                found.append(
                    Incident(
                        unit, kind.name, None, None, None, None, None, first, False, after - first,
                        stands, _DETAILS[kind],
                    )
                )  # fmt: skip
    return found


def _changes_beside(
    store: Store, name: str, spans: Sequence[Span], found: Iterable[Incident]
) -> list[ClockChange]:
    """The times at which the host's clock was set to another one, where that may have made an
    absence: at the begin of a session on one side of it."""
    begins = sorted(each.begin_unix_ms for each in spans if each.state == ATTACHED)
    near = set[int]()
    for each in found:
        if each.unix_ms is None or each.lasted_ms is None or each.lasted_ms < _SEEN_MS:
            continue
        at = bisect_left(begins, each.unix_ms + each.lasted_ms)
        near.update(begins[max(0, at - 1) : at + 1])
    changes = {
        change.event: change for begin in near for change in changes_near(store, name, begin)
    }
    return [changes[event] for event in sorted(changes)]


def replacement_of(store: Store, name: str) -> list[Incident]:
    """The incident `replaced` of a board that has taken the place of another: at the time of its
    seam, by the clock of the host. None of a first board."""
    seam = store.seam_of(name)
    if seam is None:
        return []
    return [
        Incident(
            name, kinds.REPLACED.name, None, None, None, None, None, seam.unix_ms, False, None,
            False, seam.text(),
        )
    ]  # fmt: skip


def _joined(spans: Iterable[Span], state: str) -> list[_Range]:
    """The spans of a state in order; those that overlap, or nearly follow each other, as one."""
    joined: list[_Range] = []
    for begin, end in sorted(
        (each.begin_unix_ms, each.end_unix_ms) for each in spans if each.state == state
    ):
        if joined and begin - joined[-1][1] < SHORTEST_MS:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def _parts(begin: int, end: int, waits: Iterable[_Range]) -> Iterator[tuple[Kind, int, int]]:
    """The parts of a gap between two sessions, each with its kind."""
    for first, after in waits:
        first, after = max(first, begin), min(after, end)
        if first < after:
            yield kinds.NOT_LOGGED, begin, first
            yield kinds.AWAY, first, after
            begin = after
    yield kinds.NOT_LOGGED, begin, end
