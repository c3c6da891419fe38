# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The two places where the emulator spends most of its time, in C; package.py compiles them.

Both do the same as the package's own code. The package's loop asks a Python object after each
instruction whether to stop, and checks PIOs that are not there. Its divider, which MicroPython uses
for each dictionary look-up, is written in Python.
"""

from cpython.exc cimport PyErr_CheckSignals

from rp2040py.native._cortex_m0_core cimport CortexM0Core, DISPATCH_TABLE, OpHandler
from rp2040py.native._rp2040 cimport RP2040
from rp2040py.native._simulation_clock cimport ClockAlarm, SimulationClock

cdef enum:
    CYCLE_NS = 8  # at 125 MHz
    CALM = 0x10000  # instructions between two checks for signals and other threads
    FLASH = 0x10000000
    RAM = 0x20000000
    WIDE = 0xE800  # instructions of 32 bits begin here

    UDIVIDEND = 0x60  # registers of the divider: RP2040 data sheet, 2.3.1.7
    UDIVISOR = 0x64
    SDIVIDEND = 0x68
    SDIVISOR = 0x6C
    QUOTIENT = 0x70
    REMAINDER = 0x74
    CSR = 0x78
    READY = 1
    DIRTY = 2


cdef class Runner:
    """Runs a chip by its clock, until `stopped` is set."""

    cdef public object rp2040
    cdef public object clock
    cdef public bint stopped
    cdef public double slept_ns
    """How long the processor has slept."""

    def __init__(self, rp2040, clock):
        self.rp2040 = rp2040
        self.clock = clock
        self.stopped = False
        self.slept_ns = 0

    def run(self):
        """Run until `stopped` is set; an alarm that sets it must be scheduled."""
        cdef RP2040 chip = self.rp2040
        cdef CortexM0Core core = chip.core
        cdef SimulationClock clock = self.clock
        cdef unsigned char *flash = &chip._flash[0]
        cdef unsigned char *ram = &chip._sram[0]
        cdef unsigned int flash_size = chip.flash_byte_size - 1
        cdef unsigned int ram_size = chip.ram_byte_size - 1
        cdef unsigned int *registers = &core.registers[0]
        cdef unsigned int at, place, opcode
        cdef unsigned int calm = 0
        cdef int cycles
        cdef OpHandler handler
        cdef ClockAlarm alarm
        cdef double now_ns
        self.stopped = False
        while not self.stopped:
            calm += 1
            if calm == CALM:
                calm = 0
                PyErr_CheckSignals()
                with nogil:
                    pass
            if core.waiting:
                alarm = clock._next_alarm
                if alarm is None:
                    raise RuntimeError("no alarm is set: the chip would sleep for ever")
                now_ns = clock._nanos_counter
                clock.tick(alarm.nanos - now_ns)
                self.slept_ns += clock._nanos_counter - now_ns
                continue
            if core.interrupts_updated and core.check_for_interrupts():
                core.waiting = False
            at = registers[15] & 0xFFFFFFFEU
            place = at - FLASH
            if place < flash_size:
                opcode = flash[place] | flash[place + 1] << 8
            else:
                place = at - RAM
                if place < ram_size:
                    opcode = ram[place] | ram[place + 1] << 8
                else:
                    opcode = chip.read_uint16(at)
            handler = DISPATCH_TABLE[opcode]
            if opcode >= WIDE or handler == NULL:
                cycles = core.execute_instruction()
            else:
                registers[15] += 2
                cycles = handler(core, opcode, 0, at)
                core.cycles += cycles
            now_ns = clock._nanos_counter + <double> cycles * CYCLE_NS
            alarm = clock._next_alarm
            if alarm is None or alarm.nanos > now_ns:
                clock._nanos_counter = now_ns
            else:
                clock.tick(<double> cycles * CYCLE_NS)


cdef class Divider:
    """Replaces the divider of the chip's SIO block; `take_over_divider` installs it."""

    cdef object stock_read
    cdef object stock_write
    cdef CortexM0Core core
    cdef unsigned int dividend, divisor, quotient, remainder, csr

    def __init__(self, mcu):
        self.core = mcu.core
        self.stock_read = mcu.sio.read_uint32
        self.stock_write = mcu.sio.write_uint32
        self.divisor = 1

    def read_uint32(self, unsigned int offset):
        """A read on the bus."""
        if offset == REMAINDER:
            return self.remainder
        if offset == QUOTIENT:
            self.csr &= ~DIRTY
            return self.quotient
        if offset == CSR:
            return self.csr
        if offset == UDIVIDEND or offset == SDIVIDEND:
            return self.dividend
        if offset == UDIVISOR or offset == SDIVISOR:
            return self.divisor
        return self.stock_read(offset)

    def write_uint32(self, unsigned int offset, long long value):
        """A write on the bus."""
        cdef unsigned int word = <unsigned int> (value & 0xFFFFFFFFU)
        if UDIVIDEND <= offset <= SDIVISOR:
            if offset == UDIVIDEND or offset == SDIVIDEND:
                self.dividend = word
            else:
                self.divisor = word
            self.divide(offset >= SDIVIDEND)
        elif offset == QUOTIENT:
            self.quotient = word
            self.csr = READY | DIRTY
        elif offset == REMAINDER:
            self.remainder = word
            self.csr = READY | DIRTY
        else:
            self.stock_write(offset, value)

    cdef void divide(self, bint signed_):
        cdef long long dividend, divisor
        if self.divisor == 0:
            # RP2040 data sheet, 2.3.1.5
            self.quotient = 1 if signed_ and <int> self.dividend < 0 else 0xFFFFFFFFU
            self.remainder = self.dividend
        elif signed_:
            dividend, divisor = <int> self.dividend, <int> self.divisor
            self.quotient = <unsigned int> (dividend / divisor)
            self.remainder = <unsigned int> (dividend % divisor)
        else:
            self.quotient = self.dividend / self.divisor
            self.remainder = self.dividend % self.divisor
        self.csr = READY | DIRTY
        self.core.cycles += 8


def take_over_divider(mcu):
    """Make the chip use a `Divider`."""
    divider = Divider(mcu)
    mcu.sio.read_uint32 = divider.read_uint32
    mcu.sio.write_uint32 = divider.write_uint32
