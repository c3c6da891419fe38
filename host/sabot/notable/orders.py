"""What the order of the cards gives away, as incidents: cards that were not shuffled, or were dealt
before in the same order (sabot/order)."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sabot.log.store import Store
from sabot.notable import kinds
from sabot.notable.incident import Incident
from sabot.notable.kinds import Kind

if TYPE_CHECKING:
    from sabot.order.dealt_order import Found

KINDS = (kinds.UNSHUFFLED, kinds.REPEATED)


def orders_in(store: Store, names: Iterable[str]) -> dict[str, list[Incident]]:
    """Return the incidents in the order of all cards of these boards, against those of the whole
    log."""
    from sabot.order.history import found_in  # it needs NumPy, which takes long to import
    from sabot.order.logged import catch_up
    from sabot.order.run_index import RunIndex

    with TemporaryDirectory() as folder, RunIndex(Path(folder)) as index:
        for name in store.units():
            for _ in catch_up(store, name, index):
                pass
        return {
            name: [
                incident_of(each, name, over=over) for each, over in found_in(store, name, index)
            ]
            for name in names
        }


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
