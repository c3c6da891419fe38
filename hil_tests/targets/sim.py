"""The simulator as a target: the firmware in a MicroPython process on this machine."""

from collections.abc import Callable
from pathlib import Path

from protocol import cards
from sabot.sim.bench import Outputs
from sabot.sim.process import SimulatedShoe
from sabot.sim.waveform import DEALER_SPEED_MM_S, SAMPLE_RATE_HZ, blank_samples, pass_samples

_SAMPLES_PER_BYTE = 2


class SimTarget:
    """A simulated shoe. `folder` is its flash."""

    def __init__(self, unit: str, folder: Path) -> None:
        self._shoe = SimulatedShoe(unit, state=folder)
        self.unit = unit
        self.port = self._shoe.port
        self.bench = SimBench(self._shoe)
        self.power = _Power(self._shoe)

    def close(self) -> None:
        self._shoe.close()


class SimBench:
    """Hands and eyes at a simulated shoe; each does a thing and waits until the shoe has too."""

    def __init__(self, shoe: SimulatedShoe) -> None:
        self._bench = shoe.bench

    @property
    def outputs(self) -> Outputs:
        return self._bench.outputs

    def pull(self, card: str) -> Outputs:
        self._bench.play(pass_samples(cards.number_of(card), 0))
        return self._bench.settle()

    def pull_part(self, card: str, travel_mm: float) -> Outputs:
        samples = pass_samples(cards.number_of(card), 0)
        seconds = travel_mm / DEALER_SPEED_MM_S
        self._bench.play(samples[: round(seconds * SAMPLE_RATE_HZ / _SAMPLES_PER_BYTE)])
        return self._bench.settle()

    def pull_unreadable(self) -> Outputs:
        self._bench.play(blank_samples())
        return self._bench.settle()

    def press(self, button: str) -> Outputs:
        self._bench.press(button)
        return self._bench.settle()

    def switch(self, switch: str, on: bool) -> Outputs:
        self._bench.switch(switch, on)
        return self._bench.settle()

    def wait_for(self, wanted: Callable[[Outputs], bool], what: str) -> Outputs:
        return self._bench.wait_for(wanted, what)


class _Power:
    def __init__(self, shoe: SimulatedShoe) -> None:
        self._shoe = shoe

    def on(self) -> None:
        self._shoe.power_on()

    def off(self) -> None:
        self._shoe.power_off()
