"""fast.pyx does the same as the parts of the package that it replaces, or as the chip."""

import random
from array import array
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from sabot_hil.emulation import package

if TYPE_CHECKING:
    from rp2040py.clock.simulation_clock import SimulationClock
    from rp2040py.rp2040 import RP2040

pytestmark = pytest.mark.skipif(
    find_spec("rp2040py") is None, reason="the emulator is not installed: extra `emulator`"
)

SIO = 0xD0000000
UDIVIDEND, UDIVISOR, SDIVIDEND, SDIVISOR = SIO + 0x60, SIO + 0x64, SIO + 0x68, SIO + 0x6C
QUOTIENT, REMAINDER, CSR = SIO + 0x70, SIO + 0x74, SIO + 0x78
RAM = 0x20001000
FLASH, ROM, USB_RAM = 0x10000000, 0, 0x50100000
SP, LR, PC = 13, 14, 15
TIMER = 0x40054000

SUMS = (
    0x2000,  # movs r0, #0
    0x21C8,  # movs r1, #200
    0x1840,  # adds r0, r0, r1
    0x3901,  # subs r1, #1
    0xD1FC,  # bne back to the adds
    0xF000, 0xF800,  # bl the next instruction
    0x3201,  # adds r2, #1
    0xE7F6,  # b to the beginning
)  # fmt: skip


def summing_chip() -> tuple["RP2040", "SimulationClock"]:
    """A chip with SUMS in its memory, about to run it, and its clock."""
    package.load_emulator()
    from rp2040py.clock.simulation_clock import SimulationClock
    from rp2040py.rp2040 import RP2040

    clock = SimulationClock()
    mcu = RP2040(clock)
    for place, opcode in enumerate(SUMS):
        mcu.write_uint16(RAM + 2 * place, opcode)
    mcu.core.registers[PC] = RAM
    return mcu, clock


def ran(
    mcu: "RP2040", clock: "SimulationClock", runner: package.Runner, us: float
) -> tuple[object, ...]:
    """Run for `us` microseconds and return the state of the chip."""

    def stop() -> None:
        runner.stopped = True
        ended.append(True)

    ended: list[bool] = []
    clock.create_alarm(stop).schedule(us * 1000)
    while not ended:
        runner.run()
    core = mcu.core
    return list(core.registers), core.cycles, clock.nanos, (core.n, core.z, core.c, core.v)


def random_word(chance: random.Random) -> int:
    """A value of a register: a number, or an address of something that is there."""
    return chance.choice(
        (
            lambda: chance.getrandbits(32),
            lambda: chance.choice((0, 1, 31, 32, 33, 255, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)),
            lambda: RAM + chance.randrange(0x800),
            lambda: RAM + 4 * chance.randrange(0x200),
            lambda: FLASH + 4 * chance.randrange(0x200),
            lambda: chance.choice((0x11, 0x12, 0x13)) << 24 | chance.randrange(0x800),
            lambda: ROM + chance.randrange(0x800),
            lambda: USB_RAM + 4 * chance.randrange(0x200),
            lambda: chance.choice((UDIVIDEND, SDIVISOR, QUOTIENT, CSR, SIO + 0x5C, SIO + 0x100)),
            lambda: TIMER + 4 * chance.randrange(12),
            lambda: chance.choice((0xFFFFFFF1, 0xFFFFFFF9, 0xFFFFFFFD)),
        )
    )()


def random_opcode(chance: random.Random) -> int:
    """An instruction. Those with few encodings are as frequent as others."""
    return chance.choice(
        (
            lambda: chance.getrandbits(16),
            lambda: 0x4000 | chance.getrandbits(10),  # two registers
            lambda: 0x4400 | chance.getrandbits(10),  # high registers, BX, BLX
            lambda: 0xB000 | chance.getrandbits(12),  # stack, extensions, hints
            lambda: 0xD000 | chance.getrandbits(12),  # branches
            lambda: chance.choice((0xF3EF, 0xF380, 0xF3BF, 0xF000, 0xF7FF)),
            lambda: chance.choice((0x8810, 0x8010, 0x8210, 0x8F5F, 0xF800, 0xFFFE)),
        )
    )()


@pytest.mark.slow
def test_random_instructions_do_what_the_package_s_own_do(fast: package.CompiledLoop) -> None:
    """Registers, flags, memory, time and interrupts after short programs."""
    from rp2040py._cortex_m0_core import ExecutionMode
    from rp2040py.utils.logging import ConsoleLogger, LogLevel

    from sabot_hil.emulation.bare import StockRunner

    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    first, second = summing_chip(), summing_chip()
    for mcu, _ in (first, second):
        mcu.logger = ConsoleLogger(LogLevel.ERROR)
        # A random transfer of the DMA may have no end.
        mcu.dma.write_uint32 = lambda offset, value: None  # type: ignore[method-assign]
    runners = (
        StockRunner(*first),
        fast.Runner(*second, fast.take_over_sio(second[0])),
    )
    fast.take_over_sio(first[0])
    for number in range(4000):
        program = [random_opcode(chance) for _ in range(chance.choice((1, 4, 20)))]
        words = [random_word(chance) for _ in range(13)]
        stack = RAM + 4 * chance.randrange(0x100, 0x200)
        content = chance.randbytes(0x1000)
        where = chance.choice((RAM + 0x800, FLASH + 0x800)) + 2 * chance.randrange(4)
        flags = [chance.random() < 0.5 for _ in range(5)]
        handler, odd = chance.random() < 0.2, chance.random() < 0.2
        for mcu, _ in (first, second):
            mcu.core.reset()
            mcu.sio.reset()  # code that was read from its registers has changed them
            mcu.core.registers[:13] = array("I", words)
            mcu.core.registers[SP], mcu.core.registers[LR] = stack, where | 1
            mcu.core.registers[PC] = where | odd
            mcu.core.n, mcu.core.z, mcu.core.c, mcu.core.v, mcu.core.pm = flags
            mcu.core.current_mode = ExecutionMode(handler)
            mcu.sram[0x1000:0x2000] = mcu.flash[:0x1000] = content
            mcu.usb_dpram[:0x800] = content[:0x800]
            memory, begin = (mcu.sram, 0x20000000) if where >= RAM else (mcu.flash, FLASH)
            code = b"".join(opcode.to_bytes(2, "little") for opcode in [*program, 0xE7FE])
            memory[where - begin : where - begin + len(code)] = code
        ns = chance.choice((8, 80, 800))
        states = []
        for (mcu, clock), runner in zip((first, second), runners, strict=True):
            core = mcu.core
            states.append(
                (
                    *ran(mcu, clock, runner, ns / 1000),
                    (core.pm, core.waiting, core.current_mode, core.ipsr, core.banked_sp),
                    bytes(mcu.sram[:0x2000]),
                    bytes(mcu.flash[:0x1000]),
                    bytes(mcu.usb_dpram),
                )
            )
        shown = f"program {number}: {[f'{opcode:04x}' for opcode in program]} at {where:x}"
        assert states[1][:5] == states[0][:5], shown
        assert states[1] == states[0], shown


@pytest.mark.parametrize("us", [1, 7, 50, 333, 2000])
def test_the_loop_leaves_the_chip_as_the_package_s_own_does(
    fast: package.CompiledLoop, us: int
) -> None:
    from sabot_hil.emulation.bare import StockRunner

    mcu, clock = summing_chip()
    stock = ran(mcu, clock, StockRunner(mcu, clock), us)
    mcu, clock = summing_chip()
    assert ran(mcu, clock, fast.Runner(mcu, clock), us) == stock


def test_the_divider_divides_as_whole_numbers_are_divided(fast: package.CompiledLoop) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    mcu, _ = summing_chip()
    fast.take_over_sio(mcu)
    edges = [1, 2, 3, 7, 255, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF]
    pairs = [(a, b) for a in (0, *edges) for b in edges]
    pairs += [(chance.getrandbits(32), chance.getrandbits(chance.randint(1, 32)) or 1)
              for _ in range(2000)]  # fmt: skip
    for dividend, divisor in pairs:
        mcu.write_uint32(UDIVIDEND, dividend)
        mcu.write_uint32(UDIVISOR, divisor)
        assert mcu.read_uint32(CSR) == 3
        got = mcu.read_uint32(QUOTIENT), mcu.read_uint32(REMAINDER)
        assert got == divmod(dividend, divisor), (dividend, divisor)
        assert mcu.read_uint32(CSR) == 1, "the quotient was read: clean"
        mcu.write_uint32(SDIVIDEND, dividend)
        mcu.write_uint32(SDIVISOR, divisor)
        a, b = signed_32(dividend), signed_32(divisor)
        quotient = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
        got = signed_32(mcu.read_uint32(QUOTIENT)), signed_32(mcu.read_uint32(REMAINDER))
        assert got == (signed_32(quotient & 0xFFFFFFFF), a - b * quotient), (a, b)


def signed_32(word: int) -> int:
    """A word as a number of 32 bits."""
    return word - (word >> 31 << 32)


def test_division_by_zero_gives_what_the_data_sheet_says(fast: package.CompiledLoop) -> None:
    """RP2040 data sheet, 2.3.1.5: all ones, or the sign opposite to the dividend's."""
    mcu, _ = summing_chip()
    fast.take_over_sio(mcu)
    for dividend, quotient in ((7, 0xFFFFFFFF), (0, 0xFFFFFFFF), (0xFFFFFFF9, 1)):
        mcu.write_uint32(SDIVIDEND, dividend)
        mcu.write_uint32(SDIVISOR, 0)
        assert (mcu.read_uint32(QUOTIENT), mcu.read_uint32(REMAINDER)) == (quotient, dividend)
    mcu.write_uint32(UDIVIDEND, 0xFFFFFFF9)
    mcu.write_uint32(UDIVISOR, 0)
    assert mcu.read_uint32(QUOTIENT) == 0xFFFFFFFF


def test_an_interrupted_division_can_be_put_back(fast: package.CompiledLoop) -> None:
    mcu, _ = summing_chip()
    fast.take_over_sio(mcu)
    mcu.write_uint32(QUOTIENT, 123)
    mcu.write_uint32(REMAINDER, 45)
    assert (mcu.read_uint32(QUOTIENT), mcu.read_uint32(REMAINDER)) == (123, 45)


def test_the_rest_of_the_block_is_still_there(fast: package.CompiledLoop) -> None:
    mcu, _ = summing_chip()
    fast.take_over_sio(mcu)
    mcu.write_uint32(SIO + 0x24, 1 << 22)  # drive pin 22
    mcu.write_uint32(SIO + 0x14, 1 << 22)  # high
    assert mcu.sio.gpio_value == mcu.read_uint32(SIO + 0x10) == 1 << 22


def test_a_spin_lock_is_taken_once_until_it_is_given_back_or_the_chip_is_reset(
    fast: package.CompiledLoop,
) -> None:
    """RP2040 data sheet, 2.3.1.3: a read claims; it gives a bit of its own, or 0 if it is taken."""
    mcu, _ = summing_chip()
    fast.take_over_sio(mcu)
    fourth, states = SIO + 0x110, SIO + 0x5C
    assert (mcu.read_uint32(fourth), mcu.read_uint32(fourth)) == (1 << 4, 0)
    assert mcu.read_uint32(states) == 1 << 4
    mcu.write_uint32(fourth, 1)
    assert mcu.read_uint32(states) == 0
    mcu.read_uint32(fourth)
    mcu.reset()
    assert mcu.read_uint32(states) == 0
