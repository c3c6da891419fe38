"""The line to a bench board (firmware/sabot_rig), the hands and eyes at a real shoe.

Any failure of the rig raises BrokenRig, with a message of one line.
"""

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from sabot.errors import SabotError
from sabot.link import wire
from sabot.sim.waveform import SAMPLE_RATE_HZ, unpack
from sabot_hil.capabilities import BrokenRig
from sabot_hil.kit.waiting import wait_until
from sabot_hil.targets.edge import Edge, RealEdge
from sabot_protocol import cbor
from sabot_protocol.frame import FrameReader
from sabot_protocol.rig import rig
from sabot_protocol.schema import SchemaError, Shape

_SAMPLE_US = 1_000_000 // SAMPLE_RATE_HZ
_PART_RUNS = rig.MAX_PART_BYTES // rig.RUN_BYTES

_HELLO_S, _HELLO_EVERY_S = 5.0, 0.25
_ANSWER_S = 3.0
_ALIVE_EVERY_S = 1.0
_READ_S = 0.05
_CLOCK_ASKED = 9
_FULL_PAUSE_S = 0.02

_SHAPES = {shape.number: shape for shape in rig.FROM_RIG}
_FATAL = ("changes_lost", "display_lost", "underrun")


class RigRefused(BrokenRig):
    """The bench board refuses a command. `reason` is one of `rig.REASONS`."""

    def __init__(self, name: str, shape: Shape, reason: str) -> None:
        super().__init__(f"bench board {name} refuses {shape.name}: {reason}")
        self.reason = reason


class BenchBoard:
    """The line to a bench board, named by USB serial number or port. Thread-safe.

    `on_change` gets the time in us by the board's clock, one of `rig.CHANGE_KINDS`, and the value;
    `on_display` gets the time and the bytes written. Both are called in parallel with the test.
    Raises BrokenRig, here and in every call after the board was lost.
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
        """The version of the board's firmware."""
        return str(self._reported()[1])

    def close(self) -> None:
        """Give the port back. The board makes itself safe within `rig.SILENCE_MS`."""
        self._closed = True
        self._read_to_the_end()
        self._port.close()

    def check(self) -> None:
        """Raise BrokenRig if the board was lost or has lost something."""
        if self._broken is not None:
            raise BrokenRig(self._broken)

    def break_with(self, why: str) -> None:
        """Let every later call raise BrokenRig with this cause, or with an earlier one."""
        with self._news:
            self._broken = self._broken or f"bench board {self.name}: {why}"
            self._news.notify_all()

    def command(self, shape: Shape, *values: object) -> int:
        """Send the board a command; returns its answer. Raises BrokenRig, RigRefused."""
        return self._ask(shape, values)[1]

    def levels(self) -> tuple[int, int]:
        """Return the senses now, and their time by the board's clock."""
        _, t_us, levels = self._ask(rig.LOOK, ())
        return levels, t_us

    def levels_while_pressed(self, button: int, us: int) -> int:
        """Hold a button for `us` microseconds and return the senses meanwhile."""
        with self._commanding:
            press = self._begin(rig.PRESS, (button, us))
            levels = self._answer_to(rig.LOOK, self._begin(rig.LOOK, ()))[2]
            self._answer_to(rig.PRESS, press)
        return levels

    def play(self, runs: bytes) -> tuple[int, int]:
        """Play runs, as defined in rig.py. Returns at the end, with the times of start and end by
        the board's clock."""
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
            self._wait(lambda: number in self._played, left_s, "no end of a pattern reported")
            begin_us, end_us = self._played.pop(number)
        if begin_us != begun_us or end_us - begin_us != length_us:
            self.break_with(f"played {end_us - begin_us} us instead of {length_us}")
            self.check()
        return begin_us, end_us

    def clock_ahead_us(self) -> int:
        """How far the board's clock is ahead of `Edge.now_s`, by the quickest of several
        answers."""
        best = (float("inf"), 0)
        for _ in range(_CLOCK_ASKED):
            asked_s = self.edge.now_s()
            _, t_us = self.levels()
            took_s = self.edge.now_s() - asked_s
            best = min(best, (took_s, t_us - round((asked_s + took_s / 2) * 1e6)))
        return best[1]

    def _load(self, runs: bytes, sent: int, room: int) -> tuple[int, int]:
        """Send a part of the runs. Return how many are sent in all, and how many more there is
        room for."""
        end = sent + min(_PART_RUNS, max(room, 1))
        part = runs[sent * rig.RUN_BYTES : end * rig.RUN_BYTES]
        try:
            room = self.command(rig.LOAD, part)
        except RigRefused as why:
            if why.reason != "full":
                raise
            self.edge.pass_s(_FULL_PAUSE_S)
            return sent, room
        return sent + len(part) // rig.RUN_BYTES, room

    def _ask(self, shape: Shape, values: tuple[object, ...]) -> list[int]:
        with self._commanding:
            return self._answer_to(shape, self._begin(shape, values))

    def _begin(self, shape: Shape, values: tuple[object, ...]) -> int:
        """Send a command and return its number."""
        self.check()
        self._number += 1
        self._send(shape, self._number, *values)
        return self._number

    def _answer_to(self, shape: Shape, number: int) -> list[int]:
        with self._news:
            self._wait(lambda: number in self._answers, _ANSWER_S, f"no answer to {shape.name}")
            kind, *answer = self._answers.pop(number)
        if kind == rig.REFUSED.number:
            raise RigRefused(self.name, shape, _word_at(rig.REASONS, answer[1]))
        return answer

    def _attach(self) -> None:
        def decided() -> bool:
            return self._report is not None or self._broken is not None

        def ask() -> None:
            self._send(rig.HELLO, rig.VERSION, self._session)
            with self._news:
                self._news.wait_for(decided, _HELLO_EVERY_S)

        if not wait_until(decided, _HELLO_S, ask, self.edge.now_s):
            self.break_with("no answer; is firmware/sabot_rig on it?")
        self.check()
        version, firmware = self._reported()[:2]
        if version != rig.VERSION:
            self.break_with(
                f"its firmware {firmware} uses version {version} of the rig's messages, "
                f"this computer version {rig.VERSION}; update the older"
            )
            self.check()

    def _reported(self) -> list[Any]:
        if self._report is None:
            raise BrokenRig(f"bench board {self.name}: not attached")
        return self._report

    def _wait(self, done: Callable[[], bool], within_s: float, what: str) -> None:
        """Wait until `done`; the caller holds `_news`. Raises BrokenRig."""
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
        """Handle the bytes that have arrived; returns whether to go on reading."""
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
            return  # the call that waits for it times out, and says so
        if number == rig.REPORT.number:
            if values[2] == self._session:
                with self._news:
                    self._report = values
                    self._news.notify_all()
        elif self._report is None:
            pass  # it belongs to an earlier session
        elif number == rig.CHANGE.number:
            self._on_change(values[0], _word_at(rig.CHANGE_KINDS, values[1]), values[2])
        elif number == rig.DISPLAY.number:
            self._on_display(values[0], values[1])
        elif number == rig.PROBLEM.number:
            problem = _word_at(rig.PROBLEMS, values[0])
            if problem in _FATAL:
                self.break_with(f"{problem.replace('_', ' ')}, {values[1]} times")
        else:
            with self._news:
                if number == rig.PLAYED.number:
                    self._played[values[0]] = (values[1], values[2])
                else:
                    self._answers[values[0]] = [number, *values]
                self._news.notify_all()


def runs_of_samples(samples: bytes) -> bytes:
    """Return the runs that play sample words, in the form of sabot_protocol/rig/rig.py."""
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


def _word_at(names: tuple[str, ...], place: int) -> str:
    return names[place] if place < len(names) else f"unknown {place}"
