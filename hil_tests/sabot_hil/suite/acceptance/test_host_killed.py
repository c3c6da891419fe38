from pathlib import Path

from sabot_hil.capabilities import Target, Unable
from sabot_hil.sweeps.kills import kill_many

KILLS = 12


def test_a_host_killed_while_logging_loses_and_doubles_nothing(
    target: Target, tmp_path: Path, seed: int
) -> None:
    """A sample; `python -m sabot_hil.sweeps.kills` kills hundreds."""
    if target.clock.emulated:
        raise Unable("a host in another process does not wait for emulated time")
    rounds, events = kill_many(target, tmp_path, kills=KILLS, seed=seed)
    assert events > 10 * rounds
