"""SPI and I2C of the chip with their times on the wire: further patches of rp2040py 0.3.6.

As in patches.py: a class for each fault, with its reason and a test in `test_patches.py`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sabot_hil.emulation.patches import CYCLE_NS, replace_methods

if TYPE_CHECKING:
    from rp2040py.clock.simulation_clock import SimulationClock
    from rp2040py.cortex_m0_core import CortexM0Core
    from rp2040py.peripherals.dma import RPDMAChannel
    from rp2040py.peripherals.i2c import RPI2C
    from rp2040py.rp2040 import RP2040


class TimedSpi:
    """Gives the bytes of SPI 0 their time on the wire, and makes a long DMA transfer one event.
    `exchange` returns the bytes that come back for the bytes that go out.

    In the package a byte takes no time if the part on the bus answers at once. And during a long
    transfer the processor waits in a loop while each byte costs the package two alarms: at a start
    the firmware reads 128 KB of keys. Here the bytes are in memory at once, and the two channels
    are done at the time of the last byte; until then the processor sleeps, unless an interrupt
    comes. The transfer must be started as MicroPython does: both channels together, with bytes.
    """

    # bits of a channel's control register
    _BUSY, _ENABLED, _TO_READ, _TO_WRITE = 1 << 24, 1, 1 << 4, 1 << 5
    _SEND, _RECEIVE = 16, 17  # what paces a channel: RP2040 data sheet, 2.5.3.1
    _RAM = 0x20000000
    _CONTROL = (0x0C, 0x10, 0x20, 0x30)

    def __init__(self, mcu: "RP2040", exchange: Callable[[bytes], bytes]) -> None:
        self._mcu = mcu
        self._spi = mcu.spi[0]
        self._exchange = exchange
        self._answer = 0
        self._byte_done = mcu.clock.create_alarm(self._end_byte)
        self._all_done = mcu.clock.create_alarm(self._end_transfer)
        self._channels: dict[int, RPDMAChannel] = {}
        self._asked = 0
        self._asleep = False
        self.loses_byte = False
        """Whether the next transfer by DMA gets one byte too few: it never ends then."""
        self._spi.on_transmit = self._begin_byte
        for channel in mcu.dma.channels:
            self._take_over(channel)

    def _take_over(self, channel: "RPDMAChannel") -> None:
        stock_start, stock_read = channel.start, channel.read_uint32

        def start() -> None:
            if channel.treq in (self._SEND, self._RECEIVE) and not channel.active:
                self._begin_transfer(channel)
            else:
                stock_start()

        def read(offset: int) -> int:
            value = stock_read(offset)
            if offset in self._CONTROL and self._channels.get(channel.treq) is channel:
                self._processor_asks()
            return value

        replace_methods(channel, start=start, read_uint32=read)

    def reset(self) -> None:
        """The chip was reset: a transfer is given up."""
        self._all_done.cancel()
        self._byte_done.cancel()
        self._channels.clear()
        self._asleep = False

    def _byte_ns(self) -> float:
        hertz = self._spi.clock_frequency or self._mcu.clk_peri
        return 8e9 / hertz

    def _begin_byte(self, octet: int) -> None:
        self._answer = self._exchange(bytes((octet,)))[0]
        self._byte_done.schedule(self._byte_ns())

    def _end_byte(self) -> None:
        self._spi.complete_transmit(self._answer)

    def _begin_transfer(self, channel: "RPDMAChannel") -> None:
        channel._ctrl |= self._BUSY
        channel._trans_count = channel._trans_count_reload
        self._channels[channel.treq] = channel
        if len(self._channels) < 2:
            return
        send, receive = self._channels[self._SEND], self._channels[self._RECEIVE]
        size = send._trans_count
        if size != receive._trans_count or send._data_size != 1 or receive._data_size != 1:
            raise ValueError("SPI by DMA in a way that MicroPython v1.28 does not use")
        came = self._exchange(self._gather(send, size))
        if receive._ctrl & self._TO_WRITE:
            begin = receive._write_addr - self._RAM
            self._mcu.sram[begin : begin + size] = came
        self._asked = 0
        if self.loses_byte:
            self.loses_byte = False
        else:
            self._all_done.schedule(size * self._byte_ns())

    def _gather(self, send: "RPDMAChannel", size: int) -> bytes:
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
    """Gives the bytes of an I2C block their time on the bus, and lets the processor sleep while it
    only polls for their end.

    In the package a byte takes no time if the part on the bus answers at once. And a processor that
    polls in a loop until a byte is sent costs hundreds of times what a sleeping one costs. Here,
    after it has read the same state twice, it sleeps until that may have changed or an interrupt
    comes.

    `begin` gets the address of a write and returns whether a part answers there; `octet` gets each
    byte once it is sent; `end` is called at the end of the write.
    """

    _STATE = 0x34  # the register that the processor polls

    def __init__(
        self,
        i2c: "RPI2C",
        core: "CortexM0Core",
        clock: "SimulationClock",
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
        self._asked = -1  # the value at the last read of the state
        self.stuck = False
        """Whether a part holds the bus: no step of a write ever ends."""
        self._stock_read = i2c.read_uint32
        self._stock_write = i2c.write_uint32
        i2c.on_start = lambda repeated: self._after(1, i2c.complete_start)
        i2c.on_connect = self._connect
        i2c.on_write_byte = self._write_byte
        i2c.on_read_byte = lambda ack: self._after(9, lambda: i2c.complete_read(0xFF))
        i2c.on_stop = self._stop
        replace_methods(i2c, read_uint32=self._read, write_uint32=self._write)

    def reset(self) -> None:
        """The chip was reset: a write is given up."""
        self._alarm.cancel()
        self._asleep = False
        self._asked = -1

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
        if self.stuck:
            return
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
        value = self._stock_read(offset)
        if offset == self._STATE:
            waits = value == self._asked and self._i2c._busy and not self.stuck
            if waits and not self._core.interrupts_updated:
                self._core.waiting = self._asleep = True
            self._asked = value
        return value

    def _write(self, offset: int, value: int) -> None:
        self._asked = -1
        self._asleep = False
        self._stock_write(offset, value)


class EmulatedI2cTarget:
    """Makes an I2C block a target. The controller of the bus calls `begin`, `octet` and `end` at
    the time of each step.

    The package's block is only a controller, forgets the mask of its interrupts, and clears "there
    is something to read" when the first of several bytes is read. A byte for which there is no
    room waits, as the bus does by MicroPython's setting.
    """

    _DATA, _MASK = 0x10, 0x30
    # Bits of its control register: RP2040 data sheet, 4.3.17.
    _CONTROLLER, _NO_TARGET, _OWN_ENDS = 1 << 0, 1 << 6, 1 << 7
    _FULL, _STOPPED, _STARTED = 1 << 2, 1 << 9, 1 << 10  # interrupts
    _ENDED = -1

    def __init__(self, i2c: "RPI2C") -> None:
        self._i2c = i2c
        self._waiting: list[int] = []
        self._addressed = False
        self._stock_read = i2c.read_uint32
        self._stock_write = i2c.write_uint32
        replace_methods(i2c, read_uint32=self._read, write_uint32=self._write)

    def answers(self, address: int) -> bool:
        """Whether the block is a target now, with this address."""
        i2c = self._i2c
        on = i2c.enable & 1 and not i2c.control & (self._CONTROLLER | self._NO_TARGET)
        return bool(on) and i2c.slave_address == address

    def begin(self, address: int) -> None:
        """A write to this address begins."""
        self._addressed = self.answers(address)
        self._i2c._set_interrupts(self._STARTED)

    def octet(self, octet: int) -> None:
        """A byte of the write."""
        self._waiting.append(octet)
        self._go_on()

    def end(self) -> None:
        """The write ends."""
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
        value = self._stock_read(offset)
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
