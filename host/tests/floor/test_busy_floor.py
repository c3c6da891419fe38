"""The log of a busy floor is one that the verifier accepts, but for the chain that it has not."""

from itertools import islice
from pathlib import Path

import pytest

from host.tests.support.busy_floor import make_busy_floor
from sabot.audit.checks.findings import Summary
from sabot.audit.verify import VerifyOptions, verify
from sabot.log.store import open_store

_NOW = 1_795_000_000_000


@pytest.mark.slow
def test_a_busy_floor_deals_every_family_by_its_rules_and_deals_on(tmp_path: Path) -> None:
    path, summary = tmp_path / "log.sqlite", Summary()
    floor = make_busy_floor(path, units=10, events=20_000, end_unix_ms=_NOW)
    with open_store(path, create=True) as store:
        for unit, record in islice(floor.more(), 500):
            assert record.event.unix_ms is not None and record.event.unix_ms > _NOW - 5000
            store.append(unit, [record])
        store.derive()
        findings = list(verify(store, summary, VerifyOptions()))
        games = {row.event().fields["game"] for row in store.rows() if row.kind == "boot"}
    assert {(each.event, each.kind) for each in findings} == {(1, "no_key")}
    assert summary.units == 10 and 10_000 < summary.events < 30_000 and summary.rounds > 500
    assert games == {"mini", "md-midi", "blackjack", "holdem"}
