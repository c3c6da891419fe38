cdef enum:
    CPU_ID = 0x00  # registers of the SIO block: RP2040 data sheet, 2.3.1.7
    SPIN_LOCK_STATES = 0x5C
    UDIVIDEND = 0x60
    UDIVISOR = 0x64
    SDIVIDEND = 0x68
    SDIVISOR = 0x6C
    QUOTIENT = 0x70
    REMAINDER = 0x74
    CSR = 0x78
    SPIN_LOCK_0 = 0x100
    SPIN_LOCK_31 = 0x17C
    READY = 1
    DIRTY = 2


@cython.final
cdef class Sio:
    """Replaces the divider and the spin locks of the chip's SIO block; `take_over_sio` installs
    it. `load` and `store` do the same as the bus for the registers that are here."""

    cdef object stock_read
    cdef object stock_write
    cdef object stock_reset
    cdef CortexM0Core core
    cdef unsigned int dividend, divisor, quotient, remainder, csr, locks

    def __init__(self, mcu):
        self.core = mcu.core
        self.stock_read = mcu.sio.read_uint32
        self.stock_write = mcu.sio.write_uint32
        self.stock_reset = mcu.sio.reset
        self.divisor = 1

    def reset(self):
        """The chip is reset."""
        self.stock_reset()
        self.dividend = self.quotient = self.remainder = self.csr = self.locks = 0
        self.divisor = 1

    def read_uint32(self, unsigned int offset):
        """A read on the bus."""
        cdef unsigned int word
        return word if self.load(offset, &word) else self.stock_read(offset)

    def write_uint32(self, unsigned int offset, long long value):
        """A write on the bus."""
        if not self.store(offset, <unsigned int> (value & 0xFFFFFFFFU)):
            self.stock_write(offset, value)

    cdef bint load(self, unsigned int offset, unsigned int *word) noexcept:
        cdef unsigned int lock
        if offset == REMAINDER:
            word[0] = self.remainder
        elif offset == QUOTIENT:
            self.csr &= ~DIRTY
            word[0] = self.quotient
        elif offset == CSR:
            word[0] = self.csr
        elif SPIN_LOCK_0 <= offset <= SPIN_LOCK_31:
            lock = 1U << (offset - SPIN_LOCK_0 >> 2)
            word[0] = 0 if self.locks & lock else lock
            self.locks |= lock
        elif offset == CPU_ID:
            word[0] = 0
        elif offset == SPIN_LOCK_STATES:
            word[0] = self.locks
        elif offset == UDIVIDEND or offset == SDIVIDEND:
            word[0] = self.dividend
        elif offset == UDIVISOR or offset == SDIVISOR:
            word[0] = self.divisor
        else:
            return False
        return True

    cdef bint store(self, unsigned int offset, unsigned int word) noexcept:
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
        elif SPIN_LOCK_0 <= offset <= SPIN_LOCK_31:
            self.locks &= ~(1U << (offset - SPIN_LOCK_0 >> 2))
        else:
            return False
        return True

    cdef void divide(self, bint signed_) noexcept:
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


def take_over_sio(mcu):
    """Make the chip use a `Sio`; returns it."""
    sio = Sio(mcu)
    mcu.sio.read_uint32 = sio.read_uint32
    mcu.sio.write_uint32 = sio.write_uint32
    mcu.sio.reset = sio.reset
    return sio
