"""What the order of the cards gives away, as incidents: cards that were not shuffled, or were dealt
before in the same order (sabot/order)."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sabot.log.store import Filter, Store
from sabot.notable import kinds
from sabot.notable.incident import Incident
from sabot.notable.incident_search import Wanted
from sabot.notable.kinds import Kind

if TYPE_CHECKING:
    from sabot.order.dealt_order import Found

KINDS = (kinds.UNSHUFFLED, kinds.REPEATED)


def orders_in(
    store: Store,
    names: Iterable[str],
    wanted: Wanted = Wanted(),
    false_alarms: float = 1.0,
    count: Callable[[int], None] = lambda events: None,
) -> dict[str, list[Incident]]:
    """Return the incidents in the order of the cards of these boards. All of them are weighed
    against the whole log; some that are wanted against the last shoes of their unit alone, because
    to read a whole log takes long. `count` gets how many events were looked through."""
    from sabot.order.chances import House
    from sabot.order.history import found_in  # it needs NumPy, which takes long to import
    from sabot.order.logged import catch_up
    from sabot.order.run_index import RunIndex

    found: dict[str, list[Incident]] = {}
    whole = (wanted.shoe, wanted.begin, wanted.end) == (None, None, None)
    with TemporaryDirectory() as folder, RunIndex(Path(folder)) as index:
        for name in store.units() if whole else ():
            for _ in catch_up(store, name, index):
                pass
        done = 0
        for name in names:
            span = (None, None) if whole else _span(store, name, wanted)
            if span is not None:
                every = found_in(
                    store, name, index if whole else None, House(false_alarms), *span,
                    partial(_count, count, done),
                )  # fmt: skip
                incidents = [incident_of(each, name, over=over) for each, over in every]
                found[name] = [each for each in incidents if wanted.has(each)]
            done += store.last_number(name)
            count(done)
    return found


def _count(count: Callable[[int], None], before: int, number: int) -> None:
    count(before + number)


def _span(store: Store, name: str, wanted: Wanted) -> tuple[int | None, int | None] | None:
    """The first and the last event of the shoes of cards that are wanted; None if there are none.
    The first begins a shoe of cards."""
    loaded = ("shoe_loaded",)
    if wanted.shoe is not None:
        rows = [row.number for row in store.rows(Filter(name, shoe=wanted.shoe, kinds=loaded))]
        if not rows:
            return None
        after = store.rows(Filter(name, first=rows[-1] + 1, kinds=loaded))
        later = next(iter(after), None)
        return rows[0], None if later is None else later.number - 1
    first = last = None
    if wanted.begin is not None:
        place = store.place_at(name, wanted.begin)
        if place is not None:
            rows = [row.number for row in store.rows(Filter(name, shoe=place[0], kinds=loaded))]
            first = rows[0] if rows else None
    if wanted.end is not None:
        ends = next(iter(store.rows(Filter(name, from_unix_ms=wanted.end))), None)
        last = None if ends is None else ends.number - 1
    return first, last


def incident_of(found: "Found", unit: str, *, over: bool) -> Incident:
    """Return the incident of a finding. While its shoe of cards is not `over` it does not name the
    one that it repeats."""
    from sabot.order.words import detail_of

    event = found.event
    return Incident(
        unit, kind_of(found).name, event.number, event.shoe, event.round, event.boot, event.t_ms,
        event.unix_ms, False, None, False, detail_of(found, over=over),
    )  # fmt: skip


def are_wanted(names: Iterable[str] | None) -> bool:
    """Whether any of these kinds, or of all, is found in the order of cards."""
    return not names or not {each.name for each in KINDS}.isdisjoint(names)


def kind_of(found: "Found") -> Kind:
    """Return of which kind a finding is."""
    return kinds.UNSHUFFLED if found.finding.what in ("packs", "riffled") else kinds.REPEATED
