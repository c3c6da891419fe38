"""The simulated board: the parts of the shoe are at the other end of two file descriptors.

Standard input and output are the link to the host (the device side of a pseudo-terminal). The
*bench*, a socket, plays the sensor head, the buttons and the switches, and receives every output,
in the messages of sabot_protocol/sim. Arguments: the bench's descriptor, the folder for documents,
the file with the content of the journal's chip, the board's number, the reset cause's number, the
positions of the switches (bit n is the n-th of `enums.SWITCHES`), how long the journal's chip is
busy, in permille of a real chip's time, and optionally a file for the trace of that chip
(boards/sim/flash.py). A watchdog is in the environment (boards/sim/watchdog.py), and optional parts
in SABOT_PARTS: `bolt` for a contact at the bolt and a view of the supply; `lid_shut` or
`lid_opened`, `compartment_shut` or `compartment_opened` for latches as they are at the start.
"""

import asyncio
import os
import sys
import time

from sabot_firmware.boards.sim.flash import SimFlash
from sabot_firmware.boards.sim.watchdog import Watchdog
from sabot_firmware.table import inputs
from sabot_protocol import cbor, enums, frame
from sabot_protocol.sim import sim_channel

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_protocol.schema import Shape

RESET = 3
"""Exit code of a board that must be started again: this plus the place of the cause in
`enums.RESET_CAUSES`. Without a known cause it is `power_on`'s."""

_LOOK_MS = 500
_SETTLED_MS = 60000

_OSCILLATOR = 0  # its place in `enums.RANDOM_SOURCES`
_LINK_READ = 512
_BENCH_READ = 512
_WATCHED = ("watchdog", "command", "error", "memory")  # reset causes
_SHAPES = {shape.number: shape for shape in sim_channel.FROM_BENCH}


class Board:
    NAME = "sim"
    LOOK_BYTES = 1 << 29
    """Samples come only with cards. So the board feeds its watchdog itself, with each turn of the
    dealing, if there is one."""
    overruns = 0
    """Samples come in messages and wait there, so none is ever lost."""
    _released = _bolt_stuck = _supply_low = False
    _bolt = False
    """Whether the bolt is where it lets a card out."""

    def __init__(self) -> None:
        descriptor, self.storage, journal, self.serial, cause, switches, speed = sys.argv[1:8]
        trace = sys.argv[8] if len(sys.argv) > 8 else None
        parts = (os.getenv("SABOT_PARTS") or "").split()
        self.SENSES = bool(parts)
        self.lid_opened, self.compartment_opened = [
            name + "_opened" in parts
            if name + "_opened" in parts or name + "_shut" in parts
            else None
            for name in ("lid", "compartment")
        ]
        self._watchdog = watchdog = Watchdog()
        self.restarts = watchdog.restarts
        self.watch, self.feed = watchdog.start, watchdog.feed
        self.reset_cause = int(cause)
        self.lid_watched = watchdog.lid_watched and enums.RESET_CAUSES[self.reset_cause] in _WATCHED
        if not self.lid_watched:
            self.set_lid_watched(False)
        self._switches = int(switches)
        self.flash = SimFlash(journal, speed=int(speed), trace=trace)
        self._start_ms = time.ticks_ms()
        self._link = open(0, "r+b")
        self._link_input = asyncio.StreamReader(self._link)
        self._bench = open(int(descriptor), "r+b")
        self._bench_input = asyncio.StreamReader(self._bench)
        self._bench_data = memoryview(bytearray(_BENCH_READ))
        self._bench_frames = frame.FrameReader()
        self._bench_messages: "list[list]" = []
        self._taken = 0
        self._idle_sent = -1
        self._samples = b""
        self._levels = 0  # at the end of the samples that were played
        self._input = inputs.NONE
        self._payload = bytearray(frame.MAX_PAYLOAD + frame.CRC_SIZE)
        self._out = bytearray(frame.MAX_FRAME)
        self._view = memoryview(self._out)

    def ticks_ms(self) -> int:
        return time.ticks_diff(time.ticks_ms(), self._start_ms)  # 62 bits here: it never wraps

    def sleep_ms(self, ms: int) -> None:
        time.sleep_ms(ms)

    def switches(self) -> int:
        return self._switches

    async def wait_for_activity(self, within_ms: int, wait: bool) -> None:
        """Take one message of the bench at a time, so that their order is kept."""
        self.feed()
        if self.restarts and self.ticks_ms() > _SETTLED_MS:
            self.settle()
        while not self._bench_messages:
            if not wait:
                await asyncio.sleep_ms(0)
                size = self._bench.readinto(self._bench_data)
                if size is None:  # no message is there
                    return
            else:
                if self._idle_sent != self._taken:
                    self._idle_sent = self._taken
                    self._send(sim_channel.IDLE, self._taken)
                size = await self._bench_bytes()
                if not size and self._watchdog.runs:
                    return
            self._take(bytes(self._bench_data[:size]))
        self._taken += 1
        message = self._bench_messages.pop(0)
        number = message[0]
        if number == sim_channel.SAMPLES.number:
            self._samples = message[1]
            self._levels = message[1][-1] >> 4 if message[1] else 0
        elif number == sim_channel.PRESS.number:
            self._input = inputs.pressed(message[1])
        elif number == sim_channel.PARTS.number:
            self._bolt_stuck, self._supply_low = message[1:]
            self._move_bolt()
        else:
            self._input = inputs.switched(message[1], message[2])

    def settle(self) -> None:
        self.restarts = 0
        self._watchdog.settle()

    async def _bench_bytes(self) -> int:
        """Wait for bytes of the bench. With a watchdog, return 0 if none come for a while."""
        reading = self._bench_input.readinto(self._bench_data)
        if not self._watchdog.runs:
            return await reading
        try:
            size: int = await asyncio.wait_for_ms(reading, _LOOK_MS)  # type: ignore[attr-defined]
        except asyncio.TimeoutError:
            return 0
        if not size:
            raise SystemExit  # the bench is gone: that is a loss of power
        return size

    def _take(self, data: bytes) -> None:
        if not data:
            raise SystemExit  # the bench is gone: that is a loss of power
        for payload in self._bench_frames.feed(data):
            message: list = cbor.decode(payload, 0, len(payload))  # type: ignore[assignment]
            shape = _SHAPES[message[0]]
            shape.check(message[1:])
            self._bench_messages.append(message)

    def read_samples(self, buf: bytearray) -> int:
        size = min(len(buf), len(self._samples))
        buf[:size] = self._samples[:size]
        self._samples = self._samples[size:]
        return size

    def judged(self, unjudged_bytes: int, undecided: bool) -> None:
        pass  # no sample comes while the shoe does something else, so no last mark waits

    def levels(self) -> int:
        return self._levels

    def noise(self, source: int, buf: memoryview) -> None:
        buf[:] = os.urandom(len(buf))
        if source == _OSCILLATOR:
            for at in range(len(buf)):
                buf[at] &= 1

    def temperature_c(self) -> None:
        """None: a simulated board has no sensor for it."""

    def display_answers(self) -> bool:
        return True

    def samples_come(self) -> bool:
        return True

    def take_input(self) -> int:
        change = self._input
        self._input = inputs.NONE
        return change

    def set_lock(self, released: bool) -> None:
        self._released = released
        self._move_bolt()
        self._send(sim_channel.LOCK, released)

    def _move_bolt(self) -> None:
        if not self._bolt_stuck:
            self._bolt = self._released

    def lock_follows(self) -> bool:
        return self._bolt == self._released

    def supply_good(self) -> bool:
        return not self._supply_low

    def arm_latches(self) -> None:
        if self.lid_opened is not None or self.compartment_opened is not None:
            self._send(sim_channel.LATCHES_ARMED, True)

    def set_lamps(self, lit: int) -> None:
        self._send(sim_channel.LAMPS, lit)

    def show(self, text: str) -> None:
        self._send(sim_channel.DISPLAY, text)

    def buzz(self, ms: int) -> None:
        self._send(sim_channel.BUZZER, ms)

    def lock_obeys(self) -> bool:
        return True

    def set_lid_watched(self, watched: bool) -> None:
        self.lid_watched = watched
        self._watchdog.say_watched(watched)

    def reset(self, cause: int) -> None:
        raise SystemExit(RESET + cause)

    def halt(self, error: BaseException, for_s: int = 0) -> None:
        sys.print_exception(error, sys.stderr)  # type: ignore
        if not for_s:
            raise SystemExit(1)
        for _ in range(for_s):
            self.feed()
            time.sleep(1)

    async def read_link(self) -> bytes:
        return await self._link_input.read(_LINK_READ)

    def write_link(self, view: memoryview) -> int:
        return self._link.write(view) or 0

    def _send(self, shape: "Shape", value: object) -> None:
        message = [shape.number, value]
        size = cbor.encode_array(self._payload, 0, message, len(message))
        size = frame.write_frame(self._payload, size, self._out, 0)
        at = 0
        while at < size:  # the bench reads at once, so this never waits long
            at += self._bench.write(self._view[at:size]) or 0
