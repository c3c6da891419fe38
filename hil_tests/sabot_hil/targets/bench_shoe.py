"""A real shoe as a target, with a bench board (sabot_rig) in place of cards, hands and eyes.

The wiring is in hil_tests/wiring. A failure of the rig raises BrokenRig with a message of one line;
a failure of the shoe is an assertion that fails.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from sabot.errors import NoShoe, PortBusy, PortNotFound
from sabot.keys.signing import PrivateKey
from sabot.link.client import Client, SerialLine
from sabot.link.command_keys import CommandKeyFile
from sabot.sim.channel import Outputs
from sabot_hil.capabilities import BrokenRig, Seen, Unable
from sabot_hil.emulation.oled import ADDRESS, Oled
from sabot_hil.kit.waiting import wait_until
from sabot_hil.kit.witness import Witness, Witnessed
from sabot_hil.targets.bench_board import BenchBoard, RigRefused, runs_of_samples
from sabot_hil.targets.edge import Edge, OpenLine, RealEdge
from sabot_hil.targets.hands import Hands
from sabot_hil.targets.usb_device import UsbDevice
from sabot_protocol import enums
from sabot_protocol.rig import rig

_T = TypeVar("_T")

_LOOK_S = 0.05  # how often a condition is checked
_HELD_US = 100_000  # a heap collection blocks the shoe for 45 ms, and it must see a button twice
_RELEASED_S = 0.1
_QUIET_S = 0.15  # longer than a picture takes on the display, and than the gap between two changes
_SETTLE_S = 30.0
_SUPPLY_S = 2.0
_START_S = 20.0
_USB_S = 10.0

_CHIP_UNSEEN = "the bench board does not see the journal chip's operations; use the emulator"


class BoardTarget:
    """The shoe and the bench board of these USB serial numbers (or ports, of the bench board).

    The shoe is off at first, its lid shut, its key off. `keys` has its command key; by default they
    are those of `sabot.commands` in the current folder. Raises BrokenRig, KeysUnusable.
    """

    def __init__(
        self,
        shoe: str,
        bench: str,
        witness: Witness | None = None,
        edge: Edge | None = None,
        keys: CommandKeyFile | None = None,
    ) -> None:
        keys = keys or CommandKeyFile.load(None)
        self._witness = witness or Witness()
        self._edge: Edge = edge or RealEdge()
        self._eyes = _Eyes(self._edge)
        self._board = BenchBoard(bench, self._eyes.changed, self._eyes.written, self._edge)
        try:
            self.clock = BoardClock(self._board)
            self._eyes.begin(self._board, self.clock)
            self.bench = BoardBench(self._board, self.clock, self._eyes, self._witness)
            self.shoe = BoardShoe(shoe, self._edge, self.clock, self._witness, keys)
            self.power = BoardPower(self._board, self._eyes, self.bench, self.shoe)
            for switch in enums.SWITCHES:
                self.bench.switch(switch, False)
            self._check()
        except BrokenRig:
            self._board.close()
            raise

    def house(self) -> tuple[str, PrivateKey]:
        """Raise Unable: only the shoe's house has the key."""
        raise Unable("a real shoe takes releases signed by its own house; that key is not here")

    def about(self) -> Mapping[str, str]:
        """What is tested, and on what rig."""
        return {
            "Rig": f"bench board {self._board.name}, firmware {self._board.firmware}",
            "Unit": self.shoe.unit,
        }

    def close(self) -> None:
        """Switch the power off, which shuts the lock too, and close the ports."""
        self.shoe.detach()
        with contextlib.suppress(BrokenRig):  # a board without a host makes itself safe
            self.power.off()
        self._board.close()

    def _check(self) -> None:
        """Check that all senses are low without power; after power off that takes a moment.
        Raises BrokenRig."""
        high: list[str] = []

        def all_low() -> bool:
            levels, _ = self._board.levels()
            high[:] = [part for place, part in enumerate(rig.SENSES) if levels >> place & 1]
            return not high

        pause = partial(self._edge.pass_s, _LOOK_S)
        if not wait_until(all_low, _SUPPLY_S, pause, self._edge.now_s):
            raise BrokenRig(
                f"bench board {self._board.name}: {', '.join(high)} high on a shoe without "
                "power; see hil_tests/wiring"
            )


class BoardClock:
    """The bench board's clock, so that the times of what it played and of what it saw fit exactly.
    `now_us` is off by this machine's drift against that clock, at most 0.1 ms per second."""

    measures_shoe = True

    def __init__(self, board: BenchBoard) -> None:
        self._edge = board.edge
        self.emulated = board.edge.emulated
        self._ahead_us = board.clock_ahead_us()
        self._begin_us = self._board_us()

    def now_us(self) -> int:
        """Microseconds since the target was made."""
        return self._board_us() - self._begin_us

    def at(self, board_us: int) -> int:
        """Convert a time of the bench board to this clock."""
        return board_us - self._begin_us

    def pass_ms(self, ms: float) -> None:
        """Let `ms` milliseconds pass."""
        self._edge.pass_s(ms / 1000)

    def slept_us(self) -> int:
        """Raise Unable."""
        raise Unable("the bench board does not see whether the shoe's processor sleeps")

    def _board_us(self) -> int:
        return round(self._edge.now_s() * 1e6) + self._ahead_us


class _Eyes:
    """What the shoe shows, from the reports of the bench board."""

    def __init__(self, edge: Edge) -> None:
        self._now_s = edge.now_s
        self._changed = edge.condition()
        self._outputs = Outputs()
        self._seen: list[Seen] = []
        self._board: BenchBoard | None = None
        self._clock: BoardClock | None = None
        self._display = Oled()
        self._news_s = 0.0
        self.supply = False
        self.wants_supply: bool | None = False
        """The state that the supply must have; None while it may change."""

    def begin(self, board: BenchBoard, clock: BoardClock) -> None:
        """Record changes from now on, with times by `clock`."""
        self._board, self._clock = board, clock

    @property
    def outputs(self) -> Outputs:
        with self._changed:
            return self._outputs

    def seen(self) -> list[Seen]:
        with self._changed:
            seen, self._seen = self._seen, []
        # A beep is reported at its end, with the time of its start.
        return sorted(seen, key=lambda each: each.t_us)

    def dark(self) -> None:
        """The shoe has no power."""
        with self._changed:
            self._display = Oled()
            self._outputs = Outputs(beeps=self._outputs.beeps)

    def quiet_s(self) -> float:
        """For how long nothing has changed."""
        with self._changed:
            return self._now_s() - self._news_s

    def wait_for(self, wanted: Callable[[], bool], within_s: float) -> bool:
        """Wait until `wanted` is true; return whether it became true. Raises BrokenRig."""

        def pause() -> None:
            self._changed.wait(_LOOK_S)
            if self._board is not None:
                self._board.check()

        with self._changed:
            return wait_until(wanted, within_s, pause, self._now_s)

    def changed(self, t_us: int, what: str, value: int) -> None:
        """Take a change of a sense."""
        with self._changed:
            outputs = self._outputs
            if what == "supply":
                self.supply = bool(value)
                if self._board and self.wants_supply is not None and self.wants_supply != value:
                    self._board.break_with(f"the shoe's supply went {'on' if value else 'off'}")
            elif what == "lock":
                self._show(t_us, "lock_released", replace(outputs, lock_released=bool(value)))
            elif what == "lamps":
                lit = frozenset(lamp for n, lamp in enumerate(enums.LAMPS) if value >> n & 1)
                self._show(t_us, "lamps", replace(outputs, lamps=lit))
            else:
                self._show(t_us, "beeps", replace(outputs, beeps=outputs.beeps + 1))
            self._changed.notify_all()

    def written(self, t_us: int, data: bytes) -> None:
        """Take a write to the display."""
        with self._changed:
            if self._display.begin(ADDRESS):
                for octet in data:
                    self._display.octet(octet)
                self._display.end()
            lines = self._display.lines()
            self._show(t_us, "display", replace(self._outputs, display=lines))
            self._changed.notify_all()

    def _show(self, t_us: int, what: str, outputs: Outputs) -> None:
        self._news_s = self._now_s()
        if outputs != self._outputs and self._clock is not None:
            self._seen.append(Seen(self._clock.at(t_us), what, getattr(outputs, what)))
        self._outputs = outputs


class BoardBench(Hands):
    """Hands and eyes, through the bench board."""

    def __init__(self, board: BenchBoard, clock: BoardClock, eyes: _Eyes, witness: Witness) -> None:
        self._board = board
        self._clock = clock
        self._eyes = eyes
        self._witness = witness

    @property
    def outputs(self) -> Outputs:
        """What the shoe shows now."""
        self._board.check()
        return self._eyes.outputs

    def seen(self) -> list[Seen]:
        """Every change of an output since the last call."""
        return self._eyes.seen()

    def play(self, samples: bytes) -> int:
        """Play sample words to the head; returns the time of the first one."""
        begin_us = self._clock.at(self._board.play(runs_of_samples(samples))[0])
        self._witness.played(begin_us, samples)
        return begin_us

    def press(self, button: str) -> Outputs:
        """Press a button and release it; returns what the shoe shows then."""
        self._board.command(rig.PRESS, enums.BUTTONS.index(button), _HELD_US)
        self._board.edge.pass_s(_RELEASED_S)
        return self.settle()

    def switch(self, switch: str, on: bool) -> Outputs:
        """Move a switch; without power it only changes its position."""
        self._board.command(rig.SWITCH, enums.SWITCHES.index(switch), on)
        if not self._eyes.supply:
            return self._eyes.outputs
        self._board.edge.pass_s(_RELEASED_S)
        return self.settle()

    def plug_display(self, plugged: bool) -> None:
        """Raise Unable."""
        raise Unable("the bench board cannot take its display off the bus")

    def settle(self) -> Outputs:
        """Wait until nothing has changed for a while."""
        now_s = self._board.edge.now_s
        acted_s = now_s()

        def quiet() -> bool:
            return min(self._eyes.quiet_s(), now_s() - acted_s) >= _QUIET_S

        assert self._eyes.wait_for(quiet, _SETTLE_S), f"not quiet within {_SETTLE_S:g} s"
        return self._eyes.outputs

    def wait_for(self, wanted: Callable[[Outputs], bool], what: str) -> Outputs:
        """Wait until `wanted` is true of what the shoe shows."""
        shown = self._eyes.wait_for(lambda: wanted(self._eyes.outputs), _SETTLE_S)
        lines = " / ".join(line for line in self._eyes.outputs.display if line)
        assert shown, f"the shoe has not {what}: not within {_SETTLE_S:g} s; it shows: {lines}"
        return self._eyes.outputs


class BoardShoe:
    """The link, over the shoe's own USB serial line. A unit's id is its USB serial number."""

    def __init__(
        self, unit: str, edge: Edge, clock: BoardClock, witness: Witness, keys: CommandKeyFile
    ) -> None:
        self.unit = unit
        self._keys = keys
        self._edge = edge
        self._clock = clock
        self._witness = witness
        self._open: OpenLine | None = None

    @property
    def port(self) -> str:
        """The shoe's port; waits until USB has started after power on."""
        return self._when_there(lambda: self._edge.port(self.unit))

    def suspend(self, seconds: float) -> None:
        """Let the host suspend its USB port for so long."""
        self.detach()
        self._usb().suspend(seconds)

    def replug(self) -> None:
        """Let the host take its USB device away and take it back."""
        self.detach()
        self._usb().replug()

    def _usb(self) -> UsbDevice:
        if self._edge.emulated:
            raise Unable("the emulated USB host cannot do this")
        return UsbDevice(self.unit)

    def attach(self) -> Client:
        """A new session; ends an earlier one."""
        return Client(self.line(), now_s=self._edge.now_s, keys=self._keys)

    def line(self) -> SerialLine:
        """The bare link; ends an earlier session."""
        self.detach()
        self._open = self._when_there(lambda: self._edge.open_shoe(self.unit))
        return Witnessed(self._open, self._witness, self._clock.now_us)

    def detach(self) -> None:
        """Close the host's end."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _when_there(self, get: Callable[[], _T]) -> _T:
        deadline_s = self._edge.now_s() + _USB_S
        while True:
            try:
                return get()
            except (PortNotFound, PortBusy, NoShoe):
                if self._edge.now_s() > deadline_s:
                    raise
                self._edge.pass_s(_LOOK_S)


class BoardPower:
    """The shoe's supply, through the bench board's switch."""

    def __init__(self, board: BenchBoard, eyes: _Eyes, bench: BoardBench, shoe: BoardShoe) -> None:
        self._board = board
        self._eyes = eyes
        self._bench = bench
        self._shoe = shoe

    def on(self) -> None:
        """Switch the power on; returns once the display shows something."""
        if self._eyes.supply:
            return
        self._switch(True)
        shown = self._eyes.wait_for(lambda: bool(self._eyes.outputs.title), _START_S)
        assert shown, f"shoe {self._shoe.unit} shows nothing within {_START_S:g} s of power"
        self._bench.settle()

    def off(self) -> None:
        """Switch the power off at once."""
        self._switch(False)
        self._eyes.dark()

    def brown_out(self, us: int) -> None:
        """Take the power away for `us` microseconds; returns when it is back, whatever the shoe
        does."""
        self._eyes.wants_supply = None
        self._board.command(rig.BROWN_OUT, us)
        self._eyes.wait_for(lambda: self._eyes.supply, _SUPPLY_S)
        self._eyes.wants_supply = True

    def sag(self, volts: float, *, fall_ms: float, low_ms: float, rise_ms: float) -> None:
        """Let the supply sag. Raises Unable if this bench board has no filter for its level."""
        us = [round(1000 * ms) for ms in (fall_ms, low_ms, rise_ms)]
        self._eyes.wants_supply = None  # the sense may see the sag
        try:
            self._board.command(rig.SAG, round(1000 * volts), *us)
        except RigRefused as refused:
            if refused.reason != "not_fitted":
                raise
            raise Unable(
                "this bench board has no filter for the level of the supply; see hil_tests/wiring"
            ) from None
        finally:
            self._eyes.wait_for(lambda: self._eyes.supply, _SUPPLY_S)
            self._eyes.wants_supply = True

    def off_in_flash(self, operation: int, share: float) -> None:
        """Raise Unable."""
        raise Unable(_CHIP_UNSEEN)

    def written_us(self) -> int:
        """Raise Unable."""
        raise Unable(_CHIP_UNSEEN)

    def _switch(self, on: bool) -> None:
        self._eyes.wants_supply = None
        self._board.command(rig.POWER, on)
        if not self._eyes.wait_for(lambda: self._eyes.supply == on, _SUPPLY_S):
            self._board.break_with(
                f"the shoe's supply does not go {'on' if on else 'off'} within {_SUPPLY_S:g} s; "
                "is anything else feeding it?"
            )
            self._board.check()
        self._eyes.wants_supply = on
