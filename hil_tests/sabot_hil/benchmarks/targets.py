"""How fast the targets of the test bench are: rounds dealt in a minute, and the pace of emulated
time."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sabot_hil.capabilities import Target
from sabot_hil.kit import dealer
from sabot_hil.targets import TargetChoice, make_target

IDLE_MS = 2000.0


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of a target. `idle` and `busy` are seconds of its time per second of real time,
    while nothing happens and while a round is dealt."""

    rounds_per_min: float
    idle: float
    busy: float


def pace(choice: TargetChoice, rounds: int) -> Pace:
    """Deal `rounds` rounds on the target. Raises SabotError if the target cannot be made."""
    with tempfile.TemporaryDirectory() as folder:
        target = make_target(choice, "BENCH-1", Path(folder))
        try:
            target.power.on()
            idle, _ = _timed(target, lambda: target.clock.pass_ms(IDLE_MS))
            dealing = dealer.BenchDealer(target.bench, dealer.shuffled_shoe(1))
            dealing.load()
            busy, wall_s = _timed(target, lambda: [dealing.deal_round() for _ in range(rounds)])
        finally:
            target.close()
    return Pace(60 * rounds / wall_s, idle, busy)


def _timed(target: Target, work: Callable[[], object]) -> tuple[float, float]:
    """Return the target's seconds per real second, and the real seconds that `work` took."""
    begun_us, begun_s = target.clock.now_us(), time.perf_counter()
    work()
    wall_s = time.perf_counter() - begun_s
    return (target.clock.now_us() - begun_us) / 1e6 / wall_s, wall_s
