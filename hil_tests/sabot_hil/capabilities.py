"""What a test may ask of a target: these capabilities, and nothing else.

Each target has them as far as it can; what it cannot do raises `Unable`, and the test that asked is
skipped with that reason.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from sabot.keys.signing import PrivateKey
from sabot.link.client import Client, Line
from sabot.sim.channel import Outputs


class Unable(Exception):
    """The target cannot do what was asked; the text says what, and why."""


class BrokenRig(Exception):
    """What is around the shoe has failed: nothing that comes after can be judged."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A change of an output; `what` is the name of the field of `Outputs`."""

    t_us: int
    what: str
    value: object


class Clock(Protocol):
    """The target's time."""

    @property
    def emulated(self) -> bool:
        """Whether it goes on only while the test has it go on, and the same seed gives the same
        times to the microsecond; otherwise it is the real one."""

    def now_us(self) -> int:
        """Microseconds since the target was made; they go on without power."""

    def pass_ms(self, ms: float) -> None:
        """Let so much time pass."""

    def slept_us(self) -> int:
        """Microseconds since the last start in which the shoe's processor had nothing to do.
        Unable where nobody can tell."""


class Controls(Protocol):
    """The part of a bench that the supervisor needs."""

    @property
    def outputs(self) -> Outputs:
        """What the shoe shows now."""

    def press(self, button: str) -> Outputs:
        """Press a button of `words.BUTTONS`; what the shoe shows then."""

    def switch(self, switch: str, on: bool) -> Outputs:
        """Move a switch of `words.SWITCHES`; without power it just stands so then."""


class CardBench(Controls, Protocol):
    """The part of a bench that a dealer needs."""

    def pull(self, card: str) -> Outputs:
        """Pull a card ("7H", "CUT") through the head; what the shoe shows then."""

    def pull_unreadable(self) -> Outputs:
        """Pull a card without a code."""

    def wait_for(self, wanted: Callable[[Outputs], bool], what: str) -> Outputs:
        """Wait until the shoe shows what is `wanted`, which `what` names."""


class Bench(CardBench, Protocol):
    """Hands and eyes. Each hand movement returns once the shoe has acted on it."""

    def pull_part(self, card: str, travel_mm: float) -> Outputs:
        """Pull a card until its leading edge has come so far into the head, and hold it there;
        before the power comes back it is taken out."""

    def play(self, samples: bytes) -> int:
        """Play sample words to the head (20 kHz, two samples a byte, the older in the lower half,
        as in a recording); when the first of them was there, by the target's clock in us.

        Returns once the last one has been; does not wait for the shoe.
        """

    def settle(self) -> Outputs:
        """Wait until the shoe has acted on all that was done."""

    def seen(self) -> list[Seen]:
        """Every change of an output since this was asked last, with its time."""


class ShoeLink(Protocol):
    """The link."""

    @property
    def unit(self) -> str:
        """Its id."""

    @property
    def port(self) -> str:
        """A port that any program may open. Where time is emulated it answers while the test has
        time pass, and not while `attach` or `line` is used. Unable where there is none."""

    def line(self) -> Line:
        """The bare link, for whoever talks otherwise than a host; a session before is over."""

    def attach(self) -> Client:
        """A new session with the shoe, its time-outs by the target's clock; the one before is
        over."""

    def detach(self) -> None:
        """The host goes away."""


class Power(Protocol):
    """The shoe's supply."""

    def on(self) -> None:
        """Power on; returns once the shoe has come up."""

    def off(self) -> None:
        """Power off, at once, wherever the shoe is."""

    def brown_out(self, us: int) -> None:
        """Let the supply fail for so long, which the journal's chip may bridge; returns when it is
        back, whatever the shoe does."""

    def off_in_flash(self, operation: int, share: float) -> None:
        """Let the power go in the `operation`-th operation on the journal's chip from now on
        (0: the next one), when so much of it (0 to 1) is done. Then the shoe is without power."""

    def written_us(self) -> int:
        """When the last operation of the journal's chip ended, or will, by the target's clock.
        Unable where nobody can tell."""


class Target(Protocol):
    """One shoe."""

    @property
    def shoe(self) -> ShoeLink:
        """The link to it."""

    @property
    def bench(self) -> Bench:
        """Hands and eyes at it."""

    @property
    def power(self) -> Power:
        """Its supply."""

    @property
    def clock(self) -> Clock:
        """Its time."""

    def house(self) -> tuple[str, PrivateKey]:
        """The board that its releases are built for, and the key that signs them. Unable where it
        takes none, or nobody here may sign them."""

    def about(self) -> Mapping[str, str]:
        """What is tested, and on what, for the report: `Rig`, `MicroPython` and more."""

    def close(self) -> None:
        """Leave it safe (lock closed, power off) and put everything away."""


class Measure(Protocol):
    """The fixture `measure`."""

    def __call__(
        self,
        name: str,
        value: float,
        unit: str,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> None:
        """Put a measured value into the report; the test fails where it is out of its limits."""


@contextmanager
def session_with(shoe: ShoeLink) -> Iterator[Client]:
    """A session with the shoe that ends with the block."""
    try:
        yield shoe.attach()
    finally:
        shoe.detach()
