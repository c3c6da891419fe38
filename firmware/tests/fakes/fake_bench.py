"""A bench board for tests: the modules of its Pico, with PIO and DMA, and the shoe's pins.

`new_board()` returns a RigBoard of sabot_rig/board.py and its `BenchWorld`, in which time passes
only by `run`. It runs under CPython and MicroPython, and raises for what the firmware must not do.
"""

import sys
from array import array

import sabot_firmware.native  # noqa: F401 - with this interpreter's modules, not with the fakes
from firmware.tests.fakes import fake_rp2, fake_serial

world: "BenchWorld"

_PIO0_CTRL_SET = 0x50202000
_TIMER_LOW = 0x40054028
_FIFO_WORDS = 8
_FIRST_US = 12_345


class BenchWorld(fake_serial.Line):
    """One Pico, from power-on."""

    def __init__(self) -> None:
        super().__init__(room=1 << 30)
        self.duties: "list[tuple[int, int]]" = []
        self.now_us = _FIRST_US
        self.clock_hz = 125_000_000
        self.levels = [0] * 30
        """The level at each pin, from outside."""
        self.outputs: "dict[int, int]" = {}
        self.log: "list[tuple[int, int, int]]" = []
        """Time, pin and level of every change of an output or contact."""
        self.machines: "dict[int, Machine]" = {}
        self.memory = fake_rp2.new_chip()
        self.target: "I2cTarget | None" = None
        self.kbd_intr: "list[int]" = []
        self.copied: "list[tuple[int, int]]" = []
        """Outputs whose level is also that of an input: a loopback plug."""

    def run(self, us: int) -> None:
        """Let this many microseconds pass."""
        end_us = self.now_us + us
        while True:
            due = [each for each in self.machines.values() if each.running]
            at_us = min([each.next_us for each in due] + [end_us])
            if at_us >= end_us:
                break
            self.now_us = at_us
            for each in due:
                if each.next_us == at_us:
                    each.step()
        self.now_us = end_us

    def drive(self, gpio: int, level: int) -> None:
        if self.outputs.get(gpio) != level:
            self.log.append((self.now_us, gpio, level))
            self.outputs[gpio] = level
        for output, sense in self.copied:
            if output == gpio:
                self.levels[sense] = level

    def request(self, source: int) -> None:
        for dma in self.memory.channels:
            dma.request(source)

    def enable(self, bits: int) -> None:
        """A write to CTRL of PIO0, in its alias that sets bits."""
        for number in self.machines:
            if bits >> number & 1:
                assert bits >> 8 + number & 1, "its clock is not restarted"
                self.machines[number].active(1)


class _Emitted:
    def __init__(self, instruction: "list[object]") -> None:
        self.instruction = instruction

    def __getitem__(self, delay: int) -> "_Emitted":
        assert 0 <= delay < 32
        self.instruction[2] = delay
        return self


class Machine:
    """A state machine at a cycle a microsecond. Loops of one instruction are done at once."""

    def __init__(self, number: int, program, freq: int, in_base=None, out_base=None) -> None:
        self.number = number
        world.machines[number] = self
        self.init(program, freq=freq, in_base=in_base, out_base=out_base)

    def init(self, program, freq: int, in_base=None, out_base=None) -> None:
        self.options, self.instructions, self.labels = program
        assert freq == 1_000_000
        self.in_base, self.out_base = in_base, out_base
        self.running = False
        self.fifo: "list[int]" = []
        self._at = self._isr = self._bits = self._x = self._osr = self._left = 0
        self.next_us = 0
        for i, level in enumerate(self.options.get("out_init") or ()):
            world.drive(out_base.gpio + i, level)

    def active(self, on: int) -> None:
        self.running = bool(on)
        self.next_us = world.now_us

    def restart(self) -> None:
        self._at = self._left = 0

    def put(self, word: int) -> None:
        assert len(self.fifo) < _FIFO_WORDS
        self.fifo.append(word)

    def step(self) -> None:
        kind, arguments, delay = self.instructions[self._at]
        cycles = getattr(self, "_" + kind)(*arguments)
        self.next_us += (cycles or 1) + delay
        if cycles:
            self._at = (self._at + 1) % len(self.instructions)

    def _nop(self) -> int:
        return 1

    def _in(self, source: str, bits: int) -> int:
        assert source == "pins" and self.options["in_shiftdir"] == fake_rp2.Pio.SHIFT_RIGHT
        first = self.in_base.gpio
        value = 0
        for i in range(bits):
            value |= world.levels[first + i] << i
        self._isr = self._isr >> bits | value << 32 - bits
        self._bits += bits
        if self.options["autopush"] and self._bits >= self.options["push_thresh"]:
            self.put(self._isr)
            self._isr = self._bits = 0
            world.request(4 + self.number)  # DREQ_PIO0_RX0 and after
        return 1

    def _out(self, to: str, bits: int) -> int:
        assert self.options["out_shiftdir"] == fake_rp2.Pio.SHIFT_RIGHT and self.options["autopull"]
        if not self._left:
            if not self.fifo:
                return 0
            self._osr = self.fifo.pop(0)
            self._left = self.options["pull_thresh"]
            world.request(self.number)  # DREQ_PIO0_TX0 and after
        value = self._osr & (1 << bits) - 1
        self._osr >>= bits
        self._left -= bits
        assert self._left >= 0
        if to == "x":
            self._x = value
        else:
            for i in range(bits):
                world.drive(self.out_base.gpio + i, value >> i & 1)
        return 1

    def _jmp(self, condition: str, label: str) -> int:
        assert condition == "x_dec" and self.labels[label] == self._at
        return self._x + 1


class Dma(fake_rp2.DMA):
    """A channel that also serves these state machines, and reads and writes registers."""

    def start(self) -> None:
        super().start()
        if isinstance(self._write, Machine):  # a FIFO with room asks at once
            for _ in range(_FIFO_WORDS - len(self._write.fifo)):
                self.request(self._write.number)

    def _get(self, size: int) -> int:
        if isinstance(self._read, Machine):
            return self._read.fifo.pop(0)
        if self._read == _TIMER_LOW:
            return world.now_us & 0xFFFFFFFF
        return super()._get(size)

    def _put(self, word: int, size: int) -> None:
        assert size == 4
        if isinstance(self._write, Machine):
            self._write.put(word)
        elif self._write == _PIO0_CTRL_SET:
            world.enable(word)
        elif isinstance(self._write, array):
            self._write[0] = word
        else:
            super()._put(word, size)


class _Rp2:
    PIO = fake_rp2.Pio
    DMA = Dma
    StateMachine = Machine

    def asm_pio(self, **options):
        def assemble(function):
            instructions, labels = [], {}

            def emitter(kind):
                def emit(*arguments):
                    instructions.append([kind, arguments, 0])
                    return _Emitted(instructions[-1])

                return emit

            scope = function.__globals__
            words = {"pins": "pins", "x": "x", "x_dec": "x_dec", "in_": emitter("in")}
            words.update({kind: emitter(kind) for kind in ("out", "jmp")})
            words["nop"] = emitter("nop")
            words["label"] = lambda name: labels.update({name: len(instructions)})
            scope.update(words)
            function()
            for word in words:
                del scope[word]
            return options, instructions, labels

        return assemble


class _Pin:
    IN, OUT, OPEN_DRAIN, PULL_DOWN = 0, 1, 2, 2

    def __init__(self, gpio: int, mode: int = -1, pull: int = -1, value: int = -1) -> None:
        self.gpio = gpio
        self._mode = mode
        if mode in (self.OUT, self.OPEN_DRAIN):
            assert value >= 0, "an output without a first value"
            self.value(value)
        elif mode == self.IN:
            assert pull == self.PULL_DOWN, "a sense that floats"

    def value(self, level: int = -1) -> int:
        if level >= 0:
            assert self._mode in (self.OUT, self.OPEN_DRAIN)
            world.drive(self.gpio, level)
        return world.levels[self.gpio]


class _Pwm:
    """Keeps the time and the duty of each change in `world.duties`."""

    def __init__(self, pin: _Pin, freq: int, duty_u16: int) -> None:
        assert freq >= 10_000  # the filter must not let it through
        self.duty_u16(duty_u16)

    def duty_u16(self, duty: int) -> None:
        assert 0 <= duty <= 65535
        world.duties.append((world.now_us, duty))


class I2cTarget:
    """The bus as the shoe's display sees it; `write` acts as the shoe."""

    IRQ_END_WRITE = 32

    def __init__(self, number: int, address: int, *, mem, mem_addrsize: int, scl, sda) -> None:
        # Which pins a bus may have: RP2040 data sheet, GPIO functions.
        assert sda.gpio % 4 == 2 * number and scl.gpio % 4 == 2 * number + 1
        assert mem_addrsize == 8
        self.address = address
        self.memaddr = 0
        self._memory = mem
        self._ended = lambda target: None
        world.target = self

    def irq(self, handler, trigger: int, hard: bool) -> None:
        assert trigger == self.IRQ_END_WRITE and hard
        self._ended = handler

    def write(self, data: bytes) -> None:
        self.memaddr = data[0]
        for i in range(1, len(data)):
            self._memory[(data[0] + i - 1) % len(self._memory)] = data[i]
        self._ended(self)


class _Machine:
    Pin = _Pin
    PWM = _Pwm
    I2CTarget = I2cTarget

    def freq(self) -> int:
        return world.clock_hz


class _Uctypes:
    def addressof(self, buf) -> int:
        return world.memory.address_of(buf)


class _Time:
    PERIOD = 1 << 30

    def ticks_us(self) -> int:
        return world.now_us % self.PERIOD

    def ticks_diff(self, a: int, b: int) -> int:
        half = self.PERIOD // 2
        return (a - b + half) % self.PERIOD - half

    def sleep_us(self, us: int) -> None:
        world.run(us)


class _Micropython:
    def kbd_intr(self, character: int) -> None:
        world.kbd_intr.append(character)


def _import_board():
    """Import sabot_rig's modules with fakes in place of this interpreter's modules."""
    fakes = {
        "machine": _Machine(),
        "rp2": _Rp2(),
        "micropython": _Micropython(),
        "uctypes": _Uctypes(),
    }
    before = {name: sys.modules.get(name) for name in fakes}
    sys.modules.update(fakes)
    # Each fake board imports it again, with the `rp2` of that fake.
    sys.modules.pop("sabot_firmware.boards.pico.dma_ring", None)
    from sabot_rig import board, main, screen

    for name in before:
        if before[name] is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before[name]
    board.time = screen.time = _Time()
    board.select, board.sys = fake_serial.Select(lambda: world), fake_serial.Sys(lambda: world)
    return board, main


world = BenchWorld()
board, main = _import_board()


def new_world() -> BenchWorld:
    """Return a Pico that has just got power and has not yet run the board's file."""
    global world
    world = None  # free its memory first: the heap is as small as the board's
    world = BenchWorld()
    return world


_LEVEL_FITTED = 26


def new_board(fitted: bool = False):
    """Return a board that has just started, and its world; with the filter for the level of the
    supply, if it is `fitted`."""
    made = new_world()
    made.levels[_LEVEL_FITTED] = 1 if fitted else 0
    return board.RigBoard(), made
