"""Two emulated Picos, wired pin to pin: the bench board and the shoe.

The wires are those of hil_tests/wiring, from the two tables of pins. The Picos run in turn,
QUANTUM_US at a time, the bench board first. So an output of the bench board is at the shoe's pins
at the exact nanosecond, and an output of the shoe reaches the bench board exactly QUANTUM_US late.
On the display's bus the shoe never waits for the bench board: bytes for which the bench board has
no room wait instead.
"""

from collections.abc import Callable, Mapping
from functools import partial

import sabot_rig
from sabot.release.uf2 import Image
from sabot_hil.capabilities import BrokenRig
from sabot_hil.emulation import buses, filesystem
from sabot_hil.emulation.bare import BarePico
from sabot_hil.emulation.oled import ADDRESS
from sabot_hil.emulation.pico import EmulatedPico, pins_of
from sabot_hil.kit.wiring import BENCH_TABLE, SHOE_TABLE, pin_table, wires

QUANTUM_US = 100
"""The delay with which the bench board sees the shoe's outputs."""

_PULLED_UP = 1
_US = 1000  # in ns
_QUANTUM_NS = QUANTUM_US * _US
_START_US = 10_000_000  # MicroPython's start and the bench board's take a tenth of it
_NOT_BY_LEVEL = ("buzzer", "display_sda", "display_scl")  # by frequency, and by bytes
_UNIQUE_ID = b"BENCH\0\0\1"


class BenchPico(BarePico):
    """The Pico of a bench board, at first without power, with nothing on its pins. The other end of
    a wire pulls an open contact up.

    Reading its flash costs nothing: with the cost, its firmware loses changes in its own check.
    """

    _pio_drives_pins = True

    def __init__(self, image: Image, files: Mapping[str, bytes]) -> None:
        super().__init__(image, files, unique_id=_UNIQUE_ID, flash_percent=0)
        self.pins = pins_of(sabot_rig, "pins.py")
        self._screen: buses.EmulatedI2cTarget | None = None
        self._half_ns = 0.0  # half of the buzzer's period; 0: silent
        self._buzzing = 0  # counts the beeps
        for part, pin in self.pins.items():
            if part.startswith(("button_", "switch_")):
                self.set_pin(pin.gpio, _PULLED_UP)
        # The supply's switch and its sense are both on the bench board's side of the wire.
        self.on_pin(self.pins["power"].gpio, self._switched)

    @classmethod
    def started(cls, image: Image) -> "BenchPico":
        """Return a bench board that has started. Raises BrokenRig."""
        pico = cls(image, filesystem.bench_files())
        pico.power_on()
        if not pico.run_until(lambda: pico.screen.answers(ADDRESS), _START_US):
            said = " ".join(pico.usb_read().decode(errors="replace").split())
            raise BrokenRig(f"the emulated bench board does not start: {said}")
        return pico

    @property
    def screen(self) -> buses.EmulatedI2cTarget:
        """The I2C target in place of the shoe's display."""
        assert self._screen is not None, "the bench board has no power"
        return self._screen

    def buzz(self, hertz: float) -> None:
        """The shoe's buzzer sounds from now on, as a square wave; 0: it is silent."""
        self._half_ns = 5e8 / hertz if hertz else 0.0
        self._buzzing += 1
        self._swing(self._buzzing, self.t_ns, 1 if hertz else 0)

    def _swing(self, beep: int, t_ns: float, level: int) -> None:
        if beep != self._buzzing:
            return
        self.set_pin(self.pins["buzzer"].gpio, level)
        if self._half_ns:
            next_ns = t_ns + self._half_ns
            self.at_ns(round(next_ns), partial(self._swing, beep, next_ns, 1 - level))

    def _switched(self, _t_us: int, level: int) -> None:
        self.set_pin(self.pins["supply"].gpio, level)

    def _power_came(self) -> None:
        self._screen = buses.EmulatedI2cTarget(self._mcu.i2c[0])


class Pair:
    """A bench board with power, and a shoe whose power the bench board switches.

    `on_quantum` is called each time after both have run.
    """

    def __init__(self, bench: BenchPico, shoe: EmulatedPico) -> None:
        self.bench, self.shoe = bench, shoe
        self.on_quantum: Callable[[], None] = lambda: None
        self._to_shoe: list[tuple[int, Callable[[], None]]] = []
        self._to_bench: list[tuple[int, Callable[[], None]]] = []
        shoe.run_to_ns(bench.t_ns)
        for wire in wires(pin_table(BENCH_TABLE), pin_table(SHOE_TABLE)):
            if wire.shoe is None or wire.part in _NOT_BY_LEVEL:
                continue
            if wire.direction == "out":
                self._wire_to_shoe(wire.bench, wire.shoe)
            else:
                self._wire_to_bench(wire.shoe, wire.bench)
        bench.on_pin(bench.pins["power"].gpio, self._power)
        shoe.on_buzzer = lambda _t_us, hertz: self._queue_for_bench(partial(bench.buzz, hertz))
        shoe.on_bus = self
        self._t_ns = bench.t_ns

    @property
    def t_us(self) -> int:
        """Emulated time since both were made."""
        return self._t_ns // _US

    def run_us(self, us: float) -> None:
        """Let `us` microseconds pass, or up to QUANTUM_US more."""
        self.run_until(lambda: False, us)

    def run_until(self, condition: Callable[[], bool], within_us: float) -> bool:
        """Let time pass until the condition is true, at most `within_us`; return whether it is. It
        is checked every QUANTUM_US."""
        end_ns = self._t_ns + round(within_us * _US)
        while not condition():
            if self._t_ns >= end_ns:
                return False
            self._go_on(self._t_ns + _QUANTUM_NS)
        return True

    # The display's bus, from the shoe's end

    def begin(self, address: int) -> bool:
        """The shoe begins a write; returns whether the bench board answers."""
        screen = self.bench.screen
        self._queue_for_bench(partial(screen.begin, address))
        return screen.answers(address)

    def octet(self, octet: int) -> None:
        """A byte of the write."""
        self._queue_for_bench(partial(self.bench.screen.octet, octet))

    def end(self) -> None:
        """The write ends."""
        self._queue_for_bench(self.bench.screen.end)

    # Inside

    def _wire_to_shoe(self, bench: int, shoe: int) -> None:
        def changed(_t_us: int, level: int) -> None:
            self._queue_for_shoe(partial(self.shoe.set_pin, shoe, level))

        self.shoe.set_pin(shoe, self.bench.pin(bench))
        self.bench.on_pin(bench, changed)

    def _wire_to_bench(self, shoe: int, bench: int) -> None:
        def changed(_t_us: int, level: int) -> None:
            self._queue_for_bench(partial(self.bench.set_pin, bench, level))

        self.bench.set_pin(bench, self.shoe.pin(shoe))
        self.shoe.on_pin(shoe, changed)

    def _power(self, _t_us: int, level: int) -> None:
        self._queue_for_shoe(self.shoe.power_on if level else self.shoe.power_off)

    def _queue_for_shoe(self, act: Callable[[], None]) -> None:
        self._to_shoe.append((self.bench.t_ns, act))

    def _queue_for_bench(self, act: Callable[[], None]) -> None:
        self._to_bench.append((self.shoe.t_ns + _QUANTUM_NS, act))

    def _go_on(self, end_ns: int) -> None:
        bench, shoe = self.bench, self.shoe
        bench.run_to_ns(end_ns)
        due, self._to_shoe = self._to_shoe, []
        for t_ns, act in due:
            if shoe.powered and act != shoe.power_off:
                shoe.at_ns(t_ns, act)
            else:
                shoe.run_to_ns(t_ns)
                act()
        shoe.run_to_ns(end_ns)
        due, self._to_bench = self._to_bench, []
        for t_ns, act in due:
            bench.at_ns(t_ns, act)
        self._t_ns = end_ns
        self.on_quantum()


class Plugged:
    """A bench board with the check plug on it, in place of a shoe. `plug` says which outputs are
    tied to each sense. `on_quantum` is called every QUANTUM_US."""

    def __init__(self, bench: BenchPico, plug: Mapping[str, tuple[str, ...]]) -> None:
        self.bench = bench
        self.on_quantum: Callable[[], None] = lambda: None
        for sense, parts in plug.items():
            for part in parts:
                bench.on_pin(bench.pins[part].gpio, partial(self._changed, sense, parts))
            self._changed(sense, parts)

    @property
    def t_us(self) -> int:
        """Emulated time since the board was made."""
        return self.bench.t_us

    def run_us(self, us: float) -> None:
        """Let `us` microseconds pass."""
        self.run_until(lambda: False, us)

    def run_until(self, condition: Callable[[], bool], within_us: float) -> bool:
        """Let time pass until the condition is true, at most `within_us`; return whether it is."""
        end_ns = self.bench.t_ns + round(within_us * _US)
        while not condition():
            if self.bench.t_ns >= end_ns:
                return False
            self.bench.run_to_ns(self.bench.t_ns + _QUANTUM_NS)
            self.on_quantum()
        return True

    def _changed(self, sense: str, parts: tuple[str, ...], *_: object) -> None:
        # Contacts that share a sense are pulled up there; each contact pulls it down.
        level = min(self.bench.pin(self.bench.pins[part].gpio) for part in parts)
        self.bench.set_pin(self.bench.pins[sense].gpio, level)
