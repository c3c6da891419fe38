"""The reference board: a Raspberry Pi Pico with official MicroPython v1.28, its parts on its pins.

The hardware samples the sensor head (sampler.py). Everything else is handled in
`wait_for_activity` and never in an interrupt, so no change comes in the middle of another one. Only
the lock can shut by itself (lock.py).
"""

import asyncio
import os
import select
import sys
import time

import machine
import micropython

from sabot_firmware.boards import is_rp2350
from sabot_firmware.boards.nor import NorFlash
from sabot_firmware.boards.pico.contacts import Contacts
from sabot_firmware.boards.pico.lock import Lock
from sabot_firmware.boards.pico.sampler import Sampler
from sabot_firmware.boards.pico.ssd1306 import Display
from sabot_firmware.native import const, ptr8, ptr32
from sabot_firmware.table import inputs
from sabot_protocol import enums

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Awaitable, Callable

    from sabot_firmware.interfaces import Feed

HIGH, LOW = 1, 0

PINS = (
    # GPIO, part, level at which it is on
    (0, "host_tx", HIGH),  # UART0, for a host on a serial line
    (1, "host_rx", HIGH),
    (2, "sensor_e", HIGH),  # the sensor head: four neighbours, E the lowest
    (3, "sensor_a", HIGH),
    (4, "sensor_b", HIGH),
    (5, "sensor_x", HIGH),
    (6, "button_next", LOW),  # contacts go to ground; eight neighbours, in the order of `enums`
    (7, "button_reveal", LOW),
    (8, "button_void", LOW),
    (9, "button_burn", LOW),
    (10, "switch_lid_open", HIGH),  # the shut lid closes it: a broken wire means an open lid
    (11, "switch_key_on", LOW),
    (12, "switch_service_on", LOW),
    (13, "lamp_player", HIGH),
    (14, "lamp_banker", HIGH),
    (15, "buzzer", HIGH),
    (16, "journal_miso", HIGH),  # SPI0
    (17, "journal_select", LOW),
    (18, "journal_clock", HIGH),
    (19, "journal_mosi", HIGH),
    (20, "display_sda", HIGH),  # I2C0
    (21, "display_scl", HIGH),
    (22, "lock", HIGH),  # high releases it; after a reset the chip itself pulls the pin low
    (26, "lamp_tie", HIGH),
    (27, "lamp_ready", HIGH),
    (28, "lamp_error", HIGH),
)
"""Every pin of the Pico except 23, 24, 25 and 29, which are not led out."""

LED = const(25)
"""The light on the Pico itself: on while the shoe wants the lock released, also if the interrupt of
lock.py has shut it. It shows when the shoe decides about a card whose lock is shut already."""

SENSORS = ("sensor_e", "sensor_a", "sensor_b", "sensor_x")

_CONTACTS = ["button_" + name for name in enums.BUTTONS] + [
    "switch_" + name for name in enums.SWITCHES
]
_CONTACTS_MASK = (1 << len(_CONTACTS)) - 1

_PIN_OF = {part: (gpio, level) for gpio, part, level in PINS}

_LOOKS_AGAIN = const(25)  # half a second or longer: `_look` takes four looks at a time, 20 ms
_LINE_MS = const(5)  # to send one line to the display takes 3 to 4
# 15 ms or more: a contact bounces for less, or is seen in both states.
_SETTLED_LOOKS = const(4)
_HALT_STEP_MS = const(50)
_HALT_STEPS = const(20)  # in a second
# After a reset the chip pulls its pins low; a pin with a cable takes some time to get high.
_PULLED_UP_US = const(500)

_LINK_BYTES = const(64)
"""The most bytes that one turn of the link reads or writes, at about 50 us each."""

_TEMPERATURE = const(4)  # the ADC's input
_ADC_TENTH_MV = const(33000)  # the ADC's whole range
# Places in `enums.RANDOM_SOURCES`.
_OSCILLATOR, _ADC, _SYSTEM = const(0), const(1), const(3)
_APART = const(16)  # turns of a loop, 5 us: the oscillator needs some time for another bit
_UNUSED_BITS = const(4)  # MicroPython makes 16 bits of the converter's 12
_CTRL_C = const(3)
_BUZZER_HZ = const(2700)
_HALF_THE_TIME = const(32768)  # the duty, of 65,536
_I2C_HZ = const(400000)
_CLOCKS = const(10)  # nine, and a look after the last one
_HALF_CLOCK_US = const(5)
_I2C_TIMEOUT_US = const(10000)  # the longest write takes 3 ms
_SPI_HZ = const(24_000_000)  # the most v1.28 makes of its 48 MHz clock; the chip takes 50 MHz

# Why the chip started (RP2040 data sheet, 4.7.6 and 2.12.8; RP2350 data sheet, 12.9 and 6.4, which
# has the same registers at other addresses). A register of the watchdog keeps its
# content through every reset except one by power or by the pin RUN. There the shoe notes why it
# restarts, whether its lid was watched until then, and how often it has restarted because something
# went wrong: _NOTE, one bit, how often in four bits, a cause in four bits. A number below 2**30 is
# no object on the heap.
_REASON = 0x400D8008 if is_rp2350() else 0x40058008
_SCRATCH = _REASON + 4
_CHIP_RESET = 0x4010002C if is_rp2350() else 0x40064008
_BITTEN = const(1)  # bits of the reason: the watchdog, or a program that asked for a reset
_ASKED = const(2)
_BY_PIN = 1 << 18 if is_rp2350() else 1 << 16
_NOTE = const(0x05AB0600)
_WATCHED = const(0x100)
_MOST = const(15)
_BITE = const(0)  # in place of a cause: without another note the next reset is the watchdog's


def _note(watched: int, restarts: int, cause: int) -> None:
    machine.mem32[_SCRATCH] = _NOTE | watched | min(restarts, _MOST) << 4 | cause


# This is in no function, because a function stays in the heap.
_LID = _RESTARTS = 0
_CAUSE = machine.mem32[_SCRATCH]
if _CAUSE & ~0x1FF == _NOTE:
    _LID = _CAUSE & _WATCHED
    _RESTARTS = (_CAUSE >> 4 & _MOST) + 1
    _CAUSE &= _MOST
else:
    _CAUSE = _BITE
if machine.mem32[_REASON] & _BITTEN:
    _CAUSE = enums.RESET_CAUSES.index("watchdog")
elif machine.mem32[_REASON] & _ASKED:
    _CAUSE = _CAUSE or enums.RESET_CAUSES.index("software")
elif machine.mem32[_CHIP_RESET] & _BY_PIN:
    _CAUSE = enums.RESET_CAUSES.index("reset_pin")
else:
    _CAUSE = enums.RESET_CAUSES.index("power_on")
if _CAUSE not in (
    enums.RESET_CAUSES.index("watchdog"),
    enums.RESET_CAUSES.index("error"),
    enums.RESET_CAUSES.index("memory"),
):
    _RESTARTS = 0
    if enums.RESET_CAUSES[_CAUSE] != "command":
        _LID = 0
_note(_LID, _RESTARTS, _BITE)


class Board:
    NAME = "pico"
    LOOK_BYTES = 2000
    """Samples are 10,000 bytes a second."""
    RANDOM_BIT = 0x4006001C
    """The register ROSC: RANDOMBIT (RP2040 data sheet, 2.17.8)."""
    SENSES = False
    lid_opened = compartment_opened = None
    """The reference board has neither latch, no contact at the bolt, and no view of the supply."""

    def __init__(self) -> None:
        self._lock = Lock(_output("lock"))  # first, because all else takes time or may fail
        self._led = machine.Pin(LED, machine.Pin.OUT, value=LOW)
        self._journal_select = _output("journal_select")
        self._flash: "NorFlash | None" = None
        self._lamps = [_output("lamp_" + name) for name in enums.LAMPS]
        micropython.kbd_intr(-1)  # byte 3 is an ordinary byte on the link, not Ctrl-C
        self.storage = "/state"
        if "state" not in os.listdir("/"):
            os.mkdir(self.storage)
        self.serial = machine.unique_id().hex()
        """The same text as the USB serial number."""
        self.reset_cause = _CAUSE
        self.restarts = _RESTARTS
        self.lid_watched = _LID != 0
        self.feed: "Feed" = int  # does nothing, until `watch`
        self._ticks_ms = time.ticks_ms()
        self._elapsed_ms = 0
        for sensor in SENSORS:
            _input(sensor)
        self._sampler = Sampler(pin_of(SENSORS[0]))
        self._ring = self._sampler.ring
        self.overruns = 0
        """How often samples were lost because they were not read in time."""
        self.judged = self._lock.judged
        self.lock_obeys = self._lock.obeys
        self.sleep_ms = time.sleep_ms
        self._sampling = False
        self._set_up_inputs()
        self._buzzer = machine.PWM(pin_of("buzzer"), freq=_BUZZER_HZ, duty_u16=0)
        self._buzzing = False
        self._quiet_ms = self._ticks_ms
        self._display = Display(_display_bus)
        self._looks = _LOOKS_AGAIN
        self._stdin = sys.stdin.buffer
        self._input = asyncio.StreamReader(self._stdin)
        self._stdout = sys.stdout.buffer
        self._readable = select.poll()
        self._readable.register(sys.stdin, select.POLLIN)
        self._writable = select.poll()
        self._writable.register(sys.stdout, select.POLLOUT)
        self._octet = bytearray(1)
        self._adc = machine.ADC(_TEMPERATURE)
        self._received = bytearray(_LINK_BYTES)

    def _set_up_inputs(self) -> None:
        first, _ = _PIN_OF[_CONTACTS[0]]
        self._inverted = 0  # bit n: the n-th input is on when it is low
        levels = 0
        for i in range(len(_CONTACTS)):
            gpio, on = _PIN_OF[_CONTACTS[i]]
            assert gpio == first + i
            if on == LOW:
                self._inverted |= 1 << i
        pins = [_input(part) for part in _CONTACTS]
        time.sleep_us(_PULLED_UP_US)
        for i in range(len(pins)):
            levels |= pins[i].value() << i
        self._at_start = (levels ^ self._inverted) >> inputs.BUTTON_COUNT << inputs.BUTTON_COUNT
        self._debouncer = inputs.Debouncer(_SETTLED_LOOKS, self._at_start)
        self._contacts = Contacts(pins[0])
        self._change = inputs.NONE

    @property
    def flash(self) -> NorFlash:
        """The journal's chip. The first use opens it and raises FlashError if it fails: by then
        the display can show that."""
        if self._flash is None:
            sck, mosi, miso = (pin_of("journal_" + line) for line in ("clock", "mosi", "miso"))
            spi = machine.SPI(0, baudrate=_SPI_HZ, sck=sck, mosi=mosi, miso=miso)
            self._flash = NorFlash(spi, self._journal_select)
        return self._flash

    @micropython.native
    def ticks_ms(self) -> int:
        """Return the milliseconds since the start. MicroPython's own count wraps at 2**30, after
        12.4 days.

        The result is right only if it is called at least every 6 days; the link calls it many times
        a second.
        """
        now = time.ticks_ms()
        self._elapsed_ms += time.ticks_diff(now, self._ticks_ms)
        self._ticks_ms = now
        return self._elapsed_ms

    def switches(self) -> int:
        return self._at_start >> inputs.BUTTON_COUNT

    def wait_for_activity(self, within_ms: int, wait: bool) -> "Awaitable[None]":
        """This is not a coroutine: that would make an object in each turn, and there are 2,000
        turns a second while the last marks of a card pass."""
        if not self._sampling:
            # Not earlier: the start of the shoe takes longer than the ring has room for.
            self._sampling = True
            self._sampler.start()
            self._lock.watch(pin_of(SENSORS[0]), self._ring)
        if self._contacts.waits():
            self._look()
        if self._buzzing and time.ticks_diff(time.ticks_ms(), self._quiet_ms) >= 0:
            self._silence()
        # With less time the lock would have to wait for the display.
        if within_ms > _LINE_MS and self._display.stale:
            self._display.refresh()
        return asyncio.sleep_ms(within_ms)  # samples always come: there is no event to wait for

    def _look(self) -> None:
        """Take the looks at the contacts that have come."""
        levels = self._contacts.look()
        while levels >= 0:
            self._debouncer.look((levels ^ self._inverted) & _CONTACTS_MASK)
            levels = self._contacts.look()
        if self._change == inputs.NONE:
            self._change = self._debouncer.take()
        self._looks -= 1
        if not self._looks:
            self._looks = _LOOKS_AGAIN
            self._display.again()

    @micropython.native
    def read_samples(self, buf: bytearray) -> int:
        """Copy whole words, oldest first, to the beginning of `buf`; return how many bytes. It
        allocates nothing."""
        size = self._ring.copy_to(buf)
        if size < 0:
            self.overruns += 1
            size = self._sampler.read_after_overrun(buf)
        return size

    def levels(self) -> int:
        levels = 0
        for i in range(len(SENSORS)):
            levels |= pin_of(SENSORS[i]).value() << i
        return levels

    def noise(self, source: int, buf: memoryview) -> None:
        if source == _SYSTEM:
            buf[:] = os.urandom(len(buf))
        elif source == _OSCILLATOR:
            _random_bits(buf, len(buf), self.RANDOM_BIT)  # pyright: ignore[reportArgumentType]
        elif source == _ADC:
            _fill(buf, self._adc.read_u16, _UNUSED_BITS)
        else:
            _fill(buf, time.ticks_us, 0)  # pyright: ignore[reportArgumentType]

    def temperature_c(self) -> int:
        """RP2040 data sheet, 4.9.5: 706 mV at 27 degrees, 1.721 mV less for each degree more."""
        tenth_mv = (self._adc.read_u16() >> 4) * _ADC_TENTH_MV >> 12
        return 27 - ((tenth_mv - 7060) * 100 + 860) // 1721

    def display_answers(self) -> bool:
        return self._display.answers()

    def samples_come(self) -> bool:
        return self._sampler.comes()

    def take_input(self) -> int:
        change = self._change
        if change != inputs.NONE:
            self._change = self._debouncer.take()
        return change

    def set_lock(self, released: bool) -> None:
        self._lock.set(released)
        self._led.value(HIGH if released else LOW)

    def lock_follows(self) -> bool:
        return True

    supply_good = arm_latches = lock_follows

    def set_lamps(self, lit: int) -> None:
        for i in range(len(self._lamps)):
            self._lamps[i].value(lit >> i & 1)

    def show(self, text: str) -> None:
        self._display.show(text)

    def buzz(self, ms: int) -> None:
        self._quiet_ms = time.ticks_add(time.ticks_ms(), ms)
        self._buzzing = True
        self._buzzer.duty_u16(_HALF_THE_TIME)

    def _silence(self) -> None:
        self._buzzing = False
        self._buzzer.duty_u16(0)

    def watch(self, timeout_ms: int) -> None:
        """At most 8,300 ms. MicroPython has no way to stop the chip's watchdog."""
        self.feed = machine.WDT(timeout=timeout_ms).feed

    def settle(self) -> None:
        self.restarts = 0
        self._note(_BITE)

    def set_lid_watched(self, watched: bool) -> None:
        self.lid_watched = watched
        self._note(_BITE)

    def reset(self, cause: int) -> None:
        self._note(cause)
        machine.reset()

    def _note(self, cause: int) -> None:
        _note(_WATCHED if self.lid_watched else 0, self.restarts, cause)

    def halt(self, error: BaseException, for_s: int = 0) -> None:
        """While the service switch is on, Ctrl-C works again, for the technician."""
        self.set_lock(False)
        self._silence()
        self.set_lamps(1 << enums.LAMPS.index("error"))
        while self._display.refresh():
            self.feed()
        sys.print_exception(error)
        self._stdout.write(b"\0")  # ends the trace, which is one damaged frame for the host
        service = pin_of("switch_service_on")
        on = _PIN_OF["switch_service_on"][1]
        steps = for_s * _HALT_STEPS
        while not for_s or steps:
            steps -= 1
            micropython.kbd_intr(_CTRL_C if service.value() == on else -1)
            self._display.refresh()
            self.feed()
            time.sleep_ms(_HALT_STEP_MS)

    async def read_link(self) -> bytes:
        await asyncio.sleep_ms(0)  # the cards must not wait for a host that never pauses
        size = self._receive()
        if not size:
            await self._input.readinto(self._octet)  # pyright: ignore[reportAttributeAccessIssue]
            # Not those after it: they take up to 3 ms, and a card may be near its decision now.
            return bytes(self._octet)
        return bytes(memoryview(self._received)[:size])

    def _receive(self) -> int:
        """Put the bytes that have come into `_received`; return how many.

        It reads one byte at a time, because a read of more would wait for them.
        """
        for size in range(_LINK_BYTES):
            for _ in self._readable.ipoll(0):
                break
            else:
                return size
            self._stdin.readinto(self._octet)  # pyright: ignore[reportAttributeAccessIssue]
            self._received[size] = self._octet[0]
        return _LINK_BYTES

    def write_link(self, view: memoryview) -> int:
        """Write one byte at a time, because "ready" means room for one byte. With too little room
        for the data MicroPython waits for the host, half a second or longer, and the shoe stops."""
        size = min(len(view), _LINK_BYTES)
        for at in range(size):
            for _ in self._writable.ipoll(0):
                break
            else:
                return at
            self._octet[0] = view[at]
            self._stdout.write(self._octet)
        return size


@micropython.viper
def _random_bits(buf: ptr8, size: int, address: int) -> int:
    """Fill `buf` with the lowest bit at the `address`; return how many."""
    bits = ptr32(address)  # pyright: ignore
    at = 0
    while at < size:
        pause = 0
        while pause < _APART:
            pause += 1
        buf[at] = bits[0] & 1
        at += 1
    return at


@micropython.native
def _fill(buf: memoryview, read: "Callable[[], int]", shift: int) -> None:
    for at in range(len(buf)):
        buf[at] = read() >> shift & 0xFF


def pin_of(part: str) -> machine.Pin:
    """Return the pin of a part of PINS."""
    return machine.Pin(_PIN_OF[part][0])


def _input(part: str) -> machine.Pin:
    """Set the pin up with a pull-up, so that a sensor head that is not plugged in reads as covered,
    not as idle."""
    return pulled_up(_PIN_OF[part][0])


def pulled_up(gpio: int) -> machine.Pin:
    """Set a pin up as an input with a pull-up."""
    return machine.Pin(gpio, machine.Pin.IN, machine.Pin.PULL_UP)


def _display_bus() -> machine.I2C:
    """A part that was stopped in the middle of a byte holds the data line low, until the clock has
    moved nine times (I2C specification UM10204, 3.1.16)."""
    sda = _input("display_sda")
    scl = machine.Pin(_PIN_OF["display_scl"][0], machine.Pin.OPEN_DRAIN, value=1)
    for _ in range(_CLOCKS):
        time.sleep_us(_HALF_CLOCK_US)
        if sda.value():
            break
        scl.value(0)
        time.sleep_us(_HALF_CLOCK_US)
        scl.value(1)
    return machine.I2C(0, sda=sda, scl=scl, freq=_I2C_HZ, timeout=_I2C_TIMEOUT_US)


def _output(part: str) -> machine.Pin:
    """Set the pin up as an output that is off from the first instant."""
    gpio, on = _PIN_OF[part]
    return machine.Pin(gpio, machine.Pin.OUT, value=HIGH if on == LOW else LOW)
