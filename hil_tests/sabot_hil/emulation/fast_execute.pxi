cdef enum:
    WIDE_BEGINS = 0xE800  # instructions of 32 bits
    PRIMASK = 16
    HANDLER_MODE = 1
    SP = 13
    LR = 14
    PC = 15


cdef inline int execute(
    Bus bus, CortexM0Core core, unsigned int *r, unsigned int opcode, unsigned int at
) except -1:
    """Execute the instruction that was fetched at `at`; PC is 2 further. Returns its cycles."""
    cdef unsigned char kind = KINDS[opcode >> 6]
    # The places of registers, and numbers, in most of the encodings.
    cdef unsigned int d = opcode & 7
    cdef unsigned int n = opcode >> 3 & 7
    cdef unsigned int m = opcode >> 6 & 7
    cdef unsigned int t = opcode >> 8 & 7
    cdef unsigned int five = opcode >> 6 & 31
    cdef unsigned int eight = opcode & 0xFF
    cdef unsigned int value, place, shift
    if kind == LSL_IMMEDIATE:
        value = r[n]
        if five:
            core.c = value >> (32 - five) & 1
        r[d] = with_nz(core, value << five)
    elif kind == LSR_IMMEDIATE:
        value = r[n]
        core.c = value >> (five - 1 & 31) & 1
        r[d] = with_nz(core, value >> five if five else 0)
    elif kind == ASR_IMMEDIATE:
        value = r[n]
        core.c = value >> (five - 1 & 31) & 1
        r[d] = with_nz(core, <unsigned int> (<int> value >> (five if five else 31)))
    elif kind == ADD_REGISTER:
        r[d] = sum_of(core, r[n], r[m])
    elif kind == SUB_REGISTER:
        r[d] = difference(core, r[n], r[m])
    elif kind == ADD_3:
        r[d] = sum_of(core, r[n], m)
    elif kind == SUB_3:
        r[d] = difference(core, r[n], m)
    elif kind == MOV_8:
        r[t] = with_nz(core, eight)
    elif kind == CMP_8:
        difference(core, r[t], eight)
    elif kind == ADD_8:
        r[t] = sum_of(core, r[t], eight)
    elif kind == SUB_8:
        r[t] = difference(core, r[t], eight)
    elif kind == AND:
        r[d] = with_nz(core, r[d] & r[n])
    elif kind == EOR:
        r[d] = with_nz(core, r[d] ^ r[n])
    elif kind == LSL_REGISTER:
        value = r[d]
        shift = r[n] & 0xFF
        if shift:
            core.c = value >> (32 - shift & 31) & 1
        r[d] = with_nz(core, value << shift if shift < 32 else 0)
    elif kind == LSR_REGISTER:
        value = r[d]
        shift = r[n] & 0xFF
        # As in the package: a shift by 0 changes the carry.
        core.c = value >> (shift - 1 & 31) & 1 if shift <= 32 else 0
        r[d] = with_nz(core, value >> shift if shift < 32 else 0)
    elif kind == TST:
        with_nz(core, r[d] & r[n])
    elif kind == NEG:
        r[d] = difference(core, 0, r[n])
    elif kind == CMP_REGISTER:
        difference(core, r[d], r[n])
    elif kind == CMN:
        sum_of(core, r[d], r[n])
    elif kind == ORR:
        r[d] = with_nz(core, r[d] | r[n])
    elif kind == MUL:
        r[d] = with_nz(core, r[d] * r[n])
    elif kind == BIC:
        r[d] = with_nz(core, r[d] & ~r[n])
    elif kind == MVN:
        r[d] = with_nz(core, ~r[n])
    elif kind == ADD_HIGH:
        place = opcode >> 4 & 8 | d
        n = opcode >> 3 & 15
        value = (r[place] + 2 if place == PC else r[place]) + (r[PC] + 2 if n == PC else r[n])
        return put_high(r, place, value)
    elif kind == CMP_HIGH:
        difference(core, r[opcode >> 4 & 8 | d], r[opcode >> 3 & 15])
    elif kind == MOV_HIGH:
        n = opcode >> 3 & 15
        return put_high(r, opcode >> 4 & 8 | d, r[PC] + 2 if n == PC else r[n])
    elif kind == BX:
        if opcode & 7:  # no instruction
            return leave_to_package(bus, core, r, opcode, at)
        go_to(bus, core, r, r[opcode >> 3 & 15])
        return 2
    elif kind == BLX:
        if opcode & 7:
            return leave_to_package(bus, core, r, opcode, at)
        value = r[opcode >> 3 & 15]
        r[LR] = r[PC] | 1
        r[PC] = (r[LR] if opcode >> 3 & 15 == LR else value) & ~1U
        return 2
    elif kind == LDR_LITERAL:
        place = (r[PC] + 2 & ~3U) + 4 * eight
        r[t] = bus.load(place)
        return 1 + cycles_at(place, False)
    elif kind == STR_REGISTER:
        bus.store(r[m] + r[n], r[d])
        return 1 + cycles_at(r[m] + r[n], True)
    elif kind == STRH_REGISTER:
        bus.store_half(r[m] + r[n], r[d])
        return 1 + cycles_at(r[m] + r[n], True)
    elif kind == STRB_REGISTER:
        bus.store_byte(r[m] + r[n], r[d])
        return 1 + cycles_at(r[m] + r[n], True)
    elif kind == LDRSB:
        place = r[m] + r[n]
        r[d] = <unsigned int> <int> <signed char> bus.load_byte(place)
        return 1 + cycles_at(place, False)
    elif kind == LDR_REGISTER:
        place = r[m] + r[n]
        r[d] = bus.load(place)
        return 1 + cycles_at(place, False)
    elif kind == LDRH_REGISTER:
        place = r[m] + r[n]
        r[d] = bus.load_half(place)
        return 1 + cycles_at(place, False)
    elif kind == LDRB_REGISTER:
        place = r[m] + r[n]
        r[d] = bus.load_byte(place)
        return 1 + cycles_at(place, False)
    elif kind == LDRSH:
        place = r[m] + r[n]
        r[d] = <unsigned int> <int> <short> bus.load_half(place)
        return 1 + cycles_at(place, False)
    elif kind == STR_IMMEDIATE:
        place = r[n] + 4 * five
        bus.store(place, r[d])
        return 1 + cycles_at(place, True)
    elif kind == LDR_IMMEDIATE:
        place = r[n] + 4 * five
        r[d] = bus.load(place)
        return 1 + cycles_at(place, False)
    elif kind == STRB_IMMEDIATE:
        place = r[n] + five
        bus.store_byte(place, r[d])
        return 1 + cycles_at(place, True)
    elif kind == LDRB_IMMEDIATE:
        place = r[n] + five
        r[d] = bus.load_byte(place)
        return 1 + cycles_at(place, False)
    elif kind == STRH_IMMEDIATE:
        place = r[n] + 2 * five
        bus.store_half(place, r[d])
        return 1 + cycles_at(place, True)
    elif kind == LDRH_IMMEDIATE:
        place = r[n] + 2 * five
        r[d] = bus.load_half(place)
        return 1 + cycles_at(place, False)
    elif kind == STR_SP:
        place = r[SP] + 4 * eight
        bus.store(place, r[t])
        return 1 + cycles_at(place, True)
    elif kind == LDR_SP:
        place = r[SP] + 4 * eight
        r[t] = bus.load(place)
        return 1 + cycles_at(place, False)
    elif kind == ADR:
        r[t] = (at & ~3U) + 4 + 4 * eight
    elif kind == ADD_RD_SP:
        r[t] = r[SP] + 4 * eight
    elif kind == ADD_SP:
        r[SP] = r[SP] + 4 * (opcode & 0x7F) & ~3U
    elif kind == SUB_SP:
        r[SP] = r[SP] - 4 * (opcode & 0x7F) & ~3U
    elif kind == SXTH:
        r[d] = <unsigned int> <int> <short> r[n]
    elif kind == SXTB:
        r[d] = <unsigned int> <int> <signed char> r[n]
    elif kind == UXTH:
        r[d] = r[n] & 0xFFFF
    elif kind == UXTB:
        r[d] = r[n] & 0xFF
    elif kind == REV:
        value = r[n]
        r[d] = value << 24 | (value & 0xFF00) << 8 | value >> 8 & 0xFF00 | value >> 24
    elif kind == HINT:
        if opcode & 0xFF:  # not NOP
            return leave_to_package(bus, core, r, opcode, at)
    elif kind == PUSH:
        return push(bus, r, opcode & 0x1FF)
    elif kind == POP:
        return pop(bus, core, r, opcode & 0x1FF)
    elif kind == STM:
        return store_many(bus, r, t, eight)
    elif kind == LDM:
        return load_many(bus, r, t, eight)
    elif kind == B_EQ:
        return branch(r, opcode, core.z)
    elif kind == B_NE:
        return branch(r, opcode, not core.z)
    elif kind == B_CS:
        return branch(r, opcode, core.c)
    elif kind == B_CC:
        return branch(r, opcode, not core.c)
    elif kind == B_MI:
        return branch(r, opcode, core.n)
    elif kind == B_PL:
        return branch(r, opcode, not core.n)
    elif kind == B_VS:
        return branch(r, opcode, core.v)
    elif kind == B_VC:
        return branch(r, opcode, not core.v)
    elif kind == B_HI:
        return branch(r, opcode, core.c and not core.z)
    elif kind == B_LS:
        return branch(r, opcode, not core.c or core.z)
    elif kind == B_GE:
        return branch(r, opcode, core.n == core.v)
    elif kind == B_LT:
        return branch(r, opcode, core.n != core.v)
    elif kind == B_GT:
        return branch(r, opcode, core.n == core.v and not core.z)
    elif kind == B_LE:
        return branch(r, opcode, core.n != core.v or core.z)
    elif kind == B_ALWAYS:
        r[PC] += 2 + (<int> (opcode << 21) >> 20)
        return 2
    elif kind == WIDE:
        return execute_wide(bus, core, r, opcode, at)
    else:
        return leave_to_package(bus, core, r, opcode, at)
    return 1


cdef inline int branch(unsigned int *r, unsigned int opcode, bint taken) noexcept:
    if not taken:
        return 1
    r[PC] += 2 + 2 * <int> <signed char> opcode
    return 2


cdef inline int put_high(unsigned int *r, unsigned int place, unsigned int value) noexcept:
    if place == PC:
        r[PC] = value & ~1U
        return 2
    r[place] = value & ~3U if place == SP else value
    return 1


cdef int go_to(Bus bus, CortexM0Core core, unsigned int *r, unsigned int address) except -1:
    if core.current_mode == HANDLER_MODE and address >> 28 == 0xF:
        bus.to_python()
        core.exception_return(address & 0x0FFFFFFF)
    else:
        r[PC] = address & ~1U
    return 0


# Cycles of these four as in the package.


cdef int push(Bus bus, unsigned int *r, unsigned int listed) except -1:
    cdef unsigned int place, at = r[SP]
    cdef int cycles = 1
    for place in range(9):
        at -= 4 * (listed >> place & 1)
    cdef unsigned int bottom = at & ~3U
    for place in range(8):
        if listed >> place & 1:
            bus.store(at, r[place])
            at += 4
            cycles += 1
    if listed >> 8:
        bus.store(at, r[LR])
    r[SP] = bottom
    return cycles


cdef int pop(Bus bus, CortexM0Core core, unsigned int *r, unsigned int listed) except -1:
    cdef unsigned int place, at = r[SP]
    cdef int cycles = 1
    for place in range(8):
        if listed >> place & 1:
            r[place] = bus.load(at)
            at += 4
            cycles += 1
    if listed >> 8:
        r[SP] = at + 4 & ~3U
        go_to(bus, core, r, bus.load(at))
        cycles += 2
    else:
        r[SP] = at & ~3U
    return cycles


cdef int store_many(Bus bus, unsigned int *r, unsigned int base, unsigned int listed) except -1:
    cdef unsigned int place, at = r[base]
    cdef int cycles = 1
    for place in range(8):
        if listed >> place & 1:
            bus.store(at, r[place])
            at += 4
            cycles += 1
    if not listed >> base & 1:
        r[base] = at
    return cycles


cdef int load_many(Bus bus, unsigned int *r, unsigned int base, unsigned int listed) except -1:
    cdef unsigned int place, at = r[base]
    cdef int cycles = 1
    for place in range(8):
        if listed >> place & 1:
            r[place] = bus.load(at)
            at += 4
            cycles += 1
    if not listed >> base & 1:
        r[base] = at
    return cycles


cdef int execute_wide(
    Bus bus, CortexM0Core core, unsigned int *r, unsigned int opcode, unsigned int at
) except -1:
    # Not from r[PC]: the package leaves bit 0 of an interrupt's vector in it.
    cdef unsigned int second = bus.fetch(at + 2)
    cdef unsigned int sign, offset
    if second >> 14 == 3 and second >> 12 & 1:  # BL
        sign = opcode >> 10 & 1
        offset = (
            (opcode & 0x3FF) << 12 | (second & 0x7FF) << 1
            | (1 ^ sign ^ second >> 13 & 1) << 23 | (1 ^ sign ^ second >> 11 & 1) << 22
        )  # fmt: skip
        if sign:
            offset |= 0xFF000000U
        r[LR] = r[PC] + 2 | 1
        r[PC] += 2 + offset
    elif opcode == 0xF3BF and 0x8F40 <= second < 0x8F70:  # DSB, DMB, ISB
        r[PC] += 2
    elif opcode == 0xF3EF and second >> 12 == 8 and second & 0xFF == PRIMASK:  # MRS
        r[second >> 8 & 15] = core.pm
        r[PC] += 2
    elif opcode >> 4 == 0xF38 and second == (0x8800 | PRIMASK):  # MSR
        core.pm = r[opcode & 15] & 1
        core.interrupts_updated = True
        bus.end = 0  # an interrupt may come now
        r[PC] += 2
    else:
        return leave_to_package(bus, core, r, opcode, at)
    return 3


cdef int leave_to_package(
    Bus bus, CortexM0Core core, unsigned int *r, unsigned int opcode, unsigned int at
) except -1:
    cdef OpHandler handler = DISPATCH_TABLE[opcode]
    cdef int cycles
    bus.to_python()
    if opcode < WIDE_BEGINS and handler != NULL:
        return handler(core, opcode, 0, at)
    r[PC] -= 2
    cycles = core.execute_instruction()
    core.cycles -= cycles  # the caller adds them
    return cycles
