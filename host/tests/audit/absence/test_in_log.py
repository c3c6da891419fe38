"""What a log itself names: its notes of how events come."""

from pathlib import Path

from host.tests.log.test_store import some
from sabot.audit.absence import in_log
from sabot.audit.absence.elsewhere import NOWHERE
from sabot.link.flow import Flow
from sabot.log.store import open_store


def test_a_shoe_that_never_sent_an_event_is_not_missed_and_one_whose_events_were_stored_is(
    tmp_path: Path,
) -> None:
    flows = [
        Flow(unit=unit, newest_on_shoe=newest, newest_stored=newest)
        for unit, newest in (("PORT", 0), ("U2", 7))
    ]
    with open_store(tmp_path / "log", create=True) as store:
        store.append("U1", some(1, 3))
        store.keep_presence([], flows)
        found = list(in_log.absent(store, None, (), NOWHERE, desk=False))
    assert [(each.unit, each.kind) for each in found] == [("U2", "absent")]
