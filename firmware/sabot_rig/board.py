"""The parts on the bench board's pins (pins.py), and its line to the host."""

import select
import sys
import time

import machine

from sabot_protocol.rig import rig
from sabot_rig.pins import (
    FIRST_SENSE,
    FIRST_SENSOR,
    LEVEL_FITTED,
    LOW,
    PIN_OF,
    PINS,
    SUPPLY_LEVEL,
)
from sabot_rig.player import Player
from sabot_rig.screen import Screen
from sabot_rig.watcher import OutputWatcher

_LINE_BYTES = 64
"""The most bytes that one turn of the line reads or writes, at about 50 us each."""

_LEVEL_HZ = 100_000
_LEVEL_STEP_US = 500
_FULL_DUTY = 65535


class RigBoard:
    def __init__(self) -> None:
        # First, because all else takes time or may fail.
        self._power = machine.Pin(PIN_OF["power"][0], machine.Pin.OUT, value=LOW)
        fitted = machine.Pin(LEVEL_FITTED, machine.Pin.IN, machine.Pin.PULL_DOWN)
        self._level: "machine.PWM | None" = None
        if fitted.value():
            self._level = machine.PWM(machine.Pin(SUPPLY_LEVEL), freq=_LEVEL_HZ, duty_u16=0)
        self._contacts = {}
        for gpio, part, _ in PINS:
            if part.startswith("button_") or part.startswith("switch_"):
                self._contacts[part] = machine.Pin(gpio, machine.Pin.OPEN_DRAIN, value=1)
        self._ticks_us = time.ticks_us()
        self._elapsed_us = 0
        # With a pull-down, so that a part that is not plugged in or has no power reads as off.
        self._senses = []
        for part in rig.SENSES:
            pin = machine.Pin(PIN_OF[part][0], machine.Pin.IN, machine.Pin.PULL_DOWN)
            self._senses.append(pin)
        self.player = Player(machine.Pin(PIN_OF[FIRST_SENSOR][0]))
        self.watcher = OutputWatcher(machine.Pin(PIN_OF[FIRST_SENSE][0]))
        self.screen = Screen(
            machine.Pin(PIN_OF["display_sda"][0]), machine.Pin(PIN_OF["display_scl"][0])
        )
        self.watching_since_us = self.at_us(self.watcher.start())
        """The time of the first look, as `now_us` counts."""

    def now_us(self) -> int:
        """Return the microseconds since the start. MicroPython's own count wraps at 2**30, after 18
        minutes.

        The result is right only if it is called at least every 9 minutes; `step` calls it many
        times a second.
        """
        now = time.ticks_us()
        self._elapsed_us += time.ticks_diff(now, self._ticks_us)
        self._ticks_us = now
        return self._elapsed_us

    def at_us(self, ticks_us: int) -> int:
        """Convert a `time.ticks_us()` of the last 9 minutes to the count of `now_us`."""
        now_us = self.now_us()
        return now_us - time.ticks_diff(self._ticks_us, ticks_us)

    def power(self, on: bool) -> None:
        """Switch the shoe's supply on or off."""
        self._power.value(1 if on else 0)
        if self._level is not None:
            self._level.duty_u16(_FULL_DUTY if on else 0)

    @property
    def sags(self) -> bool:
        """Whether the level of the shoe's supply can be set."""
        return self._level is not None

    def sag(self, mv: int, fall_us: int, low_us: int, rise_us: int) -> None:
        """Lower the shoe's 3.3 V to `mv`, keep it there, raise it again. The board does nothing
        else meanwhile, except that the watcher's hardware goes on."""
        self._slope(rig.MAX_SUPPLY_MV, mv, fall_us)
        time.sleep_us(low_us)
        self._slope(mv, rig.MAX_SUPPLY_MV, rise_us)

    def _slope(self, from_mv: int, to_mv: int, us: int) -> None:
        """Change the level evenly within `us`. At its end it is `to_mv`."""
        level = self._level
        assert level is not None
        begun = time.ticks_us()
        passed = 0
        while passed < us:
            mv = from_mv + (to_mv - from_mv) * passed // us
            level.duty_u16(_FULL_DUTY * mv // rig.MAX_SUPPLY_MV)
            time.sleep_us(_LEVEL_STEP_US)
            passed = time.ticks_diff(time.ticks_us(), begun)
        level.duty_u16(_FULL_DUTY * to_mv // rig.MAX_SUPPLY_MV)

    def brown_out(self, us: int) -> None:
        """Switch the supply off for `us` microseconds. The board does nothing else during that
        time, so the length is exact to about 20 us."""
        self._power.value(0)
        time.sleep_us(us)
        self._power.value(1)

    def contact(self, part: str, on: bool) -> None:
        """Press a button or move a switch, by its name in pins.py."""
        level = PIN_OF[part][1]
        self._contacts[part].value(level if on else 1 - level)

    def open_contacts(self) -> None:
        """Open all contacts."""
        for part in self._contacts:
            self._contacts[part].value(1)

    def levels(self) -> int:
        """Return the senses as they are now; bit n is the n-th of `rig.SENSES`."""
        levels = 0
        for i in range(len(self._senses)):
            levels |= self._senses[i].value() << i
        return levels


class HostLine:
    """The USB serial line to the host. It never waits, except in `wait`."""

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
        """Return the bytes that have come, up to _LINE_BYTES. It reads one byte at a time, because
        a read of more would wait for them."""
        size = 0
        while size < _LINE_BYTES and self._ready(self._readable):
            self._stdin.readinto(self._octet)  # pyright: ignore[reportAttributeAccessIssue]
            self._received[size] = self._octet[0]
            size += 1
        return bytes(memoryview(self._received)[:size]) if size else b""

    def wait(self, ms: int) -> None:
        """Wait until a byte has come, at most `ms`."""
        for _ in self._readable.ipoll(ms):
            return

    def write(self, data: "memoryview | bytearray", begin: int, end: int) -> int:
        """Send `data[begin:end]`; return the index after the last byte that there was room for.

        It writes one byte at a time, because "ready" means room for one byte, and with too little
        room MicroPython waits for the host."""
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
