cdef inline unsigned int half(const unsigned char *at) noexcept:
    return at[0] | at[1] << 8


cdef inline unsigned int with_nz(CortexM0Core core, unsigned int result) noexcept:
    core.n = result >> 31
    core.z = result == 0
    return result


cdef inline unsigned int sum_of(CortexM0Core core, unsigned int a, unsigned int b) noexcept:
    cdef unsigned int result = a + b
    core.c = result < a
    core.v = ((a ^ result) & (b ^ result)) >> 31
    return with_nz(core, result)


cdef inline unsigned int difference(CortexM0Core core, unsigned int a, unsigned int b) noexcept:
    cdef unsigned int result = a - b
    core.c = a >= b
    core.v = ((a ^ b) & (a ^ result)) >> 31
    return with_nz(core, result)
