cdef enum:
    FLASH = 0x10000000
    FLASH_END = 0x14000000  # with all its aliases
    RAM = 0x20000000
    USB_RAM = 0x50100000
    SIO_BLOCK = 0xD  # an address's highest four bits
    BUS_BLOCK = 0x4
    TIMER_HIGH = 0x40054024  # raw reads: RP2040 data sheet, 4.6.5
    TIMER_LOW = 0x40054028
    NO_WORD = 1  # not the address of a word
    RARE = 0x8BADF00D  # a word that seldom comes from memory


@cython.final
cdef class Bus:
    """The processor's accesses to memory. What is not here goes to the package's bus, where Python
    answers."""

    cdef RP2040 rp2040
    cdef SimulationClock clock
    cdef Sio sio
    cdef XipCache cache
    cdef object timer
    cdef unsigned char *rom
    cdef unsigned char *flash
    cdef unsigned char *ram
    cdef unsigned char *usb_ram
    cdef unsigned int rom_bytes, ram_bytes, usb_ram_bytes
    cdef unsigned int fetched  # the word of flash that the processor fetched last
    cdef double begin_ns  # the time at the beginning of a burst of instructions
    cdef long long spent  # cycles in the burst, before the instruction
    cdef long long end  # how many cycles the burst takes at most
    cdef unsigned int stall  # cycles that the instruction waits for flash

    def __init__(self, RP2040 rp2040, SimulationClock clock, Sio sio, XipCache cache):
        self.rp2040 = rp2040
        self.clock = clock
        self.sio = sio
        self.cache = cache
        self.timer = rp2040.timer
        self.rom = <unsigned char *> &rp2040._bootrom[0]
        self.flash = &rp2040._flash[0]
        self.ram = &rp2040._sram[0]
        self.usb_ram = &rp2040._usb_dpram[0]
        self.rom_bytes = rp2040.bootrom_byte_size
        self.ram_bytes = rp2040.ram_byte_size
        self.usb_ram_bytes = rp2040.dpram_byte_size
        self.fetched = NO_WORD

    cdef inline void to_python(self) noexcept:
        """Python runs next. It sees the time, and may change alarms and interrupts: the burst ends
        after this instruction."""
        self.clock._nanos_counter = self.now_ns()
        self.end = 0

    cdef inline double now_ns(self) noexcept:
        return self.begin_ns + <double> self.spent * CYCLE_NS

    cdef inline unsigned int fetch(self, unsigned int at) except? RARE:
        """Return half a word of code."""
        cdef unsigned int word
        if FLASH <= at < FLASH_END:
            # Both halves of a word are fetched at once.
            word = at & ~3U
            if word != self.fetched:
                self.fetched = word
                if not self.cache.hit(word):
                    self.stall += self.cache.miss_cycles
            return half(self.flash + (at & 0xFFFFFF))
        if at - RAM < self.ram_bytes:
            return half(self.ram + (at - RAM))
        if at < self.rom_bytes:
            return half(self.rom + at)
        self.to_python()
        return self.rp2040.read_uint16(at)

    cdef inline unsigned int load(self, unsigned int at) except? RARE:
        cdef unsigned int word
        if at - RAM < self.ram_bytes and not at & 3:
            memcpy(&word, self.ram + (at - RAM), 4)
            return word
        return self.load_elsewhere(at)

    cdef inline unsigned int load_half(self, unsigned int at) except? RARE:
        cdef unsigned char *memory
        if at - RAM < self.ram_bytes and not at & 1:
            return half(self.ram + (at - RAM))
        memory = self.memory(at, 2)
        if memory != NULL:
            return half(memory)
        self.to_python()
        return self.rp2040.read_uint16(at)

    cdef inline unsigned int load_byte(self, unsigned int at) except? RARE:
        cdef unsigned char *memory
        if at - RAM < self.ram_bytes:
            return self.ram[at - RAM]
        memory = self.memory(at, 1)
        if memory != NULL:
            return memory[0]
        self.to_python()
        return self.rp2040.read_uint8(at)

    cdef unsigned char *memory(self, unsigned int at, unsigned int bytes) noexcept:
        """Return where the bytes at an address are, except in RAM; NULL if they are not in memory,
        or not at a multiple of their number."""
        if at & (bytes - 1):
            return NULL
        if FLASH <= at < FLASH_END:
            if not self.cache.hit(at):
                self.stall += self.cache.miss_cycles
            return self.flash + (at & 0xFFFFFF)
        if at < self.rom_bytes:
            return self.rom + at
        if at - USB_RAM < self.usb_ram_bytes:
            return self.usb_ram + (at - USB_RAM)
        return NULL

    cdef unsigned int load_elsewhere(self, unsigned int at) except? RARE:
        cdef unsigned char *memory = self.memory(at, 4)
        cdef unsigned int word
        if memory != NULL:
            memcpy(&word, memory, 4)
            return word
        return self.load_register(at)

    cdef unsigned int load_register(self, unsigned int at) except? RARE:
        cdef unsigned int word
        cdef double us
        if at >> 28 == SIO_BLOCK and self.sio is not None and self.sio.load(at & 0xFFFFFFF, &word):
            return word
        if at == TIMER_LOW or at == TIMER_HIGH:
            us = (self.now_ns() - <double> self.timer._epoch_nanos) / 1000
            return <unsigned int> (<unsigned long long> us >> (32 if at == TIMER_HIGH else 0))
        self.to_python()
        return self.rp2040.read_uint32(at)

    cdef inline int store(self, unsigned int at, unsigned int word) except -1:
        if at - RAM < self.ram_bytes and not at & 3:
            memcpy(self.ram + (at - RAM), &word, 4)
        elif at >> 28 == SIO_BLOCK and self.sio is not None and self.sio.store(
            at & 0xFFFFFFF, word
        ):
            pass
        else:
            self.to_python()
            self.rp2040.write_uint32(at, word)
        return 0

    cdef inline int store_half(self, unsigned int at, unsigned int value) except -1:
        if at - RAM < self.ram_bytes and not at & 1:
            self.ram[at - RAM] = value & 0xFF
            self.ram[at - RAM + 1] = value >> 8 & 0xFF
        else:
            self.to_python()
            self.rp2040.write_uint16(at, value)
        return 0

    cdef inline int store_byte(self, unsigned int at, unsigned int value) except -1:
        if at - RAM < self.ram_bytes:
            self.ram[at - RAM] = value & 0xFF
        else:
            self.to_python()
            self.rp2040.write_uint8(at, value)
        return 0


cdef inline int cycles_at(unsigned int at, bint write) noexcept:
    """The cycles of an access: RP2040 data sheet, 2.1.3."""
    if at >> 28 == SIO_BLOCK:
        return 0
    if at >> 28 == BUS_BLOCK:
        return 4 if write else 3
    return 1
