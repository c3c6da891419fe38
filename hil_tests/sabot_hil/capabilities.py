"""The capabilities of a target: all that a test may use of it.

A target provides as many of them as it can. What it cannot do raises `Unable`, and the test that
asked is skipped with that reason.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # pytest imports this module before every test
    from sabot.keys.signing import PrivateKey
    from sabot.link.client import Client, SerialLine
    from sabot.sim.channel import Outputs


class Unable(Exception):
    """The target cannot do what was asked; the text says what, and why."""


class BrokenRig(Exception):
    """The rig around the shoe has failed: no later result can be judged."""


LOCK_DECIDED = "lock_decided"
"""For `Seen.what`: the shoe itself has decided that the lock must be released or shut. Only some
targets can see that."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A change of an output; `what` is the name of the field of `Outputs`, or LOCK_DECIDED."""

    t_us: int
    what: str
    value: object


class Clock(Protocol):
    """The target's time."""

    @property
    def emulated(self) -> bool:
        """Whether the time is emulated: it passes only while the test lets it pass, and the same
        seed gives the same times to the microsecond. Otherwise it is real time."""

    @property
    def measures_shoe(self) -> bool:
        """Whether times by it say something of the shoe; the simulator's only say how fast this
        machine is."""

    def now_us(self) -> int:
        """Microseconds since the target was made; they count without power too."""

    def pass_ms(self, ms: float) -> None:
        """Let `ms` milliseconds pass."""

    def slept_us(self) -> int:
        """Microseconds since the last start in which the shoe's processor had nothing to do.
        Raises Unable if the target cannot measure that."""


class Controls(Protocol):
    """The part of a bench that the supervisor needs."""

    @property
    def outputs(self) -> "Outputs":
        """What the shoe shows now."""

    def press(self, button: str) -> "Outputs":
        """Press a button of `enums.BUTTONS`; returns what the shoe shows then."""

    def switch(self, switch: str, on: bool) -> "Outputs":
        """Move a switch of `enums.SWITCHES`; returns what the shoe shows then. Without power the
        switch only changes its position."""


class CardBench(Controls, Protocol):
    """The part of a bench that a dealer needs."""

    def pull(self, card: str) -> "Outputs":
        """Pull a card ("7H", "CUT") through the head; returns what the shoe shows then."""

    def pull_unreadable(self) -> "Outputs":
        """Pull a card without a code."""

    def wait_for(self, wanted: Callable[["Outputs"], bool], what: str) -> "Outputs":
        """Wait until `wanted` is true of what the shoe shows; `what` names that in an error."""


class Bench(CardBench, Protocol):
    """Hands and eyes at the shoe. Each hand movement returns once the shoe has acted on it."""

    def pull_part(self, card: str, travel_mm: float) -> "Outputs":
        """Pull a card until its leading edge is `travel_mm` into the head, and hold it there. It
        is taken out before the power comes back."""

    def play(self, samples: bytes) -> int:
        """Play sample words to the head (20 kHz, two samples a byte, the older in the lower half,
        as in a recording). Return the time of the first sample, in us of the target's clock.

        Returns after the last sample; does not wait for the shoe.
        """

    def plug_display(self, plugged: bool) -> None:
        """Plug the display in or out while the shoe runs. Raises Unable."""

    def settle(self) -> "Outputs":
        """Wait until the shoe has acted on everything that was done."""

    def seen(self) -> list[Seen]:
        """Every change of an output since the last call, with its time. A target may keep none
        before the first call, so a test calls it before what it wants to see."""


class ShoeLink(Protocol):
    """The link to the shoe."""

    @property
    def unit(self) -> str:
        """The unit's id."""

    @property
    def port(self) -> str:
        """A port that any program may open. With emulated time it answers only while the test
        lets time pass, and not while `attach` or `line` is in use. Raises Unable if the target has
        no such port."""

    def line(self) -> "SerialLine":
        """The bare link, for tests that do not talk as a host does; ends an earlier session."""

    def suspend(self, seconds: float) -> None:
        """Let the host suspend the shoe's USB port for so long; ends a session. Raises Unable."""

    def replug(self) -> None:
        """Let the host take the shoe's USB device away and take it back, while the shoe keeps its
        power; ends a session. Raises Unable."""

    def attach(self) -> "Client":
        """A new session with the shoe, its time-outs by the target's clock; ends an earlier
        session."""

    def detach(self) -> None:
        """Close the host's end."""


class Power(Protocol):
    """The shoe's supply."""

    def on(self) -> None:
        """Switch the power on; returns once the shoe has started."""

    def off(self) -> None:
        """Switch the power off at once, whatever the shoe is doing."""

    def brown_out(self, us: int) -> None:
        """Let the supply fail for `us` microseconds, which the journal's chip may survive. Returns
        when the supply is back, whatever the shoe does."""

    def sag(self, volts: float, *, fall_ms: float, low_ms: float, rise_ms: float) -> None:
        """Let the shoe's 3.3 V fall to `volts` evenly, stay there, and rise again, each for so
        long. Returns when the supply is back, whatever the shoe does. Raises Unable."""

    def off_in_flash(self, operation: int, share: float) -> None:
        """Cut the power during the `operation`-th operation of the journal's chip from now on
        (0: the next one), after `share` of it (0 to 1). The shoe then stays without power."""

    def written_us(self) -> int:
        """When the last operation of the journal's chip ended or will end, by the target's clock.
        Raises Unable if the target cannot see that."""


class Prompt(Protocol):
    """A Pico with MicroPython and nothing on its pins, at its prompt. Its files are left alone."""

    @property
    def emulated(self) -> bool:
        """Whether it is the emulated one."""

    @property
    def mhz(self) -> float:
        """The frequency of its processor."""

    def run(self, script: str) -> Any:
        """Run a script in a fresh interpreter; return the value that it printed with `repr`. Raises
        BrokenRig if it fails or the board does not answer."""

    def run_unread(self, script: str, seconds: float) -> Any:
        """Do the same, but read nothing from its port for so long after the script began."""

    def restart(self, script: str, within_s: float = 0.0) -> None:
        """Run a script that prints "going" and resets the chip so long after that; return
        once its prompt is back."""

    def ahead_us(self, chips_us: str) -> float:
        """How far this bench's time is ahead of the chip's time, which the expression `chips_us`
        gives in microseconds, by the quickest of several answers."""

    def suspend_usb(self, seconds: float) -> None:
        """Let the host suspend its USB port for so long. Raises Unable."""

    def replug_usb(self) -> None:
        """Let the host take the device away and take it back, while it keeps its power. Raises
        Unable."""

    def about(self) -> Mapping[str, str]:
        """What is measured, for the report."""

    def close(self) -> None:
        """Restart the board, so that it runs what it ran before, and release all resources. Raises
        BrokenRig if its files are not those that it had."""


class Target(Protocol):
    """One shoe."""

    @property
    def shoe(self) -> ShoeLink:
        """The link to the shoe."""

    @property
    def bench(self) -> Bench:
        """Hands and eyes at the shoe."""

    @property
    def power(self) -> Power:
        """The shoe's supply."""

    @property
    def clock(self) -> Clock:
        """The target's time."""

    def house(self) -> tuple[str, "PrivateKey"]:
        """The board that the shoe's releases are built for, and the key that signs them. Raises
        Unable if the shoe takes no releases or their key is not here."""

    def about(self) -> Mapping[str, str]:
        """What is tested, and on what rig, for the report: `Rig`, `MicroPython` and more."""

    def close(self) -> None:
        """Leave the shoe safe (lock closed, power off) and release all resources."""


class Measure(Protocol):
    """The fixture `measure`."""

    def __call__(
        self,
        name: str,
        value: float,
        unit: str,
        of: str = "",
        /,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> None:
        """Put a measured value into the report; the test fails if it is outside its limits. The
        failure then names what was measured: `of`."""


class Compare(Protocol):
    """The fixture `compare`."""

    def __call__(self, name: str, measured: float, /) -> None:
        """Put a figure that the emulator assumes, and what it is on this board, into the report.
        `name` is one of `sabot_hil.emulation.assumptions.TABLE`."""


@contextmanager
def session_with(shoe: ShoeLink) -> Iterator["Client"]:
    """Open a session with the shoe that ends with the block."""
    try:
        yield shoe.attach()
    finally:
        shoe.detach()
