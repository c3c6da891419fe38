"""What is on the bench board's pins (pins.py), for bench.py."""

import select
import sys
import time

import machine

from sabot_protocol.rig import rig
from sabot_rig.pins import FIRST_SENSE, FIRST_SENSOR, LOW, PIN_OF, PINS
from sabot_rig.player import Player
from sabot_rig.screen import Screen
from sabot_rig.watcher import Watcher

_LINE_BYTES = 64
"""Bytes that one turn of the line takes or gives, at about 50 us each."""


class Board:
    def __init__(self) -> None:
        # Before anything that takes time or may fail.
        self._power = machine.Pin(PIN_OF["power"][0], machine.Pin.OUT, value=LOW)
        self._contacts = {}
        for gpio, part, _ in PINS:
            if part.startswith("button_") or part.startswith("switch_"):
                self._contacts[part] = machine.Pin(gpio, machine.Pin.OPEN_DRAIN, value=1)
        self._ticks_us = time.ticks_us()
        self._elapsed_us = 0
        # Pulled down, so that what is not plugged in or has no power is off.
        self._senses = []
        for part in rig.SENSES:
            pin = machine.Pin(PIN_OF[part][0], machine.Pin.IN, machine.Pin.PULL_DOWN)
            self._senses.append(pin)
        self.player = Player(machine.Pin(PIN_OF[FIRST_SENSOR][0]))
        self.watcher = Watcher(machine.Pin(PIN_OF[FIRST_SENSE][0]))
        self.screen = Screen(
            machine.Pin(PIN_OF["display_sda"][0]), machine.Pin(PIN_OF["display_scl"][0])
        )
        self.watching_since_us = self.at_us(self.watcher.start())
        """When the first look was; see `now_us`."""

    def now_us(self) -> int:
        """Microseconds since the start. MicroPython's own wrap at 2**30, after 18 minutes.

        Right as long as it is asked once in 9 minutes; `step` asks many times a second.
        """
        now = time.ticks_us()
        self._elapsed_us += time.ticks_diff(now, self._ticks_us)
        self._ticks_us = now
        return self._elapsed_us

    def at_us(self, ticks_us: int) -> int:
        """A time of `time.ticks_us()` within the last 9 minutes, as `now_us` counts."""
        now_us = self.now_us()
        return now_us - time.ticks_diff(self._ticks_us, ticks_us)

    def power(self, on: bool) -> None:
        """Switch the shoe's supply."""
        self._power.value(1 if on else 0)

    def brown_out(self, us: int) -> None:
        """Take the supply away for so long. Nothing else is done meanwhile, so that it is so
        long to some 20 us."""
        self._power.value(0)
        time.sleep_us(us)
        self._power.value(1)

    def contact(self, part: str, on: bool) -> None:
        """Press a button or move a switch of pins.py."""
        level = PIN_OF[part][1]
        self._contacts[part].value(level if on else 1 - level)

    def open_contacts(self) -> None:
        """Let go of all."""
        for part in self._contacts:
            self._contacts[part].value(1)

    def levels(self) -> int:
        """The senses now: bit n is the n-th of `rig.SENSES`."""
        levels = 0
        for i in range(len(self._senses)):
            levels |= self._senses[i].value() << i
        return levels


class Line:
    """The USB serial line to the host: what is there, and as much as there is room for."""

    def __init__(self) -> None:
        self._stdin = sys.stdin.buffer
        self._stdout = sys.stdout.buffer
        self._readable = select.poll()
        self._readable.register(sys.stdin, select.POLLIN)
        self._writable = select.poll()
        self._writable.register(sys.stdout, select.POLLOUT)
        self._octet = bytearray(1)
        self._received = bytearray(_LINE_BYTES)

    def read(self) -> bytes:
        """What is there, up to _LINE_BYTES. One byte at a time: more would be waited for."""
        size = 0
        while size < _LINE_BYTES and self._ready(self._readable):
            self._stdin.readinto(self._octet)  # pyright: ignore[reportAttributeAccessIssue]
            self._received[size] = self._octet[0]
            size += 1
        return bytes(memoryview(self._received)[:size]) if size else b""

    def wait(self, ms: int) -> None:
        """Wait until something is there, so long at most."""
        for _ in self._readable.ipoll(ms):
            return

    def write(self, data: "memoryview | bytearray", begin: int, end: int) -> int:
        """Send from `begin` to `end`; the index behind what there was room for. One byte at a
        time: "ready" means room for one, and with less room MicroPython waits for the host."""
        end = min(end, begin + _LINE_BYTES)
        while begin < end and self._ready(self._writable):
            self._octet[0] = data[begin]
            self._stdout.write(self._octet)
            begin += 1
        return begin

    def _ready(self, poll: select.poll) -> bool:
        for _ in poll.ipoll(0):
            return True
        return False
