cdef enum:
    SETS = 1024  # 16 KB, two ways, 8 bytes a line
    ALIAS_BITS = 24  # an address's bits below these are the place in flash
    WORDS = 1 << 22  # of the 16 MB that can be addressed


@cython.final
cdef class XipCache:
    """The cache between processor and flash, of the cycles that a miss costs: RP2040 data sheet,
    2.6.3, and flash_cache.py, which has its sources. It holds no data, only what is cached."""

    cdef readonly unsigned long long accesses
    """The words that were asked for."""
    cdef readonly unsigned long long misses
    """The words that came from flash."""
    cdef public bint enabled
    cdef unsigned int miss_cycles
    cdef unsigned int owed  # cycles that the processor has still to wait
    cdef unsigned int ways[SETS][2]  # the line's tag, and a bit for each valid word below it
    cdef unsigned char older[SETS]  # the way that was used less recently
    cdef unsigned int *counts  # of misses, for each word; NULL: not counted
    cdef object counted  # keeps them

    def __cinit__(self):
        self.enabled = True
        self.counts = NULL

    def __init__(self, unsigned int miss_cycles):
        self.miss_cycles = miss_cycles
        self.flush()

    def flush(self):
        """Forget all lines."""
        memset(self.ways, 0, sizeof(self.ways))
        memset(self.older, 0, sizeof(self.older))

    def wait(self, unsigned int cycles):
        """Let the processor wait before its next instruction, unless flash costs nothing."""
        if self.miss_cycles:
            self.owed += cycles

    def access(self, unsigned int address):
        """Read the word at an address from 0x10000000 to 0x13ffffff; returns whether it came from
        the cache."""
        return bool(self.hit(address))

    def count_into(self, unsigned int[::1] counts not None):
        """Add each miss to the count of its word from now on; there are as many counts as words."""
        if counts.shape[0] != WORDS:
            raise ValueError(f"{counts.shape[0]} counts, not {WORDS}")
        self.counted = counts
        self.counts = &counts[0]

    cdef inline bint hit(self, unsigned int address) noexcept:
        cdef unsigned int word = (address & 0xFFFFFF) >> 2
        cdef unsigned int place = word >> 1 & (SETS - 1)
        cdef unsigned int valid = 1 << (word & 1)
        cdef unsigned int wanted = word >> 11 << 2 | valid
        cdef unsigned int compared = ~3U | valid
        cdef unsigned int *ways = self.ways[place]
        self.accesses += 1
        # Aliases 2 and 3 do not look for a hit.
        if self.enabled and not address >> ALIAS_BITS & 2:
            if ways[0] & compared == wanted:
                self.older[place] = 1
                return True
            if ways[1] & compared == wanted:
                self.older[place] = 0
                return True
        self.miss(address)
        return False

    cdef void miss(self, unsigned int address) noexcept:
        cdef unsigned int word = (address & 0xFFFFFF) >> 2
        cdef unsigned int place = word >> 1 & (SETS - 1)
        cdef unsigned int tag = word >> 11 << 2
        cdef unsigned int *ways = self.ways[place]
        cdef unsigned int way
        self.misses += 1
        if self.counts != NULL:
            self.counts[word] += 1
        # Aliases 1 and 3 keep nothing.
        if not self.enabled or address >> ALIAS_BITS & 1:
            return
        # If the line is there, its other word stays.
        if ways[0] & 3 and ways[0] & ~3U == tag:
            way = 0
        elif ways[1] & 3 and ways[1] & ~3U == tag:
            way = 1
        else:
            way = self.older[place]
            ways[way] = tag
        ways[way] |= 1 << (word & 1)
        self.older[place] = 1 - way
