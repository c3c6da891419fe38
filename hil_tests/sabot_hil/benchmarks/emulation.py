"""How fast the emulated Pico is: seconds of its time per second of this machine's processor.

`python -m sabot_hil.benchmarks.emulation` measures it, alone and wired to a bench board. The
processor's time counts, so other programs on the machine matter little; compare two versions on one
machine, and by their ratio.
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from sabot_hil.capabilities import Target
from sabot_hil.kit import dealer
from sabot_hil.kit.runner import run
from sabot_hil.targets import TargetChoice, make_target

IDLE_MS = 2000.0


def measured(choice: TargetChoice) -> Mapping[str, float]:
    """Return emulated seconds per second of the processor, by what the emulated shoe does. Raises
    ImageUnusable, ImportError."""
    with tempfile.TemporaryDirectory() as folder:
        target = make_target(choice, "BENCH-1", Path(folder))
        try:
            paces = {"power on to ready": _pace(target, target.power.on)}
            paces["idle"] = _pace(target, lambda: target.clock.pass_ms(IDLE_MS))
            dealing = dealer.BenchDealer(target.bench, dealer.shuffled_shoe(1))
            dealing.load()
            paces["while a round is dealt"] = _pace(target, dealing.deal_round)
        finally:
            target.close()
    return paces


def _pace(target: Target, work: Callable[[], object]) -> float:
    begun_us, begun_s = target.clock.now_us(), time.process_time()
    work()
    return (target.clock.now_us() - begun_us) / 1e6 / (time.process_time() - begun_s)


CHOICES = {
    "emulator": TargetChoice("emulator"),
    "emulator, wired": TargetChoice("emulator", bench="emulator"),
}


def main() -> None:
    """Print how fast the emulated Pico is, alone and wired to a bench board."""
    for name, choice in CHOICES.items():
        for what, pace in measured(choice).items():
            print(f"{name}: {what}: {pace:.2f} emulated s/s")


if __name__ == "__main__":
    run(main)
