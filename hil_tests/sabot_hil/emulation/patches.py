"""What is wrong with the emulator's package for this work, mended from outside: rp2040py 0.3.6.

One function or class for each fault, with its reason. `test_emulation_mends.py` shows for each
that the package as it comes still has it, and says so when a mend is no longer needed. Nothing
else in this folder reaches into the package's private parts.
"""

from collections.abc import Callable
from typing import Any

CYCLE_NS = 8
"""Of the processor, at the 125 MHz that MicroPython v1.28 sets."""

PIO0, PWM = 0x50200, 0x40050
"""Where the blocks are in the chip's table: their addresses without the last 12 bits."""

_NEVER = 1 << 62  # the package's "no state machine has anything to do"
_PARTS = 256  # of a cycle, the unit of its due times


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

    def __init__(self, mcu: Any, drives_pins: bool = False) -> None:
        self._mcu = mcu
        self._all = mcu.pio
        self._pio = mcu.pio[0]
        self._found = [self._pio] if drives_pins else []
        self._clock = mcu.clock
        self._alarm = mcu.clock.create_alarm(self._step)
        self._armed_fp = _NEVER
        mcu.peripherals[PIO0] = self
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
        value: int = self._pio.read_uint32(offset)
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

    def _join(self, machine: Any) -> None:
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

    def __init__(self, mcu: Any, on_data: Callable[[], None]) -> None:
        from rp2040py.usb.cdc import USBCDC

        self.to_chip = bytearray()
        self.from_chip = bytearray()
        self._usb = mcu.usb_ctrl
        self._cdc = USBCDC(self._usb)
        self._on_data = on_data
        self._cdc.on_serial_data = self._take
        self._asked: list[int] = []  # sizes that the chip has room for
        self._stock_read = self._usb.on_endpoint_read
        self._stock_reset = self._usb.on_reset
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


def set_peripheral_clock(mcu: Any) -> None:
    """The package takes 125 MHz for the clock of SPI and UART; MicroPython v1.28 runs them from
    the USB's 48 MHz."""
    mcu.clk_peri = 48_000_000


def mend_uart(mcu: Any) -> None:
    """The package raises the transmit interrupt whenever it looks, acknowledged or not, and the
    processor never gets out of it. Here it is raised when it is enabled and when a byte has gone,
    which is when the queue of 32 is empty enough."""
    for uart in mcu.uart:
        _mend_one_uart(uart)


def _mend_one_uart(uart: Any) -> None:
    data, mask, sent = 0x00, 0x38, 1 << 5
    stock_write = uart.write_uint32

    def check() -> None:
        uart.rp2040.set_interrupt(uart.irq, bool(uart._interrupt_status & uart._interrupt_mask))

    def write(offset: int, value: int) -> None:
        if offset == data or (offset == mask and value & sent & ~uart._interrupt_mask):
            uart._interrupt_status |= sent
        stock_write(offset, value)
        check()

    uart.check_interrupts = check
    uart.write_uint32 = write


def name_chip(mcu: Any, unique_id: bytes) -> None:
    """The package's flash does not know the command that reads its number, so that every chip is
    ff..ff. Here it is `unique_id`, eight bytes; also the USB serial number."""
    read_number, begins = 0x4B, 5  # four bytes that mean nothing come first
    ssi = mcu.ssi
    stock_shift = ssi._shift_byte

    def shift(octet: int) -> int:
        answer: int = stock_shift(octet)
        spoken = ssi._tx_buffer
        place = len(spoken) - 1 - begins
        if spoken[0] == read_number and 0 <= place < len(unique_id):
            return unique_id[place]
        return answer

    ssi._shift_byte = shift


def watch_flash(mcu: Any, on_operation: Callable[[int, int], None]) -> None:
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

    ssi._apply_command = apply


class QuietPwm:
    """Stands in for the PWM block on the chip's bus; `on_duty` is told the duty of a channel's
    two outputs (of 65,536) and the frequency in Hz when one of them may have changed.

    The package calls back three times for each period of a channel, also of a silent one: 8,100
    times a second for a buzzer of 2.7 kHz. Here no edges are made at all; the pin stays low.
    """

    def __init__(self, pwm: Any, on_duty: Callable[[int, int, int, float], None]) -> None:
        self._pwm = pwm
        self._on_duty = on_duty
        for channel in pwm.channels:
            channel.alarm_a.enable = channel.alarm_b.enable = channel.alarm_bottom.enable = False

    def read_uint32(self, offset: int) -> int:
        """A read on the bus."""
        value: int = self._pwm.read_uint32(offset)
        return value

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


def quieten_pwm(mcu: Any, on_duty: Callable[[int, int, int, float], None]) -> None:
    """Have no edges made by PWM: see QuietPwm."""
    mcu.peripherals[PWM] = QuietPwm(mcu.pwm, on_duty)


class TimedSpi:
    """Has the bytes of SPI 0 take their time on the wire, and long transfers by DMA be one event.
    `exchange` gives what comes back for bytes that go out.

    In the package a byte takes no time where whoever answers it does so at once. And the
    processor waits for a long transfer in a loop, while each byte costs the package two alarms:
    at a start the firmware reads 128 KB of keys. Here the bytes are in memory at once, and the two
    channels are done when the last of them would be; until then the processor sleeps, unless an
    interrupt comes. It must be started as MicroPython does, both channels together and of bytes.
    """

    _BUSY, _ENABLED, _TO_READ, _TO_WRITE = 1 << 24, 1, 1 << 4, 1 << 5  # of a channel's control
    _SEND, _RECEIVE = 16, 17  # what paces a channel: RP2040 data sheet, 2.5.3.1
    _RAM = 0x20000000
    _CONTROL = (0x0C, 0x10, 0x20, 0x30)

    def __init__(self, mcu: Any, exchange: Callable[[bytes], bytes]) -> None:
        self._mcu = mcu
        self._spi = mcu.spi[0]
        self._exchange = exchange
        self._answer = 0
        self._byte_done = mcu.clock.create_alarm(self._end_byte)
        self._all_done = mcu.clock.create_alarm(self._end_transfer)
        self._channels: dict[int, Any] = {}
        self._asked = 0
        self._asleep = False
        self._spi.on_transmit = self._begin_byte
        for channel in mcu.dma.channels:
            self._take_over(channel)

    def _take_over(self, channel: Any) -> None:
        stock_start, stock_read = channel.start, channel.read_uint32

        def start() -> None:
            if channel.treq in (self._SEND, self._RECEIVE) and not channel.active:
                self._begin_transfer(channel)
            else:
                stock_start()

        def read(offset: int) -> int:
            value: int = stock_read(offset)
            if offset in self._CONTROL and self._channels.get(channel.treq) is channel:
                self._processor_asks()
            return value

        channel.start, channel.read_uint32 = start, read

    def _byte_ns(self) -> float:
        hertz: float = self._spi.clock_frequency or self._mcu.clk_peri
        return 8e9 / hertz

    def _begin_byte(self, octet: int) -> None:
        self._answer = self._exchange(bytes((octet,)))[0]
        self._byte_done.schedule(self._byte_ns())

    def _end_byte(self) -> None:
        self._spi.complete_transmit(self._answer)

    def _begin_transfer(self, channel: Any) -> None:
        channel._ctrl |= self._BUSY
        channel._trans_count = channel._trans_count_reload
        self._channels[channel.treq] = channel
        if len(self._channels) < 2:
            return
        send, receive = self._channels[self._SEND], self._channels[self._RECEIVE]
        size = send._trans_count
        if size != receive._trans_count or send._data_size != 1 or receive._data_size != 1:
            raise ValueError("SPI by DMA in a way that MicroPython v1.28 has not")
        came = self._exchange(self._gather(send, size))
        if receive._ctrl & self._TO_WRITE:
            begin = receive._write_addr - self._RAM
            self._mcu.sram[begin : begin + size] = came
        self._asked = 0
        self._all_done.schedule(size * self._byte_ns())

    def _gather(self, send: Any, size: int) -> bytes:
        begin = send._read_addr
        if not send._ctrl & self._TO_READ:
            return bytes((self._mcu.read_uint8(begin),)) * size
        if self._RAM <= begin < self._RAM + len(self._mcu.sram):
            return bytes(self._mcu.sram[begin - self._RAM : begin - self._RAM + size])
        return bytes(self._mcu.read_uint8(begin + place) for place in range(size))

    def _end_transfer(self) -> None:
        for channel in self._channels.values():
            channel._ctrl &= ~self._BUSY
            channel._trans_count = 0
            if channel._ctrl & self._TO_READ:
                channel._read_addr += channel._trans_count_reload
            if channel._ctrl & self._TO_WRITE:
                channel._write_addr += channel._trans_count_reload
        self._channels.clear()
        if self._asleep:
            self._asleep = False
            self._mcu.core.waiting = False

    def _processor_asks(self) -> None:
        self._asked += 1
        if self._asked > 1 and not self._mcu.core.interrupts_updated:
            self._mcu.core.waiting = self._asleep = True


class TimedI2c:
    """Has the bytes of an I2C block take their time on the bus, and the processor sleep while it
    asks for nothing but their end.

    In the package a byte takes no time where whoever answers it does so at once. And a processor
    that turns in a loop until a byte is through costs hundreds of times what sleeping costs: when
    it has read the same state twice it sleeps until that may have changed, or an interrupt comes.

    `begin` is told the address of a write and says whether somebody is there, `octet` each byte
    of it once it is through, `end` its end.
    """

    _STATE = 0x34  # the register that the processor asks

    def __init__(
        self,
        i2c: Any,
        core: Any,
        clock: Any,
        begin: Callable[[int], bool],
        octet: Callable[[int], None],
        end: Callable[[], None],
    ) -> None:
        self._i2c = i2c
        self._core = core
        self._begin_write, self._octet, self._end_write = begin, octet, end
        self._next: Callable[[], None] = end
        self._alarm = clock.create_alarm(self._done)
        self._asleep = False
        self._asked = -1  # what it answered when it was asked last
        self._stock_read = i2c.read_uint32
        self._stock_write = i2c.write_uint32
        i2c.on_start = lambda repeated: self._after(1, i2c.complete_start)
        i2c.on_connect = self._connect
        i2c.on_write_byte = self._write_byte
        i2c.on_read_byte = lambda ack: self._after(9, lambda: i2c.complete_read(0xFF))
        i2c.on_stop = self._stop
        i2c.read_uint32 = self._read
        i2c.write_uint32 = self._write

    def _connect(self, address: int, mode: int) -> None:
        there = mode == 0 and self._begin_write(address)
        self._after(9, lambda: self._i2c.complete_connect(there))

    def _write_byte(self, octet: int) -> None:
        def through() -> None:
            self._octet(octet)
            self._i2c.complete_write(True)

        self._after(9, through)

    def _stop(self) -> None:
        def through() -> None:
            self._end_write()
            self._i2c.complete_stop()

        self._after(1, through)

    def _after(self, bits: int, then: Callable[[], None]) -> None:
        cycles = self._i2c.scl_low_period + self._i2c.scl_high_period
        self._next = then
        self._alarm.schedule(bits * cycles * CYCLE_NS)

    def _done(self) -> None:
        then = self._next
        then()
        self._asked = -1
        if self._asleep:
            self._asleep = False
            self._core.waiting = False

    def _read(self, offset: int) -> int:
        value: int = self._stock_read(offset)
        if offset == self._STATE:
            if value == self._asked and self._i2c._busy and not self._core.interrupts_updated:
                self._core.waiting = self._asleep = True
            self._asked = value
        return value

    def _write(self, offset: int, value: int) -> None:
        self._asked = -1
        self._asleep = False
        self._stock_write(offset, value)


class I2cTarget:
    """Makes an I2C block a target. `begin`, `octet` and `end` are what the bus's controller does
    there, and when.

    The package's block is a controller only, forgets the mask of its interrupts, and takes "there
    is something to read" back with the first of several bytes that is read. A byte for which there
    is no room waits, as the bus does by MicroPython's setting.
    """

    _DATA, _MASK = 0x10, 0x30
    # Of its control: RP2040 data sheet, 4.3.17.
    _CONTROLLER, _NO_TARGET, _OWN_ENDS = 1 << 0, 1 << 6, 1 << 7
    _FULL, _STOPPED, _STARTED = 1 << 2, 1 << 9, 1 << 10  # interrupts
    _ENDED = -1

    def __init__(self, i2c: Any) -> None:
        self._i2c = i2c
        self._waiting: list[int] = []
        self._addressed = False
        self._stock_read = i2c.read_uint32
        self._stock_write = i2c.write_uint32
        i2c.read_uint32 = self._read
        i2c.write_uint32 = self._write

    def answers(self, address: int) -> bool:
        """Whether it is a target now, with this address."""
        i2c = self._i2c
        on = i2c.enable & 1 and not i2c.control & (self._CONTROLLER | self._NO_TARGET)
        return bool(on) and i2c.slave_address == address

    def begin(self, address: int) -> None:
        """A write to that address begins."""
        self._addressed = self.answers(address)
        self._i2c._set_interrupts(self._STARTED)

    def octet(self, octet: int) -> None:
        """A byte of it."""
        self._waiting.append(octet)
        self._go_on()

    def end(self) -> None:
        """It is over."""
        if self._addressed or not self._i2c.control & self._OWN_ENDS:
            self._waiting.append(self._ENDED)
        self._go_on()

    def _go_on(self) -> None:
        while self._waiting:
            if self._waiting[0] == self._ENDED:
                self._i2c._set_interrupts(self._STOPPED)
            elif self._i2c._rx_fifo.full:
                return
            else:
                self._i2c._push_rx(self._waiting[0])
            del self._waiting[0]

    def _read(self, offset: int) -> int:
        value: int = self._stock_read(offset)
        if offset == self._DATA:
            self._go_on()
            if self._i2c._rx_fifo.item_count > self._i2c.rx_threshold:
                self._i2c._set_interrupts(self._FULL)
        return value

    def _write(self, offset: int, value: int) -> None:
        if offset == self._MASK:
            self._i2c.int_enable = value & 0x1FFF
            self._i2c.check_interrupts()
        else:
            self._stock_write(offset, value)
