"""The log of a site is forwarded to a real PostgreSQL server."""

from pathlib import Path

import pytest

from host.tests.support.chained import ChainedLog
from host.tests.support.helpers import new_log
from host.tests.support.postgres import Database
from host.tests.support.site import Centre, forward, site_stored

UNITS = ("U1", "U2", "U3")


@pytest.fixture
def centre(database: Database) -> Centre:
    made = Centre(database)
    made.let("site_1", *UNITS)
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The log of a site with three units."""
    path = tmp_path / "site.sqlite"
    with new_log(path) as store:
        for at, unit in enumerate(UNITS):
            log = ChainedLog(bytes([at]) * 32).power_on().deal()
            store.append(unit, log.stored())
    return path


def test_every_record_comes_byte_for_byte_and_once(
    path: Path, centre: Centre, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sabot.centre.forwarder.LAST_RECEIPTS_S", 0.0)
    for _ in range(2):
        noted, forwarder = forward(path, centre.database)
        for unit in UNITS:
            assert centre.stored(unit) == site_stored(path, unit)
        assert centre.alarms() == [] and noted.alarms == []
        assert noted.waiting == dict.fromkeys(UNITS, 0)
        forwarder.check()
