"""Incidents found as they happen are those that `sabot incidents` lists."""

from collections.abc import Callable, Iterable

import pytest

from host.tests.notable.test_incident_search import (
    Raw,
    dealt_records,
    random_records,
    slow_records,
)
from sabot.audit.checks.decoding import values_of
from sabot.log.reveal import NONE_KEPT, ShownGames
from sabot.notable.incident import Limits
from sabot.notable.incident_feed import IncidentFeed
from sabot.notable.incident_search import Search, Wanted

Key = tuple[str, int | None]


def _listed(records: list[Raw], games: ShownGames) -> set[Key]:
    found = Search(Wanted(), games).of_unit("U", [records])
    return {(each.kind, each.event) for each in found}


def _fed(feed: IncidentFeed, records: Iterable[Raw]) -> set[Key]:
    """What is found while these records come one by one."""
    found: set[Key] = set()
    for number, record, _ in records:
        (values,) = values_of([record])
        if values is not None and values[1] == number:
            feed.add(values)
            new = [(each.kind, each.event) for each in feed.new()]
            assert not found & set(new) and len(new) == len(set(new)), new
            found |= set(new)
    return found


@pytest.mark.parametrize("records_of", [random_records, dealt_records, slow_records])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_found_event_by_event_is_all_that_is_listed_then(
    records_of: Callable[[int], list[Raw]], seed: int
) -> None:
    records = records_of(seed)
    feed = IncidentFeed("U", Limits(), NONE_KEPT)
    found: set[Key] = set()
    for at in range(0, len(records), 40):
        found |= _fed(feed, records[at : at + 40])
        missed = _listed(records[: at + 40], NONE_KEPT) - found
        assert not missed, (seed, at, missed)
