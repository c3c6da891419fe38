"""A Raspberry Pi Pico for tests: its modules, and the parts of the shoe at its pins.

`new_board()` returns a Board of sabot_firmware/boards/pico/board.py and its `World`. It runs under
CPython and MicroPython. It raises where a real Pico would wait for ever, write outside of the ring
or have no such part.
"""

import sys
from array import array

from firmware.tests.fakes import fake_display, fake_nor, fake_rp2, fake_serial
from sabot_firmware.table import inputs

world: "World"

_FLASH_SELECT = 17
_DISPLAY_DATA, _DISPLAY_CLOCK = 20, 21
_FLASH_BUS = (18, 19, 16)
"""The pins of the journal's chip: select, clock, data in and data out."""


# The chip's registers: RP2040 data sheet, 4.7.6 and 2.12.8.
REASON, SCRATCH, CHIP_RESET = 0x40058008, 0x4005800C, 0x40064008
BITTEN, ASKED = 1, 2
HAD_POWER_ON, HAD_RUN_PIN = 1 << 8, 1 << 16


class HaltEnded(Exception):
    """Ends a `halt`, which never returns otherwise."""


class World(fake_serial.Line):
    """One Pico, from power-on."""

    def __init__(self) -> None:
        super().__init__(room=256)
        self.now_ms = 0
        self.sleeps: "list[int]" = []
        self.sleeping = None
        self.while_asleep = lambda: None
        self.naps_left = -1
        self.inputs: "dict[int, int]" = {}
        self.outputs: "dict[int, int]" = {}
        self.output_log: "list[tuple[int, int]]" = []
        self.pulled_up: "set[int]" = set()
        self.settled: "set[int]" = set()
        self.clock_hz = 125_000_000
        self.registers = {REASON: 0, SCRATCH: 0, CHIP_RESET: HAD_POWER_ON}
        self.watchdog_ms = 0
        self.fed = 0
        self.resets = 0
        self.kbd_intr: "list[int]" = []
        self.folders = ["firmware", "protocol"]
        self.duty = 0
        self.adc_u16 = 0
        self.timer: "_Timer | None" = None
        self.chip = fake_rp2.new_chip()
        self.display = fake_display.Ssd1306()
        self.flash = fake_nor.NorModel()

    def settle(self) -> None:
        """Let the lines with a pull-up get high."""
        self.settled = set(self.pulled_up)

    def pass_ms(self, ms: int) -> None:
        """Let time pass, for the timer and the state machine that looks at the contacts too."""
        for _ in range(ms):
            self.now_ms += 1
            if self.timer is not None and self.now_ms % self.timer.period == 0:
                self.timer.callback(self.timer)
        contacts = self.chip.state_machines.get(1)
        if contacts is not None:
            levels = 0
            for i in range(8):
                levels |= self.level(contacts.in_base.gpio + i) << i
            contacts.pass_us(1000 * ms, levels)

    def level(self, gpio: int) -> int:
        if gpio == _DISPLAY_DATA and self.display.holds_data:
            return 0
        if gpio in self.outputs and gpio not in self.inputs:
            return self.outputs[gpio]
        return self.inputs.get(gpio, 1 if gpio in self.settled else 0)

    def sample(self, nibbles) -> None:
        """Do one cycle of the state machine for each nibble on the four sensor pins."""
        for nibble in nibbles:
            self.chip.state_machine.cycle(nibble)


class _Time:
    PERIOD = 1 << 30

    def ticks_ms(self) -> int:
        return world.now_ms % self.PERIOD

    def ticks_diff(self, a: int, b: int) -> int:
        half = self.PERIOD // 2
        return (a - b + half) % self.PERIOD - half

    def ticks_add(self, a: int, ms: int) -> int:
        return (a + ms) % self.PERIOD

    def sleep_ms(self, ms: int) -> None:
        if world.naps_left == 0:
            raise HaltEnded
        world.naps_left -= 1
        world.now_ms += ms
        world.while_asleep()

    def sleep_us(self, us: int) -> None:
        world.settle()


class _Asyncio:
    def sleep_ms(self, ms: int):
        world.sleeping = self._sleep_ms(ms)
        return world.sleeping

    async def _sleep_ms(self, ms: int) -> None:
        world.sleeps.append(ms)
        world.pass_ms(ms)
        world.while_asleep()

    class StreamReader:
        """The poll of the line to the host; time passes until something comes."""

        def __init__(self, stream) -> None:
            self._stream = stream

        async def readinto(self, buf: bytearray) -> int:
            while not world.from_host:
                world.pass_ms(1)
                world.while_asleep()
            return self._stream.readinto(buf)


class _Os:
    def listdir(self, path: str) -> "list[str]":
        assert path == "/"
        return world.folders

    def mkdir(self, path: str) -> None:
        assert path[0] == "/" and path[1:] not in world.folders
        world.folders.append(path[1:])


class _Pin:
    IN, OUT, OPEN_DRAIN, PULL_UP = 0, 1, 2, 1

    def __init__(self, gpio: int, mode: int = -1, pull: int = -1, value: int = -1) -> None:
        self.gpio = gpio
        if mode in (self.OUT, self.OPEN_DRAIN):
            assert value >= 0, "an output without a first value"
            self.value(value)
        elif mode == self.IN and pull == self.PULL_UP:
            world.pulled_up.add(gpio)

    def value(self, level: int = -1) -> int:
        if level >= 0:
            world.outputs[self.gpio] = level
            world.output_log.append((self.gpio, level))
            if self.gpio == _FLASH_SELECT:
                world.flash.select(level)
            if self.gpio == _DISPLAY_CLOCK and not level:
                world.display.clock()
        return world.level(self.gpio)


class _Timer:
    def __init__(self, period: int, callback, hard: bool) -> None:
        assert hard, "a soft one waits for the end of a collection"
        assert world.timer is None
        self.period = period
        self.callback = callback
        world.timer = self


class _Pwm:
    def __init__(self, pin: _Pin, freq: int, duty_u16: int) -> None:
        assert 100 <= freq <= 10_000
        world.duty = duty_u16

    def duty_u16(self, duty: int) -> None:
        world.duty = duty


class _I2c:
    def __init__(self, number: int, sda: _Pin, scl: _Pin, freq: int, timeout: int) -> None:
        # Which pins a bus may have: RP2040 data sheet, GPIO functions.
        assert sda.gpio % 4 == 2 * number and scl.gpio % 4 == 2 * number + 1
        assert freq <= 400_000

    def writeto(self, address: int, buf) -> int:
        if world.display.holds_data:
            raise OSError(110)
        if not world.display.plugged:
            raise OSError(5)
        assert address in (0x3C, 0x3D)
        return world.display.write(buf)


class _Spi(fake_nor.Spi):
    def __init__(self, number: int, baudrate: int, sck: _Pin, mosi: _Pin, miso: _Pin) -> None:
        assert number == 0 and (sck.gpio, mosi.gpio, miso.gpio) == _FLASH_BUS
        for pin, function in ((miso, 0), (sck, 2), (mosi, 3)):
            # RP2040 data sheet, GPIO functions: the pins 0-7 and 16-23 are SPI0's.
            assert pin.gpio % 4 == function and pin.gpio // 8 % 2 == number
        assert baudrate <= 50_000_000  # the chip's limit for a read
        fake_nor.Spi.__init__(self, world.flash)


class _Adc:
    def __init__(self, channel: int) -> None:
        assert channel == 4, "of all inputs only the temperature's is an analog one"

    def read_u16(self) -> int:
        return world.adc_u16


class _Wdt:
    def __init__(self, timeout: int) -> None:
        assert 0 < timeout <= 8388, "MicroPython, machine.WDT on the RP2040"
        world.watchdog_ms = timeout

    def feed(self) -> None:
        world.fed += 1


class _Machine:
    ADC = _Adc
    Pin = _Pin
    PWM = _Pwm
    I2C = _I2c
    SPI = _Spi
    Timer = _Timer
    WDT = _Wdt

    @property
    def mem32(self) -> "dict[int, int]":
        return world.registers

    def __init__(self) -> None:
        self._enabled = True

    def disable_irq(self) -> bool:
        enabled, self._enabled = self._enabled, False
        return enabled

    def enable_irq(self, enabled: bool) -> None:
        assert not self._enabled, "interrupts were not disabled"
        self._enabled = enabled

    def freq(self) -> int:
        return world.clock_hz

    def unique_id(self) -> bytes:
        return bytes((0xE6, 0x61, 0x41, 0x04, 0x03, 0x0A, 0xBC, 0xDE))

    def reset(self) -> None:
        world.resets += 1


class _Micropython:
    def viper(self, function):
        return function

    native = viper

    def kbd_intr(self, character: int) -> None:
        world.kbd_intr.append(character)


class _Uctypes:
    def addressof(self, buf) -> int:
        return world.chip.address_of(buf)

    def bytearray_at(self, address: int, size: int) -> "_Octets":
        return _Octets(world.chip.buffer_at(address), size)


class _Octets:
    """An array of words as the chip has it in memory, the lowest byte first."""

    def __init__(self, words_: array, size: int) -> None:
        self._words = words_
        self._size = size

    def __getitem__(self, at: int) -> int:
        assert 0 <= at < self._size
        return self._words[at // 4] >> 8 * (at % 4) & 255


def _real(name: str):
    try:
        return __import__(name)
    except ImportError:
        return None


def _import_board(again=("dma_ring", "board")):
    """Import the Pico's board, and modules of it `again`, with fakes in place of this interpreter's
    modules."""
    fakes = {
        "machine": _Machine(),
        "rp2": fake_rp2.Rp2(),
        "micropython": _Micropython(),
        "uctypes": _Uctypes(),
        "framebuf": framebuf,
    }
    before = {name: sys.modules.get(name) for name in fakes}
    sys.modules.update(fakes)
    # Each fake board imports the ring again, with the `rp2` of that fake.
    for name in again:
        sys.modules.pop("sabot_firmware.boards.pico." + name, None)
    from sabot_firmware.boards.pico import contacts, lock, sampler

    __import__("sabot_firmware.boards.pico.board")
    board = sys.modules["sabot_firmware.boards.pico.board"]
    dma_ring = sys.modules["sabot_firmware.boards.pico.dma_ring"]

    for name in before:
        if before[name] is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before[name]
    board.time, board.asyncio, board.os = _Time(), _Asyncio(), _Os()
    board.select, board.sys = fake_serial.Select(lambda: world), fake_serial.Sys(lambda: world)
    sampler.time = board.time
    return board, sampler, contacts, dma_ring, lock


real_micropython = _real("micropython")
framebuf = _real("framebuf") or fake_display.Framebuf()
world = World()
board, sampler, contacts, dma_ring, lock = _import_board()
_buf = bytearray(512)


def new_world() -> World:
    """Return a Pico that has just got power and has not yet run the board's file."""
    global world
    world = None  # free its memory first: the heap is as small as the board's
    world = World()
    return world


def new_start():
    """Return the board's file as the chip imports it at a start, with the registers as they are."""
    return _import_board(("board",))[0]


def new_board(**levels: int):
    """Return a board that has just started, and its world, with the named parts at these levels."""
    made = new_world()
    for part in levels:
        made.inputs[board._PIN_OF[part][0]] = levels[part]
    return board.Board(), made


def run(coroutine):
    """Return the result of a coroutine that waits only for the fake clock."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits for something")


def live(board, world, ms: int) -> "list[int]":
    """Let `ms` pass, taking inputs as the shoe does; return the changes of inputs."""
    awake(world)
    changes = []
    end = world.now_ms + ms
    while world.now_ms < end:
        run(board.wait_for_activity(8, True))
        change = board.take_input()
        while change != inputs.NONE:
            changes.append(change)
            change = board.take_input()
        board.read_samples(_buf)
    return changes


def awake(world) -> None:
    """Let samples continue while the shoe sleeps, as on the chip."""
    world.while_asleep = lambda: world.sample([0] * 8)
