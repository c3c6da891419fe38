"""The kinds of instructions of ARMv6-M by the highest ten bits of the opcode, which are enough to
know them: Architecture Reference Manual, A5.2.

OTHER is left to the package: instructions that are rare, or that Python has to see.
"""

cdef enum Kind:
    OTHER = 0
    LSL_IMMEDIATE, LSR_IMMEDIATE, ASR_IMMEDIATE
    ADD_REGISTER, SUB_REGISTER, ADD_3, SUB_3, MOV_8, CMP_8, ADD_8, SUB_8
    AND, EOR, LSL_REGISTER, LSR_REGISTER, TST, NEG, CMP_REGISTER, CMN, ORR, MUL, BIC, MVN
    ADD_HIGH, CMP_HIGH, MOV_HIGH, BX, BLX
    LDR_LITERAL
    STR_REGISTER, STRH_REGISTER, STRB_REGISTER, LDRSB
    LDR_REGISTER, LDRH_REGISTER, LDRB_REGISTER, LDRSH
    STR_IMMEDIATE, LDR_IMMEDIATE, STRB_IMMEDIATE, LDRB_IMMEDIATE, STRH_IMMEDIATE, LDRH_IMMEDIATE
    STR_SP, LDR_SP, ADR, ADD_RD_SP, ADD_SP, SUB_SP
    SXTH, SXTB, UXTH, UXTB, REV, HINT
    PUSH, POP, STM, LDM
    B_EQ, B_NE, B_CS, B_CC, B_MI, B_PL, B_VS, B_VC, B_HI, B_LS, B_GE, B_LT, B_GT, B_LE
    B_ALWAYS
    WIDE  # 32 bits; some of them are OTHER

cdef unsigned char KINDS[1 << 10]


cdef unsigned char kind_of(unsigned int opcode):
    cdef unsigned int top = opcode >> 11
    cdef unsigned int part
    if top < 3:
        return (LSL_IMMEDIATE, LSR_IMMEDIATE, ASR_IMMEDIATE)[top]
    if top == 3:
        return (ADD_REGISTER, SUB_REGISTER, ADD_3, SUB_3)[opcode >> 9 & 3]
    if top < 8:
        return (MOV_8, CMP_8, ADD_8, SUB_8)[top - 4]
    if opcode >> 10 == 0b010000:
        return (
            AND, EOR, LSL_REGISTER, LSR_REGISTER, OTHER, OTHER, OTHER, OTHER,
            TST, NEG, CMP_REGISTER, CMN, ORR, MUL, BIC, MVN,
        )[opcode >> 6 & 15]  # fmt: skip
    if opcode >> 10 == 0b010001:
        part = opcode >> 8 & 3
        if part < 3:
            return (ADD_HIGH, CMP_HIGH, MOV_HIGH)[part]
        return BLX if opcode & 0x80 else BX
    if top == 0b01001:
        return LDR_LITERAL
    if opcode >> 12 == 0b0101:
        return (
            STR_REGISTER, STRH_REGISTER, STRB_REGISTER, LDRSB,
            LDR_REGISTER, LDRH_REGISTER, LDRB_REGISTER, LDRSH,
        )[opcode >> 9 & 7]  # fmt: skip
    if 0b01100 <= top <= 0b10101:
        return (
            STR_IMMEDIATE, LDR_IMMEDIATE, STRB_IMMEDIATE, LDRB_IMMEDIATE, STRH_IMMEDIATE,
            LDRH_IMMEDIATE, STR_SP, LDR_SP, ADR, ADD_RD_SP,
        )[top - 0b01100]  # fmt: skip
    if opcode >> 8 == 0b10110000:
        return SUB_SP if opcode & 0x80 else ADD_SP
    if opcode >> 8 == 0b10110010:
        return (SXTH, SXTB, UXTH, UXTB)[opcode >> 6 & 3]
    if opcode >> 6 == 0b1011101000:
        return REV
    if opcode >> 6 == 0b1011111100:
        return HINT
    if opcode >> 9 == 0b1011010:
        return PUSH
    if opcode >> 9 == 0b1011110:
        return POP
    if top == 0b11000:
        return STM
    if top == 0b11001:
        return LDM
    if opcode >> 12 == 0b1101 and opcode >> 9 & 7 != 7:
        return (
            B_EQ, B_NE, B_CS, B_CC, B_MI, B_PL, B_VS, B_VC, B_HI, B_LS, B_GE, B_LT, B_GT, B_LE,
        )[opcode >> 8 & 15]  # fmt: skip
    if top == 0b11100:
        return B_ALWAYS
    if top == 0b11110:
        return WIDE
    return OTHER


def _fill_kinds():
    cdef unsigned int opcode
    for opcode in range(0, 0x10000, 1 << 6):
        KINDS[opcode >> 6] = kind_of(opcode)


_fill_kinds()
