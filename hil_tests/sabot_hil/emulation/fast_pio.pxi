cdef enum:
    PARTS = 256  # of a cycle, the unit of the package's due times


@cython.final
cdef class PioPace:
    """As `patches.PioPace`."""

    cdef RPPIO pio
    cdef SimulationClock clock
    cdef ClockAlarm alarm
    cdef long long armed_fp

    def __init__(self, RPPIO pio, SimulationClock clock):
        self.pio = pio
        self.clock = clock
        self.alarm = clock.create_alarm(self.step)
        self.armed_fp = NEVER

    def catch_up(self):
        cdef long long cycle = <long long> rint(self.clock._nanos_counter / CYCLE_NS)
        self.pio.advance(max(cycle - self.pio.cycle_fp / PARTS, 0))

    def step(self):
        cdef long long due = (self.armed_fp + PARTS - 1) / PARTS
        self.armed_fp = NEVER
        self.pio.advance(max(due - self.pio.cycle_fp / PARTS, 0))
        self.arm()

    cpdef arm(self):
        cdef long long due_fp = self.pio.next_due_fp
        cdef double wait_ns
        if due_fp == self.armed_fp:
            return
        self.armed_fp = due_fp
        if due_fp >= NEVER:
            self.alarm.cancel()
            return
        wait_ns = <double> ((due_fp + PARTS - 1) / PARTS * CYCLE_NS) - self.clock._nanos_counter
        self.alarm.schedule(wait_ns if wait_ns > 0 else 0)
