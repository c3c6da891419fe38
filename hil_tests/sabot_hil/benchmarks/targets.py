"""How many rounds the targets of the test bench deal in a minute."""

import tempfile
import time
from pathlib import Path

from sabot_hil.kit import dealer
from sabot_hil.targets import TargetChoice, make_target


def rounds_per_min(choice: TargetChoice, rounds: int) -> float:
    """Deal `rounds` rounds on the target. Raises SabotError if the target cannot be made."""
    with tempfile.TemporaryDirectory() as folder:
        target = make_target(choice, "BENCH-1", Path(folder))
        try:
            target.power.on()
            dealing = dealer.BenchDealer(target.bench, dealer.shuffled_shoe(1))
            dealing.load()
            begun_s = time.perf_counter()
            for _ in range(rounds):
                dealing.deal_round()
            return 60 * rounds / (time.perf_counter() - begun_s)
        finally:
            target.close()
