"""The bench: plays sensor samples and a dealer's actions to a simulated shoe, shows its outputs."""

import socket
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from sabot.errors import SimulatorFailed
from sabot.link import wire
from sabot_protocol import enums
from sabot_protocol.frame import FrameReader
from sabot_protocol.sim import sim_channel

LATCHES = ("lid", "compartment")
"""What latches of a board can remember that it was opened, also without power."""

_RECEIVE = 65536
_SETTLE_TIMEOUT_S = 30.0
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Outputs:
    """What the shoe shows: lock, lamps, display, beeper."""

    lock_released: bool = False
    lamps: frozenset[str] = frozenset()
    display: tuple[str, ...] = ()
    beeps: int = 0

    @property
    def title(self) -> str:
        """The first line of the display: the state of the game."""
        return self.display[0] if self.display else ""

    @property
    def link(self) -> str:
        """The last line of the display: whether a host is connected."""
        return self.display[-1] if self.display else ""


class SimHands:
    """The parts of a shoe that people touch and see. Thread-safe.

    `restarting` says whether a shoe that has stopped will start again by itself. `latches` are
    those that its board has, of LATCHES.
    """

    def __init__(
        self, restarting: Callable[[], bool] = lambda: False, latches: Collection[str] = ()
    ) -> None:
        self._restarting = restarting
        self._opened = dict.fromkeys(latches, False)  # since the shoe armed the latch
        self._socket: socket.socket | None = None
        self._changed = threading.Condition()
        self._outputs = Outputs()
        self._history: list[tuple[float, Outputs]] | None = None  # until someone asks for it
        self._sent = 0
        self._taken = -1
        self._gone = False
        self._switches = 0

    def connect(self, channel: socket.socket) -> None:
        """Attach to a shoe that has just been powered on."""
        self._socket = channel
        self._sent, self._taken, self._gone = 0, -1, False
        self._outputs = Outputs()
        threading.Thread(target=self._watch, args=(channel,), daemon=True).start()

    def disconnect(self) -> None:
        """Detach from a shoe that has lost power."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    @property
    def outputs(self) -> Outputs:
        """What the shoe shows now."""
        with self._changed:
            return self._outputs

    def history(self) -> list[tuple[float, Outputs]]:
        """Return every state of the outputs since the last call, each with its `time.monotonic`.

        The first call returns only the present state: before it none are kept, because a simulator
        runs for days.
        """
        with self._changed:
            seen, self._history = self._history, []
            return [(time.monotonic(), self._outputs)] if seen is None else seen

    def play(self, samples: bytes) -> None:
        """Play sample words to the sensor head."""
        size = sim_channel.MAX_SAMPLE_BYTES
        for at in range(0, len(samples), size):
            self._send(wire.frame_of(sim_channel.SAMPLES, samples[at : at + size]))

    def press(self, button: str) -> None:
        """Press and release a button of `enums.BUTTONS`."""
        self._send(wire.frame_of(sim_channel.PRESS, enums.BUTTONS.index(button)))

    def switch(self, switch: str, on: bool) -> None:
        """Set a switch of `enums.SWITCHES`; without power the shoe sees it at its next start."""
        place = enums.SWITCHES.index(switch)
        self._switches = self._switches & ~(1 << place) | on << place
        if switch == "lid_open" and on:
            self.open("lid")
        if self._socket is not None:
            self._send(wire.frame_of(sim_channel.SWITCH, place, on))

    def open(self, what: str) -> None:
        """Let the latch of LATCHES remember, if there is one, that this was opened."""
        if what in self._opened:
            self._opened[what] = True

    def latches(self) -> list[str]:
        """Return the latches as they are now, in the words of boards/sim/board.py."""
        return [f"{what}_{'opened' if on else 'shut'}" for what, on in self._opened.items()]

    def sense(self, *, bolt_stuck: bool = False, supply_low: bool = False) -> None:
        """Let the bolt stick where it is, and the supply fall, or end that."""
        self._send(wire.frame_of(sim_channel.PARTS, bolt_stuck, supply_low))

    def switch_bits(self) -> int:
        """Return the positions of the switches: bit n is the n-th of `enums.SWITCHES`."""
        return self._switches

    def settle(self) -> Outputs:
        """Wait until the shoe has acted on everything sent to it; return what it shows then.

        Raises SimulatorFailed if it does not, for example because it is not running.
        """
        return self.wait_for(lambda outputs: self._taken == self._sent, "acted on the bench")

    def wait_for(
        self,
        wanted: Callable[[Outputs], bool],
        what: str,
        timeout_s: float = _SETTLE_TIMEOUT_S,
    ) -> Outputs:
        """Wait until `wanted` is true of the outputs, and return them.

        `what` completes "the shoe has not ..." in the message of SimulatorFailed, raised after
        `timeout_s` seconds or if the shoe has stopped for good.
        """
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while not wanted(self._outputs):
                left_s = deadline - time.monotonic()
                stopped = self._gone and not self._restarting()
                if stopped or left_s <= 0:
                    why = "it has stopped" if stopped else f"not within {timeout_s:g} s"
                    shown = " / ".join(line for line in self._outputs.display if line)
                    raise SimulatorFailed(f"the shoe has not {what}: {why}; it shows: {shown}")
                self._changed.wait(min(left_s, _POLL_S) if self._gone else left_s)
            return self._outputs

    def _send(self, frame: bytes) -> None:
        if self._socket is None:
            raise SimulatorFailed("the shoe has no power")
        with self._changed:
            self._sent += 1
        try:
            self._socket.sendall(frame)
        except OSError:
            raise SimulatorFailed("the shoe has stopped by itself") from None

    def _watch(self, channel: socket.socket) -> None:
        frames = FrameReader()
        while True:
            try:
                data = channel.recv(_RECEIVE)
            except OSError:
                data = b""
            with self._changed:
                if channel is not self._socket:
                    return
                if not data:
                    self._gone = True
                for payload in frames.feed(data):
                    self._take(wire.parse_message(payload))
                self._changed.notify_all()
            if not data:
                return

    def _take(self, message: wire.Message) -> None:
        outputs = self._outputs
        (value,) = message.fields.values()
        match message.shape.name, value:
            case "idle", int(taken):
                self._taken = taken
                return
            case "latches_armed", bool():
                self._opened = dict.fromkeys(self._opened, False)
                return
            case "lock", bool(released):
                outputs = replace(outputs, lock_released=released)
            case "lamps", int(bits):
                lit = [lamp for n, lamp in enumerate(enums.LAMPS) if bits >> n & 1]
                outputs = replace(outputs, lamps=frozenset(lit))
            case "display", str(text):
                lines = tuple(line.rstrip() for line in text.split("\n"))
                outputs = replace(outputs, display=lines)
            case _:
                outputs = replace(outputs, beeps=outputs.beeps + 1)
        self._outputs = outputs
        if self._history is not None:
            self._history.append((time.monotonic(), outputs))
