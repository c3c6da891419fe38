"""Patches of the emulator's package, rp2040py 0.3.6, for faults that matter here.

One function or class for each fault, with its reason. `test_patches.py` shows for each that the
package still has the fault, and fails when a patch is no longer needed. The serial buses are in
buses.py. Nothing else in this folder uses private parts of the package.
"""

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from sabot_hil.emulation import package

if TYPE_CHECKING:
    from rp2040py.clock.simulation_clock import SimulationClock
    from rp2040py.peripherals.peripheral import Peripheral
    from rp2040py.peripherals.pio import RPPIO
    from rp2040py.peripherals.pwm import RPPWM
    from rp2040py.peripherals.state_machine import StateMachine
    from rp2040py.peripherals.uart import RPUART
    from rp2040py.rp2040 import RP2040

CYCLE_NS = 8
"""A cycle of the processor, at the 125 MHz that MicroPython v1.28 sets."""

PIO0, PWM, ROSC = 0x50200, 0x40050, 0x40060
"""The blocks' keys in the chip's table: their addresses without the last 12 bits."""

_NEVER = 1 << 62  # the package's "no state machine has anything to do"
_PARTS = 256  # of a cycle, the unit of its due times


def replace_methods(part: object, **methods: Callable[..., object]) -> None:
    """Replace methods of this one part of the package."""
    for name, method in methods.items():
        assert callable(getattr(part, name)), (
            f"rp2040py has no {name} there: a patch is out of date"
        )
        setattr(part, name, method)


class PioPace:
    """Steps a PIO when it is due by the clock. An alarm is set for the exact time of its next
    step."""

    def __init__(self, pio: "RPPIO", clock: "SimulationClock") -> None:
        self._pio = pio
        self._clock = clock
        self._alarm = clock.create_alarm(self._step)
        self._armed_fp = _NEVER

    def catch_up(self) -> None:
        """Do the steps that are due by now."""
        # The clock is a float: an alarm may come slightly before its time.
        self._advance_to(round(self._clock.nanos / CYCLE_NS))

    def arm(self) -> None:
        """Set the alarm for the next step."""
        due_fp = self._pio.next_due_fp
        if due_fp == self._armed_fp:
            return
        self._armed_fp = due_fp
        if due_fp >= _NEVER:
            self._alarm.cancel()
            return
        due_ns = -(-due_fp // _PARTS) * CYCLE_NS
        self._alarm.schedule(max(due_ns - self._clock.nanos, 0))

    def _step(self) -> None:
        due = -(-self._armed_fp // _PARTS)
        self._armed_fp = _NEVER
        self._advance_to(due)
        self.arm()

    def _advance_to(self, cycle: int) -> None:
        self._pio.advance(max(cycle - self._pio.cycle_fp // _PARTS, 0))


class PacedPio:
    """Replaces PIO 0 on the chip's bus, and steps it when it is due by the clock.

    The package steps a PIO once after each instruction, and once after each jump to the next alarm
    while the processor sleeps. Steps that were due in between are left out, so a capture has gaps.
    An alarm every 10 us would be right, but slow. Here a `PioPace` steps it, whatever the processor
    does. The package's own stepping, a third of the time of every instruction, is off: the package
    does not find its PIOs. So PIO 1 does not run, and a PIO cannot drive a pin. With `drives_pins`
    it can: the package finds PIO 0, as a stopped one.

    Two more faults of the package: a pin does not follow an instruction that the processor gives to
    the PIO, and joined FIFOs are no longer than others and keep their content.
    """

    _SHIFT_CONTROL, _NEXT_MACHINE = 0x0D0, 0x18  # machine 0's register, distance to the next's
    _JOIN_SEND, _JOIN_RECEIVE = 1 << 30, 1 << 31
    _PLACES = 4  # of a FIFO: RP2040 data sheet, 3.2

    def __init__(self, mcu: "RP2040", drives_pins: bool = False) -> None:
        self._mcu = mcu
        self._all = mcu.pio
        self._pio = mcu.pio[0]
        self._found = [self._pio] if drives_pins else []
        self._clock = mcu.clock
        fast = package.compiled_loop()
        self._pace = (fast.PioPace if fast else PioPace)(
            self._pio, cast("SimulationClock", mcu.clock)
        )
        mcu.peripherals[PIO0] = cast("Peripheral", self)  # the bus calls only these methods
        mcu.pio = self._found

    def reset_chip(self, from_watchdog: bool) -> None:
        """Reset the chip, with all its PIOs.

        In the package a busy DMA channel stays busy and accepts no new transfer, and the PIO starts
        with all cycles since the chip was made still to do.
        """
        self._mcu.pio = self._all
        self._mcu.enter_reset(from_watchdog=from_watchdog)
        self._mcu.leave_reset()
        self._mcu.pio = self._found
        for channel in self._mcu.dma.channels:
            channel.abort()
        self._pio.cycle_fp = round(self._clock.nanos / CYCLE_NS) * _PARTS  # it begins again, now
        self._pace.arm()

    def read_uint32(self, offset: int) -> int:
        """A read on the bus; it may make room for a waiting state machine."""
        value = self._pio.read_uint32(offset)
        self._pace.arm()
        return value

    def write_uint32_atomic(self, offset: int, value: int, kind: int) -> None:
        """A write on the bus; `kind` says whether it writes, sets, clears or inverts bits."""
        self._pace.catch_up()
        self._pio.write_uint32_atomic(offset, value, kind)
        self._pio.stopped = True
        machine, register = divmod(offset - self._SHIFT_CONTROL, self._NEXT_MACHINE)
        if register == 0 and 0 <= machine < len(self._pio.machines):
            self._join(self._pio.machines[machine])
        if self._found:
            self._pio.check_changed_pins()
        self._pace.arm()

    def _join(self, machine: "StateMachine") -> None:
        from rp2040py.utils.fifo import FIFO

        send = receive = self._PLACES
        if machine.shift_ctrl & self._JOIN_SEND:
            send, receive = 2 * self._PLACES, 0
        elif machine.shift_ctrl & self._JOIN_RECEIVE:
            send, receive = 0, 2 * self._PLACES
        if (machine.tx_fifo.size, machine.rx_fifo.size) != (send, receive):
            machine.tx_fifo, machine.rx_fifo = FIFO(send), FIFO(receive)
            dma = self._mcu.dma
            (dma.set_dreq if send else dma.clear_dreq)(machine.dreq_tx)
            dma.clear_dreq(machine.dreq_rx)


class UsbHost:
    """The host's end of the USB serial line. `to_chip` waits to be sent, `from_chip` has come.

    The package's host answers each empty transfer at once, so the processor is interrupted every
    10 us and never sleeps; and its queue drops everything beyond 512 bytes. Here a transfer stays
    open until there is something to send, as with a real host's NAKs. `on_data` is called when
    bytes have come. The package's host always reads; while `reads` is false this one does not, so
    the chip's transfers stay open.
    """

    def __init__(self, mcu: "RP2040", on_data: Callable[[], None]) -> None:
        from rp2040py.usb.cdc import USBCDC

        self.to_chip = bytearray()
        self.from_chip = bytearray()
        self._usb = mcu.usb_ctrl
        self._cdc = USBCDC(self._usb)
        self._on_data = on_data
        self._cdc.on_serial_data = self._take
        self._asked: list[int] = []  # sizes that the chip has room for
        self._reads = True
        self._unread: list[int] = []  # endpoints whose transfers wait for the host
        self._stock_ready = self._usb._indicate_buffer_ready
        replace_methods(self._usb, _indicate_buffer_ready=self._ready)
        stock_read, stock_reset = self._usb.on_endpoint_read, self._usb.on_reset
        assert stock_read is not None and stock_reset is not None, "USBCDC has set them"
        self._stock_read, self._stock_reset = stock_read, stock_reset
        self._usb.on_endpoint_read = self._read
        self._usb.on_reset = self._reset

    @property
    def reads(self) -> bool:
        """Whether this host reads what the chip sends."""
        return self._reads

    @reads.setter
    def reads(self, reads: bool) -> None:
        self._reads = reads
        if reads:
            unread, self._unread = self._unread, []
            for endpoint in unread:
                self._stock_ready(endpoint, False)

    def _ready(self, endpoint: int, out: bool) -> None:
        if endpoint == 0 or out or self._reads:
            self._stock_ready(endpoint, out)
        else:
            self._unread.append(endpoint)

    def send(self, data: bytes) -> None:
        """Send as soon as the chip takes it."""
        self.to_chip += data
        self._serve()

    def _take(self, data: bytes | bytearray) -> None:
        self.from_chip += data
        self._on_data()

    def _read(self, endpoint: int, size: int) -> None:
        if endpoint == 0 or endpoint != self._cdc._out_endpoint:
            self._stock_read(endpoint, size)
            return
        self._asked.append(size)
        self._serve()

    def _serve(self) -> None:
        while self._asked and self.to_chip:
            size = self._asked.pop(0)
            part = bytes(self.to_chip[:size])
            del self.to_chip[:size]
            self._usb.endpoint_read_done(self._cdc._out_endpoint, part)

    def _reset(self) -> None:
        self._asked.clear()
        self._unread.clear()
        self._stock_reset()


def set_peripheral_clock(mcu: "RP2040") -> None:
    """Set the clock of SPI and UART to the USB's 48 MHz, as MicroPython v1.28 does. The package
    assumes 125 MHz."""
    mcu.clk_peri = 48_000_000


def patch_uart(mcu: "RP2040") -> None:
    """Raise the UARTs' transmit interrupt only when it is enabled and when a byte was sent, which
    is when the queue of 32 is empty enough. The package raises it at every check, acknowledged or
    not, so the processor never leaves the interrupt."""
    for uart in mcu.uart:
        _patch_one_uart(uart)


def _patch_one_uart(uart: "RPUART") -> None:
    data, mask, sent = 0x00, 0x38, 1 << 5
    stock_write = uart.write_uint32

    def check() -> None:
        uart.rp2040.set_interrupt(uart.irq, bool(uart._interrupt_status & uart._interrupt_mask))

    def write(offset: int, value: int) -> None:
        if offset == data or (offset == mask and value & sent & ~uart._interrupt_mask):
            uart._interrupt_status |= sent
        stock_write(offset, value)
        check()

    replace_methods(uart, check_interrupts=check, write_uint32=write)


def name_chip(mcu: "RP2040", unique_id: bytes) -> None:
    """Give the chip its number `unique_id`, eight bytes, which is also the USB serial number. The
    package's flash does not have the command that reads it, so every chip is ff..ff."""
    read_number, begins = 0x4B, 5  # four dummy bytes come first
    ssi = mcu.ssi
    stock_shift = ssi._shift_byte

    def shift(octet: int) -> int:
        answer = stock_shift(octet)
        spoken = ssi._tx_buffer
        place = len(spoken) - 1 - begins
        if spoken[0] == read_number and 0 <= place < len(unique_id):
            return unique_id[place]
        return answer

    replace_methods(ssi, _shift_byte=shift)


def watch_flash(mcu: "RP2040", on_operation: Callable[[int, int], None]) -> None:
    """Call `on_operation` with command and address of each program and erase of the Pico's own
    flash, once the content is changed. It stops the processor for the time that the operation
    takes; in the package it takes none."""
    changing = (0x02, 0x20, 0xD8)
    ssi = mcu.ssi
    stock_apply = ssi._apply_command

    def apply() -> None:
        spoken = bytes(ssi._tx_buffer[:4])
        enabled = ssi._write_enabled
        stock_apply()
        if len(spoken) == 4 and enabled and spoken[0] in changing:
            on_operation(spoken[0], int.from_bytes(spoken[1:], "big"))

    replace_methods(ssi, _apply_command=apply)


class QuietPwm:
    """Replaces the PWM block on the chip's bus. `on_duty` gets the number of a channel, the duty of
    its two outputs (of 65,536) and the frequency in Hz, when one of them may have changed.

    The package calls back three times for each period of a channel, even of a silent one: 8,100
    times a second for a buzzer of 2.7 kHz. Here there are no edges at all; the pin stays low.
    """

    def __init__(self, pwm: "RPPWM", on_duty: Callable[[int, int, int, float], None]) -> None:
        self._pwm = pwm
        self._on_duty = on_duty
        for channel in pwm.channels:
            channel.alarm_a.enable = channel.alarm_b.enable = channel.alarm_bottom.enable = False

    def read_uint32(self, offset: int) -> int:
        """A read on the bus."""
        return self._pwm.read_uint32(offset)

    def write_uint32_atomic(self, offset: int, value: int, kind: int) -> None:
        """A write on the bus; `kind` says whether it writes, sets, clears or inverts bits."""
        self._pwm.write_uint32_atomic(offset, value, kind)
        place = offset // 0x14
        if place < len(self._pwm.channels):
            channel = self._pwm.channels[place]
            on = channel.csr & 1
            period = channel.top + 1
            low, high = channel.cc & 0xFFFF, channel.cc >> 16
            divider = channel.timer.prescaler or 1
            hertz = self._pwm.clock_freq / divider / period
            scale = 65536 // period if on else 0
            self._on_duty(place, low * scale, high * scale, hertz if on else 0.0)


def quieten_pwm(mcu: "RP2040", on_duty: Callable[[int, int, int, float], None]) -> None:
    """Stop the PWM from making edges: see QuietPwm."""
    # The bus calls only the methods of QuietPwm.
    mcu.peripherals[PWM] = cast("Peripheral", QuietPwm(mcu.pwm, on_duty))


class RandomBit:
    """Replaces the ring oscillator on the chip's bus: its random bit is 0 or 1, the same ones in
    every run. The package's is stuck, and a shoe's self-test finds that."""

    _BIT = 0x1C  # RP2040 data sheet, 2.17.8

    def __init__(self, oscillator: "Peripheral") -> None:
        self._oscillator = oscillator
        self._random = random.Random(1)

    def read_uint32(self, offset: int) -> int:
        """A read on the bus."""
        if offset == self._BIT:
            return self._random.getrandbits(1)
        return self._oscillator.read_uint32(offset)

    def write_uint32_atomic(self, offset: int, value: int, kind: int) -> None:
        """A write on the bus; `kind` says whether it writes, sets, clears or inverts bits."""
        self._oscillator.write_uint32_atomic(offset, value, kind)


def give_noise(mcu: "RP2040", thermometer: int, value: int) -> None:
    """Let the chip's sources of randomness give noise: see RandomBit. The converter's input with
    this number has `value`, or one more or less; the package's never changes."""
    oscillator = RandomBit(mcu.peripherals[ROSC])
    mcu.peripherals[ROSC] = cast("Peripheral", oscillator)
    adc, noise = mcu.adc, random.Random(2)
    begin = adc.on_adc_read

    def read(channel: int) -> None:
        adc.channel_values[thermometer] = value + noise.randint(-1, 1)
        begin(channel)

    adc.on_adc_read = read


def watch_feeding(mcu: "RP2040", clock: "SimulationClock", fed: list[float]) -> None:
    """Append to `fed`, for each feeding of the watchdog that runs, the ms since the one before."""
    load, watchdog, last_ns = 0x04, mcu.watchdog, [0.0]
    stock_write = watchdog.write_uint32

    def write(offset: int, value: int) -> None:
        if offset == load:
            if watchdog.timer.enable:
                fed.append((clock.nanos - last_ns[0]) / 1e6)
            last_ns[0] = clock.nanos
        stock_write(offset, value)

    replace_methods(watchdog, write_uint32=write)
