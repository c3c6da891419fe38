"""The shoe's emulated Raspberry Pi Pico, with the parts on its pins."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

import sabot_firmware
from sabot.release.uf2 import Image
from sabot_hil.emulation import buses, patches
from sabot_hil.emulation.bare import BarePico
from sabot_hil.emulation.nor_chip import TYPICAL, NorChip, NorOperation, Times
from sabot_hil.emulation.oled import Oled

if TYPE_CHECKING:
    from rp2040py.clock.simulation_clock import ClockAlarm

SAMPLE_NS = 50_000
"""The time between two samples of the sensor head: 20 kHz."""

SENSOR_PINS = 4

_US = 1000  # in ns


@dataclass(frozen=True, slots=True)
class Pin:
    """A pin of a board; `on` is the level at which the part is on."""

    gpio: int
    on: int


def pins() -> dict[str, Pin]:
    """Return the pins of the shoe's board by the names of their parts."""
    return pins_of(sabot_firmware, "boards/pico/board.py")


def pins_of(package: ModuleType, module: str) -> dict[str, Pin]:
    """Return the table PINS of a module of `package` by the names of the parts. The module is not
    imported, because some modules can be imported only on a Pico."""
    path = Path(str(package.__file__)).parent / module
    names = {"HIGH": 1, "LOW": 0}
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "PINS":
            assert isinstance(statement.value, ast.Tuple)
            rows = [_pin_row(row, names) for row in statement.value.elts]
            return {part: Pin(gpio, on) for gpio, part, on in rows}
    raise ValueError(f"{path} has no table PINS")


def _pin_row(row: ast.expr, names: Mapping[str, int]) -> tuple[int, str, int]:
    assert isinstance(row, ast.Tuple)
    gpio, part, level = row.elts
    assert isinstance(level, ast.Name)
    return ast.literal_eval(gpio), ast.literal_eval(part), names[level.id]


class OnBus(Protocol):
    """A part that answers on the bus of the shoe's display."""

    def begin(self, address: int) -> bool:
        """A write begins; returns whether it is for this part."""

    def octet(self, octet: int) -> None:
        """A byte of the write, once it is sent."""

    def end(self) -> None:
        """The write ends."""


class EmulatedPico(BarePico):
    """The Pico of a shoe, at first without power. `files` are on its file system, `unique_id` is
    the chip's number, 8 bytes. `journal_times` and `flash_times` are how long the two flash chips
    take to be changed, `flash_percent` is as for BarePico. `seed` decides what a cut operation of
    the journal's chip leaves.
    """

    _playing: "ClockAlarm"
    """It exists while the Pico has power."""

    def __init__(
        self,
        image: Image,
        files: Mapping[str, bytes],
        *,
        unique_id: bytes = b"SABOT\0\0\1",
        journal_times: Times = TYPICAL,
        flash_times: Times = TYPICAL,
        flash_percent: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            image,
            files,
            unique_id=unique_id,
            flash_times=flash_times,
            flash_percent=flash_percent,
        )
        self.pins = pins()
        self.journal = NorChip(lambda: self.t_ns, times=journal_times, seed=seed)
        self.journal.on_operation = self._journal_begins
        self.display = Oled()
        self.buzzer_hz = 0.0
        """The buzzer's frequency, 0 while it is silent."""
        self.on_buzzer: Callable[[int, float], None] | None = None
        """Called with time in us and frequency when the buzzer begins or ends."""
        self.on_display: Callable[[int], None] | None = None
        """Called with the time in us after a write to the display."""
        self.on_bus: OnBus | None = None
        """A part in place of the display, from the next start on."""
        self._plugged = True
        self._cut: tuple[int, float] | None = None
        self._changes: list[tuple[float, int]] = []  # of the sensors, in reverse order

    def power_off(self) -> None:
        """Switch the power off, now. Both flash chips keep their content."""
        if self.powered:
            self.journal.power_off()
            self._stop_all()

    def brown_out(self, us: int) -> None:
        """Let the supply be too low for the processor, but not for the journal's chip, for `us`
        microseconds. The chip continues its operation; then the processor is at its first
        instruction."""
        if self.powered:
            self._stop_all()
            self.run_us(us)
            self.power_on()

    def _stop_all(self) -> None:
        super().power_off()
        if self.on_display is not None:
            self.on_display(self.t_us)

    def plug_display(self, plugged: bool) -> None:
        """Plug the display in or out. Out, it does not acknowledge its address, and forgets what it
        showed."""
        self._plugged = plugged
        self.display = Oled()
        if self.on_display is not None:
            self.on_display(self.t_us)
        self._notice()

    def cut_power_in(self, operation: int, share: float) -> None:
        """Cut the power during the `operation`-th program or erase of the journal's chip from now
        on (0: the next one), after `share` of it (0 to 1)."""
        self._cut = (self.journal.operations + operation, share)

    def play(self, samples: bytes) -> int:
        """Let the sensor head see these samples from now on, at 20 kHz, two to a byte, the older in
        the lower half: E, A, B, X from the lowest bit. The last sample stays. Returns how many us
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

    # Inside

    def _power_came(self) -> None:
        mcu = self._mcu
        patches.quieten_pwm(mcu, self._duty)
        self.journal_bus = buses.TimedSpi(mcu, self.journal.exchange_all)
        self.display = Oled()
        bus = self.on_bus
        if bus is None:
            begin, octet, end = self._write_begins, self._write_goes_on, self._drawn
        else:
            begin, octet, end = bus.begin, bus.octet, bus.end
        self.display_bus = buses.TimedI2c(mcu.i2c[0], mcu.core, self._clock, begin, octet, end)
        self._playing = self._clock.create_alarm(self._play_on)
        self._listen(self.pins["journal_select"].gpio)

    def _power_went(self) -> None:
        del self._playing
        self._changes.clear()
        self.display = Oled()
        self._sound(0.0)

    def _reset(self) -> None:
        self.journal_bus.reset()
        self.display_bus.reset()
        self._sound(0.0)

    def _look_at_pins(self) -> None:
        self._look_at_pin(self.pins["journal_select"].gpio)
        super()._look_at_pins()

    def _look_at_pin(self, gpio: int) -> None:
        if gpio == self.pins["journal_select"].gpio:
            self.journal.select(self.pin(gpio))
        if gpio in self._watchers:
            super()._look_at_pin(gpio)

    def _journal_begins(self, operation: NorOperation) -> None:
        if self._cut is None or self.journal.operations - 1 < self._cut[0]:
            return
        share, self._cut = self._cut[1], None
        alarm = self._clock.create_alarm(self._fail)
        alarm.schedule((operation.ends_ns - operation.began_ns) * share)

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

    def _write_begins(self, address: int) -> bool:
        return self._plugged and self.display.begin(address)

    def _write_goes_on(self, octet: int) -> None:
        if self._plugged:
            self.display.octet(octet)

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
