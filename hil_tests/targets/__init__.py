"""What a test may ask of a target, and the targets there are.

A test binds to these capabilities only. A new target (an emulated chip, a real board) is a
module here with a class like `SimTarget` and a line in TARGETS; no test changes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from sabot.sim.bench import Outputs


class Bench(Protocol):
    """Cards, buttons and outputs."""

    @property
    def outputs(self) -> Outputs:
        """What the shoe shows now."""

    def pull(self, card: str) -> Outputs:
        """Pull a card ("7H", "CUT") through the head; what the shoe shows then."""

    def pull_part(self, card: str, travel_mm: float) -> Outputs:
        """Pull a card until its leading edge has come so far into the head, and hold it there."""

    def pull_unreadable(self) -> Outputs:
        """Pull a card without a code."""

    def press(self, button: str) -> Outputs:
        """Press a button of `words.BUTTONS`; what the shoe shows then."""

    def switch(self, switch: str, on: bool) -> Outputs:
        """Move a switch of `words.SWITCHES`; what the shoe shows then."""

    def wait_for(self, wanted: Callable[[Outputs], bool], what: str) -> Outputs:
        """Wait until the shoe shows what is `wanted`, which `what` names."""


class Power(Protocol):
    """The shoe's supply."""

    def on(self) -> None:
        """Power on; returns when the shoe has come up."""

    def off(self) -> None:
        """Power off, at once, wherever the shoe is."""


class Target(Protocol):
    """One shoe: `port` is the link to it, to be attached with `sabot.client.Client`."""

    unit: str
    port: str
    bench: Bench
    power: Power

    def close(self) -> None:
        """Put everything away."""


def make_target(name: str, unit: str, folder: Path) -> Target:
    """The target called `name`, powered off; `folder` is for what it must keep."""
    from hil_tests.targets.sim import SimTarget

    targets: dict[str, Callable[[str, Path], Target]] = {"sim": SimTarget}
    if name not in targets:
        raise ValueError(f"no target is called {name}; there is: {', '.join(targets)}")
    return targets[name](unit, folder)
