"""What is wrong with the emulator's package for this work, patched from outside: rp2040py 0.3.6.

One function or class for each fault, with its reason. `test_emulation_mends.py` shows for each
that the package as it comes still has it, and says so when a patch is no longer needed. The serial
buses are in buses.py. Nothing else in this folder reaches into the package's private parts.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from rp2040py.peripherals.peripheral import Peripheral
    from rp2040py.peripherals.pwm import RPPWM
    from rp2040py.peripherals.state_machine import StateMachine
    from rp2040py.peripherals.uart import RPUART
    from rp2040py.rp2040 import RP2040

CYCLE_NS = 8
"""Of the processor, at the 125 MHz that MicroPython v1.28 sets."""

PIO0, PWM = 0x50200, 0x40050
"""Where the blocks are in the chip's table: their addresses without the last 12 bits."""

_NEVER = 1 << 62  # the package's "no state machine has anything to do"
_PARTS = 256  # of a cycle, the unit of its due times


def replace_methods(part: object, **methods: Callable[..., object]) -> None:
    """Have the package call these in place of the methods of these names, of this one part."""
    for name, method in methods.items():
        assert callable(getattr(part, name)), (
            f"rp2040py has no {name} there: a patch is out of date"
        )
        setattr(part, name, method)


class PacedPio:
    """Stands in for PIO 0 on the chip's bus, and steps it when it is due by the clock.

    The package steps a PIO once behind each instruction, and once behind each jump to the next
    alarm while the processor sleeps: what was due between is left out, so that a capture has
    holes. Woken every 10 us it would be right, and slow. Here an alarm stands at the exact time
    of the next step, whatever the processor does, and the package's own stepping is off: it does
    not find its PIOs, which costs a third of the time of every instruction. So PIO 1 stands
    still, and a pin cannot be driven by a PIO. Where `drives_pins` it can: the package finds PIO 0,
    as one that is stopped.

    And in the package a pin does not follow what is set by an instruction that the processor
    gives, and joined FIFOs are no longer than others and keep what is in them.
    """

    _SHIFT_CONTROL, _NEXT_MACHINE = 0x0D0, 0x18  # of machine 0, and from each to the next
    _JOIN_SEND, _JOIN_RECEIVE = 1 << 30, 1 << 31
    _PLACES = 4  # of a FIFO: RP2040 data sheet, 3.2

    def __init__(self, mcu: "RP2040", drives_pins: bool = False) -> None:
        self._mcu = mcu
        self._all = mcu.pio
        self._pio = mcu.pio[0]
        self._found = [self._pio] if drives_pins else []
        self._clock = mcu.clock
        self._alarm = mcu.clock.create_alarm(self._step)
        self._armed_fp = _NEVER
        mcu.peripherals[PIO0] = cast("Peripheral", self)  # the bus calls what is here, no more
        mcu.pio = self._found

    def reset_chip(self, from_watchdog: bool) -> None:
        """Reset the chip, with all its PIOs.

        In the package a DMA channel that was busy still is, and takes no new transfer; its PIO
        begins with the cycles of the chip's whole life before it.
        """
        self._mcu.pio = self._all
        self._mcu.enter_reset(from_watchdog=from_watchdog)
        self._mcu.leave_reset()
        self._mcu.pio = self._found
        for channel in self._mcu.dma.channels:
            channel.abort()
        self._pio.cycle_fp = round(self._clock.nanos / CYCLE_NS) * _PARTS  # it begins again, now
        self._arm()

    def read_uint32(self, offset: int) -> int:
        """A read on the bus; it may make room for a state machine that waits."""
        value = self._pio.read_uint32(offset)
        if self._pio.next_due_fp != self._armed_fp:
            self._arm()
        return value

    def write_uint32_atomic(self, offset: int, value: int, kind: int) -> None:
        """A write on the bus; `kind` says whether it sets, clears or turns bits round."""
        self._catch_up()
        self._pio.write_uint32_atomic(offset, value, kind)
        self._pio.stopped = True
        machine, register = divmod(offset - self._SHIFT_CONTROL, self._NEXT_MACHINE)
        if register == 0 and 0 <= machine < len(self._pio.machines):
            self._join(self._pio.machines[machine])
        if self._found:
            self._pio.check_changed_pins()
        self._arm()

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

    def _catch_up(self) -> None:
        # The clock is a float: an alarm may come the least bit before its time.
        cycles = round(self._clock.nanos / CYCLE_NS) - self._pio.cycle_fp // _PARTS
        self._pio.advance(max(cycles, 0))

    def _step(self) -> None:
        self._armed_fp = _NEVER
        self._catch_up()
        self._arm()

    def _arm(self) -> None:
        due_fp = self._pio.next_due_fp
        if due_fp == self._armed_fp:
            return
        self._armed_fp = due_fp
        if due_fp >= _NEVER:
            self._alarm.cancel()
            return
        due_ns = -(-due_fp // _PARTS) * CYCLE_NS
        self._alarm.schedule(max(due_ns - self._clock.nanos, 0))


class UsbHost:
    """The host's end of the USB serial line. `to_chip` is what waits to be sent, `from_chip`
    what has come.

    The package's host answers each empty transfer at once, so that the processor is interrupted
    every 10 us and never sleeps; and its queue drops what is beyond 512 bytes. Here a transfer
    stays open until there is something to send, as a real host's NAKs leave it. `on_data` is
    called when something has come.
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
        stock_read, stock_reset = self._usb.on_endpoint_read, self._usb.on_reset
        assert stock_read is not None and stock_reset is not None, "USBCDC has set them"
        self._stock_read, self._stock_reset = stock_read, stock_reset
        self._usb.on_endpoint_read = self._read
        self._usb.on_reset = self._reset

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
        self._stock_reset()


def set_peripheral_clock(mcu: "RP2040") -> None:
    """The package takes 125 MHz for the clock of SPI and UART; MicroPython v1.28 runs them from
    the USB's 48 MHz."""
    mcu.clk_peri = 48_000_000


def mend_uart(mcu: "RP2040") -> None:
    """The package raises the transmit interrupt whenever it looks, acknowledged or not, and the
    processor never gets out of it. Here it is raised when it is enabled and when a byte has gone,
    which is when the queue of 32 is empty enough."""
    for uart in mcu.uart:
        _mend_one_uart(uart)


def _mend_one_uart(uart: "RPUART") -> None:
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
    """The package's flash does not know the command that reads its number, so that every chip is
    ff..ff. Here it is `unique_id`, eight bytes; also the USB serial number."""
    read_number, begins = 0x4B, 5  # four bytes that mean nothing come first
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
    """In the package programs and erases of the Pico's own flash take no time. Here
    `on_operation` is told of each, by command and address, once it is done in the content; it has
    the processor stand still as long as it would take."""
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
    """Stands in for the PWM block on the chip's bus; `on_duty` is told the duty of a channel's
    two outputs (of 65,536) and the frequency in Hz when one of them may have changed.

    The package calls back three times for each period of a channel, also of a silent one: 8,100
    times a second for a buzzer of 2.7 kHz. Here no edges are made at all; the pin stays low.
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
        """A write on the bus; `kind` says whether it sets, clears or turns bits round."""
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
    """Have no edges made by PWM: see QuietPwm."""
    # The bus calls what QuietPwm has, and no more.
    mcu.peripherals[PWM] = cast("Peripheral", QuietPwm(mcu.pwm, on_duty))
