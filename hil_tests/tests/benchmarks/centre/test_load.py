"""The load of a centre is measured over records that are right, and every event is waited for."""

from dataclasses import asdict
from pathlib import Path

import pytest

from sabot.audit.absence.elsewhere import Elsewhere
from sabot.audit.verify import VerifyOptions, verify_log
from sabot.keys.chain_keys import Keys
from sabot_hil.benchmarks.centre import cost
from sabot_hil.benchmarks.centre import load as centre_load
from sabot_hil.benchmarks.centre.chained_floor import Floor

pytestmark = pytest.mark.slow


def test_verify_finds_nothing_in_the_logs_that_a_centre_is_loaded_with(tmp_path: Path) -> None:
    floor = Floor(tmp_path, sites=2, shoes=10)
    assert floor.log_more(300) == floor.log_more(300) == 3000
    others = Elsewhere(["*"])  # the other site has them
    for log in floor.logs.values():
        options = VerifyOptions(keys=Keys.load(floor.keys), elsewhere=others)
        findings, summary = verify_log(log, options)
        assert not findings and summary.events == 3000, findings[:3]


def test_rate_lag_and_chains_of_a_small_centre_are_measured() -> None:
    for each in centre_load.measure_load(shoes=4, sites=2, events=60, lag_s=1.0):
        values = asdict(each)
        assert all(value > 0 for name, value in values.items() if name != "notary_us"), values


def test_the_rate_is_that_of_the_whole_run() -> None:
    seen = [(5.0, 100), (6.0, 500), (7.0, 900), (15.0, 1100)]
    assert centre_load.rate(seen) == 100


def test_a_lag_is_until_the_first_look_that_saw_the_event() -> None:
    commits = [("A", 1, 0.0), ("A", 2, 1.0), ("B", 7, 1.5)]
    arrived = [(0.5, {"A": 1}), (2.0, {"A": 2, "B": 6}), (4.5, {"B": 9})]
    assert sorted(centre_load._lags(commits, arrived)) == [0.5, 1.0, 3.0]


def test_the_cost_is_drawn(tmp_path: Path) -> None:
    shoes = [centre_load.Sustained(n, 1000, 9000.0, 80.0, 20.0, 5.0, 230.0) for n in (10, 100)]
    full = [cost.Full(10**n, 9000.0, 20.0, 230 * 10**n) for n in (6, 7)]
    cost.draw(shoes, full, tmp_path / "cost.png")
    assert (tmp_path / "cost.png").read_bytes().startswith(b"\x89PNG")
    assert cost.bytes_per_record(full) == 230
