"""A sample of `make fleet`."""

from pathlib import Path

import pytest

from sabot_hil.kit.private_runtime import private_runtime
from sabot_hil.sweeps.fleet import update_fleet
from sabot_hil.sweeps.matrix.versions_made import RELEASED, TODAY, TOMORROW, all_versions

pytestmark = pytest.mark.slow


def test_shoes_of_two_versions_are_updated_while_they_deal_and_are_logged(tmp_path: Path) -> None:
    with private_runtime(), all_versions() as versions:
        done = update_fleet(versions, tmp_path, 2, 1)
    assert done.shoes == {RELEASED: 1, TODAY: 1, TOMORROW: 0}
    assert done.rounds > 2 * 4 and done.events > 10 * done.rounds
