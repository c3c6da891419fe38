from pathlib import Path

from hil_tests.capabilities import Target, Unable
from hil_tests.kills import kill_many

KILLS = 12


def test_a_host_killed_while_logging_loses_and_doubles_nothing(
    target: Target, tmp_path: Path, seed: int
) -> None:
    """A sample; `python -m hil_tests.kills` kills hundreds."""
    if target.clock.emulated:
        raise Unable("a host in a process of its own does not wait for emulated time")
    rounds, events = kill_many(target, tmp_path, kills=range(KILLS), seed=seed)
    assert events > 10 * rounds
