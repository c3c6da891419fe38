"""A real shoe as a target, with a bench board (sabot_rig) in place of cards, hands and eyes.

The wiring is in hil_tests/wiring. Whatever fails of the rig is a BrokenRig, in one line; what the
shoe does not do is an assertion that fails.
"""

import contextlib
import random
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np

from sabot.errors import NoShoe, PortNotFound, SabotError
from sabot.keys.signing import PrivateKey
from sabot.link import wire
from sabot.link.client import Client, Line
from sabot.link.command_keys import CommandKeys
from sabot.link.ports import Port, resolve
from sabot.sim.channel import Outputs
from sabot.sim.waveform import (
    SAMPLE_RATE_HZ,
    unpack,
)
from sabot_hil.capabilities import BrokenRig, Seen, Unable
from sabot_hil.emulation.oled import ADDRESS, Oled
from sabot_hil.kit.witness import Witness, Witnessed
from sabot_hil.targets.hands import Hands
from sabot_protocol import cbor, enums
from sabot_protocol.frame import FrameReader
from sabot_protocol.rig import rig
from sabot_protocol.schema import SchemaError, Shape

_T = TypeVar("_T")

_SAMPLE_US = 1_000_000 // SAMPLE_RATE_HZ
_PART_RUNS = rig.MAX_PART_BYTES // rig.RUN_BYTES

_HELLO_S, _HELLO_EVERY_S = 5.0, 0.25
_ANSWER_S = 3.0
_ALIVE_EVERY_S = 1.0
_READ_S = 0.05
_CLOCK_ASKED = 9
_FULL_PAUSE_S = 0.02

_HELD_US = 100_000  # a shoe that collects its heap looks at nothing for 45 ms, and wants two looks
_RELEASED_S = 0.1
_QUIET_S = 0.15  # longer than the display takes for a picture, and than two changes lie apart
_SETTLE_S = 30.0
_SUPPLY_S = 2.0
_START_S = 20.0
_USB_S = 10.0

_SHAPES = {shape.number: shape for shape in rig.FROM_RIG}
_CHIP_UNSEEN = "the bench board does not see the journal chip's operations; use the emulator"
_FATAL = ("changes_lost", "display_lost", "underrun")


class OpenLine(Line, Protocol):
    """An open port, as `sabot.link.ports.Port`."""

    def close(self) -> None:
        """Give it back."""


class Condition(AbstractContextManager[Any], Protocol):
    """The part of `threading.Condition` that is used here."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for `notify_all`, so many seconds at most."""

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        """Wait until the predicate holds, so many seconds at most; what it says."""

    def notify_all(self) -> None:
        """Wake those who wait."""


class Edge(Protocol):
    """Where this program ends: time, ports, and what goes on beside the test."""

    @property
    def emulated(self) -> bool:
        """As `sabot_hil.capabilities.Clock.emulated`."""

    def now_s(self) -> float:
        """Seconds since any moment."""

    def pass_s(self, seconds: float) -> None:
        """Let so much time pass."""

    def condition(self) -> Condition:
        """A new condition, by that time."""

    def open_bench(self, name: str) -> OpenLine:
        """The line to a bench board. Raises SabotError."""

    def open_shoe(self, unit: str) -> OpenLine:
        """The line to a shoe. Raises SabotError."""

    def port(self, unit: str) -> str:
        """A port of a shoe that any program may open. Raises SabotError, Unable."""

    def beside(self, step: Callable[[], bool]) -> Callable[[], None]:
        """Have `step` called again and again beside the test, until it is false; what waits for
        the end of that."""


class RealEdge:
    """This machine's time and ports."""

    emulated = False

    def now_s(self) -> float:
        return time.monotonic()

    def pass_s(self, seconds: float) -> None:
        time.sleep(seconds)

    def condition(self) -> Condition:
        return threading.Condition()

    def open_bench(self, name: str) -> Port:
        return Port(name)

    def open_shoe(self, unit: str) -> Port:
        return Port(unit)

    def port(self, unit: str) -> str:
        return resolve(unit)

    def beside(self, step: Callable[[], bool]) -> Callable[[], None]:
        def run() -> None:
            while step():
                pass

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread.join


class Refused(BrokenRig):
    """The bench board does not do what it was told. `reason` is one of `rig.REASONS`."""

    def __init__(self, name: str, shape: Shape, reason: str) -> None:
        super().__init__(f"bench board {name} refuses {shape.name}: {reason}")
        self.reason = reason


class BenchBoard:
    """The line to a bench board by USB serial number or port. Thread-safe.

    `on_change` is told time in us by the board's clock, one of `rig.WHATS`, and value; `on_display`
    time and the bytes written. Both are called beside the test. Raises BrokenRig, here and in
    every call after the board was lost.
    """

    def __init__(
        self,
        name: str,
        on_change: Callable[[int, str, int], None] = lambda t_us, what, value: None,
        on_display: Callable[[int, bytes], None] = lambda t_us, written: None,
        edge: Edge | None = None,
    ) -> None:
        self.name = name
        self.edge: Edge = edge or RealEdge()
        self._on_change = on_change
        self._on_display = on_display
        self._news = self.edge.condition()
        self._commanding = threading.Lock()
        self._answers: dict[int, list[int]] = {}
        self._played: dict[int, tuple[int, int]] = {}
        self._report: list[Any] | None = None
        self._broken: str | None = None
        self._closed = False
        self._number = 0
        self._session = random.getrandbits(31)
        self._frames = FrameReader()
        self._alive_s = self.edge.now_s()
        try:
            self._port = self.edge.open_bench(name)
        except SabotError as why:
            raise BrokenRig(f"bench board {why}") from None
        self._read_to_the_end = self.edge.beside(self._read)
        try:
            self._attach()
        except BrokenRig:
            self.close()
            raise

    @property
    def firmware(self) -> str:
        """The version of what runs on it."""
        return str(self._reported()[1])

    def close(self) -> None:
        """Give the port back. The board makes itself safe within `rig.SILENCE_MS`."""
        self._closed = True
        self._read_to_the_end()
        self._port.close()

    def check(self) -> None:
        """Raise BrokenRig where the board was lost or lost something."""
        if self._broken is not None:
            raise BrokenRig(self._broken)

    def break_with(self, why: str) -> None:
        """From now on every call raises BrokenRig with this cause, or with an earlier one."""
        with self._news:
            self._broken = self._broken or f"bench board {self.name}: {why}"
            self._news.notify_all()

    def command(self, shape: Shape, *values: object) -> int:
        """Have the board do it; the value it answers. Raises BrokenRig, Refused."""
        return self._ask(shape, values)[1]

    def levels(self) -> tuple[int, int]:
        """The senses now, and when that was by the board's clock."""
        _, t_us, levels = self._ask(rig.LOOK, ())
        return levels, t_us

    def levels_while_pressed(self, button: int, us: int) -> int:
        """The senses while that button is held, for so long."""
        with self._commanding:
            press = self._begin(rig.PRESS, (button, us))
            levels = self._answer_to(rig.LOOK, self._begin(rig.LOOK, ()))[2]
            self._answer_to(rig.PRESS, press)
        return levels

    def play(self, runs: bytes) -> tuple[int, int]:
        """Play runs, as in rig.py; begin and end by the board's clock, once it is over."""
        total = len(runs) // rig.RUN_BYTES
        length_us = sum(_lengths(runs))
        room = self.command(rig.PREPARE, total)
        sent = 0
        while sent < total and room:
            sent, room = self._load(runs, sent, room)
        number, begun_us = self._ask(rig.START, ())
        while sent < total:
            sent, room = self._load(runs, sent, room)
        left_s = length_us / 1e6 + _ANSWER_S
        with self._news:
            self._wait(lambda: number in self._played, left_s, "tells no end of a pattern")
            begin_us, end_us = self._played.pop(number)
        if begin_us != begun_us or end_us - begin_us != length_us:
            self.break_with(f"played {end_us - begin_us} us instead of {length_us}")
            self.check()
        return begin_us, end_us

    def clock_ahead_us(self) -> int:
        """How far its clock is ahead of `Edge.now_s`: from the answer that came quickest."""
        best = (float("inf"), 0)
        for _ in range(_CLOCK_ASKED):
            asked_s = self.edge.now_s()
            _, t_us = self.levels()
            took_s = self.edge.now_s() - asked_s
            best = min(best, (took_s, t_us - round((asked_s + took_s / 2) * 1e6)))
        return best[1]

    def _load(self, runs: bytes, sent: int, room: int) -> tuple[int, int]:
        """Send a part; how many runs are sent then, and how many more there is room for."""
        end = sent + min(_PART_RUNS, max(room, 1))
        part = runs[sent * rig.RUN_BYTES : end * rig.RUN_BYTES]
        try:
            room = self.command(rig.LOAD, part)
        except Refused as why:
            if why.reason != "full":
                raise
            self.edge.pass_s(_FULL_PAUSE_S)
            return sent, room
        return sent + len(part) // rig.RUN_BYTES, room

    def _ask(self, shape: Shape, values: tuple[object, ...]) -> list[int]:
        with self._commanding:
            return self._answer_to(shape, self._begin(shape, values))

    def _begin(self, shape: Shape, values: tuple[object, ...]) -> int:
        """Send a command; its number."""
        self.check()
        self._number += 1
        self._send(shape, self._number, *values)
        return self._number

    def _answer_to(self, shape: Shape, number: int) -> list[int]:
        with self._news:
            self._wait(lambda: number in self._answers, _ANSWER_S, f"no answer to {shape.name}")
            kind, *answer = self._answers.pop(number)
        if kind == rig.REFUSED.number:
            raise Refused(self.name, shape, _word(rig.REASONS, answer[1]))
        return answer

    def _attach(self) -> None:
        deadline_s = self.edge.now_s() + _HELLO_S
        while self._report is None and self._broken is None:
            if self.edge.now_s() > deadline_s:
                self.break_with("nobody answers; is firmware/sabot_rig on it?")
                break
            self._send(rig.HELLO, rig.VERSION, self._session)
            with self._news:
                self._news.wait_for(lambda: self._report or self._broken, _HELLO_EVERY_S)
        self.check()
        version, firmware = self._reported()[:2]
        if version != rig.VERSION:
            self.break_with(
                f"its firmware {firmware} speaks version {version} of the rig's messages, "
                f"this computer {rig.VERSION}; update the older"
            )
            self.check()

    def _reported(self) -> list[Any]:
        if self._report is None:
            raise BrokenRig(f"bench board {self.name}: not attached")
        return self._report

    def _wait(self, done: Callable[[], bool], within_s: float, what: str) -> None:
        """Wait, with `_news` held."""
        if not self._news.wait_for(lambda: done() or self._broken is not None, within_s):
            self._broken = f"bench board {self.name}: {what} within {within_s:.1f} s"
        if not done():
            self.check()

    def _send(self, shape: Shape, *values: object) -> None:
        try:
            self._port.write(wire.frame_of(shape, *values))
        except SabotError as why:
            self.break_with(f"it vanished: {why}")
            self.check()

    def _read(self) -> bool:
        """Take what has come; whether to go on."""
        if self._closed or self._broken is not None:
            return False
        try:
            data = self._port.read(_READ_S)
            if self._report is not None and self.edge.now_s() - self._alive_s >= _ALIVE_EVERY_S:
                self._alive_s = self.edge.now_s()
                self._port.write(wire.frame_of(rig.ALIVE))
        except SabotError as why:
            self.break_with(f"it vanished: {why}")
            return False
        for payload in self._frames.feed(data):
            self._take(payload)
        return True

    def _take(self, payload: bytes) -> None:
        try:
            message: Any = cbor.decode(payload, 0, len(payload))
            number, values = message[0], message[1:]
            _SHAPES[number].check(values)
        except (cbor.CborError, SchemaError, TypeError, IndexError, KeyError):
            return  # whoever waits for what it was does not get it, and says so
        if number == rig.REPORT.number:
            if values[2] == self._session:
                with self._news:
                    self._report = values
                    self._news.notify_all()
        elif self._report is None:
            pass  # of a session before
        elif number == rig.CHANGE.number:
            self._on_change(values[0], _word(rig.WHATS, values[1]), values[2])
        elif number == rig.DISPLAY.number:
            self._on_display(values[0], values[1])
        elif number == rig.PROBLEM.number:
            problem = _word(rig.PROBLEMS, values[0])
            if problem in _FATAL:
                self.break_with(f"{problem.replace('_', ' ')}, {values[1]} times")
        else:
            with self._news:
                if number == rig.PLAYED.number:
                    self._played[values[0]] = (values[1], values[2])
                else:
                    self._answers[values[0]] = [number, *values]
                self._news.notify_all()


def runs_of(samples: bytes) -> bytes:
    """The runs that play sample words, as sabot_protocol/rig/rig.py has them."""
    levels = unpack(samples)
    begins = np.flatnonzero(np.diff(levels, prepend=255))
    ends = np.append(begins[1:], len(levels))
    packed = bytearray()
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        left_us = (end - begin) * _SAMPLE_US
        while left_us:
            us = min(left_us, rig.MAX_RUN_US)
            packed += (us << 4 | int(levels[begin])).to_bytes(rig.RUN_BYTES, "little")
            left_us -= us
    return bytes(packed)


def _lengths(runs: bytes) -> list[int]:
    return [int(word) >> 4 for word in np.frombuffer(runs, "<u4")]


def _word(names: tuple[str, ...], place: int) -> str:
    return names[place] if place < len(names) else f"unknown {place}"


class BoardTarget:
    """The shoe and the bench board of these USB serial numbers (or ports, of the bench board).

    It is off at first, its lid shut, its key off. `keys` has its command key: without it those of
    `sabot.commands` in the current folder. Raises BrokenRig, KeysUnusable.
    """

    def __init__(
        self,
        shoe: str,
        bench: str,
        witness: Witness | None = None,
        edge: Edge | None = None,
        keys: CommandKeys | None = None,
    ) -> None:
        keys = keys or CommandKeys.load(None)
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
        """Its house has the key. Raises Unable."""
        raise Unable("a real shoe takes what its own house signs, whose key is not on this bench")

    def about(self) -> Mapping[str, str]:
        """What is tested, and on what."""
        return {
            "Rig": f"bench board {self._board.name}, firmware {self._board.firmware}",
            "Unit": self.shoe.unit,
        }

    def close(self) -> None:
        """Power off, which shuts the lock too, and put everything away."""
        self.shoe.detach()
        with contextlib.suppress(BrokenRig):  # without its host it makes itself safe
            self.power.off()
        self._board.close()

    def _check(self) -> None:
        """Without power nothing is high; what had some a moment ago takes a while."""
        deadline_s = self._edge.now_s() + _SUPPLY_S
        while True:
            levels, _ = self._board.levels()
            if not levels:
                return
            if self._edge.now_s() > deadline_s:
                high = [part for place, part in enumerate(rig.SENSES) if levels >> place & 1]
                raise BrokenRig(
                    f"bench board {self._board.name}: {', '.join(high)} high on a shoe without "
                    "power; see hil_tests/wiring"
                )
            self._edge.pass_s(_READ_S)


class BoardClock:
    """The bench board's clock, so that what it played and saw is exact to each other. `now_us` is
    off by the drift of this machine's clock against it: 0.1 ms a second at the most."""

    def __init__(self, board: BenchBoard) -> None:
        self._edge = board.edge
        self.emulated = board.edge.emulated
        self._ahead_us = board.clock_ahead_us()
        self._begin_us = self._board_us()

    def now_us(self) -> int:
        """Microseconds since the target was made."""
        return self._board_us() - self._begin_us

    def at(self, board_us: int) -> int:
        """A time of the bench board by this clock."""
        return board_us - self._begin_us

    def pass_ms(self, ms: float) -> None:
        """Let so much time pass."""
        self._edge.pass_s(ms / 1000)

    def slept_us(self) -> int:
        """Raises Unable."""
        raise Unable("the bench board does not see whether the shoe's processor sleeps")

    def _board_us(self) -> int:
        return round(self._edge.now_s() * 1e6) + self._ahead_us


class _Eyes:
    """What the shoe shows, out of what the bench board tells."""

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
        """What the supply is to be; None while it may change."""

    def begin(self, board: BenchBoard, clock: BoardClock) -> None:
        """From now on there are times."""
        self._board, self._clock = board, clock

    @property
    def outputs(self) -> Outputs:
        with self._changed:
            return self._outputs

    def seen(self) -> list[Seen]:
        with self._changed:
            seen, self._seen = self._seen, []
        # A beep is told once it is over, by the time of its begin.
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
        """Whether it came to that. Raises BrokenRig."""
        deadline_s = self._now_s() + within_s
        with self._changed:
            while not wanted():
                left_s = deadline_s - self._now_s()
                if left_s <= 0:
                    return False
                self._changed.wait(min(left_s, _READ_S))
                if self._board is not None:
                    self._board.check()
        return True

    def changed(self, t_us: int, what: str, value: int) -> None:
        """A change of a sense."""
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
        """A write to the display."""
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
        """Every change of an output since this was asked last."""
        return self._eyes.seen()

    def play(self, samples: bytes) -> int:
        """Play sample words to the head; when the first of them was there."""
        begin_us = self._clock.at(self._board.play(runs_of(samples))[0])
        self._witness.played(begin_us, samples)
        return begin_us

    def press(self, button: str) -> Outputs:
        """Press a button and release it; what the shoe shows then."""
        self._board.command(rig.PRESS, enums.BUTTONS.index(button), _HELD_US)
        self._board.edge.pass_s(_RELEASED_S)
        return self.settle()

    def switch(self, switch: str, on: bool) -> Outputs:
        """Move a switch; without power it just stands so then."""
        self._board.command(rig.SWITCH, enums.SWITCHES.index(switch), on)
        if not self._eyes.supply:
            return self._eyes.outputs
        self._board.edge.pass_s(_RELEASED_S)
        return self.settle()

    def settle(self) -> Outputs:
        """Wait until nothing has changed for a while."""
        now_s = self._board.edge.now_s
        acted_s = now_s()

        def quiet() -> bool:
            return min(self._eyes.quiet_s(), now_s() - acted_s) >= _QUIET_S

        assert self._eyes.wait_for(quiet, _SETTLE_S), f"not quiet within {_SETTLE_S:g} s"
        return self._eyes.outputs

    def wait_for(self, wanted: Callable[[Outputs], bool], what: str) -> Outputs:
        """Wait until the shoe shows what is `wanted`."""
        shown = self._eyes.wait_for(lambda: wanted(self._eyes.outputs), _SETTLE_S)
        lines = " / ".join(line for line in self._eyes.outputs.display if line)
        assert shown, f"the shoe has not {what}: not within {_SETTLE_S:g} s; it shows: {lines}"
        return self._eyes.outputs


class BoardShoe:
    """The link, over the shoe's own USB serial line. A unit's id is its USB serial number."""

    def __init__(
        self, unit: str, edge: Edge, clock: BoardClock, witness: Witness, keys: CommandKeys
    ) -> None:
        self.unit = unit
        self._keys = keys
        self._edge = edge
        self._clock = clock
        self._witness = witness
        self._open: OpenLine | None = None

    @property
    def port(self) -> str:
        """The port, once its USB has come up behind the power."""
        return self._when_there(lambda: self._edge.port(self.unit))

    def attach(self) -> Client:
        """A new session; the one before is over."""
        return Client(self.line(), now_s=self._edge.now_s, keys=self._keys)

    def line(self) -> Line:
        """The bare link; a session before is over."""
        self.detach()
        self._open = self._when_there(lambda: self._edge.open_shoe(self.unit))
        return Witnessed(self._open, self._witness, self._clock.now_us)

    def detach(self) -> None:
        """The host goes away."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _when_there(self, get: Callable[[], _T]) -> _T:
        deadline_s = self._edge.now_s() + _USB_S
        while True:
            try:
                return get()
            except (PortNotFound, NoShoe):
                if self._edge.now_s() > deadline_s:
                    raise
                self._edge.pass_s(_READ_S)


class BoardPower:
    """The shoe's supply, through the bench board's switch."""

    def __init__(self, board: BenchBoard, eyes: _Eyes, bench: BoardBench, shoe: BoardShoe) -> None:
        self._board = board
        self._eyes = eyes
        self._bench = bench
        self._shoe = shoe

    def on(self) -> None:
        """Power on; returns once the display shows something."""
        if self._eyes.supply:
            return
        self._switch(True)
        shown = self._eyes.wait_for(lambda: bool(self._eyes.outputs.title), _START_S)
        assert shown, f"shoe {self._shoe.unit} shows nothing within {_START_S:g} s of power"
        self._bench.settle()

    def off(self) -> None:
        """Power off, at once."""
        self._switch(False)
        self._eyes.dark()

    def brown_out(self, us: int) -> None:
        """Take the power away for so long; returns when it is back, whatever the shoe does."""
        self._eyes.wants_supply = None
        self._board.command(rig.BROWN_OUT, us)
        self._eyes.wait_for(lambda: self._eyes.supply, _SUPPLY_S)
        self._eyes.wants_supply = True

    def off_in_flash(self, operation: int, share: float) -> None:
        """Raises Unable."""
        raise Unable(_CHIP_UNSEEN)

    def written_us(self) -> int:
        """Raises Unable."""
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
