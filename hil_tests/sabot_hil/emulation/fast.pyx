# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The inner loop of the emulator in C; package.py compiles it, with the fast_*.pxi files.

It does the same as the package's own code, and adds the cache between processor and flash. The
package asks Python objects several times for each instruction. Here the frequent instructions, and
their accesses to memory, the divider, the spin locks and the timer, are done without Python; all
others go to the package.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport ceil, rint
from libc.string cimport memcpy, memset

from rp2040py.native._cortex_m0_core cimport CortexM0Core, DISPATCH_TABLE, OpHandler
from rp2040py.native._pio cimport RPPIO
from rp2040py.native._rp2040 cimport RP2040
from rp2040py.native._simulation_clock cimport ClockAlarm, SimulationClock

cdef enum:
    CYCLE_NS = 8  # at 125 MHz

cdef long long NEVER = 1LL << 62  # the package's "no state machine has anything to do"

include "fast_decode.pxi"
include "fast_cache.pxi"
include "fast_sio.pxi"
include "fast_pio.pxi"
include "fast_flags.pxi"
include "fast_bus.pxi"
include "fast_execute.pxi"

cdef enum:
    CALM = 0x10000  # the longest burst, in cycles
    CALM_TURNS = 0x400  # bursts between two checks for signals and other threads


@cython.final
cdef class Runner:
    """Runs a chip by its clock, until `stopped` is set. `sio` and `cache` are the chip's; without
    a cache, flash costs nothing."""

    cdef public RP2040 rp2040
    cdef public SimulationClock clock
    cdef public bint stopped
    cdef public double slept_ns
    """How long the processor has slept."""
    cdef readonly double waited_ns
    """How long it has waited for flash."""
    cdef Bus bus

    def __init__(self, RP2040 rp2040, SimulationClock clock, Sio sio=None, XipCache cache=None):
        self.rp2040 = rp2040
        self.clock = clock
        self.stopped = False
        self.slept_ns = self.waited_ns = 0
        self.bus = Bus(rp2040, clock, sio, cache or XipCache(0))

    def run(self):
        """Run until `stopped` is set; an alarm that sets it must be scheduled."""
        cdef CortexM0Core core = self.rp2040.core
        cdef SimulationClock clock = self.clock
        cdef ClockAlarm alarm
        cdef double begin_ns
        cdef unsigned int calm = 0
        self.stopped = False
        while not self.stopped:
            calm += 1
            if calm == CALM_TURNS:
                calm = 0
                PyErr_CheckSignals()
                with nogil:
                    pass
            alarm = clock._next_alarm
            if core.waiting:
                if alarm is None:
                    raise RuntimeError("no alarm is set: the chip would sleep for ever")
                begin_ns = clock._nanos_counter
                clock.tick(alarm.nanos - begin_ns)
                self.slept_ns += clock._nanos_counter - begin_ns
                continue
            if core.interrupts_updated:
                self.take_interrupt(core)
            self.burst(core, clock, alarm.nanos if alarm is not None else 1e300)

    cdef int take_interrupt(self, CortexM0Core core) except -1:
        if (
            core.pending_interrupts & core.enabled_interrupts or core.pending_nmi
            or core.pending_svcall or core.pending_pend_sv or core.pending_systick
        ):  # fmt: skip
            if core.check_for_interrupts():
                core.waiting = False
        else:
            core.interrupts_updated = False
        return 0

    cdef int burst(self, CortexM0Core core, SimulationClock clock, double limit_ns) except -1:
        """Run instructions until an alarm is due, Python has run, or for a while."""
        cdef Bus bus = self.bus
        cdef unsigned int *r = &core.registers[0]
        cdef unsigned int at, opcode
        cdef double begin_ns = clock._nanos_counter
        cdef long long spent = 0  # in cycles, with those of the waits
        cdef unsigned long long waited = 0
        cdef long long before
        bus.begin_ns = begin_ns
        bus.end = CALM
        if limit_ns < begin_ns + CALM * CYCLE_NS:
            bus.end = <long long> ceil((limit_ns - begin_ns) / CYCLE_NS)
        while True:
            bus.spent = before = spent
            bus.stall = 0
            at = r[PC] & ~1U
            opcode = bus.fetch(at)
            if bus.stall:
                # The processor waits first, then it executes: alarms come in between.
                waited += bus.stall
                spent += bus.stall
                if spent >= bus.end:
                    break
                bus.spent = before = spent
                bus.stall = 0
            r[PC] += 2
            spent += execute(bus, core, r, opcode, at)
            if bus.stall:
                waited += bus.stall
                spent += bus.stall
            if spent >= bus.end:
                break
        if bus.cache.owed:
            waited += bus.cache.owed
            spent += bus.cache.owed
            bus.cache.owed = 0
        core.cycles += spent - waited
        self.waited_ns += <double> waited * CYCLE_NS
        # Alarms that are due see the time before the last instruction.
        clock._nanos_counter = begin_ns + <double> before * CYCLE_NS
        clock.tick(<double> (spent - before) * CYCLE_NS)
        return 0
